//! PTX text from data.
//!
//! The same data always prints the same text. Names come from the function and the module; an instruction printed by
//! itself shows the numbers of its registers instead.

mod function;
mod instruction;
mod integer;
mod module;
mod registers;

use crate::instruction::{Instruction, RegisterId};
use crate::module::{Function, LabelId, Module, Statement, Symbol};
use rustc_hash::FxHashMap;
use std::fmt;

/// Where names are looked up.
#[derive(Clone, Copy, Default)]
struct Names<'a> {
    module: Option<&'a Module>,
    function: Option<&'a Function>,
}

impl Names<'_> {
    fn register(&self, f: &mut impl fmt::Write, id: RegisterId) -> fmt::Result {
        match self.function.and_then(|function| function.registers.get(id.0 as usize)) {
            Some(register) => f.write_str(&register.name),
            None => write!(f, "%{}", id.0),
        }
    }

    fn label(&self, f: &mut impl fmt::Write, id: LabelId) -> fmt::Result {
        match self.function.and_then(|function| function.labels.get(id.0 as usize)) {
            Some(label) => f.write_str(&label.name),
            None => write!(f, "$L{}", id.0),
        }
    }

    fn symbol(&self, f: &mut impl fmt::Write, symbol: Symbol) -> fmt::Result {
        let (name, kind, index) = match symbol {
            Symbol::Parameter(i) => {
                let parameter = self.function.and_then(|function| {
                    let results = function.parameters.len();
                    let i = i as usize;
                    function.parameters.get(i).or_else(|| function.results.get(i.checked_sub(results)?))
                });
                (parameter.map(|p| &p.name), "parameter", i)
            }
            Symbol::Local(i) => {
                let variable = self.function.and_then(|function| function.variables.get(i as usize));
                (variable.map(|v| &v.name), "local", i)
            }
            Symbol::Global(i) => {
                let variable = self.module.and_then(|module| module.variables.get(i as usize));
                (variable.map(|v| &v.name), "global", i)
            }
            Symbol::Function(i) => {
                let function = self.module.and_then(|module| module.functions.get(i as usize));
                (function.map(|f| &f.name), "function", i)
            }
        };
        match name {
            Some(name) => f.write_str(name),
            None => write!(f, "${kind}{index}"),
        }
    }
}

/// The names of inlined functions, which `.loc` can only mention by a label in a debug section.
#[derive(Default)]
struct DebugStrings<'a> {
    labels: FxHashMap<&'a str, usize>,
    names: Vec<&'a str>,
}

impl<'a> DebugStrings<'a> {
    fn of(functions: &'a [Function]) -> DebugStrings<'a> {
        let mut strings = DebugStrings::default();
        for statement in functions.iter().flat_map(|f| &f.body) {
            if let Statement::Source(source) = statement
                && let Some(inlined) = &source.inlined_at
            {
                strings.labels.entry(&inlined.function).or_insert_with(|| {
                    strings.names.push(&inlined.function);
                    strings.names.len() - 1
                });
            }
        }
        strings
    }
}

impl Instruction {
    /// The instruction with the names of its function and module.
    pub fn display<'a>(&'a self, function: &'a Function, module: &'a Module) -> impl fmt::Display + 'a {
        let names = Names { module: Some(module), function: Some(function) };
        fmt::from_fn(move |f| instruction::write(f, self, names, &mut Default::default()))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        instruction::write(f, self, Names::default(), &mut Default::default())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        function::write(f, self, None, &DebugStrings::of(std::slice::from_ref(self)))
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        module::write(f, self)
    }
}
