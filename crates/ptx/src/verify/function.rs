//! One function: its declarations, then each statement.

use super::error::{VerifyError, VerifyErrorKind};
use super::types;
use crate::instruction::{Address, Base, Instruction, Operand, RegisterId};
use crate::module::{Function, LabelId, Module, SourceLine, Statement, Symbol};
use crate::syntax::{SpecialRegister, Type, Word};
use crate::table::{self, Form, OperandForm, Shape, ValueForm};
use rustc_hash::FxHashSet;
use warpsmith_types::{PtxVersion, Target};

pub(super) fn verify(module: &Module, function: &Function, errors: &mut Vec<VerifyError>) {
    let mut verifier = Verifier { module, function, at: None, used: vec![0; function.labels.len()], errors };
    verifier.declarations();
    for (index, statement) in function.body.iter().enumerate() {
        match statement {
            Statement::Instruction(instruction) => {
                verifier.at = Some((index, instruction));
                verifier.instruction(instruction);
                verifier.at = None;
            }
            Statement::Label(id) => verifier.label_exists(*id),
            Statement::Source(source) => verifier.source(source),
            Statement::Pragma(_) => {}
        }
    }
    verifier.labels();
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    /// The statement that is looked at.
    at: Option<(usize, &'a Instruction)>,
    /// How often each label is jumped to.
    used: Vec<usize>,
    errors: &'a mut Vec<VerifyError>,
}

impl Verifier<'_> {
    fn error(&mut self, kind: impl Into<VerifyErrorKind>) {
        let instruction = self.at.map(|(index, i)| (index, i.display(self.function, self.module).to_string()));
        self.errors.push(VerifyError { function: self.function.name.clone(), instruction, kind: kind.into() });
    }

    fn declarations(&mut self) {
        let function = self.function;
        if let Some((version, target)) = super::declarations_floor(function) {
            self.floor(version, target, self.module.target.has(target));
        }
        let mut names = FxHashSet::default();
        let parameters = function.parameters.iter().chain(&function.results).map(|p| &p.name);
        let variables = function.variables.iter().map(|v| &v.name);
        let registers = function.registers.iter().map(|r| &r.name);
        let labels = function.labels.iter().map(|l| &l.name);
        for name in parameters.chain(variables).chain(registers).chain(labels) {
            if !names.insert(name) {
                self.error(VerifyErrorKind::Duplicate(name.clone()));
            }
        }
        for register in function.registers.iter().filter(|r| !types::declarable(r.ty)) {
            self.error(VerifyErrorKind::Declaration { name: register.name.clone(), ty: register.ty });
        }
    }

    /// Every label that is jumped to stands at one place, and none at two.
    fn labels(&mut self) {
        let mut places = vec![0; self.function.labels.len()];
        for statement in &self.function.body {
            if let Statement::Label(id) = statement
                && let Some(count) = places.get_mut(id.0 as usize)
            {
                *count += 1;
            }
        }
        for (index, label) in self.function.labels.iter().enumerate() {
            let (count, used) = (places[index], self.used[index]);
            if count > 1 || count == 0 && used > 0 {
                self.error(VerifyErrorKind::Label { name: label.name.clone(), count });
            }
        }
    }

    fn label_exists(&mut self, id: LabelId) {
        if id.0 as usize >= self.function.labels.len() {
            self.error(VerifyErrorKind::Missing(format!("label {}", id.0)));
        }
    }

    fn source(&mut self, source: &SourceLine) {
        let files = std::iter::once(source.file).chain(source.inlined_at.as_ref().map(|i| i.file));
        for file in files.collect::<Vec<_>>() {
            if !self.module.files.iter().any(|f| f.index == file) {
                self.error(VerifyErrorKind::File(file));
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        if let Some(guard) = instruction.guard
            && let Some((name, ty)) = self.register(guard.register)
            && ty != Type::Pred
        {
            self.error(VerifyErrorKind::Guard(name));
        }
        let form = match table::resolve(instruction) {
            Ok(form) => form,
            Err(error) => return self.error(error),
        };
        let (version, target) = form.floor(instruction);
        self.floor(version, target, form.is_on(self.module.target, instruction));
        self.operands(form, instruction);
    }

    /// Says what of a floor the module does not reach.
    fn floor(&mut self, version: PtxVersion, target: Target, on_target: bool) {
        if !on_target {
            self.error(VerifyErrorKind::Target { needs: target, target: self.module.target });
        }
        if self.module.version < version {
            self.error(VerifyErrorKind::Version { needs: version, version: self.module.version });
        }
    }

    fn operands(&mut self, form: &Form, instruction: &Instruction) {
        for (form, operand) in form.bind(instruction).unwrap_or_default() {
            match (form.shape, operand) {
                (Shape::Label, Operand::Label(id)) => self.jumps(*id),
                (Shape::Function, Operand::Symbol(symbol, _)) => self.symbol(*symbol),
                (Shape::List, Operand::Vector(parts)) => self.list(parts),
                (Shape::Address { tensor }, Operand::Address(address)) => self.address(address, tensor, instruction),
                (Shape::Value(value), operand) => self.value(form, &value, operand, instruction),
                (Shape::Pair { first, second, .. }, Operand::Pair(a, b)) => {
                    self.value(form, &first, a, instruction);
                    self.value(form, &second, b, instruction);
                }
                (Shape::Pair { first, .. }, operand) => self.value(form, &first, operand, instruction),
                _ => {}
            }
        }
    }

    fn address(&mut self, address: &Address, tensor: bool, instruction: &Instruction) {
        match address.base {
            Base::Register(id) => {
                if let Some((register, ty)) = self.register(id)
                    && !types::holds_address(ty)
                {
                    self.error(VerifyErrorKind::Address { register, ty });
                }
            }
            Base::Symbol(symbol) => self.symbol(symbol),
            Base::Absolute => {}
        }
        if !tensor {
            return;
        }
        let words = [Word::D1, Word::D2, Word::D3, Word::D4, Word::D5];
        let (given, dimensions) = (address.coordinates.len(), words.iter().position(|d| instruction.has(*d)));
        if let Some(dimensions) = dimensions.map(|i| i + 1).filter(|d| *d != given) {
            self.error(VerifyErrorKind::Coordinates { dimensions, given });
        }
        for coordinate in &address.coordinates {
            self.scalar("c", Type::S32, false, coordinate);
        }
    }

    /// What a call passes: names that exist.
    fn list(&mut self, parts: &[Operand]) {
        for part in parts {
            match part {
                Operand::Register(id) => {
                    self.register(*id);
                }
                Operand::Symbol(symbol, _) => self.symbol(*symbol),
                Operand::Label(id) => self.jumps(*id),
                _ => {}
            }
        }
    }

    /// A jump to a label.
    fn jumps(&mut self, id: LabelId) {
        self.label_exists(id);
        if let Some(used) = self.used.get_mut(id.0 as usize) {
            *used += 1;
        }
    }

    fn value(&mut self, form: &OperandForm, value: &ValueForm, operand: &Operand, instruction: &Instruction) {
        let Some(ty) = value.type_in(instruction) else { return };
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            operand => std::slice::from_ref(operand),
        };
        // The one special register that reads at two widths.
        let wider = value.wider || matches!(operand, Operand::Special(SpecialRegister::GridId));
        for part in parts {
            self.scalar(form.name, ty, wider, part);
        }
    }

    fn scalar(&mut self, operand: &'static str, expected: Type, wider: bool, part: &Operand) {
        let (register, ty) = match part {
            Operand::Register(id) | Operand::Not(id) => match self.register(*id) {
                Some(found) => found,
                None => return,
            },
            Operand::Special(special) => (format!("%{special}"), special.ty()),
            Operand::Immediate(literal) => {
                if !types::literal_fits(expected, *literal) {
                    let literal = literal.to_string();
                    self.error(VerifyErrorKind::Literal { operand, expected, literal });
                }
                return;
            }
            Operand::Symbol(symbol, _) => return self.symbol(*symbol),
            _ => return,
        };
        let negated = matches!(part, Operand::Not(_)) && ty != Type::Pred;
        if negated || !types::register_fits(expected, ty, wider) {
            self.error(VerifyErrorKind::Register { operand, expected, register, ty });
        }
    }

    /// Name and type of a register; says so when there is none.
    fn register(&mut self, id: RegisterId) -> Option<(String, Type)> {
        let register = self.function.registers.get(id.0 as usize).map(|r| (r.name.clone(), r.ty));
        if register.is_none() {
            self.error(VerifyErrorKind::Missing(format!("register {}", id.0)));
        }
        register
    }

    fn symbol(&mut self, symbol: Symbol) {
        let function = self.function;
        let (kind, index, count) = match symbol {
            Symbol::Parameter(i) => ("parameter", i, function.parameters.len() + function.results.len()),
            Symbol::Local(i) => ("variable of the function", i, function.variables.len()),
            Symbol::Function(i) => ("function", i, self.module.functions.len()),
            Symbol::Global(i) => ("variable of the module", i, self.module.variables.len()),
        };
        if index as usize >= count {
            self.error(VerifyErrorKind::Missing(format!("{kind} {index}")));
        }
    }
}
