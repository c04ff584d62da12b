//! The language's surface: every operation in a kernel of its own, assembled for every target that has it, refused by
//! name where a target has it not, and run on the device of the tests (the emulator, unless a card is asked for).

#![allow(clippy::print_stdout, reason = "skips and what is listed are printed")]
#![allow(clippy::eq_op, reason = "x ≠ x is how NaN is told")]

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod asynchronous;
mod blackwell;
mod conversions;
mod flow;
mod harness;
mod memory;
mod synchronisation;

use harness::Case;
use std::sync::LazyLock;

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let families = [
        conversions::cases(),
        arithmetic::cases(),
        flow::cases(),
        memory::cases(),
        synchronisation::cases(),
        asynchronous::cases(),
        blackwell::cases(),
    ];
    families.into_iter().flatten().collect()
});

#[test]
fn every_operation_assembles_where_it_exists() {
    let Some(ptxas) = harness::ptxas() else { return };
    let cases: Vec<&Case> = CASES.iter().collect();
    std::thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(2)) {
            let ptxas = &ptxas;
            scope.spawn(move || part.iter().for_each(|c| c.assemble(ptxas)));
        }
    });
}

#[test]
fn every_operation_runs_or_is_listed() {
    let mut random = common::fresh();
    let mut ran = 0;
    for case in CASES.iter() {
        match (case.run(&mut random), case.assembled_only) {
            (true, _) => ran += 1,
            (false, Some(why)) => println!("assembled only: {}: {why}", case.name),
            (false, None) => println!("not on this device: {}", case.name),
        }
    }
    println!("{ran} of {} ran", CASES.len());
}

#[test]
fn no_operation_is_inline_ptx() {
    for case in CASES.iter().filter(|c| !c.name.starts_with("inline")) {
        assert!(!case.is_inline(), "{}", case.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = CASES.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|w| w[0] != w[1]), "{names:?}");
}
