//! Names and what they stand for.

use super::error::ParseErrorKind;
use crate::instruction::{Operand, RegisterId};
use crate::module::{Label, LabelId, Register, Symbol};
use crate::syntax::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// No function has more: a declaration beyond it is a mistake, and must not take all memory.
const MOST_REGISTERS: usize = 1 << 18;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Register(RegisterId),
    Symbol(Symbol),
    Label(LabelId),
    /// A table of labels, by its place among [`Scopes::tables`].
    Table(u32),
}

/// No function nests deeper: every use of a name looks through the scopes.
const MOST_SCOPES: usize = 200;

/// What the names of a module stand for.
#[derive(Default)]
pub(super) struct Names {
    pub(super) meanings: FxHashMap<String, Meaning>,
    /// Functions in the order in which their names came. In a body they are known by that place; only the whole file
    /// says which of the module's functions it is.
    pub(super) functions: Vec<String>,
}

impl Names {
    pub(super) fn function(&mut self, name: &str) {
        let place = self.functions.len() as u32;
        self.meanings.entry(name.into()).or_insert_with(|| {
            self.functions.push(name.into());
            Meaning::Symbol(Symbol::Function(place))
        });
    }
}

/// The scopes of a function that are open, the outermost first.
pub(super) struct Scopes<'m> {
    module: &'m Names,
    open: Vec<FxHashMap<String, Meaning>>,
    /// Names that are taken in the function, whatever the scope.
    taken: FxHashSet<String>,
    /// How many names were made from one, so that the next is found at once.
    copies: FxHashMap<String, u32>,
    pub(super) registers: Vec<Register>,
    pub(super) labels: Vec<Label>,
    /// What `brx.idx` jumps to.
    pub(super) tables: Vec<Arc<[Operand]>>,
}

impl<'m> Scopes<'m> {
    /// The scope of the parameters, inside the module's.
    pub(super) fn new(module: &'m Names) -> Scopes<'m> {
        Scopes {
            module,
            open: vec![FxHashMap::default()],
            taken: FxHashSet::default(),
            copies: FxHashMap::default(),
            registers: vec![],
            labels: vec![],
            tables: vec![],
        }
    }

    pub(super) fn enter(&mut self) -> Result<(), ParseErrorKind> {
        if self.open.len() > MOST_SCOPES {
            return Err(ParseErrorKind::TooDeep(MOST_SCOPES));
        }
        self.open.push(FxHashMap::default());
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn find(&self, name: &str) -> Option<Meaning> {
        let inside = self.open.iter().rev().find_map(|scope| scope.get(name));
        inside.or_else(|| self.module.meanings.get(name)).copied()
    }

    pub(super) fn declare(&mut self, name: &str, meaning: Meaning) -> Result<(), ParseErrorKind> {
        let Some(scope) = self.open.last_mut() else { return Ok(()) };
        match scope.insert(name.into(), meaning) {
            None => Ok(()),
            Some(_) => Err(ParseErrorKind::Duplicate(name.into())),
        }
    }

    /// A parameter keeps its name, even one that the module has too.
    pub(super) fn parameter(&mut self, name: &str, index: u32) -> Result<(), ParseErrorKind> {
        self.taken.insert(name.into());
        self.declare(name, Meaning::Symbol(Symbol::Parameter(index)))
    }

    /// The name itself, or when another scope has it, one made from it.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_string();
        while self.module.meanings.contains_key(&unique) || !self.taken.insert(unique.clone()) {
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

    /// A table of labels.
    pub(super) fn table(&mut self, name: &str, targets: Vec<Operand>) -> Result<(), ParseErrorKind> {
        self.declare(name, Meaning::Table(self.tables.len() as u32))?;
        self.tables.push(targets.into());
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
