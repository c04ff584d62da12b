//! PTX text to data: a lexer, and a recursive descent that asks the table what an instruction may be.

mod body;
mod cursor;
mod error;
mod function;
mod lexer;
mod module;
mod number;
mod operand;
mod scope;
mod variable;

pub use error::{ParseError, ParseErrorKind};

use crate::module::Module;

/// Reads a PTX file.
///
/// Registers of nested scopes become registers of the function, with names of their own. Instructions that the table
/// does not have are errors, as are calls, vector registers and tables of branch targets.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    module::parse(cursor::Cursor::new(text)?)
}
