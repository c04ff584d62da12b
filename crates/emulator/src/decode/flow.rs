//! Which reads may find a register that nothing wrote, by dataflow over the decoded code.
//!
//! Each lane takes one path through the code, so a register that is written on every path to a read needs no check.
//! What remains, usually nothing, is checked and tracked lane by lane when the kernel runs.

use super::Register;
use crate::program::{Action, Counts, Guard, Instruction, NONE, Uses};

/// What one instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub reads: Vec<Register>,
    pub writes: Vec<Register>,
    pub copies: bool,
}

/// The number of a register over all files.
pub(crate) fn number(register: Register, counts: Counts) -> u32 {
    match register {
        Register::R32(n) => n.into(),
        Register::R64(n) => counts.r32 as u32 + u32::from(n),
        Register::P(n) => (counts.r32 + counts.r64) as u32 + u32::from(n),
    }
}

/// A set of registers.
#[derive(Clone, PartialEq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn new(registers: usize, full: bool) -> Set {
        Set(vec![if full { u64::MAX } else { 0 }; registers.div_ceil(64)])
    }
    pub(super) fn has(&self, n: u32) -> bool {
        self.0[n as usize / 64] >> (n % 64) & 1 == 1
    }
    pub(super) fn insert(&mut self, n: u32) {
        self.0[n as usize / 64] |= 1 << (n % 64);
    }
    /// Adds what is in the other; says whether anything came.
    pub(super) fn join(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= !*a & *b != 0;
            *a |= b;
        }
        changed
    }
    /// Keeps what is in both; says whether anything went.
    fn intersect(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *a & !b != 0;
            *a &= b;
        }
        changed
    }
}

/// Marks the instructions that need a look when they run, and says what to look at.
pub(crate) fn analyse(
    code: &mut [Instruction],
    steps: &[Step],
    lists: &[u32],
    counts: Counts,
    start: u32,
) -> Vec<Uses> {
    let registers = counts.r32 + counts.r64 + counts.p;
    let numbered: Vec<(Vec<u32>, Vec<u32>)> = steps
        .iter()
        .map(|s| {
            let n = |rs: &[Register]| rs.iter().map(|r| number(*r, counts)).collect();
            (n(&s.reads), n(&s.writes))
        })
        .collect();
    let step = |at: usize, set: &mut Set| {
        let (reads, writes) = &numbered[at];
        let guarded = code[at].guard.register != NONE;
        let hands_on_doubt = steps[at].copies && reads.iter().any(|r| !set.has(*r));
        if !guarded && !hands_on_doubt {
            writes.iter().for_each(|w| set.insert(*w));
        }
    };

    let leaders = leaders(code, lists);
    let starts: Vec<usize> = (0..code.len()).filter(|at| leaders[*at]).collect();
    let mut block_of = vec![0; code.len()];
    for (block, start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(code.len());
        block_of[*start..end].fill(block);
    }
    // Everything counts as written until a path shows otherwise.
    let mut entry = vec![Set::new(registers, true); starts.len()];
    let first = block_of.get(start as usize).copied().unwrap_or(0);
    if let Some(first) = entry.get_mut(first) {
        *first = Set::new(registers, false);
    }
    let mut reached = vec![false; starts.len()];
    let mut work = vec![first];
    while let Some(block) = work.pop() {
        reached[block] = true;
        let end = starts.get(block + 1).copied().unwrap_or(code.len());
        let mut set = entry[block].clone();
        (starts[block]..end).for_each(|at| step(at, &mut set));
        for next in successors(code, lists, end - 1) {
            let next = block_of[next];
            let changed = entry[next].intersect(&set);
            if (changed || !reached[next]) && !work.contains(&next) {
                work.push(next);
            }
        }
    }

    let mut tracked = Set::new(registers, false);
    let mut doubtful = vec![vec![]; code.len()];
    for (block, start) in starts.iter().enumerate() {
        let mut set = entry[block].clone();
        for at in *start..starts.get(block + 1).copied().unwrap_or(code.len()) {
            for read in &numbered[at].0 {
                if !set.has(*read) {
                    tracked.insert(*read);
                    doubtful[at].push(*read);
                }
            }
            step(at, &mut set);
        }
    }
    let mut uses = vec![Uses::default(); code.len()];
    for (at, reads) in doubtful.into_iter().enumerate() {
        let writes: Vec<u32> = numbered[at].1.iter().copied().filter(|w| tracked.has(*w)).collect();
        code[at].checked = !(reads.is_empty() && writes.is_empty());
        uses[at] = Uses { reads, writes, copies: steps[at].copies };
    }
    uses
}

/// Counts from each instruction those that only compute, with nothing to check. `all_lanes` is the register, if any, of
/// a literal that names all lanes: where they are there, nobody waits at an instruction that names them.
pub(crate) fn count_straight(code: &mut [Instruction], all_lanes: Option<u16>) {
    let mut straight = 0u16;
    for i in code.iter_mut().rev() {
        let computes = match i.action {
            Action::Compute { .. } => true,
            Action::Sync { members, .. } => Some(members) == all_lanes,
            _ => false,
        };
        let plain = computes && i.guard.register == NONE && !i.checked;
        straight = if plain { straight.saturating_add(1) } else { 0 };
        i.straight = straight;
    }
}

/// The 32-bit registers that each instruction reads or writes.
pub(crate) fn touched(steps: &[Step]) -> Vec<Vec<u32>> {
    let narrow = |r: &Register| match r {
        Register::R32(n) => Some(u32::from(*n)),
        Register::R64(_) | Register::P(_) => None,
    };
    steps.iter().map(|s| s.reads.iter().chain(&s.writes).filter_map(narrow).collect()).collect()
}

/// Whether a jump, or the end of one, starts a block at each instruction.
pub(super) fn leaders(code: &[Instruction], lists: &[u32]) -> Vec<bool> {
    let mut leaders = vec![false; code.len()];
    leaders[0] = true;
    for at in 0..code.len() {
        if ends_block(&code[at].action) {
            successors(code, lists, at).for_each(|next| leaders[next] = true);
            if at + 1 < code.len() {
                leaders[at + 1] = true;
            }
        }
    }
    leaders
}

fn ends_block(action: &Action) -> bool {
    use Action::{Branch, Call, Exit, Return, Table, Trap};
    matches!(action, Branch { .. } | Table { .. } | Call { .. } | Return | Exit | Trap)
}

/// Where a lane can be after an instruction.
pub(super) fn successors<'c>(code: &'c [Instruction], lists: &'c [u32], at: usize) -> impl Iterator<Item = usize> + 'c {
    let Instruction { action, guard, .. } = code[at];
    let falls_through = match action {
        Action::Branch { .. } | Action::Table { .. } | Action::Exit | Action::Trap | Action::Return => {
            guard.register != Guard::ALWAYS.register
        }
        _ => true,
    };
    let jump = match action {
        Action::Branch { target } | Action::Call { target, .. } => Some(target as usize),
        _ => None,
    };
    let table = match action {
        Action::Table { start, count, .. } => lists.get(start as usize..(start + count) as usize).unwrap_or_default(),
        _ => &[],
    };
    let next = falls_through.then_some(at + 1).filter(|next| *next < code.len());
    jump.into_iter().chain(table.iter().map(|t| *t as usize)).chain(next)
}
