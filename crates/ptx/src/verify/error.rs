//! What can be wrong with a module.

use crate::syntax::Type;
use crate::table::FormError;
use warpsmith_types::{PtxVersion, Target};

/// Something in a module that no assembler would take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{kind}", place(.function, .instruction))]
pub struct VerifyError {
    /// The function it is in; empty for the module itself.
    pub function: String,
    /// The statement of the body, counted from 0, and its text, if it is about one.
    pub instruction: Option<(usize, String)>,
    /// What is wrong.
    pub kind: VerifyErrorKind,
}

fn place(function: &str, instruction: &Option<(usize, String)>) -> String {
    match (function, instruction) {
        ("", _) => String::new(),
        (function, None) => format!("`{function}`: "),
        (function, Some((_, text))) => format!("`{function}`, `{text}`: "),
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyErrorKind {
    /// The table has no such instruction.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The target lacks the instruction.
    #[error("the first target that has it is {needs}, the module is for {target}")]
    Target {
        /// The first that has it.
        needs: Target,
        /// The module's.
        target: Target,
    },
    /// `.version` is too small for the instruction.
    #[error("it needs `.version` {needs}, the module says {version}")]
    Version {
        /// The first that has it.
        needs: PtxVersion,
        /// The module's.
        version: PtxVersion,
    },
    /// `.version` is too small for the target.
    #[error("{target} needs `.version` {needs}, the module says {version}")]
    TargetVersion {
        /// The module's target.
        target: Target,
        /// The first that knows it.
        needs: PtxVersion,
        /// The module's.
        version: PtxVersion,
    },
    /// A register of a type that the operand can not have.
    #[error("operand `{operand}` is of type {expected}, but `{register}` is a register of type {ty}")]
    Register {
        /// The operand's name in the table.
        operand: &'static str,
        /// What it must be.
        expected: Type,
        /// The register's name.
        register: String,
        /// The register's type.
        ty: Type,
    },
    /// A literal of a type that the operand can not have.
    #[error("operand `{operand}` is of type {expected}, which `{literal}` is not")]
    Literal {
        /// The operand's name in the table.
        operand: &'static str,
        /// What it must be.
        expected: Type,
        /// The literal.
        literal: String,
    },
    /// An address in a register that can not hold one.
    #[error("`{register}`, of type {ty}, can not hold an address")]
    Address {
        /// The register's name.
        register: String,
        /// The register's type.
        ty: Type,
    },
    /// A tensor access with too few or too many coordinates.
    #[error("a tensor of {dimensions} dimensions takes as many coordinates, not {given}")]
    Coordinates {
        /// By the instruction.
        dimensions: usize,
        /// By the operand.
        given: usize,
    },
    /// A guard that is no predicate.
    #[error("the guard `{0}` is not a predicate")]
    Guard(String),
    /// A register, symbol or label that the function does not have.
    #[error("{0} does not exist")]
    Missing(String),
    /// A label that is used and stands nowhere, or more than once.
    #[error("label `{name}` stands at {count} places")]
    Label {
        /// Its name.
        name: String,
        /// At how many.
        count: usize,
    },
    /// A register of a type that only instructions have.
    #[error("register `{name}` can not be declared as {ty}")]
    Declaration {
        /// Its name.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// Two things of one name.
    #[error("`{0}` is declared twice")]
    Duplicate(String),
    /// A line of a file that the module does not list.
    #[error("`.loc` names file {0}, which no `.file` declares")]
    File(u32),
}
