//! An instruction for every alternative of every row of the table, in a function that declares what they use.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use warpsmith_ptx::table::{Form, OperandForm, Presence, Role, Shape, ValueForm, forms};
use warpsmith_ptx::*;
use warpsmith_types::{PtxVersion, Target};

/// The same module as if it had not been parsed: without line numbers of the text.
pub(crate) fn without_lines(mut module: Module) -> Module {
    for statement in module.functions.iter_mut().flat_map(|f| &mut f.body) {
        if let Statement::Instruction(instruction) = statement {
            instruction.line = 0;
        }
    }
    module
}

/// Every instruction of every form, in modules that each have one version and target: the smallest that will do.
pub(crate) fn modules(breadth: Breadth) -> Vec<Module> {
    let mut modules: Vec<Module> = vec![];
    for form in forms() {
        for modifiers in choices(form, breadth) {
            for full in [false, true] {
                for target in targets(form, &modifiers) {
                    let probe = Instruction::new(form.opcode, modifiers.iter().copied(), []);
                    let version = form.floor(&probe).0.max(target.version_floor());
                    let module = match modules.iter_mut().find(|m| m.version == version && m.target == target) {
                        Some(module) => module,
                        None => {
                            modules.push(module_for(version, target));
                            modules.last_mut().unwrap()
                        }
                    };
                    // Short functions: an assembler's time grows faster than their length.
                    if module.functions.last().is_none_or(|f| f.body.len() > 60) {
                        module.functions.push(function_for(module.functions.len()));
                    }
                    let function = module.functions.last_mut().unwrap();
                    let mut writer = Writer { function, full, instruction: probe, used: BTreeMap::new() };
                    writer.write(form);
                }
            }
        }
    }
    modules.iter_mut().flat_map(|m| &mut m.functions).for_each(sort_registers);
    modules
}

/// The printer groups registers by type, so only registers in that order come back as they were.
fn sort_registers(function: &mut Function) {
    let mut order: Vec<usize> = (0..function.registers.len()).collect();
    let mut types: Vec<Type> = vec![];
    for r in &function.registers {
        if !types.contains(&r.ty) {
            types.push(r.ty);
        }
    }
    order.sort_by_key(|i| types.iter().position(|t| *t == function.registers[*i].ty));
    let mut place = vec![0u32; order.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old] = new as u32;
    }
    function.registers = order.iter().map(|i| function.registers[*i].clone()).collect();
    for statement in &mut function.body {
        if let Statement::Instruction(instruction) = statement {
            if let Some(guard) = &mut instruction.guard {
                guard.register.0 = place[guard.register.0 as usize];
            }
            instruction.operands.iter_mut().for_each(|o| renumber(o, &place));
        }
    }
}

fn renumber(operand: &mut Operand, place: &[u32]) {
    match operand {
        Operand::Register(id) | Operand::Not(id) => id.0 = place[id.0 as usize],
        Operand::Vector(parts) => Arc::make_mut(parts).iter_mut().for_each(|p| renumber(p, place)),
        Operand::Pair(a, b) => {
            renumber(a, place);
            renumber(b, place);
        }
        Operand::Address(address) => {
            if let Base::Register(id) = &mut address.base {
                id.0 = place[id.0 as usize];
            }
            address.coordinates.iter_mut().for_each(|p| renumber(p, place));
        }
        _ => {}
    }
}

fn targets(form: &Form, modifiers: &[Modifier]) -> Vec<Target> {
    let probe = Instruction::new(form.opcode, modifiers.iter().copied(), []);
    let floor = form.floor(&probe).1;
    let first = if floor.number <= 80 { Target::SM_80 } else { floor };
    let others = form.row.also.iter().map(|number| Target { number: *number, specific: true });
    std::iter::once(first).chain(others).collect()
}

/// How many of a form's combinations of modifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breadth {
    /// A first choice, then each alternative of each slot in turn.
    Alternatives,
    /// Each pair of alternatives of two slots too, but for the longest slots.
    Pairs,
}

fn choices(form: &Form, breadth: Breadth) -> Vec<Vec<Modifier>> {
    let first: Vec<Option<Modifier>> =
        form.slots.iter().map(|s| if s.optional { None } else { Some(s.choices[0]) }).collect();
    let others = |slot: usize| form.slots[slot].choices.iter().skip(usize::from(!form.slots[slot].optional));
    let mut all = vec![first.clone()];
    for i in 0..form.slots.len() {
        for a in others(i) {
            let mut one = first.clone();
            one[i] = Some(*a);
            all.push(one.clone());
            let pairs = breadth == Breadth::Pairs && form.slots[i].choices.len() <= 20;
            for j in (i + 1..form.slots.len()).filter(|j| pairs && form.slots[*j].choices.len() <= 20) {
                for b in others(j) {
                    let mut two = one.clone();
                    two[j] = Some(*b);
                    all.push(two);
                }
            }
        }
    }
    // Some combinations are an earlier row's, or not allowed in any.
    all.into_iter().map(|m| m.into_iter().flatten().collect::<Vec<_>>()).filter(|m| form.takes_modifiers(m)).collect()
}

fn module_for(version: PtxVersion, target: Target) -> Module {
    let mut module = Module::new(version, target);
    module.variables.push(variable("table", StateSpace::Const));
    module.variables.push(variable("buffer", StateSpace::Global));
    module.variables.push(variable("tile", StateSpace::Shared));
    for (results, parameters) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        module.functions.push(Function {
            kind: FunctionKind::Device,
            results: (0..results).map(|_| bytes("result", 1024)).collect(),
            parameters: (0..parameters).map(|_| bytes("argument", 1024)).collect(),
            body: vec![Statement::Instruction(Instruction::new(Opcode::Ret, [], []))],
            ..Function::entry(format!("callee_{results}_{parameters}"))
        });
    }
    module.functions.push(function_for(4));
    module
}

fn function_for(index: usize) -> Function {
    let mut function = Function::entry(format!("rows_{index}"));
    function.parameters.push(bytes("argument", 256));
    function.variables.push(variable("stack", StateSpace::Local));
    function.variables.push(variable("sent", StateSpace::Param));
    function
}

fn bytes(name: &str, count: u64) -> Parameter {
    Parameter { name: name.into(), ty: Type::B8, align: 16, count, array: true, pointer: None }
}

fn variable(name: &str, space: StateSpace) -> Variable {
    let linkage = Linkage::Internal;
    Variable { name: name.into(), space, linkage, align: 16, ty: Type::B8, count: Some(1024), init: vec![] }
}

struct Writer<'a> {
    function: &'a mut Function,
    /// With optional operands, pairs, negations and sinks.
    full: bool,
    instruction: Instruction,
    /// How many registers of each type it has already.
    used: BTreeMap<Type, u32>,
}

impl Writer<'_> {
    fn write(&mut self, form: &Form) {
        let mut label = None;
        for operand in &form.operands {
            let there = match operand.presence {
                Presence::Always => true,
                Presence::Optional => self.full,
                Presence::With(modifier) => self.instruction.modifiers.contains(&modifier),
            };
            if there {
                let operand = self.operand(operand, &mut label);
                self.instruction.operands.push(operand);
            }
        }
        if matches!(self.instruction.opcode, Opcode::Ret | Opcode::Exit | Opcode::Trap | Opcode::Bra) {
            let register = self.register(Type::Pred);
            self.instruction.guard = Some(Guard { register, negated: self.full });
        }
        self.function.body.push(Statement::Instruction(self.instruction.clone()));
        if let Some(label) = label {
            self.function.body.push(Statement::Label(label));
        }
    }

    fn operand(&mut self, form: &OperandForm, label: &mut Option<LabelId>) -> Operand {
        match form.shape {
            Shape::Label => {
                let id = LabelId(self.function.labels.len() as u32);
                self.function.labels.push(Label { name: format!("$L{}", id.0) });
                *label = Some(id);
                Operand::Label(id)
            }
            Shape::Address { tensor } => {
                let base = self.base();
                let coordinates = if tensor { self.coordinates() } else { vec![] };
                let offset = if self.full && !tensor { 16 } else { 0 };
                Operand::Address(Address { base, offset, coordinates })
            }
            Shape::List if self.instruction.opcode == Opcode::BrxIdx => {
                let id = LabelId(self.function.labels.len() as u32);
                self.function.labels.push(Label { name: format!("$L{}", id.0) });
                *label = Some(id);
                Operand::Vector(vec![Operand::Label(id); 1 + usize::from(self.full)].into())
            }
            Shape::List => Operand::Vector([Operand::Symbol(Symbol::Local(1), 0)].into()),
            Shape::Function => {
                let results = self.instruction.operands.len() as u32;
                Operand::Symbol(Symbol::Function(2 * results + u32::from(self.full)), 0)
            }
            Shape::Pair { first, second, optional } => {
                let a = self.value(form, &first);
                if optional && !self.full {
                    return a;
                }
                Operand::Pair(Box::new(a), Box::new(self.value(form, &second)))
            }
            Shape::Value(value) => self.value(form, &value),
        }
    }

    fn base(&mut self) -> Base {
        let i = &self.instruction;
        if i.has(Word::ParamFunc) || i.has(Word::Param) && i.opcode == Opcode::St {
            Base::Symbol(Symbol::Local(1))
        } else if i.has(Word::Param) || i.has(Word::ParamEntry) {
            Base::Symbol(Symbol::Parameter(0))
        } else if i.has(Word::Const) {
            Base::Symbol(Symbol::Global(0))
        } else if i.has(Word::Local) {
            Base::Symbol(Symbol::Local(0))
        } else {
            Base::Register(self.register(Type::B64))
        }
    }

    fn coordinates(&mut self) -> Vec<Operand> {
        let dims = [Word::D1, Word::D2, Word::D3, Word::D4, Word::D5];
        let count = dims.iter().position(|d| self.instruction.has(*d)).map_or(1, |i| i + 1);
        (0..count).map(|_| Operand::Register(self.register(Type::B32))).collect()
    }

    fn value(&mut self, form: &OperandForm, value: &ValueForm) -> Operand {
        let ty = value.type_in(&self.instruction).expect("a type");
        match value.count_in(&self.instruction) {
            Some(n) => Operand::Vector((0..n).map(|_| Operand::Register(self.register(stored(ty, value)))).collect()),
            None => self.scalar(form, value, ty),
        }
    }

    fn scalar(&mut self, form: &OperandForm, value: &ValueForm, ty: Type) -> Operand {
        if value.literal {
            let number = match (self.instruction.opcode, form.name) {
                (Opcode::Discard | Opcode::Applypriority | Opcode::Fence, _) => 128,
                (Opcode::Setmaxnreg, _) => 40,
                (Opcode::Cp, "size") => 16,
                (Opcode::Lop3, _) => 0x96,
                (Opcode::Tensormap, "size") => 128,
                _ => 1,
            };
            return Operand::Immediate(Immediate::Integer(number));
        }
        let remote = self.instruction.opcode == Opcode::Mbarrier && self.instruction.has(Word::SharedCluster);
        if value.sink && (self.full || remote) {
            return Operand::Sink;
        }
        if self.full && form.name == "fraction" {
            return Operand::Immediate(Immediate::F32(1f32.to_bits()));
        }
        let id = self.register(stored(ty, value));
        if ty == Type::Pred && self.full && form.role == Role::Source {
            Operand::Not(id)
        } else {
            Operand::Register(id)
        }
    }

    /// A register that no other operand of the instruction uses.
    fn register(&mut self, ty: Type) -> RegisterId {
        let n = self.used.entry(ty).or_insert(0);
        let name = format!("%{ty}_{n}");
        *n += 1;
        let known = self.function.registers.iter().position(|r| r.name == name);
        let index = known.unwrap_or_else(|| {
            self.function.registers.push(Register { name, ty });
            self.function.registers.len() - 1
        });
        RegisterId(index as u32)
    }
}

/// The type of a register for values of a type.
fn stored(ty: Type, value: &ValueForm) -> Type {
    match ty {
        Type::Pred | Type::F32 | Type::F64 => ty,
        _ if ty.bits() == 8 && value.wider => Type::B32,
        _ => match ty.bits() {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        },
    }
}
