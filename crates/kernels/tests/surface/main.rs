//! The language's surface: every operation in a kernel of its own, assembled for every target that has it, refused by
//! name where a target has it not, and run on the device of the tests (the emulator, unless a card is asked for).

#![allow(clippy::print_stdout, reason = "skips and what is listed are printed")]
#![allow(clippy::eq_op, reason = "x ≠ x is how NaN is told")]
#![allow(unreachable_pub, reason = "a test's modules")]
#![allow(clippy::vec_init_then_push, reason = "a macro's rows")]

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
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use warpsmith_runtime::report::Assembler;

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

/// Every case's failure, so that one run tells all.
fn each(cases: &[&Case], check: impl Fn(&Case)) -> Vec<String> {
    let failure = |case: &&Case| {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(case)));
        outcome.err().map(|e| {
            let said = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| (*s).into()));
            format!("{}: {}", case.name, said.unwrap_or_default())
        })
    };
    cases.iter().filter_map(failure).collect()
}

#[test]
fn every_operation_assembles_where_it_exists() {
    let Some(assembler) = common::assemble::or_skip(Assembler::find()) else { return };
    let cases: Vec<&Case> = CASES.iter().collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = cases.chunks(cases.len().div_ceil(2)).collect();
        let jobs: Vec<_> =
            parts.iter().map(|part| scope.spawn(|| each(part, |case| case.assemble(&assembler)))).collect();
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

#[test]
fn every_operation_runs_or_is_listed() {
    let random = RefCell::new(common::fresh());
    let ran = Cell::new(0);
    let cases: Vec<&Case> = CASES.iter().collect();
    let failures = each(&cases, |case| match (case.run(&mut random.borrow_mut()), case.assembled_only) {
        (true, _) => ran.set(ran.get() + 1),
        (false, Some(why)) => println!("assembled only: {}: {why}", case.name),
        (false, None) => println!("not on this device: {}", case.name),
    });
    println!("{} of {} ran", ran.get(), cases.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n\n"));
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
