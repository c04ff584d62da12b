//! What can be wrong with a text.

use crate::table::FormError;

/// A text that is no PTX module, or one with something unsupported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line}, column {column}")]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// A character that starts nothing.
    #[error("stray character `{0}`")]
    Character(char),
    /// A comment or string that does not end.
    #[error("{0} without an end")]
    Unterminated(&'static str),
    /// A number that does not read, or does not fit.
    #[error("`{0}` is not a number of PTX, or too large")]
    Number(String),
    /// Something else than what must come here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What must come.
        expected: String,
        /// What comes.
        found: String,
    },
    /// PTX that this crate does not read.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// An instruction that the table does not have, or with operands that it does not take.
    #[error(transparent)]
    Instruction(#[from] FormError),
    /// An opcode or modifier that is no word of PTX known here.
    #[error("unsupported instruction `{0}`")]
    UnknownInstruction(String),
    /// A name that is not declared.
    #[error("`{0}` is not declared")]
    UnknownName(String),
    /// A name that is declared twice in its scope.
    #[error("`{0}` is declared twice")]
    Duplicate(String),
    /// Scopes inside scopes inside scopes.
    #[error("more than {0} scopes inside one another")]
    TooDeep(usize),
    /// More registers than any function has.
    #[error("more than {0} registers")]
    TooManyRegisters(usize),
}
