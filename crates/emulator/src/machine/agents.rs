//! Work that the hardware does beside the threads: bulk copies and their kin, between the instruction that starts one
//! and its completion. Bytes move at completion, which comes as late as it may, or at a moment that the seed chooses.

use super::boxes::Boxes;
use super::races::{LineMark, Mark};
use crate::program::{AtomicOp, AtomicType};

/// A reduction that a copy makes instead of overwriting.
pub(crate) type Combine = (AtomicOp, AtomicType);

/// Something that was started and is not complete.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// The block, warp, lane and instruction that started it.
    pub rank: usize,
    pub warp: u32,
    pub lane: u32,
    pub pc: u32,
    /// Groups that the thread had committed before: it belongs to the next one.
    pub group: u32,
    pub job: Job,
    /// What it touches in shared memory, when races are looked for: what it writes, and what it reads.
    pub marks: Vec<Mark>,
    pub source: Option<Mark>,
    /// What it writes in global memory.
    pub lines: Vec<LineMark>,
}

/// A block's barrier that bytes are counted at, and the phase it was in when the copy started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub rank: usize,
    pub offset: u32,
    pub phase: u64,
}

/// What an agent does.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// Global memory to the shared memory of one block or several.
    Load { from: Boxes, to: u32, counters: Vec<Counter> },
    /// Shared memory to that of a block of the cluster.
    Send { from: u32, bytes: u32, to: u32, combine: Option<Combine>, counter: Counter },
    /// Shared to global memory. `data` is what was read, once it was.
    Store { from: u32, to: Boxes, combine: Option<Combine>, data: Option<Vec<u8>> },
    /// `st.async` and `red.async`: a value to shared memory of the cluster.
    Write { data: Vec<u8>, to: u32, combine: Option<Combine>, counter: Counter },
}

impl Job {
    /// Whether it still reads or writes the shared memory of a block, when another started it.
    pub(crate) fn uses(&self, starter: usize, block: usize) -> bool {
        match self {
            Job::Load { counters, .. } => counters.iter().any(|c| c.rank == block),
            Job::Send { counter, .. } => starter == block || counter.rank == block,
            Job::Store { data, .. } => starter == block && data.is_none(),
            Job::Write { counter, .. } => counter.rank == block,
        }
    }

    /// Whether a barrier, and so perhaps a thread, waits for it.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self, Job::Store { .. })
    }
}

/// The agents of a cluster, in the order in which they were started.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    pub pending: Vec<Agent>,
    /// Stores that are complete: nobody may count on it before a wait.
    pub early: Vec<Early>,
}

/// A store that is complete, and was not waited for: its source, unless that was, and what it wrote.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    pub rank: usize,
    pub warp: u32,
    pub lane: u32,
    pub group: u32,
    pub source: Option<Mark>,
    pub lines: Vec<LineMark>,
}

impl Agents {
    /// The one to complete when no thread can go on: the oldest that some thread may wait for.
    pub(crate) fn next(&mut self) -> Option<Agent> {
        let index = self.pending.iter().position(|a| a.job.counts())?;
        Some(self.pending.remove(index))
    }

    /// Any one.
    pub(crate) fn take(&mut self, index: usize) -> Option<Agent> {
        (index < self.pending.len()).then(|| self.pending.remove(index))
    }

    /// Takes out those that a predicate holds for.
    pub(crate) fn take_all(&mut self, mut of: impl FnMut(&Agent) -> bool) -> Vec<Agent> {
        let (taken, kept) = std::mem::take(&mut self.pending).into_iter().partition(|a| of(a));
        self.pending = kept;
        taken
    }
}
