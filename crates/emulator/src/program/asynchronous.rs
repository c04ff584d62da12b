//! Operations that go on beside the threads, the barriers that they are counted at, and matrix fragments.

use super::{AtomicOp, AtomicType, Space, TileAccess};

/// Where an address comes from: its plane, and bytes to add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub plane: u16,
    pub wide: bool,
    pub offset: i32,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    pub kind: BulkKind,
    /// Whether the global side is a tensor map with coordinates.
    pub tensor: bool,
    /// The coordinates' registers: `lists[list..list + rank]`.
    pub rank: u8,
    pub list: u32,
    /// The block's own shared memory, or the destination of a load.
    pub shared: Address,
    /// Global memory, a tensor map, or the destination in another block.
    pub global: Address,
    pub barrier: Address,
    /// Bytes to copy, or `NONE`.
    pub size: u16,
    /// Blocks to copy to, or `NONE`.
    pub mask: u16,
}

/// Which way a bulk copy goes, and how it combines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BulkKind {
    /// Global to shared memory.
    Load,
    /// Shared to global memory.
    Store(Option<(AtomicOp, AtomicType)>),
    /// Shared memory to that of another block.
    Send(Option<(AtomicOp, AtomicType)>),
}

/// An element of a matrix operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    BF16,
    TF32,
    E4M3,
    E5M2,
    S8,
    U8,
}

impl Element {
    pub(crate) fn of(ty: warpsmith_ptx::Type) -> Option<Element> {
        use warpsmith_ptx::Type;
        Some(match ty {
            Type::F16 => Element::F16,
            Type::BF16 => Element::BF16,
            Type::TF32 => Element::TF32,
            Type::E4M3 => Element::E4M3,
            Type::E5M2 => Element::E5M2,
            Type::S8 => Element::S8,
            Type::U8 => Element::U8,
            _ => return None,
        })
    }
}

/// What products are summed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulator {
    F32,
    /// Pairs in a register.
    F16,
    S32 {
        saturates: bool,
    },
}

/// Where A is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrix {
    /// The plane of its descriptor.
    Shared(u16),
    /// Four registers: `lists[list..list + 4]`.
    Registers(u32),
}

/// `wgmma.mma_async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub n: u16,
    pub k: u16,
    pub result: Accumulator,
    pub a_element: Element,
    pub b_element: Element,
    /// The accumulator's registers start there in `lists`.
    pub accumulator: u32,
    pub a: Matrix,
    /// The plane of B's descriptor.
    pub b: u16,
    /// The predicate that says whether to add to the accumulator.
    pub scale: u16,
    pub negate_a: bool,
    pub negate_b: bool,
    /// Whether rows of A, columns of B are contiguous, and not k.
    pub transpose_a: bool,
    pub transpose_b: bool,
    /// A register of it that some path to it writes without a `wgmma.fence` after.
    pub unfenced: Option<u32>,
}

impl Product {
    /// Registers of the accumulator.
    pub(crate) fn accumulators(&self) -> usize {
        usize::from(self.n) / if self.result == Accumulator::F16 { 4 } else { 2 }
    }

    /// The registers that belong to it while it runs.
    pub(crate) fn registers<'l>(&self, lists: &'l [u32]) -> impl Iterator<Item = &'l u32> + use<'l> {
        let a = if matches!(self.a, Matrix::Registers(_)) { 4 } else { 0 };
        lists.iter().skip(self.accumulator as usize).take(self.accumulators() + a)
    }
}

/// Matrix fragments of one warp.
#[derive(Clone, Debug)]
pub(crate) enum Fragments {
    /// `ldmatrix`.
    Load(MatrixAccess),
    /// `stmatrix`.
    Store(MatrixAccess),
    /// `movmatrix`.
    Transpose { d: u16, a: u16 },
    /// `mma`.
    Product(Mma),
    /// `mma` of f64.
    Doubles(MmaF64),
    /// `wmma.load`.
    LoadTile(TileAccess),
    /// `wmma.store`.
    StoreTile(TileAccess),
}

/// `mma` of f64.
#[derive(Clone, Debug)]
pub(crate) struct MmaF64 {
    /// How many times eight rows.
    pub halves: u8,
    /// The registers of the operands.
    pub d: Vec<u16>,
    pub a: Vec<u16>,
    pub b: Vec<u16>,
    pub c: Vec<u16>,
}

/// `tensormap.replace`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapChange {
    pub field: MapField,
    pub space: Space,
    pub address: Address,
    /// The new value: a register of 64 bits where `wide`, else one of 32.
    pub value: u16,
    pub wide: bool,
}

/// A field of a tensor map; those with a number are of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapField {
    Base,
    /// Less one.
    Rank,
    Box(u8),
    Extent(u8),
    /// In bytes; the first is that of mode 1.
    Stride(u8),
    ElementStride(u8),
    Type,
    Interleave,
    Swizzle,
    Fill,
}

/// `ldmatrix` and `stmatrix`: the lanes' addresses are those of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixAccess {
    pub count: u8,
    pub transposes: bool,
    pub space: Space,
    pub address: Address,
    /// The data registers: `lists[list..list + count]`.
    pub list: u32,
}

/// `mma`.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    /// Elements, k, and the registers of the result.
    pub product: Product,
    /// How many times eight rows.
    pub halves: u8,
    /// The registers of the operands.
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    pub c: Vec<u32>,
}

/// `st.async`, `red.async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteAsync {
    pub to: Address,
    pub barrier: Address,
    /// Bytes of an element.
    pub width: u8,
    pub count: u8,
    /// The data registers: `lists[list..list + count]`.
    pub list: u32,
    pub combine: Option<(AtomicOp, AtomicType)>,
}

/// `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MbarrierOp {
    pub kind: MbarrierKind,
    /// Whether it orders nothing.
    pub relaxed: bool,
    /// Whom it is for, where it says.
    pub scope: Option<super::Scope>,
    pub space: Space,
    pub address_wide: bool,
    pub address: u16,
    pub offset: i32,
    /// The state that an arrival returns, the predicate of a wait; or `NONE`.
    pub d: u16,
    /// A count, bytes, a parity, or a 64-bit state; or `NONE`.
    pub operand: u16,
}

/// What is done to an `mbarrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierKind {
    Init,
    Inval,
    Arrive {
        /// Expects bytes first.
        expects: bool,
        /// Leaves for later phases.
        drops: bool,
        /// Whether it may end the phase.
        completes: bool,
    },
    /// `cp.async.mbarrier.arrive`: after the lane's copies.
    CopiesArrive {
        /// Whether the arrival is one of those that the barrier was made for: `.noinc`.
        counts: bool,
    },
    ExpectTx,
    CompleteTx,
    Wait {
        /// Whether it holds the thread: `try_wait`.
        blocks: bool,
        parity: bool,
    },
}
