//! Atomics, and what strong accesses order.

use super::{Address, Space};

/// Whom a strong access, a fence or an arrival is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

impl Scope {
    /// As PTX writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scope::Cta => ".cta",
            Scope::Cluster => ".cluster",
            Scope::Gpu => ".gpu",
            Scope::Sys => ".sys",
        }
    }
}

/// What an access or a fence orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Semantics {
    /// What comes after it, after what it sees.
    pub acquires: bool,
    /// What came before it, before whoever sees it.
    pub releases: bool,
}

/// `atom` and `red`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub order: Semantics,
    pub scope: Scope,
    pub space: Space,
    pub op: AtomicOp,
    pub ty: AtomicType,
    pub address_wide: bool,
    pub address: u16,
    pub offset: i32,
    /// The old value goes there, or to `NONE`.
    pub d: u16,
    pub b: u16,
    /// The new value of `cas`.
    pub c: u16,
}

/// `atom` and `red` of a vector, element by element, or of 128 bits in one piece.
#[derive(Clone, Debug)]
pub(crate) struct VectorAtomic {
    pub order: Semantics,
    pub scope: Scope,
    pub space: Space,
    pub op: AtomicOp,
    /// The elements' type; that of a half of 128 bits is `U64`.
    pub ty: AtomicType,
    /// Whether it is 128 bits in one piece.
    pub whole: bool,
    pub address: Address,
    /// The old values go there; `NONE` where nobody wants them.
    pub d: Vec<u16>,
    pub b: Vec<u16>,
    /// The new value of `cas`.
    pub c: Vec<u16>,
}

/// What an atomic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

/// The type that an atomic works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicType {
    U16,
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
    F16,
    BF16,
    F16x2,
    BF16x2,
}

impl AtomicType {
    pub(crate) fn bytes(self) -> usize {
        match self {
            AtomicType::U16 | AtomicType::F16 | AtomicType::BF16 => 2,
            AtomicType::U64 | AtomicType::S64 | AtomicType::F64 => 8,
            _ => 4,
        }
    }
}

/// `multimem`: an access to the memory of several devices behind one address.
#[derive(Clone, Debug)]
pub(crate) struct Multimem {
    pub what: MultimemKind,
    pub ty: AtomicType,
    /// The scope of a strong access.
    pub strong: Option<Scope>,
    pub order: Semantics,
    pub address: Address,
    /// One for each element: the results of a load, the sources of others.
    pub elements: Vec<u16>,
}

/// What a `multimem` instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultimemKind {
    /// Combines what the devices hold; `wide`: 16-bit floats in binary32.
    LoadReduce {
        op: AtomicOp,
        wide: bool,
    },
    Store,
    /// Updates each device's memory.
    Reduce {
        op: AtomicOp,
    },
}

impl Multimem {
    /// Bytes of a thread.
    pub(crate) fn bytes(&self) -> usize {
        self.ty.bytes() * self.elements.len()
    }
}
