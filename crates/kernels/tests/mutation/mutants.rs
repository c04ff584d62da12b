//! Every synchronisation of a kernel, weakened in every way, one at a time.

use crate::weaker::{Place, Weaker, weaker};
use warpsmith_ptx::{
    Function, FunctionKind, Immediate, Instruction, Locations, Modifier, Module, Opcode, Operand, Register, RegisterId,
    Statement, Type, Word,
};

/// A kernel with one synchronisation less.
pub struct Mutant {
    /// The instruction as it was, and the last part of its place in the source.
    pub instruction: String,
    pub place: String,
    /// What became of it.
    pub change: String,
    pub ptx: String,
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.instruction, self.place, self.change)
    }
}

/// All mutants of the kernels in a module.
pub fn mutants(module: &Module, launched: Place) -> Vec<Mutant> {
    let mut all = vec![];
    for (n, function) in module.functions.iter().enumerate() {
        let scratch = RegisterId(function.registers.len() as u32);
        let mut locations = Locations::new(module);
        let mut place = String::new();
        for (at, statement) in function.body.iter().enumerate() {
            match statement {
                Statement::Source(source) => place = innermost(&locations.read(source).to_string()),
                Statement::Instruction(i) => {
                    let mut forms: Vec<(Weaker, usize)> =
                        weaker(i, scratch, launched).into_iter().map(|form| (form, at + 1)).collect();
                    forms.extend(narrow_meeting(function, at, i));
                    for (Weaker { change, code }, end) in forms {
                        let mut module = module.clone();
                        let function = &mut module.functions[n];
                        function.registers.push(Register { name: "%scratch".into(), ty: Type::B32 });
                        function.body.splice(at..end, code.into_iter().map(Statement::Instruction));
                        module.version = module.version.max(module.minimal_version());
                        let errors = module.verify().err().unwrap_or_default();
                        assert!(errors.is_empty(), "{}, {change}: {errors:?}", i.name());
                        let instruction = i.display(function_of(&module, n), &module).to_string();
                        all.push(Mutant { instruction, place: place.clone(), change, ptx: module.to_string() });
                    }
                }
                _ => {}
            }
        }
    }
    all
}

fn function_of(module: &Module, n: usize) -> &Function {
    &module.functions[n]
}

/// Where a cluster meets, only the block does.
fn narrow_meeting(function: &Function, at: usize, i: &Instruction) -> Option<(Weaker, usize)> {
    if i.opcode != Opcode::Barrier
        || !i.has(Word::Cluster)
        || !i.has(Word::Arrive)
        || function.kind != FunctionKind::Entry
    {
        return None;
    }
    let next = function.body[at + 1..].iter().position(|s| matches!(s, Statement::Instruction(_)))? + at + 1;
    let Statement::Instruction(wait) = &function.body[next] else { return None };
    if wait.opcode != Opcode::Barrier || !wait.has(Word::Cluster) || !wait.has(Word::Wait) {
        return None;
    }
    let zero = Operand::Immediate(Immediate::Integer(0));
    let code = Instruction::new(Opcode::Bar, [Modifier::Word(Word::Sync)], [zero]);
    Some((Weaker::new("of the block only", vec![code]), next + 1))
}

/// `pipeline.rs:98` of a place.
fn innermost(place: &str) -> String {
    let first = place.split(" (").next().unwrap_or(place);
    first.rsplit('/').next().unwrap_or(first).to_string()
}
