//! What is printed parses back to the same, for every alternative of every row of the table.

#![allow(clippy::print_stdout, reason = "tests say what they covered")]

mod common;

use common::Breadth;
use warpsmith_ptx::{parse, table};

#[test]
fn every_row_comes_back() {
    let modules = common::modules(Breadth::Alternatives);
    let mut instructions = 0;
    for module in &modules {
        let text = module.to_string();
        let parsed = common::without_lines(parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")));
        for (before, after) in module.functions.iter().zip(&parsed.functions) {
            for (a, b) in before.instructions().zip(after.instructions()) {
                assert_eq!(a, b, "{}", a.display(before, module));
                instructions += 1;
            }
        }
        assert_eq!(*module, parsed);
    }
    println!("{instructions} instructions of {} rows", table::forms().len());
}

#[test]
fn every_row_resolves() {
    for module in &common::modules(Breadth::Alternatives) {
        for instruction in module.functions.iter().flat_map(|f| f.instructions()) {
            let form = table::resolve(instruction).unwrap_or_else(|e| panic!("{e}"));
            // An earlier row may have it too; then both must ask for the same.
            assert!(form.floor(instruction).0 <= module.version, "{instruction}");
        }
    }
}

#[test]
fn every_row_verifies() {
    for module in &common::modules(Breadth::Alternatives) {
        if let Err(errors) = module.verify() {
            let texts: Vec<String> = errors.iter().map(|e| e.to_string()).collect();
            panic!("{} {}:\n{}", module.target, module.version, texts.join("\n"));
        }
        assert_eq!(module.minimal_version(), module.version, "{}", module.target);
    }
}
