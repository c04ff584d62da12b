//! The PTX function being written: its registers, labels, names and operands.

use super::lines::Lines;
use super::print::{Prints, VPRINTF};
use super::{LowerOptions, types};
use crate::kernel::{Kernel, LocationId, RegisterId, Value};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use warpsmith_ptx as ptx;
use warpsmith_ptx::{
    Function, Immediate, Instruction, Label, LabelId, Modifier, Opcode, Operand, Statement, Symbol, Variable,
};
use warpsmith_types::Location;

/// Where a value is.
#[derive(Clone, Copy)]
enum Held {
    /// In no place yet.
    Nowhere,
    /// In a register.
    Register(ptx::RegisterId),
    /// Nowhere: its bits are known.
    Constant(u64),
}

/// Where a loop is left, and where its next trip is prepared.
pub(super) struct LoopLabels {
    pub(super) end: LabelId,
    /// Set once somebody jumps there.
    pub(super) next: Option<LabelId>,
}

/// A function under construction.
pub(super) struct Builder {
    pub(super) function: Function,
    pub(super) names: Names,
    pub(super) lines: Lines,
    /// Variables of the module.
    pub(super) globals: Vec<Variable>,
    pub(super) prints: Prints,
    /// Where each shared variable is.
    pub(super) shared: Vec<(Symbol, i64)>,
    types: Vec<Type>,
    values: Vec<Held>,
    /// The PTX register of each mutable register, once it is named.
    mutable: Vec<Option<ptx::RegisterId>>,
    mutable_types: Vec<Type>,
    /// Accumulators, by first register and length.
    accumulators: FxHashMap<(u32, u32), Arc<[Operand]>>,
    /// Registers so far, by class.
    counts: [u32; 6],
    /// Those of inline PTX.
    inline_registers: u32,
    /// The loops around, the innermost last.
    pub(super) loops: Vec<LoopLabels>,
    /// The end of the kernel, once somebody jumps there.
    pub(super) exit: Option<LabelId>,
}

impl Builder {
    pub(super) fn new(kernel: &Kernel, options: &LowerOptions) -> Builder {
        let mut names = Names::default();
        names.unique(&kernel.name);
        names.unique(VPRINTF);
        let mut function = Function::entry(kernel.name.clone());
        function.body.reserve(kernel.len());
        Builder {
            function,
            names,
            lines: Lines::new(options.line_info),
            globals: vec![],
            prints: Prints::default(),
            shared: vec![],
            types: kernel.values.clone(),
            values: vec![Held::Nowhere; kernel.values.len()],
            mutable: vec![None; kernel.registers.len()],
            mutable_types: kernel.registers.clone(),
            accumulators: FxHashMap::default(),
            counts: [0; 6],
            inline_registers: 0,
            loops: vec![],
            exit: None,
        }
    }

    pub(super) fn type_of(&self, v: Value) -> Type {
        self.types[v.0 as usize]
    }

    /// A new register for values of a type.
    pub(super) fn register(&mut self, ty: Type) -> ptx::RegisterId {
        let (class, prefix) = match ty {
            Type::Bool => (0, "%p"),
            Type::U8 | Type::I8 | Type::U16 | Type::I16 | Type::F16 | Type::BF16 => (1, "%rs"),
            Type::I32 | Type::U32 => (2, "%r"),
            Type::I64 | Type::U64 => (3, "%rd"),
            Type::F32 => (4, "%f"),
            Type::F64 => (5, "%fd"),
        };
        let name = format!("{prefix}{}", self.counts[class]);
        self.counts[class] += 1;
        self.function.registers.push(ptx::Register { name, ty: types::register(ty) });
        ptx::RegisterId(self.function.registers.len() as u32 - 1)
    }

    /// A new register of inline PTX.
    pub(super) fn inline_register(&mut self, ty: ptx::Type) -> ptx::RegisterId {
        let name = format!("%inline{}", self.inline_registers);
        self.inline_registers += 1;
        self.function.registers.push(ptx::Register { name, ty });
        ptx::RegisterId(self.function.registers.len() as u32 - 1)
    }

    /// The register that a result goes to.
    pub(super) fn define(&mut self, v: Value) -> ptx::RegisterId {
        let register = self.register(self.type_of(v));
        self.values[v.0 as usize] = Held::Register(register);
        register
    }

    /// Says that a value needs no register.
    pub(super) fn hold_constant(&mut self, v: Value, bits: u64) {
        self.values[v.0 as usize] = Held::Constant(bits);
    }

    /// The bits of a constant.
    pub(super) fn constant(&self, v: Value) -> Option<u64> {
        match self.values[v.0 as usize] {
            Held::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// The register of a mutable register.
    pub(super) fn mutable(&mut self, id: RegisterId) -> ptx::RegisterId {
        let i = id.0 as usize;
        match self.mutable[i] {
            Some(register) => register,
            None => {
                let register = self.register(self.mutable_types[i]);
                self.mutable[i] = Some(register);
                register
            }
        }
    }

    /// The PTX registers of mutable registers, one after another.
    pub(super) fn mutables(&mut self, first: RegisterId, count: u32) -> Arc<[Operand]> {
        let key = (first.0, count);
        if let Some(known) = self.accumulators.get(&key) {
            return known.clone();
        }
        let all = first.0..first.0 + count;
        let made: Arc<[Operand]> = all.map(|r| self.mutable(RegisterId(r)).into_operand()).collect();
        self.accumulators.insert(key, made.clone());
        made
    }

    /// A value as an operand: an immediate where PTX has one of its type.
    pub(super) fn operand(&mut self, v: Value) -> Operand {
        let ty = self.type_of(v);
        match self.constant(v) {
            Some(bits) if !matches!(ty, Type::Bool | Type::F16 | Type::BF16) => Operand::Immediate(immediate(ty, bits)),
            _ => Operand::Register(self.in_register(v)),
        }
    }

    /// A value in a register. A constant is moved to a new one each time: the place of its definition may not
    /// dominate a shared one, and `ptxas` merges them.
    pub(super) fn in_register(&mut self, v: Value) -> ptx::RegisterId {
        let ty = self.type_of(v);
        match self.values[v.0 as usize] {
            Held::Register(register) => register,
            Held::Constant(bits) => {
                let register = self.register(ty);
                self.set_constant(register, ty, bits);
                register
            }
            Held::Nowhere => self.register(ty),
        }
    }

    /// `mov register, bits`.
    pub(super) fn set_constant(&mut self, register: ptx::RegisterId, ty: Type, bits: u64) {
        self.emit(Opcode::Mov, [types::register(ty)], [register.into_operand(), immediate(ty, bits).into_operand()]);
    }

    /// Appends an instruction.
    pub(super) fn emit<M: Into<Modifier>>(
        &mut self,
        opcode: Opcode,
        modifiers: impl IntoIterator<Item = M>,
        operands: impl IntoIterator<Item = Operand>,
    ) {
        self.push(Instruction::new(opcode, modifiers.into_iter().map(Into::into), operands));
    }

    /// Appends a finished instruction.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.function.body.push(Statement::Instruction(instruction));
    }

    /// A new label; the number keeps it apart from others of its kind.
    pub(super) fn label(&mut self, kind: &str) -> LabelId {
        let id = self.function.labels.len() as u32;
        self.function.labels.push(Label { name: format!("${kind}_{id}") });
        LabelId(id)
    }

    /// Puts a label here.
    pub(super) fn place(&mut self, label: LabelId) {
        self.function.body.push(Statement::Label(label));
    }

    /// What follows comes from this place.
    pub(super) fn source(&mut self, id: LocationId, location: &Location) {
        self.lines.source(id, location, &mut self.function.body);
    }
}

/// A literal of a type.
pub(super) fn immediate(ty: Type, bits: u64) -> Immediate {
    match ty {
        Type::F32 => Immediate::F32(bits as u32),
        Type::F64 => Immediate::F64(bits),
        Type::I8 => Immediate::Integer(i64::from(bits as u8 as i8)),
        Type::I16 => Immediate::Integer(i64::from(bits as u16 as i16)),
        Type::I32 => Immediate::Integer(i64::from(bits as u32 as i32)),
        Type::I64 => Immediate::Integer(bits as i64),
        _ => i64::try_from(bits).map_or(Immediate::Unsigned(bits), Immediate::Integer),
    }
}

/// Shorthand for building operand lists.
pub(super) trait IntoOperand {
    fn into_operand(self) -> Operand;
}

impl IntoOperand for ptx::RegisterId {
    fn into_operand(self) -> Operand {
        Operand::Register(self)
    }
}

impl IntoOperand for Immediate {
    fn into_operand(self) -> Operand {
        Operand::Immediate(self)
    }
}

/// Names of a function's parameters and variables: PTX identifiers, none twice.
#[derive(Default)]
pub(super) struct Names {
    taken: FxHashSet<String>,
}

impl Names {
    /// The name itself where PTX allows it, else one made from it.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut base: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' }).collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
            base.insert(0, 'v');
        }
        let mut candidate = base.clone();
        let mut n = 1;
        while !self.taken.insert(candidate.clone()) {
            n += 1;
            candidate = format!("{base}_{n}");
        }
        candidate
    }
}
