//! PTX that nvcc made: it parses, and what is printed from it parses to the same.

#![allow(clippy::print_stdout, reason = "tests say what they covered")]

use std::path::Path;
use warpsmith_ptx::parse;

#[test]
fn it_parses_and_prints_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/nvcc");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "ptx") {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let module = parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        module.verify().unwrap_or_else(|e| panic!("{}: {}", path.display(), e[0]));
        assert!(module.minimal_version() <= module.version);
        let printed = module.to_string();
        let again = parse(&printed).unwrap_or_else(|e| panic!("{} printed: {e}\n{printed}", path.display()));
        assert_eq!(printed, again.to_string(), "{}", path.display());
        assert_eq!(module.functions.len(), again.functions.len());
        for (before, after) in module.functions.iter().zip(&again.functions) {
            assert_eq!(before.body.len(), after.body.len());
        }
    }
    println!("{files} files of nvcc");
}
