//! No false alarms: as they are, nothing is found of our kernels, whoever runs when.

use crate::subject::{Order, Subject};

/// Instructions after which a launch hangs: those who poll for a slow block run a million.
const PATIENCE: u64 = 100_000_000;

/// Seeds of each schedule: three, or as many as `WARPSMITH_SEEDS` says.
fn seeds() -> u64 {
    const VARIABLE: &str = "WARPSMITH_SEEDS";
    match std::env::var(VARIABLE) {
        Err(_) => 3,
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{VARIABLE}: expected a number of seeds, got {text}")),
    }
}

/// Asserts that the sanitizer has nothing to say of these kernels, and that their results are always the same, under all
/// schedules with all seeds.
pub fn nothing_is_found(subjects: &[Subject]) {
    let (mut faults, mut launches) = (vec![], 0);
    for subject in subjects {
        let mut first: Option<Vec<u8>> = None;
        for order in (0..seeds()).flat_map(Order::all) {
            let ran = subject.run(order.options(Some(PATIENCE)), None);
            launches += 1;
            faults.extend(ran.outcome.findings.iter().map(|f| format!("{} ({order}): {f}", subject.name)));
            if *first.get_or_insert_with(|| ran.result.clone()) != ran.result {
                faults.push(format!("{} ({order}): another result", subject.name));
            }
        }
    }
    println!("{} kernels, {launches} launches, nothing found", subjects.len());
    assert!(faults.is_empty(), "{} findings:\n{}", faults.len(), faults.join("\n"));
}
