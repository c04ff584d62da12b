//! PTX that nvcc made: it parses, and what is printed from it parses to the same.

use std::path::Path;
use warpsmith_ptx::{Module, Statement, parse};

/// The same module as if it had not been parsed: without line numbers of the text.
fn without_lines(mut module: Module) -> Module {
    for statement in module.functions.iter_mut().flat_map(|f| &mut f.body) {
        if let Statement::Instruction(instruction) = statement {
            instruction.line = 0;
        }
    }
    module
}

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
        let printed = module.to_string();
        let again = parse(&printed).unwrap_or_else(|e| panic!("{} printed: {e}\n{printed}", path.display()));
        assert_eq!(printed, again.to_string(), "{}", path.display());
        assert_eq!(without_lines(module).functions.len(), without_lines(again).functions.len());
    }
    println!("{files} files of nvcc");
}
