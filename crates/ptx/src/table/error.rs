//! What is wrong with an instruction that has no form.

use super::forms_of;
use crate::instruction::Instruction;

/// An instruction that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// No row has these modifiers in this order.
    #[error("unsupported instruction `{name}`{}", hint(.known))]
    Modifiers {
        /// Opcode and modifiers.
        name: String,
        /// The closest row, when the opcode has any.
        known: Option<String>,
    },
    /// The instruction exists, with other operands.
    #[error("`{name}` takes {}", .expected.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(" or "))]
    Operands {
        /// Opcode and modifiers.
        name: String,
        /// The operands it can have.
        expected: Vec<&'static str>,
    },
}

fn hint(known: &Option<String>) -> String {
    known.as_ref().map_or_else(String::new, |row| format!("; the closest is `{row}`"))
}

impl FormError {
    pub(super) fn modifiers(instruction: &Instruction) -> FormError {
        // The closest row leaves the fewest modifiers without a slot; of those, the one with the fewest slots to fill.
        let distance = |form: &&&super::Form| {
            let alien =
                instruction.modifiers.iter().filter(|m| !form.slots.iter().any(|s| s.choices.contains(m))).count();
            let missing = form
                .slots
                .iter()
                .filter(|s| !s.optional && !s.choices.iter().any(|c| instruction.modifiers.contains(c)));
            alien + missing.count()
        };
        let known = forms_of(instruction.opcode).iter().min_by_key(distance).map(|f| f.spelling());
        FormError::Modifiers { name: instruction.name(), known }
    }

    pub(super) fn operands(instruction: &Instruction, expected: impl Iterator<Item = &'static str>) -> FormError {
        FormError::Operands { name: instruction.name(), expected: expected.collect() }
    }
}
