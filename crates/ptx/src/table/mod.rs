//! The one table of operations.
//!
//! A [`Row`] says in text what an operation looks like, where it exists and what it does; a [`Form`] is the row with
//! its text read. [`resolve`] finds the form of an instruction. Rows stand in `rows`, a file per family.

mod error;
mod floors;
mod form;
mod notation;
mod row;
mod rows;
mod rules;
pub mod sets;

pub use error::FormError;
pub use form::{Form, Lanes, OperandForm, Presence, Role, Shape, Slot, TypeOf, ValueForm};
pub use notation::NotationError;
pub use row::{Convergence, Effect, Row};

use crate::instruction::Instruction;
use crate::syntax::Opcode;
use std::sync::LazyLock;

/// Every row, in the order of the families.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    rows::FAMILIES.iter().flat_map(|family| family.iter())
}

/// Reads one row.
pub fn compile(index: usize, row: &'static Row) -> Result<Form, NotationError> {
    let (opcode, slots) = notation::slots(row.syntax)?;
    Ok(Form { row, index, opcode, slots, operands: notation::operands(row.operands)? })
}

/// Every form, in the order of [`rows`].
pub fn forms() -> &'static [Form] {
    // That every row reads is a test of this crate.
    static FORMS: LazyLock<Vec<Form>> =
        LazyLock::new(|| rows().enumerate().filter_map(|(index, row)| compile(index, row).ok()).collect());
    &FORMS
}

/// The forms of an opcode.
pub fn forms_of(opcode: Opcode) -> &'static [&'static Form] {
    static BY_OPCODE: LazyLock<Vec<Vec<&'static Form>>> =
        LazyLock::new(|| Opcode::ALL.iter().map(|o| forms().iter().filter(|f| f.opcode == *o).collect()).collect());
    BY_OPCODE.get(opcode as usize).map_or(&[], Vec::as_slice)
}

/// The form of an instruction: the first of its opcode whose modifiers, and number and kinds of operands, fit. Types
/// of registers are left to [`Module::verify`](crate::Module::verify).
pub fn resolve(instruction: &Instruction) -> Result<&'static Form, FormError> {
    let mut named =
        forms_of(instruction.opcode).iter().filter(|f| f.takes_modifiers(&instruction.modifiers)).peekable();
    if named.peek().is_none() {
        return Err(FormError::modifiers(instruction));
    }
    let candidates = named.clone();
    match named.find(|f| f.bind(instruction).is_some()) {
        Some(form) => Ok(form),
        None => Err(FormError::operands(instruction, candidates.map(|f| f.row.operands))),
    }
}

/// The form of an instruction, whose modifiers are put in the table's order where they are in another.
///
/// Assemblers take orders that the manual does not have, and headers of CUDA use them (`atom.add.release.gpu.u32`).
pub fn arrange(instruction: &mut Instruction) -> Result<&'static Form, FormError> {
    let error = match resolve(instruction) {
        Ok(form) => return Ok(form),
        Err(error) => error,
    };
    for form in forms_of(instruction.opcode) {
        if let Some(modifiers) = form.arrange(&instruction.modifiers) {
            let arranged = Instruction { modifiers: modifiers.into_iter().collect(), ..instruction.clone() };
            if form.bind(&arranged).is_some() {
                *instruction = arranged;
                return Ok(form);
            }
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads() {
        for (index, row) in rows().enumerate() {
            compile(index, row).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
