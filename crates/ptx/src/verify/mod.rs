//! Whether an assembler would take a module.

mod error;
mod function;
mod types;

pub use error::{VerifyError, VerifyErrorKind};

use crate::instruction::{Instruction, Operand};
use crate::module::{Directives, Function, Module, SourceLine, Statement};
use crate::table;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use warpsmith_types::{PtxVersion, Target};

impl Module {
    /// Checks every instruction against the table (shape, types, target, version), and that every label, register,
    /// symbol and file that is mentioned is there.
    pub fn verify(&self) -> Result<(), Vec<VerifyError>> {
        let mut errors = vec![];
        let of_module = |kind| VerifyError { function: String::new(), instruction: None, kind };
        let (target, needs, version) = (self.target, self.target.version_floor(), self.version);
        if version < needs {
            errors.push(of_module(VerifyErrorKind::TargetVersion { target, needs, version }));
        }
        let mut names = FxHashSet::default();
        let variables = self.variables.iter().map(|v| &v.name);
        for name in variables.chain(self.functions.iter().map(|f| &f.name)) {
            if !names.insert(name) {
                errors.push(of_module(VerifyErrorKind::Duplicate(name.clone())));
            }
        }
        for function in &self.functions {
            function::verify(self, function, &mut errors);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The smallest `.version` that has the target and every instruction; what the table does not have counts as old.
    ///
    /// A driver refuses PTX newer than itself, so this is the version to print.
    pub fn minimal_version(&self) -> PtxVersion {
        // Long kernels have few kinds of instructions.
        let mut seen = FxHashSet::default();
        let mut is_new = |i: &Instruction| kinds(i).is_none_or(|k| seen.insert((i.opcode, i.modifiers.clone(), k)));
        let instructions = self.functions.iter().flat_map(Function::instructions);
        let instructions =
            instructions.filter(|i| is_new(i)).filter_map(|i| table::resolve(i).ok().map(|form| form.floor(i).0));
        let declared = self.functions.iter().filter_map(declarations_floor).map(|(version, _)| version);
        instructions.chain(declared).fold(self.target.version_floor(), PtxVersion::max)
    }
}

/// What stands at the operands, as far as it decides on the form of an instruction and its floor; `None` where that is
/// more than a few words say.
fn kinds(instruction: &Instruction) -> Option<SmallVec<[Kind; 6]>> {
    let register = |o: &Operand| matches!(o, Operand::Register(_));
    let kind = |o: &Operand| match o {
        Operand::Register(_) => Some(Kind::Register),
        Operand::Immediate(_) => Some(Kind::Immediate),
        Operand::Label(_) => Some(Kind::Label),
        Operand::Address(address) if address.coordinates.is_empty() => Some(Kind::Address),
        Operand::Vector(parts) if parts.iter().all(register) => Some(Kind::Vector(parts.len())),
        _ => None,
    };
    instruction.operands.iter().map(kind).collect()
}

/// An operand without what it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Register,
    Immediate,
    Label,
    Address,
    /// That many registers.
    Vector(usize),
}

/// The smallest version and target of what stands outside a function's instructions, when they are above the usual.
fn declarations_floor(function: &Function) -> Option<(PtxVersion, Target)> {
    let Directives { reqnctapercluster, explicitcluster, .. } = function.directives;
    let inlined = |s: &Statement| matches!(s, Statement::Source(SourceLine { inlined_at: Some(_), .. }));
    if reqnctapercluster.is_some() || explicitcluster {
        Some((PtxVersion::new(7, 8), Target::SM_90))
    } else if function.body.iter().any(inlined) {
        Some((PtxVersion::new(7, 2), Target { number: 50, specific: false }))
    } else {
        None
    }
}
