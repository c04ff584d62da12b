//! Instructions and operands.

use crate::module::{LabelId, Symbol};
use crate::syntax::{Modifier, Opcode, SpecialRegister, Type, Word};
use smallvec::SmallVec;
use std::sync::Arc;

/// A register of a function: an index into [`Function::registers`](crate::Function::registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate register.
    pub register: RegisterId,
    /// Whether the instruction runs where the predicate is false.
    pub negated: bool,
}

/// A literal. Floats are bits, as PTX writes them (`0f3F800000`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// An integer; the type of the instruction says how many of its bits count.
    Integer(i64),
    /// An unsigned integer above `i64::MAX`.
    Unsigned(u64),
    /// Bits of a binary32.
    F32(u32),
    /// Bits of a binary64.
    F64(u64),
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Absolute,
}

/// `[base + offset]`, or `[base + offset, {x, y}]` for a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Where it starts.
    pub base: Base,
    /// In bytes.
    pub offset: i64,
    /// Coordinates of a tensor access; empty otherwise.
    pub coordinates: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// A literal.
    Immediate(Immediate),
    /// A special register.
    Special(SpecialRegister),
    /// A memory operand.
    Address(Address),
    /// `{a, b, c, d}`. Shared: an accumulator of 128 registers stands at every product of an unrolled loop.
    Vector(Arc<[Operand]>),
    /// `d|p`: two results. Either may be a sink.
    Pair(Box<Operand>, Box<Operand>),
    /// A place to jump to.
    Label(LabelId),
    /// The address of a variable as a value: `mov.u64 d, buffer`.
    Symbol(Symbol, i64),
    /// `!p` where a predicate is read.
    Not(RegisterId),
    /// `_`: a result that nobody wants.
    Sink,
}

/// One instruction. `modifiers` are in the order of the table's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The predicate under which it runs.
    pub guard: Option<Guard>,
    /// The first word.
    pub opcode: Opcode,
    /// The other words.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// Results first, as PTX writes them.
    pub operands: SmallVec<[Operand; 4]>,
    /// The line of the PTX text it was parsed from; 0 when it was not.
    pub line: u32,
}

impl Instruction {
    /// An unguarded instruction.
    pub fn new(
        opcode: Opcode,
        modifiers: impl IntoIterator<Item = Modifier>,
        operands: impl IntoIterator<Item = Operand>,
    ) -> Instruction {
        Instruction {
            guard: None,
            opcode,
            modifiers: modifiers.into_iter().collect(),
            operands: operands.into_iter().collect(),
            line: 0,
        }
    }

    /// The same, under a predicate.
    pub fn guarded(mut self, register: RegisterId, negated: bool) -> Instruction {
        self.guard = Some(Guard { register, negated });
        self
    }

    /// Opcode and modifiers: `ld.global.v4.f32`.
    pub fn name(&self) -> String {
        let mut name = String::from(self.opcode.name());
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier.name());
        }
        name
    }

    /// Whether it has this word.
    pub fn has(&self, word: Word) -> bool {
        self.modifiers.contains(&Modifier::Word(word))
    }

    /// Its types in order: `cvt.rn.f16.f32` has f16, then f32.
    pub fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.modifiers.iter().filter_map(|m| match m {
            Modifier::Type(t) => Some(*t),
            Modifier::Word(_) => None,
        })
    }
}
