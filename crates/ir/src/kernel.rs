//! Kernels, blocks, instructions.

use crate::op::Op;
use crate::types::Type;
use smallvec::SmallVec;
use std::fmt;
use warpsmith_types::Location;

/// A value: an index into [`Kernel::values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A mutable register: an index into [`Kernel::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A shared variable: an index into [`Kernel::shared`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedId(pub u32);

/// A place in source: an index into [`Kernel::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

impl LocationId {
    /// Not known.
    pub const NONE: LocationId = LocationId(u32::MAX);
}

/// What a pointer parameter points at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The tensor's name.
    pub tensor: String,
    /// The alignment in bytes that every launch guarantees.
    pub align: u32,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Set for an address in global memory.
    pub pointer: Option<Pointer>,
}

/// Statically sized shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedVariable {
    /// Its name.
    pub name: String,
    /// In bytes.
    pub bytes: u32,
    /// In bytes.
    pub align: u32,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Operands.
    pub args: SmallVec<[Value; 3]>,
    /// Results.
    pub results: SmallVec<[Value; 1]>,
    /// The line that wrote it.
    pub location: LocationId,
}

/// Instructions in order.
pub type Block = Vec<Inst>;

/// A kernel.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Kernel {
    /// Its name in PTX.
    pub name: String,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// The type of each value.
    pub values: Vec<Type>,
    /// The type of each mutable register.
    pub registers: Vec<Type>,
    /// Shared memory.
    pub shared: Vec<SharedVariable>,
    /// Threads in a block, when every launch has the same number.
    pub block: Option<[u32; 3]>,
    /// Places in source that instructions refer to.
    pub locations: Vec<Location>,
    /// The body.
    pub body: Block,
}

impl Kernel {
    /// A new value.
    pub fn value(&mut self, ty: Type) -> Value {
        self.values.push(ty);
        Value(self.values.len() as u32 - 1)
    }

    /// The type of a value.
    pub fn type_of(&self, v: Value) -> Type {
        self.values[v.0 as usize]
    }

    /// The place an instruction came from.
    pub fn location(&self, id: LocationId) -> Option<&Location> {
        self.locations.get(id.0 as usize)
    }

    /// Instructions, those in inner blocks included.
    pub fn len(&self) -> usize {
        fn count(block: &Block) -> usize {
            block.iter().map(|i| 1 + i.op.blocks().map(count).sum::<usize>()).sum()
        }
        count(&self.body)
    }

    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Bytes of shared memory, laid out in order of declaration.
    pub fn shared_bytes(&self) -> u32 {
        self.shared.iter().fold(0, |end, v| end.next_multiple_of(v.align.max(1)) + v.bytes)
    }
}
