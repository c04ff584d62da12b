//! PTX as data.
//!
//! A [`Module`] holds functions, a [`Function`] holds statements, an [`Instruction`] is an opcode, its modifiers in
//! order, and operands. What exists, in which order modifiers come, which operands an operation takes, and from which
//! target and version it is there, stands in one table ([`table`]); the printer, the parser, the verifier and the
//! emulator's decoder all read it, so a new instruction is a new row.

pub mod instruction;
pub mod module;
pub mod syntax;
pub mod table;

mod parse;
mod print;
mod verify;

pub use instruction::{Address, Base, Guard, Immediate, Instruction, Operand, RegisterId};
pub use module::{
    Directives, File, Function, FunctionKind, InlinedAt, Label, LabelId, Linkage, Module, Parameter, Register,
    SourceLine, Statement, Symbol, Variable,
};
pub use parse::{ParseError, ParseErrorKind, parse};
pub use syntax::{Modifier, Opcode, SpecialRegister, StateSpace, Type, Word};
pub use verify::{VerifyError, VerifyErrorKind};
