//! Names and what they stand for.

use super::error::ParseErrorKind;
use crate::instruction::RegisterId;
use crate::module::{Label, LabelId, Register, Symbol};
use crate::syntax::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// No function has more: a declaration beyond it is a mistake, and must not take all memory.
const MOST_REGISTERS: usize = 1 << 18;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Register(RegisterId),
    Symbol(Symbol),
    Label(LabelId),
}

/// The scopes that are open, the outermost first.
#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<FxHashMap<String, Meaning>>,
    /// Names that are taken in the function, whatever the scope.
    taken: FxHashSet<String>,
    /// How many names were made from one, so that the next is found at once.
    copies: FxHashMap<String, u32>,
    pub(super) registers: Vec<Register>,
    pub(super) labels: Vec<Label>,
}

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.open.push(FxHashMap::default());
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn find(&self, name: &str) -> Option<Meaning> {
        self.open.iter().rev().find_map(|scope| scope.get(name).copied())
    }

    pub(super) fn declare(&mut self, name: &str, meaning: Meaning) -> Result<(), ParseErrorKind> {
        let Some(scope) = self.open.last_mut() else { return Ok(()) };
        match scope.insert(name.into(), meaning) {
            None => Ok(()),
            Some(_) => Err(ParseErrorKind::Duplicate(name.into())),
        }
    }

    /// The name itself, or when another scope has it, one made from it.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_string();
        while !self.taken.insert(unique.clone()) {
            let copy = self.copies.entry(name.into()).or_insert(1);
            *copy += 1;
            unique = format!("{name}_{copy}");
        }
        unique
    }

    pub(super) fn register(&mut self, name: &str, ty: Type) -> Result<(), ParseErrorKind> {
        if self.registers.len() >= MOST_REGISTERS {
            return Err(ParseErrorKind::TooManyRegisters(MOST_REGISTERS));
        }
        let id = RegisterId(self.registers.len() as u32);
        self.declare(name, Meaning::Register(id))?;
        let name = self.unique(name);
        self.registers.push(Register { name, ty });
        Ok(())
    }

    pub(super) fn label(&mut self, name: &str) -> Result<(), ParseErrorKind> {
        let id = LabelId(self.labels.len() as u32);
        self.declare(name, Meaning::Label(id))?;
        let name = self.unique(name);
        self.labels.push(Label { name });
        Ok(())
    }
}
