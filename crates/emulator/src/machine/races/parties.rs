//! Who takes part in a run, and whom a scope includes.
//!
//! The number of a block names its party in its upper bits: clocks and histories tell blocks of all launches apart, and
//! copies and threads of the host are parties of one block.

use super::threads::{Hint, Why};
use crate::finding::OtherAccess;
use crate::lanes::LANES;
use crate::machine::core::Shape;
use crate::memory::{Group, Owner};
use crate::program::{Program, Scope};

/// Where the party starts in the number of a block.
const PARTY: u32 = 40;
/// Blocks of the largest grid that has numbers for all.
pub(crate) const MOST_BLOCKS: u64 = 1 << PARTY;

/// The first number of a party's blocks.
pub(crate) fn base_of(party: usize) -> u64 {
    (party as u64) << PARTY
}

/// The party that a block is of.
#[inline(always)]
pub(crate) fn party_of(block: u64) -> usize {
    (block >> PARTY) as usize
}

/// The number of a block in its grid.
pub(crate) fn within(block: u64) -> u64 {
    block & (MOST_BLOCKS - 1)
}

/// A launch, a copy, or a thread of the host.
#[derive(Debug)]
pub(crate) struct Party<'a> {
    /// Whose thread it is.
    pub owner: Owner,
    /// Who it is in reports: "launch 2 on stream 1 of device 0"; empty when it is the only one.
    pub name: String,
    pub work: Work<'a>,
}

/// What a party does.
#[derive(Debug)]
pub(crate) enum Work<'a> {
    Grid {
        program: &'a Program,
        shape: &'a Shape,
    },
    /// What each step does, in words.
    Steps(Vec<String>),
}

/// All who take part, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parties<'a>(pub &'a [Party<'a>]);

impl<'a> Parties<'a> {
    pub(crate) fn get(self, block: u64) -> Option<&'a Party<'a>> {
        self.0.get(party_of(block))
    }

    /// The extents of the grid that a block is of.
    pub(crate) fn shape(self, block: u64) -> Option<&'a Shape> {
        match self.get(block)?.work {
            Work::Grid { shape, .. } => Some(shape),
            Work::Steps(_) => None,
        }
    }

    /// The kernel that a block runs.
    pub(crate) fn program(self, block: u64) -> Option<&'a Program> {
        match self.get(block)?.work {
            Work::Grid { program, .. } => Some(program),
            Work::Steps(_) => None,
        }
    }

    /// Whether any of them has bulk copies from global memory.
    pub(crate) fn load_in_bulk(self) -> bool {
        self.0.iter().any(|p| matches!(p.work, Work::Grid { program, .. } if program.loads_in_bulk()))
    }

    /// Why a bulk store that others see was not ordered before.
    pub(super) fn not_waited(self, old: &Group) -> String {
        let line = self.line(old.block, old.pc);
        format!("its copy was not waited for: no `cp.async.bulk.wait_group` comes after {line} before it is made known")
    }

    /// The index of a block in its grid.
    pub(crate) fn index(self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.shape(block).map_or([1; 3], |s| s.grid).map(u64::from);
        let number = within(block);
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }

    /// "line 12 of the PTX", or else a place in the source; for a copy or the host, what it does.
    pub(crate) fn line(self, block: u64, pc: u32) -> String {
        let Some(party) = self.get(block) else { return String::new() };
        let program = match &party.work {
            Work::Grid { program, .. } => program,
            Work::Steps(steps) => {
                let step = steps.get(pc as usize).map_or("", String::as_str);
                return format!("{} ({step})", party.name);
            }
        };
        match program.origins.get(pc as usize).map_or(0, |o| o.line) {
            0 => match program.location(pc as usize) {
                Some(location) => location.to_string(),
                None => format!("instruction {pc}"),
            },
            line => format!("line {line} of the PTX"),
        }
    }

    /// The earlier of two accesses that race, seen from a party.
    pub(crate) fn other(self, old: &Group, lane: u32, here: usize) -> OtherAccess {
        let program = self.program(old.block);
        let shape = self.shape(old.block).filter(|s| usize::from(old.warp) < s.warps() as usize);
        let agent = self.get(old.block).filter(|_| party_of(old.block) != here).map(|party| match &party.work {
            Work::Grid { program, .. } => format!("`{}`, {}", program.name, party.name),
            Work::Steps(_) => self.line(old.block, old.pc),
        });
        OtherAccess {
            agent,
            block: self.index(old.block),
            thread: shape.map(|s| s.thread_index(u32::from(old.warp) * LANES as u32 + (lane & 31))),
            writes: old.touch.writes,
            asynchronous: old.touch.asynchronous,
            location: program.and_then(|p| p.location(old.pc as usize)).cloned(),
            ptx_line: program.and_then(|p| p.origins.get(old.pc as usize)).map_or(0, |o| o.line),
        }
    }

    /// Why a flag did not order what its author may have meant it to; `here` is the block that read it.
    pub(super) fn why(self, h: &Hint, here: u64) -> String {
        let (write, read) = (self.line(h.block, h.write), self.line(here, h.read));
        let writer = self.block_in_words(h.block, party_of(here));
        match h.why {
            Why::NoRelease => {
                format!("{writer} writes the flag of {write} without `.release`, and no fence comes before it")
            }
            Why::NoAcquire => {
                format!("the flag of {read} is read without `.acquire`, and no fence comes after it")
            }
            Why::WriteScope(scope) => {
                let reader = self.block_in_words(here, party_of(h.block));
                format!("the scope {} of {write} does not include {reader}", scope.name())
            }
            Why::ReadScope(scope) => format!("the scope {} of {read} does not include {writer}", scope.name()),
        }
    }

    /// "block (1, 0, 0)", and whose where it is of another party.
    pub(crate) fn block_in_words(self, block: u64, here: usize) -> String {
        let [x, y, z] = self.index(block);
        let index = format!("block ({x}, {y}, {z})");
        match self.get(block).filter(|_| party_of(block) != here) {
            None => index,
            Some(Party { name, work: Work::Steps(_), .. }) => name.clone(),
            Some(Party { name, work: Work::Grid { program, .. }, .. }) => {
                format!("{index} of `{}` ({name})", program.name)
            }
        }
    }

    fn cluster(self, block: u64) -> [u32; 3] {
        let (index, cluster) = (self.index(block), self.shape(block).map_or([1; 3], |s| s.cluster));
        std::array::from_fn(|axis| index[axis] / cluster[axis])
    }

    /// Whether a scope at one block includes another.
    #[inline(always)]
    pub(crate) fn includes(self, scope: Scope, a: u64, b: u64) -> bool {
        if party_of(a) != party_of(b) {
            return self.includes_party(scope, a, b);
        }
        match scope {
            Scope::Cta => a == b,
            Scope::Cluster => a == b || self.cluster(a) == self.cluster(b),
            Scope::Gpu | Scope::Sys => true,
        }
    }

    /// The same, where they are of different parties. The host is no device: only the system includes it.
    #[cold]
    fn includes_party(self, scope: Scope, a: u64, b: u64) -> bool {
        let owner = |block| self.get(block).map_or(Owner::HOST, |party| party.owner);
        match scope {
            Scope::Cta | Scope::Cluster => false,
            Scope::Gpu => owner(a) == owner(b) && owner(a) != Owner::HOST,
            Scope::Sys => true,
        }
    }
}
