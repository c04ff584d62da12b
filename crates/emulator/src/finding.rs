//! What the sanitizer found.

use crate::manifest::TensorPlace;
use rustc_hash::FxHashMap;
use std::fmt;
use warpsmith_types::{Diagnostic, Location};

/// Where a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Storage {
    /// A register.
    Register,
    /// Shared memory.
    Shared,
    /// Device memory.
    Global,
    /// A thread's local memory.
    Local,
    /// The kernel's parameters.
    Parameter,
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Storage::Register => "register",
            Storage::Shared => "shared",
            Storage::Global => "global",
            Storage::Local => "local",
            Storage::Parameter => "parameter",
        })
    }
}

/// The class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An access outside every allocation, or outside a block's shared or a thread's local memory.
    OutOfBounds,
    /// An access to memory that was freed.
    UseAfterFree,
    /// An access to memory of another device, or of the host, that is not mapped.
    NotMapped,
    /// A `multimem` instruction at an address that is no multicast one, or another at one that is.
    Multicast,
    /// Arguments that share bytes, where the manifest says that one of them is exclusive.
    Overlap,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A read of something that nothing wrote.
    UninitializedRead(Storage),
    /// Lanes of one warp at different instances of an aligned barrier.
    BarrierDivergence,
    /// A barrier whose thread count is impossible, or that threads disagree about.
    BarrierCount,
    /// A lane at a `.sync` instruction whose member mask does not name it.
    SyncMask,
    /// A misused `mbarrier`.
    Mbarrier(MbarrierFault),
    /// A tensor map that is none, or a copy that does not fit it; a bulk copy of an impossible size.
    TensorMap,
    /// A copy through a tensor map that the kernel wrote, without a fence of the copying thread between.
    TensorMapFence,
    /// An operation that names no block of the cluster, or two that should be one.
    Cluster,
    /// Two accesses to the same bytes, one of them a write, that nothing orders.
    Race,
    /// A load through `.nc` of what is written while the kernel runs.
    ConstantLoad,
    /// Ordinary stores that a copy or product reads without a `fence.proxy.async` between.
    ProxyFence,
    /// A register or memory that is used while an operation on its way owns it.
    InFlight,
    /// A `wgmma` on registers that were written without a `wgmma.fence` after.
    ProductFence,
    /// A `wgmma` that the four warps of a warpgroup do not run together.
    Warpgroup,
    /// A matrix descriptor that says nothing sensible.
    Descriptor,
    /// `setmaxnreg` with a count that does not exist.
    RegisterCount,
    /// A block that ends while a copy still uses its memory.
    ExitInFlight,
    /// An access to shared memory of a block that has exited.
    PeerExited,
    /// An access to shared memory of a block that may not have started.
    PeerNotStarted,
    /// Threads that wait for what can not come.
    Deadlock,
    /// The kernel ran a `trap`, or an assertion of it does not hold.
    Trap,
    /// Functions that call each other without end.
    CallDepth,
    /// The launch used up its budget of instructions.
    Budget,
}

/// What is wrong at an `mbarrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MbarrierFault {
    /// There is none at that address.
    NotInitialized,
    /// It is initialised while it is in use.
    Reinitialized,
    /// It is made for no arrivals, or for more than it can count.
    Count,
    /// More arrivals than it was made for.
    Arrivals,
    /// Other bytes than were expected.
    Bytes,
    /// A wait for a phase that the thread had already seen end.
    Phase,
    /// Ordinary stores to its memory.
    Overwritten,
    /// A copy counts at it, and its initialisation was not followed by a fence for the async proxy.
    Unfenced,
}

/// What kind of access it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic or reduction.
    Atomic,
    /// The source or destination of an asynchronous copy.
    Copy,
    /// A matrix operand in shared memory.
    Matrix,
}

/// The earlier of two accesses that race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// Who made it, when it is not of the same launch: "`k`, launch 2 on stream 1 of device 0".
    pub agent: Option<String>,
    /// The block's index in the grid; of a copy, the block that it goes to.
    pub block: [u32; 3],
    /// The thread's index in the block; `None` for what a copy did.
    pub thread: Option<[u32; 3]>,
    /// Whether it is a write.
    pub writes: bool,
    /// Whether a copy or a product did it.
    pub asynchronous: bool,
    /// The source line.
    pub location: Option<Location>,
    /// The line of the PTX text; 0 when it was not parsed from text.
    pub ptx_line: u32,
}

impl OtherAccess {
    /// "the other access: a write, block (0, 0, 0), thread (3, 0, 0), line 12 of the PTX".
    pub(crate) fn in_words(&self) -> String {
        let [x, y, z] = self.block;
        let what = match (self.writes, self.asynchronous) {
            (true, false) => "a write",
            (false, false) => "a read",
            (true, true) => "a write by a copy",
            (false, true) => "a read by a copy or a product",
        };
        let who = match self.thread {
            Some([a, b, c]) => format!("block ({x}, {y}, {z}), thread ({a}, {b}, {c})"),
            None => format!("block ({x}, {y}, {z})"),
        };
        let line = if self.ptx_line > 0 { format!(", line {} of the PTX", self.ptx_line) } else { String::new() };
        match &self.agent {
            None => format!("the other access: {what}, {who}{line}"),
            Some(agent) if self.ptx_line == 0 && self.thread.is_none() => format!("the other access: {what}, {agent}"),
            Some(agent) => format!("the other access: {what}, {agent}, {who}{line}"),
        }
    }
}

/// One fault, with the first thread that showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its class.
    pub kind: FindingKind,
    /// The kernel; for what copies and the host do, who that is.
    pub kernel: String,
    /// Which launch of a run of several: "launch 2 on stream 1 of device 0".
    pub agent: Option<String>,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in the block.
    pub thread: [u32; 3],
    /// For memory: what was done.
    pub access: Option<AccessKind>,
    /// For memory: which.
    pub storage: Option<Storage>,
    /// For memory: where; an offset for shared and local memory.
    pub address: Option<u64>,
    /// For memory: how many bytes the thread accessed.
    pub bytes: u32,
    /// For memory: the tensor, when a manifest names it.
    pub tensor: Option<TensorPlace>,
    /// What it concerns, in words: "4 bytes past the end of `x` (4096 bytes)".
    pub detail: String,
    /// For races: the other access.
    pub other: Option<OtherAccess>,
    /// Further facts, each a sentence: who waits where.
    pub notes: Vec<(String, Option<Location>)>,
    /// The source line.
    pub location: Option<Location>,
    /// The line of the PTX text; 0 when it was not parsed from text.
    pub ptx_line: u32,
    /// How often it happened, threads counted one by one.
    pub count: u64,
    /// Whether a thread of a kernel did it; else a copy or the host.
    pub(crate) by_thread: bool,
    /// The instruction, to tell faults apart.
    pub(crate) pc: u32,
    /// For races: the other instruction, with a number for its program where that is another.
    pub(crate) other_place: (u64, u32),
    /// The block's number, to report the same thread whatever the schedule.
    pub(crate) block_number: u64,
}

impl Finding {
    /// The finding as a message that points at the source line.
    pub fn diagnostic(&self) -> Diagnostic {
        let kernel = if self.by_thread { format!("`{}`", self.kernel) } else { self.kernel.clone() };
        let n = self.bytes;
        let storage = self.storage.map_or_else(String::new, |s| format!("{s} memory"));
        let does = match self.access {
            Some(AccessKind::Load) => "reads",
            Some(AccessKind::Store) => "writes",
            Some(AccessKind::Atomic) => "updates",
            Some(AccessKind::Copy) => "copies",
            Some(AccessKind::Matrix) => "multiplies",
            None => "uses",
        };
        let s = if n == 1 { "" } else { "s" };
        let title = match self.kind {
            FindingKind::OutOfBounds => format!("{kernel} {does} {n} byte{s} of {storage} out of bounds"),
            FindingKind::UseAfterFree => format!("{kernel} {does} {n} byte{s} of freed memory"),
            FindingKind::NotMapped => format!("{kernel} {does} {n} byte{s} of memory that its device has not mapped"),
            FindingKind::Overlap => format!("{kernel} is given arguments that overlap"),
            FindingKind::Multicast => format!("{kernel} uses multicast memory wrongly"),
            FindingKind::Misaligned => format!("{kernel} {does} {n} byte{s} of {storage} at a misaligned address"),
            FindingKind::UninitializedRead(Storage::Register) => format!("{kernel} reads an uninitialised register"),
            FindingKind::UninitializedRead(s) => format!("{kernel} reads uninitialised {s} memory"),
            FindingKind::BarrierDivergence => format!("{kernel} reaches a barrier with a divided warp"),
            FindingKind::BarrierCount => format!("{kernel} uses a barrier with a wrong thread count"),
            FindingKind::SyncMask => {
                format!("{kernel} runs a `.sync` instruction with lanes that its mask leaves out")
            }
            FindingKind::Mbarrier(MbarrierFault::NotInitialized) => {
                format!("{kernel} uses an mbarrier that is not initialised")
            }
            FindingKind::Mbarrier(MbarrierFault::Reinitialized) => {
                format!("{kernel} initialises an mbarrier that is in use")
            }
            FindingKind::Mbarrier(MbarrierFault::Count) => {
                format!("{kernel} makes an mbarrier for an impossible count")
            }
            FindingKind::Mbarrier(MbarrierFault::Arrivals) => {
                format!("{kernel} arrives at an mbarrier too often")
            }
            FindingKind::Mbarrier(MbarrierFault::Bytes) => {
                format!("{kernel} counts other bytes at an mbarrier than it expects")
            }
            FindingKind::Mbarrier(MbarrierFault::Phase) => {
                format!("{kernel} waits twice for the same phase of an mbarrier")
            }
            FindingKind::Mbarrier(MbarrierFault::Overwritten) => format!("{kernel} overwrites an mbarrier"),
            FindingKind::Mbarrier(MbarrierFault::Unfenced) => {
                format!("{kernel} has a copy count at an mbarrier whose initialisation is not fenced")
            }
            FindingKind::TensorMap => format!("{kernel} starts a bulk copy that can not be"),
            FindingKind::TensorMapFence => format!("{kernel} copies by a tensor map whose change is not fenced"),
            FindingKind::Cluster => format!("{kernel} addresses its cluster wrongly"),
            FindingKind::Race => format!("{kernel} has a data race in {storage}"),
            FindingKind::ConstantLoad => format!("{kernel} reads through `.nc` what is written meanwhile"),
            FindingKind::ProxyFence => format!("{kernel} reads {storage} that is not fenced for the async proxy"),
            FindingKind::InFlight => format!("{kernel} uses a register that a `wgmma` on its way owns"),
            FindingKind::ProductFence => format!("{kernel} starts a `wgmma` on registers that are not fenced"),
            FindingKind::Warpgroup => format!("{kernel} runs a `wgmma` without a whole warpgroup"),
            FindingKind::Descriptor => format!("{kernel} gives `wgmma` a bad descriptor"),
            FindingKind::RegisterCount => format!("{kernel} asks for an impossible number of registers"),
            FindingKind::ExitInFlight => format!("{kernel} exits while a copy still uses its shared memory"),
            FindingKind::PeerExited => format!("{kernel} uses shared memory of a block that has exited"),
            FindingKind::PeerNotStarted => {
                format!("{kernel} uses shared memory of a block that may not have started")
            }
            FindingKind::Deadlock => format!("{kernel} deadlocks"),
            FindingKind::Trap => format!("{kernel} traps"),
            FindingKind::CallDepth => format!("{kernel} calls functions too deeply"),
            FindingKind::Budget => format!("{kernel} does not finish within its budget of instructions"),
        };
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        let mut facts = match self.kind {
            FindingKind::Overlap => "the launch as a whole".into(),
            _ => format!("block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})"),
        };
        if let Some(agent) = &self.agent {
            facts = if self.by_thread { format!("{agent}, {facts}") } else { agent.clone() };
        }
        if let Some(address) = self.address {
            facts += &match self.storage {
                Some(Storage::Global) => format!(", address {address:#x}"),
                Some(storage) => format!(", {storage} offset {address:#x}"),
                None => format!(", generic address {address:#x}"),
            };
        }
        if let Some(tensor) = &self.tensor {
            facts += &format!(", {tensor}");
        }
        let mut d = Diagnostic::error(title);
        let label = match self.access {
            Some(AccessKind::Load) => "this load",
            Some(AccessKind::Store) => "this store",
            Some(AccessKind::Atomic) => "this atomic",
            Some(AccessKind::Copy) => "this copy",
            Some(AccessKind::Matrix) => "this product",
            None => "here",
        };
        if let Some(location) = &self.location {
            d = d.at(location.clone()).label(label);
        }
        if !self.detail.is_empty() {
            facts += &format!(": {}", self.detail);
        }
        d = d.note(facts, None);
        if self.ptx_line > 0 {
            d = d.note(format!("line {} of the PTX", self.ptx_line), None);
        }
        for (note, at) in &self.notes {
            d = d.note(note.clone(), at.clone());
        }
        if self.count > 1 {
            d = d.note(format!("{} times in all", self.count), None);
        }
        d
    }
}

/// Distinct faults that are kept.
const DISTINCT: usize = 100;

/// Faults so far, one entry for each class and source line.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    found: Vec<Finding>,
    known: FxHashMap<Key, usize>,
    /// Faults seen, the dropped ones too.
    pub total: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    kind: FindingKind,
    /// The source line when there is one: unrolled copies of a line are one fault.
    location: Option<Location>,
    pc: u32,
    /// For races, both instructions, the lower first where they are of one program.
    other: Option<(u64, u32, u32)>,
}

impl Findings {
    /// Counts a fault that is known already; says whether it was.
    pub(crate) fn again(
        &mut self,
        kind: FindingKind,
        location: Option<&Location>,
        (pc, other): (u32, (u64, u32)),
        block: u64,
    ) -> bool {
        self.total += 1;
        match self.known.get(&key(kind, location, pc, other)) {
            // A later block adds nothing; an earlier one replaces it, so that the report does not depend on the schedule.
            Some(index) if self.found[*index].block_number <= block => {
                self.found[*index].count += 1;
                true
            }
            Some(_) => false,
            None => self.found.len() >= DISTINCT,
        }
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let key = key(finding.kind, finding.location.as_ref(), finding.pc, finding.other_place);
        match self.known.get(&key) {
            Some(index) => {
                let old = &mut self.found[*index];
                let count = old.count + finding.count;
                if finding.block_number < old.block_number {
                    *old = finding;
                }
                old.count = count;
            }
            None if self.found.len() < DISTINCT => {
                self.known.insert(key, self.found.len());
                self.found.push(finding);
            }
            None => {}
        }
    }

    /// All of another worker's.
    pub(crate) fn merge(&mut self, other: Findings) {
        self.total += other.total;
        other.found.into_iter().for_each(|f| self.add(f));
    }

    /// In the order of blocks and instructions.
    pub(crate) fn finish(mut self) -> Vec<Finding> {
        self.found.sort_by_key(|f| (f.block_number, f.pc, f.kind));
        self.found
    }
}

fn key(kind: FindingKind, location: Option<&Location>, pc: u32, (elsewhere, other): (u64, u32)) -> Key {
    if matches!(kind, FindingKind::Race | FindingKind::ConstantLoad) {
        let pair = if elsewhere == 0 { (0, pc.min(other), pc.max(other)) } else { (elsewhere, pc, other) };
        return Key { kind, location: None, pc: 0, other: Some(pair) };
    }
    Key { kind, other: None, location: location.cloned(), pc: if location.is_some() { 0 } else { pc } }
}
