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
    /// Whether it is a tensor map: 128 bytes that are passed by value. Its value is their generic address, a `u64`.
    pub tensor_map: bool,
}

impl Param {
    /// A number.
    pub fn number(name: impl Into<String>, ty: Type) -> Param {
        Param { name: name.into(), ty, pointer: None, tensor_map: false }
    }

    /// An address in global memory.
    pub fn pointer(name: impl Into<String>, pointer: Pointer) -> Param {
        Param { pointer: Some(pointer), ..Param::number(name, Type::U64) }
    }

    /// A tensor map.
    pub fn tensor_map(name: impl Into<String>) -> Param {
        Param { tensor_map: true, ..Param::number(name, Type::U64) }
    }
}

/// What a block may have of shared memory without asking for more at launch, on every target.
pub const MAX_STATIC_SHARED: u32 = 48 * 1024;

/// The largest alignment of a shared variable: what the widest swizzle of a copy engine repeats by.
pub const MAX_SHARED_ALIGN: u32 = 1024;

/// A variable in shared memory.
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
    /// Registers that a thread may have.
    pub max_registers: Option<u32>,
    /// Blocks that shall fit on a multiprocessor.
    pub min_blocks: Option<u32>,
    /// Blocks in a cluster, when every launch has the same number.
    pub cluster: Option<[u32; 3]>,
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

    /// The type of a value; `u32` for one that does not exist, which no verified kernel has.
    pub fn type_of(&self, v: Value) -> Type {
        self.values.get(v.0 as usize).copied().unwrap_or(Type::U32)
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

    /// Where each shared variable begins, and where the last ends, laid out in order of declaration.
    pub fn shared_layout(&self) -> (Vec<u32>, u32) {
        let mut end = 0u32;
        let place = |v: &SharedVariable| {
            let start = end.checked_next_multiple_of(v.align.max(1)).unwrap_or(u32::MAX);
            end = start.saturating_add(v.bytes);
            start
        };
        let starts = self.shared.iter().map(place).collect();
        (starts, end)
    }

    /// Bytes of shared memory, laid out in order of declaration.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_layout().1
    }

    /// Bytes of dynamic shared memory that a launch must give: all of it where it is more than
    /// [`MAX_STATIC_SHARED`], else none.
    pub fn dynamic_shared(&self) -> u32 {
        match self.shared_bytes() {
            ..=MAX_STATIC_SHARED => 0,
            bytes => bytes,
        }
    }
}
