//! Asks a card for the answers of the emulator's instruction suite (`crates/emulator/tests/suite`).
//!
//! `WARPSMITH_DEVICE=cuda WARPSMITH_SUITE_OUT=DIR` and `--ignored` write the files that its `data` holds.

#![allow(clippy::print_stdout, reason = "it says what it asked")]

#[path = "../../emulator/tests/suite/cases/mod.rs"]
mod cases;

use cases::{Batch, SETS, answers};
use std::collections::BTreeMap;
use std::path::PathBuf;
use warpsmith_runtime::{Device, Error, LaunchShape};

fn ask(device: &Device, batch: &Batch<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let text = batch.ptx();
    let function = device.load(&text, "suite")?;
    let input = device.upload(&batch.input(), "in")?;
    let mut out = vec![0; batch.output_bytes()];
    let results = device.upload(&out, "out")?;
    let scratch = device.upload(&[0; SETS * cases::SCRATCH], "scratch")?;
    let parameters: Vec<u8> = [&input, &results, &scratch].iter().flat_map(|b| b.address().to_le_bytes()).collect();
    let shape = LaunchShape::new([(SETS / cases::BLOCK) as u32, 1, 1], [cases::BLOCK as u32, 1, 1]);
    function.launch(&shape, &parameters, &device.default_stream(), None)?;
    device.synchronize()?;
    results.download(&mut out)?;
    Ok(batch.answers(&out))
}

#[test]
#[ignore = "writes the suite's answers: WARPSMITH_DEVICE=cuda WARPSMITH_SUITE_OUT=DIR"]
fn a_card_answers() {
    let folder = PathBuf::from(std::env::var_os("WARPSMITH_SUITE_OUT").expect("WARPSMITH_SUITE_OUT names a folder"));
    let device = Device::from_env().unwrap();
    println!("{}", device.info().name);
    let all = cases::all();
    let mut refused = vec![];
    for group in all.chunk_by(|a, b| a.group == b.group) {
        let mut answered = BTreeMap::new();
        for batch in cases::batches(group) {
            let mut take = |batch: &Batch<'_>, results: Vec<Vec<u8>>| {
                answered.extend(batch.cases.iter().map(|c| c.name.clone()).zip(results));
            };
            match ask(&device, &batch) {
                Ok(results) => take(&batch, results),
                // One by one: what is refused alone is said, the others are asked.
                Err(_) => {
                    for one in batch.cases.chunks(1) {
                        match ask(&device, &Batch { cases: one }) {
                            Ok(results) => take(&Batch { cases: one }, results),
                            Err(e) => refused.push(format!("{}: {e}", one[0].name)),
                        }
                    }
                }
            }
        }
        let file = answers::write(SETS, &answered);
        println!("{}: {} of {} instructions, {} bytes", group[0].group, answered.len(), group.len(), file.len());
        std::fs::write(folder.join(format!("{}.answers", group[0].group)), file).unwrap();
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}
