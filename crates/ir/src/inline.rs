//! PTX text in a kernel, for what the language does not say.
//!
//! The text is parsed, checked by PTX's own verifier, and becomes part of the kernel instruction by instruction: what is
//! wrong with it is an error of the kernel, and the emulator runs it like all else.

use crate::types::{self, Type};
use smallvec::SmallVec;
use std::fmt::Write;
use warpsmith_ptx::table::{Convergence, Role, resolve};
use warpsmith_ptx::{
    Function, Instruction, Module, Opcode, Operand, ParseErrorKind, RegisterId, VerifyErrorKind, parse,
};

pub use warpsmith_ptx::table::Effect;

/// Instructions of PTX, with places for values.
///
/// `{0}`, `{1}` … stand for the results and then the operands of the operation, each a register of its type:
/// `add.sat.s32 {0}, {1}, {2};`. Registers of its own are declared with `.reg`, labels may be jumped to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inline {
    /// The text.
    pub text: String,
    /// What it does besides computing its results. It is believed.
    pub effect: Effect,
}

/// What is wrong with inline PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InlineError {
    /// It does not parse.
    #[error("inline PTX, line {line}: {kind}")]
    Parse {
        /// From 1.
        line: u32,
        /// What is wrong.
        kind: ParseErrorKind,
    },
    /// No assembler would take it.
    #[error("inline PTX: {0}")]
    Verify(VerifyErrorKind),
    /// It is more than instructions.
    #[error("inline PTX is instructions, their registers and labels; no variables, functions or directives")]
    Declarations,
    /// It ends the thread.
    #[error("inline PTX: `{0}` ends the thread; write `exit_if`")]
    Ends(String),
    /// An operand's place is written.
    #[error("inline PTX writes {{{0}}}, which is an operand")]
    Written(usize),
    /// A result's place is not written.
    #[error("inline PTX does not write {{{0}}}, which is a result")]
    Unwritten(usize),
    /// A place that is nothing's.
    #[error("inline PTX has a place {{{place}}}, and {count} results and operands")]
    Place {
        /// Its number.
        place: usize,
        /// How many there are.
        count: usize,
    },
}

impl Inline {
    /// A function whose first registers are the results' and operands', in order.
    pub(crate) fn parse(&self, results: &[Type], args: &[Type]) -> Result<Function, InlineError> {
        let places: SmallVec<[Type; 8]> = results.iter().chain(args).copied().collect();
        // One line, so that lines of the text count from the second. The newest version: what a target has is for
        // lowering to say.
        let mut text = String::from(".version 9.0 .target sm_100a .address_size 64 .visible .entry inline() {");
        for (i, ty) in places.iter().enumerate() {
            let _ = write!(text, " .reg .{} %place{i};", types::register(*ty));
        }
        text.push('\n');
        self.fill(places.len(), &mut text)?;
        text.push_str("\n}\n");
        let module =
            parse(&text).map_err(|e| InlineError::Parse { line: e.line.saturating_sub(1).max(1), kind: e.kind })?;
        verify(&module)?;
        let Module { mut functions, variables, .. } = module;
        match (functions.pop(), functions.is_empty() && variables.is_empty()) {
            (Some(function), true) if function.name == "inline" && function.variables.is_empty() => {
                check(&function, results.len(), places.len())?;
                Ok(function)
            }
            _ => Err(InlineError::Declarations),
        }
    }

    /// The text with names for its places.
    fn fill(&self, count: usize, into: &mut String) -> Result<(), InlineError> {
        let mut rest = self.text.as_str();
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            into.push_str(before);
            let digits = after[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            let number = after[1..=digits].parse::<usize>().ok().filter(|_| after[1 + digits..].starts_with('}'));
            match number {
                Some(place) if place < count => {
                    let _ = write!(into, "%place{place}");
                    rest = &after[digits + 2..];
                }
                Some(place) => return Err(InlineError::Place { place, count }),
                // A brace of PTX.
                None => {
                    into.push('{');
                    rest = &after[1..];
                }
            }
        }
        into.push_str(rest);
        Ok(())
    }

    /// Whether all threads of a warp must come to it together. One that does not parse is an error elsewhere.
    pub(crate) fn is_aligned(&self, results: &[Type], args: &[Type]) -> bool {
        let aligned = |i: &Instruction| resolve(i).is_ok_and(|form| form.row.convergence == Convergence::Aligned);
        self.parse(results, args).is_ok_and(|f| f.instructions().any(aligned))
    }
}

fn verify(module: &Module) -> Result<(), InlineError> {
    let Err(errors) = module.verify() else { return Ok(()) };
    let of_target = |kind: &VerifyErrorKind| {
        use VerifyErrorKind::{Target, TargetVersion, Version};
        matches!(kind, Target { .. } | Version { .. } | TargetVersion { .. })
    };
    errors.into_iter().map(|e| e.kind).find(|k| !of_target(k)).map_or(Ok(()), |kind| Err(InlineError::Verify(kind)))
}

/// Every result is written, no operand is, and the thread goes on.
fn check(function: &Function, results: usize, count: usize) -> Result<(), InlineError> {
    let mut written = vec![false; count];
    for instruction in function.instructions() {
        if matches!(instruction.opcode, Opcode::Ret | Opcode::Exit | Opcode::Call) {
            return Err(InlineError::Ends(instruction.name()));
        }
        let Some(bound) = resolve(instruction).ok().and_then(|form| form.bind(instruction)) else { continue };
        for (_, operand) in bound.iter().filter(|(form, _)| form.role != Role::Source) {
            registers(operand, &mut |r| {
                if let Some(w) = written.get_mut(r.0 as usize) {
                    *w = true;
                }
            });
        }
    }
    if let Some(i) = written[..results].iter().position(|w| !w) {
        return Err(InlineError::Unwritten(i));
    }
    match written[results..].iter().position(|w| *w) {
        Some(i) => Err(InlineError::Written(results + i)),
        None => Ok(()),
    }
}

fn registers(operand: &Operand, see: &mut impl FnMut(RegisterId)) {
    match operand {
        Operand::Register(r) => see(*r),
        Operand::Vector(parts) => parts.iter().for_each(|p| registers(p, see)),
        Operand::Pair(a, b) => {
            registers(a, see);
            registers(b, see);
        }
        _ => {}
    }
}

/// The name of an effect in the text form.
pub(crate) const EFFECTS: [(Effect, &str); 7] = [
    (Effect::None, "none"),
    (Effect::Reads, "reads"),
    (Effect::Writes, "writes"),
    (Effect::Atomic, "atomic"),
    (Effect::Asynchronous, "asynchronous"),
    (Effect::Barrier, "barrier"),
    (Effect::Control, "control"),
];
