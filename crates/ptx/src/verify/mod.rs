//! Whether an assembler would take a module.

mod error;
mod function;
mod types;

pub use error::{VerifyError, VerifyErrorKind};

use crate::module::{Directives, Function, Module, SourceLine, Statement};
use crate::table;
use rustc_hash::FxHashSet;
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
        let instructions = self.functions.iter().flat_map(|f| &f.body).filter_map(|s| match s {
            Statement::Instruction(i) => table::resolve(i).ok().map(|form| form.floor(i).0),
            _ => None,
        });
        let declared = self.functions.iter().filter_map(declarations_floor).map(|(version, _)| version);
        instructions.chain(declared).fold(self.target.version_floor(), PtxVersion::max)
    }
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
