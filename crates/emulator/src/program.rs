//! A kernel, decoded: what the machine runs.

mod asynchronous;
mod atomics;
mod calls;
mod tiles;

pub(crate) use asynchronous::{
    Accumulator, Address, Bulk, BulkKind, Element, Fragments, MapChange, MapField, Matrix, MatrixAccess, MbarrierKind,
    MbarrierOp, Mma, MmaF64, Product, WriteAsync,
};

pub(crate) use atomics::{Atomic, AtomicOp, AtomicType, Multimem, MultimemKind, Scope, Semantics, VectorAtomic};
pub(crate) use calls::{Argument, CallSite, Callee, Frame, Passed};
pub(crate) use tiles::{Tile, TileAccess};

use crate::decode::Step;
use crate::lanes::{Compute, Fields};
use crate::quick::Quick;
use warpsmith_ptx::SpecialRegister;
use warpsmith_types::Location;

/// No register: a result that nobody wants, an operand that is not there.
pub(crate) const NONE: u16 = u16::MAX;

/// A kernel in the compact form that the machine runs. Decoded once; shared freely between threads and launches.
#[derive(Debug)]
pub struct Program {
    /// Tells programs apart: module variables live as long as the system and belong to one program.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) code: Vec<Instruction>,
    /// Where each instruction comes from.
    pub(crate) origins: Vec<Origin>,
    pub(crate) locations: Vec<Location>,
    /// What each instruction reads and writes, for checks of initialisation.
    pub(crate) uses: Vec<Uses>,
    /// All that each instruction reads and writes.
    pub(crate) steps: Vec<Step>,
    /// Register lists of vector accesses, targets of branch tables.
    pub(crate) lists: Vec<u32>,
    pub(crate) bulk: Vec<Bulk>,
    pub(crate) vectors: Vec<VectorAtomic>,
    pub(crate) multimems: Vec<Multimem>,
    pub(crate) products: Vec<Product>,
    pub(crate) fragments: Vec<Fragments>,
    pub(crate) calls: Vec<CallSite>,
    /// The functions, the kernel last.
    pub(crate) frames: Vec<Frame>,
    /// The kernel's first instruction.
    pub(crate) entry: u32,
    /// The 32-bit registers that each instruction reads or writes; empty without products, which own some for a while.
    pub(crate) touched: Vec<Vec<u32>>,
    pub(crate) counts: Counts,
    pub(crate) constants32: Vec<(u16, u32)>,
    pub(crate) constants64: Vec<(u16, Constant)>,
    pub(crate) predicates: Vec<(u16, bool)>,
    pub(crate) specials: Vec<(SpecialRegister, u16)>,
    pub(crate) parameters: Vec<Piece>,
    pub(crate) parameter_bytes: u32,
    pub(crate) shared: Vec<Piece>,
    /// Where dynamic shared memory starts, after the static variables.
    pub(crate) dynamic_base: u32,
    pub(crate) local_bytes: u32,
    pub(crate) globals: Vec<GlobalVariable>,
    /// Whether blocks may talk to each other through memory: then one scheduler runs them all.
    pub(crate) communicates: bool,
    pub(crate) reqntid: Option<[u32; 3]>,
    pub(crate) maxntid: Option<[u32; 3]>,
    pub(crate) reqnctapercluster: Option<[u32; 3]>,
    /// Names of registers, for reports: 32-bit ones, 64-bit ones, predicates, in the numbering of [`Uses`].
    pub(crate) names: Vec<String>,
}

/// Registers of each file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub r32: usize,
    pub r64: usize,
    pub p: usize,
}

/// A value that is known before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Value(u64),
    /// The address of a module variable, and an offset.
    Variable(u32, i64),
}

/// A named stretch of shared memory or of the parameters.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// A `.global` or `.const` variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct GlobalVariable {
    pub name: String,
    pub init: Vec<u8>,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Line of the PTX text; 0 when there is none.
    pub line: u32,
    /// One more than the index of its source location; 0 for none.
    pub location: u32,
}

/// Registers that an instruction reads and writes, in one numbering over the files. Empty unless some path reaches a
/// read before a write: where dataflow proves that there is none, nothing is left to do at run time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    /// A plain copy hands on what it finds; the report waits for a real use.
    pub copies: bool,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub action: Action,
    pub guard: Guard,
    /// Whether [`Uses`] has something to check or to keep track of.
    pub checked: bool,
    /// Its place in the loop of frequent instructions.
    pub quick: Quick,
    /// How many instructions from here on only compute, or move values between lanes and name all of them; without
    /// guards or anything to check.
    pub straight: u16,
}

/// The predicate under which an instruction runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub register: u16,
    pub negated: bool,
}

impl Guard {
    pub(crate) const ALWAYS: Guard = Guard { register: NONE, negated: false };
}

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Registers only.
    Compute {
        run: Compute,
        fields: Fields,
    },
    /// Registers of several lanes, after the lanes named in `members` have met.
    Sync {
        run: Compute,
        fields: Fields,
        members: u16,
    },
    /// `bar.warp.sync`.
    WarpBarrier {
        members: u16,
    },
    Load(Access),
    Store(Access),
    Atomic(Atomic),
    /// `atom` and `red` of vectors and of 128 bits, by its index in `vectors`.
    VectorAtomic(u32),
    /// `multimem`, by its index in `multimems`.
    Multimem(u32),
    /// `cp.async`.
    CopyAsync(CopyAsync),
    /// `cp.async.commit_group`.
    Commit,
    /// `cp.async.wait_group`: at most so many groups stay pending; `None` waits for all copies, committed or not.
    WaitGroup(Option<u32>),
    Barrier(Barrier),
    Mbarrier(MbarrierOp),
    /// `fence.proxy.async`, and which memory it concerns.
    ProxyFence {
        shared: bool,
        global: bool,
    },
    /// `fence.mbarrier_init.release.cluster`.
    MbarrierFence,
    /// `fence` and `membar` of the threads' own accesses.
    Fence {
        order: Semantics,
        scope: Scope,
    },
    /// `barrier.cluster`.
    ClusterBarrier {
        waits: bool,
        aligned: bool,
        /// Whether it orders nothing.
        relaxed: bool,
    },
    /// `mma` and its kin, by its index in `fragments`, after all lanes have met.
    Fragments {
        index: u32,
        members: u16,
    },
    /// `wgmma.mma_async`, by its index in `products`.
    Product(u32),
    /// `wgmma.fence`: its work is done when the program is decoded.
    ProductFence,
    /// `wgmma.commit_group`.
    CommitProducts,
    /// `wgmma.wait_group`: at most so many groups stay pending.
    WaitProducts(u32),
    /// `griddepcontrol.launch_dependents`.
    LaunchDependents,
    /// `griddepcontrol.wait`.
    WaitUpstream,
    /// `cp.async.bulk`, by its index in `bulk`.
    Bulk(u32),
    WriteAsync(WriteAsync),
    /// `tensormap.replace`.
    ChangeMap(MapChange),
    /// `tensormap.cp_fenceproxy`: from shared to global memory.
    CopyMap {
        to: Address,
        from: Address,
        scope: Scope,
    },
    /// `fence.proxy.tensormap::generic.acquire`.
    AcquireMap {
        address: Address,
        scope: Scope,
    },
    /// `cp.async.bulk.commit_group`.
    CommitBulk,
    /// `cp.async.bulk.wait_group`.
    WaitBulk {
        left: u32,
        /// Only the sources need be read.
        reads: bool,
    },
    /// `setmaxnreg`.
    SetMaxRegisters {
        count: u32,
    },
    Branch {
        target: u32,
    },
    /// `brx.idx`: the lane's register picks from `lists[start..start + count]`.
    Table {
        index: u16,
        start: u32,
        count: u32,
    },
    /// `call`, by its index in `calls`.
    Call {
        target: u32,
        site: u32,
    },
    /// `ret` from a function.
    Return,
    Exit,
    Trap,
    /// Lets others run: `nanosleep`.
    Yield,
    /// Instructions executed so far, as a clock.
    Clock {
        d: u16,
        wide: bool,
    },
    /// Fences and hints: one scheduler needs none.
    Nop,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
}

/// A load or store of `count` elements of `width` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub space: Space,
    pub width: u8,
    pub count: u8,
    pub signed: bool,
    /// Volatile, relaxed, acquire …: a loop of it may wait for another thread.
    pub strong: bool,
    /// How it orders what is around it, and for whom.
    pub order: Semantics,
    pub scope: Scope,
    /// Through the path for data that does not change.
    pub constant: bool,
    /// Whether it may be padding of a structure that a call passes: compilers copy it as bytes, written or not.
    pub padding: bool,
    /// Whether the data registers are 64 bits wide.
    pub wide: bool,
    /// Whether the address register is.
    pub address_wide: bool,
    /// Whether it holds a literal.
    pub literal: bool,
    pub address: u16,
    pub offset: i32,
    /// The data registers: `lists[list..list + count]`.
    pub list: u32,
}

/// `cp.async`: `bytes` from global to shared memory; what lies beyond the source size reads as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyAsync {
    pub bytes: u8,
    pub to_wide: bool,
    pub to: u16,
    pub to_offset: i16,
    pub from: u16,
    pub from_offset: i32,
    /// A 32-bit register with the source size, or `NONE`.
    pub size: u16,
    /// A predicate that turns the source off, or `NONE`.
    pub ignore: u16,
}

/// `bar` and `barrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    /// Which of the 16.
    pub id: u16,
    /// How many threads, or `NONE` for all.
    pub count: u16,
    /// Whether all lanes of a warp must come together.
    pub aligned: bool,
    /// Result of a reduction.
    pub d: u16,
    /// Its predicate.
    pub p: u16,
}

/// What a thread does at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

impl Program {
    /// Whether anything reads shared memory through the async proxy.
    pub(crate) fn has_async_readers(&self) -> bool {
        !self.products.is_empty() || self.bulk.iter().any(|b| !matches!(b.kind, BulkKind::Load))
    }

    /// The `mbarrier` instruction there.
    pub(crate) fn mbarrier_at(&self, pc: u32) -> Option<&MbarrierOp> {
        match &self.code.get(pc as usize)?.action {
            Action::Mbarrier(op) => Some(op),
            _ => None,
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its parameter block.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameter_bytes
    }

    /// Where its parameters lie in the block: name, offset and size of each.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.parameters.iter().map(|p| (p.name.as_str(), p.offset, p.bytes))
    }

    /// Bytes of shared memory that it declares with a size.
    pub fn static_shared_bytes(&self) -> u32 {
        self.shared.iter().map(|p| p.offset + p.bytes).max().unwrap_or(crate::memory::SHARED_BASE)
            - crate::memory::SHARED_BASE
    }

    /// Instructions of the decoded form.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether there are none; a kernel always has one, its exit.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Where an instruction comes from, in the user's source.
    pub(crate) fn location(&self, pc: usize) -> Option<&Location> {
        let origin = self.origins.get(pc)?;
        self.locations.get((origin.location as usize).checked_sub(1)?)
    }
}
