//! For which threads a value is the same.

use crate::kernel::{Inst, Kernel, Value};
use crate::machine::{Machine, Opcode, Slot, Word};
use crate::op::{Binary, Comparison, Op, Shuffle, Special};

/// The largest group of threads in which all have the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// All threads of the block.
    Block,
    /// The threads of a warp.
    Warp,
    /// No group; but what is made of a thread's index alone, so that `tid >> 5` is of the warp.
    Index,
    /// No group.
    Lane,
}

impl Level {
    /// As a condition: an index tells threads apart.
    pub(super) fn of_condition(self) -> Level {
        if self == Level::Index { Level::Lane } else { self }
    }
}

/// What is known of values so far.
pub(super) struct Levels<'k> {
    kernel: &'k Kernel,
    levels: Vec<Level>,
    constants: Vec<Option<u64>>,
}

impl<'k> Levels<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Levels<'k> {
        let count = kernel.values.len();
        Levels { kernel, levels: vec![Level::Block; count], constants: vec![None; count] }
    }

    pub(super) fn of(&self, v: Value) -> Level {
        self.levels.get(v.0 as usize).copied().unwrap_or(Level::Lane)
    }

    pub(super) fn of_all(&self, values: &[Value]) -> Level {
        values.iter().map(|&v| self.of(v)).max().unwrap_or(Level::Block)
    }

    pub(super) fn set(&mut self, v: Value, level: Level) {
        if let Some(place) = self.levels.get_mut(v.0 as usize) {
            *place = level;
        }
    }

    /// Learns of the results of an instruction; `registers` is of the mutable registers that it reads.
    pub(super) fn define(&mut self, inst: &Inst, registers: Level) {
        let level = self.result(inst, registers);
        for &v in &inst.results {
            self.set(v, level);
            if let (Op::Const(bits), Some(place)) = (&inst.op, self.constants.get_mut(v.0 as usize)) {
                *place = Some(*bits);
            }
        }
    }

    fn constant(&self, v: Option<&Value>) -> Option<u64> {
        self.constants.get(v?.0 as usize).copied().flatten()
    }

    fn result(&self, inst: &Inst, registers: Level) -> Level {
        let all = self.of_all(&inst.args);
        // Only some arithmetic keeps an index one.
        let plain = all.of_condition();
        let right = self.constant(inst.args.get(1));
        match &inst.op {
            Op::Special(special) => self.special(*special),
            Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::MulWide) | Op::Convert | Op::Bitcast => all,
            Op::Binary(Binary::Shr) if all == Level::Index && right >= Some(5) => Level::Warp,
            Op::Binary(Binary::Div) if all == Level::Index && right.is_some_and(|n| n > 0 && n % 32 == 0) => {
                Level::Warp
            }
            Op::Binary(Binary::And) if all == Level::Index && right.is_some_and(|n| n % 32 == 0) => Level::Warp,
            Op::Compare(comparison) if all == Level::Index => match (comparison, right) {
                (Comparison::Lt | Comparison::Ge, Some(n)) if n % 32 == 0 => Level::Warp,
                (Comparison::Le | Comparison::Gt, Some(n)) if n % 32 == 31 => Level::Warp,
                _ => Level::Lane,
            },
            // One lane's value for all.
            Op::Shuffle(Shuffle::Index) => inst.args.get(1).map_or(plain, |&lane| self.of(lane).max(Level::Warp)),
            Op::Machine(machine) => self.machine(machine, plain.max(registers.of_condition())),
            // Whatever it is, its author knows.
            Op::Inline(_) => plain,
            _ => plain,
        }
    }

    fn special(&self, special: Special) -> Level {
        // Rows of whole warps.
        let rows = self.kernel.block.is_some_and(|[x, ..]| x % 32 == 0);
        match special {
            Special::ThreadY | Special::ThreadZ if rows => Level::Warp,
            Special::ThreadX | Special::ThreadY | Special::ThreadZ => Level::Index,
            Special::Warp => Level::Warp,
            Special::Lane
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt
            | Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::GlobalTimer
            | Special::GlobalTimerLo
            | Special::GlobalTimerHi => Level::Lane,
            _ => Level::Block,
        }
    }

    /// `operands`: the level of all that it reads.
    fn machine(&self, machine: &Machine, operands: Level) -> Level {
        let mut specials = Level::Block;
        machine.each_slot(|slot| {
            if let Slot::Special(s) = slot {
                let level = Special::from_name(s.name()).map_or(Level::Lane, |s| self.special(s));
                specials = specials.max(level.of_condition());
            }
        });
        let shuffle = machine.opcode == Opcode::Shfl && machine.has(Word::Idx);
        match machine.opcode {
            Opcode::Vote | Opcode::Redux | Opcode::Activemask => Level::Warp,
            Opcode::Match if machine.has(Word::All) => Level::Warp,
            _ if shuffle => Level::Warp,
            Opcode::Bar | Opcode::Barrier => Level::Block,
            Opcode::Atom | Opcode::Elect | Opcode::Match | Opcode::Shfl | Opcode::Ldmatrix | Opcode::Mma => Level::Lane,
            _ => operands.max(specials),
        }
    }
}
