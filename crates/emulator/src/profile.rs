//! What a launch did, line by line, and what of it costs more than it needs to.

use crate::record::optional_line;
use std::fmt;
use warpsmith_types::Location;

/// What a launch did: the counts that a profiler would take, without a device. No times: those a chip has to tell.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Profile {
    /// Lines in the order of the program: of the source where PTX names it, else of the PTX.
    pub lines: Vec<LineProfile>,
    /// Global memory.
    pub traffic: Traffic,
}

/// What one line did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct LineProfile {
    /// The line of source.
    #[serde(serialize_with = "optional_line")]
    pub at: Option<Location>,
    /// The first line of PTX text that it became; 0 where there is no text.
    pub ptx_line: u32,
    /// Warp instructions.
    pub instructions: u64,
    /// Lanes that they were executed for.
    pub lanes: u64,
    /// Branches, and those at which a warp's lanes parted.
    pub branches: Parted,
    /// Accesses to global memory; transactions are sectors of 32 bytes.
    pub global: Requests,
    /// Accesses to shared memory; transactions are passes over its 32 banks.
    pub shared: Requests,
    /// Bytes of local memory, which is global memory that each thread has for itself.
    pub local_bytes: u64,
}

/// Branches of warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Parted {
    /// All of them.
    pub taken: u64,
    /// Those after which some lanes went one way and some the other.
    pub diverged: u64,
}

/// Accesses of warps to a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Requests {
    /// Accesses, a warp's counted once.
    pub count: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
    /// Transactions that they took.
    pub transactions: u64,
    /// Transactions that as many different bytes need at least.
    pub least: u64,
}

/// Bytes of global memory, in whole sectors of 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Traffic {
    /// Read by all accesses together: what goes through the L1 cache.
    pub read: u64,
    /// Different ones among them: what has to come from memory once.
    pub read_once: u64,
    /// Written by all accesses together.
    pub written: u64,
    /// Different ones among them.
    pub written_once: u64,
}

/// Something that costs more than it needs to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Advice {
    /// What it is.
    pub kind: AdviceKind,
    /// The line of source; `None` for the launch as a whole, or where PTX names none.
    #[serde(serialize_with = "optional_line")]
    pub at: Option<Location>,
    /// The line of PTX text; 0 for the launch as a whole.
    pub ptx_line: u32,
    /// How often: accesses or branches of warps; bytes for local memory and rereading.
    pub times: u64,
    /// What they cost, and what would do: passes, sectors, bytes.
    pub cost: [u64; 2],
}

/// Kinds of [`Advice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceKind {
    /// Lanes want different words of one bank of shared memory at once.
    BankConflicts,
    /// Lanes touch more sectors of global memory than their bytes fill: they lie apart, or across the edges.
    SplitAccess,
    /// Registers that did not fit, or arrays that are indexed at run time.
    LocalMemory,
    /// Lanes of a warp go different ways, one after the other.
    DivergentBranch,
    /// The same bytes of global memory are read again and again.
    Rereading,
}

/// How often the same bytes may be read before it is said.
const REREADS: u64 = 2;

impl Profile {
    /// What costs more than it needs to, the costliest first.
    pub fn advice(&self) -> Vec<Advice> {
        let mut all = vec![];
        for line in &self.lines {
            let mut say = |kind, times, cost: [u64; 2]| {
                if cost[0] > cost[1] {
                    all.push(Advice { kind, at: line.at.clone(), ptx_line: line.ptx_line, times, cost });
                }
            };
            let of = |r: &Requests| (r.count, [r.transactions, r.least]);
            let (count, cost) = of(&line.shared);
            say(AdviceKind::BankConflicts, count, cost);
            let (count, cost) = of(&line.global);
            say(AdviceKind::SplitAccess, count, cost);
            say(AdviceKind::LocalMemory, line.local_bytes, [line.local_bytes, 0]);
            say(AdviceKind::DivergentBranch, line.branches.taken, [line.branches.diverged, 0]);
        }
        let Traffic { read, read_once, .. } = self.traffic;
        if read > REREADS * read_once {
            let (kind, at) = (AdviceKind::Rereading, None);
            all.push(Advice { kind, at, ptx_line: 0, times: read, cost: [read, read_once] });
        }
        all.sort_by_key(|a| std::cmp::Reverse(a.cost[0] - a.cost[1]));
        all
    }

    /// Warp instructions of all lines.
    pub fn instructions(&self) -> u64 {
        self.lines.iter().map(|l| l.instructions).sum()
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([cost, least], times) = (self.cost, self.times);
        let ratio = cost as f64 / least.max(1) as f64;
        match self.kind {
            AdviceKind::BankConflicts => {
                write!(
                    f,
                    "bank conflicts: {times} accesses to shared memory take {cost} passes, and {least} would do"
                )?;
            }
            AdviceKind::SplitAccess => {
                write!(
                    f,
                    "split accesses: {times} accesses to global memory take {cost} sectors, and {least} would do"
                )?;
            }
            AdviceKind::LocalMemory => return write!(f, "local memory: {cost} bytes"),
            AdviceKind::DivergentBranch => return write!(f, "divergent branches: {cost} of {times}"),
            AdviceKind::Rereading => {
                write!(f, "rereading: {cost} bytes are read from global memory, and {least} of them are different")?;
            }
        }
        write!(f, " ({ratio:.1} times)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_where_something_costs_more_than_it_needs_to() {
        let requests = |transactions, least| Requests { count: 2, bytes: 256, transactions, least };
        let line = |ptx_line, global, shared| LineProfile { ptx_line, global, shared, ..LineProfile::default() };
        let mut profile = Profile::default();
        profile.lines.push(line(3, requests(8, 8), requests(2, 2)));
        assert_eq!(profile.advice(), []);
        profile.lines.push(line(4, requests(64, 8), requests(3, 2)));
        profile.traffic = Traffic { read: 100, read_once: 40, ..Traffic::default() };
        let said: Vec<String> = profile.advice().iter().map(|a| format!("{}: {a}", a.ptx_line)).collect();
        assert_eq!(
            said,
            [
                "0: rereading: 100 bytes are read from global memory, and 40 of them are different (2.5 times)",
                "4: split accesses: 2 accesses to global memory take 64 sectors, and 8 would do (8.0 times)",
                "4: bank conflicts: 2 accesses to shared memory take 3 passes, and 2 would do (1.5 times)",
            ]
        );
    }
}
