//! Whether threads come together where they must.
//!
//! A barrier of the block needs all its threads, an `.aligned` instruction all threads of a warp, and none that has
//! exited. Each value is the same for the block, for a warp, or for no group of threads ([`Level`]); so is each branch,
//! by its condition, and each loop, by its trips. Mutable registers are followed through the program, around loops to
//! a fixpoint.
//!
//! It would rather miss a mistake than see one where there is none: what a load gives is as uniform as its address, an
//! index of threads divided by 32 is the warp's.

mod level;

use super::Verifier;
use crate::kernel::{Block, Inst, Kernel, LocationId, RegisterId};
use crate::machine::{Machine, Opcode, Slot, Word};
use crate::op::Op;
use level::{Level, Levels};
use smallvec::SmallVec;
use warpsmith_ptx::table::Convergence;

/// Walks until everything is known. More than any program takes; one that does is let through.
const MAX_WALKS: usize = 12;

impl Verifier<'_> {
    /// Checks a kernel that is right otherwise.
    pub(super) fn uniformity(&mut self) {
        for problem in problems(self.kernel) {
            let note_at = self.place(problem.because);
            let error = self.error(problem.message, problem.at);
            *error = error.clone().note(problem.note, note_at).help(problem.help);
        }
    }
}

struct Problem {
    message: String,
    at: LocationId,
    note: &'static str,
    because: LocationId,
    help: &'static str,
}

fn problems(kernel: &Kernel) -> Vec<Problem> {
    let mut walk = Walk {
        kernel,
        levels: Levels::new(kernel),
        loops: vec![],
        next_loop: 0,
        frames: vec![],
        controls: vec![],
        changed: true,
        problems: vec![],
    };
    for _ in 0..MAX_WALKS {
        if !walk.changed {
            return walk.problems;
        }
        walk.changed = false;
        walk.next_loop = 0;
        walk.problems.clear();
        let count = kernel.registers.len();
        let mut state = State { registers: vec![Level::Block; count], exited: None, written: vec![false; count] };
        walk.block(&kernel.body, &mut state);
    }
    vec![]
}

/// What holds at a place of the program.
#[derive(Clone)]
struct State {
    registers: Vec<Level>,
    /// Which threads may be gone, and where they went.
    exited: Option<(Level, LocationId)>,
    /// Which registers were written since the block began.
    written: Vec<bool>,
}

impl State {
    /// Where two ways meet. Whether it became more.
    fn join(&mut self, other: &State) -> bool {
        let mut grew = other.exited.map(|e| e.0) > self.exited.map(|e| e.0);
        for (a, b) in self.registers.iter_mut().zip(&other.registers) {
            grew |= *b > *a;
            *a = (*a).max(*b);
        }
        self.exit(other.exited);
        grew
    }

    fn exit(&mut self, exited: Option<(Level, LocationId)>) {
        if exited.map(|e| e.0) > self.exited.map(|e| e.0) {
            self.exited = exited;
        }
    }

    /// Threads that come here by different ways may have written different things.
    fn meet(&mut self, ways: Level, written: &[bool]) {
        for (level, _) in self.registers.iter_mut().zip(written).filter(|(_, w)| **w) {
            *level = (*level).max(ways);
        }
        self.wrote(written);
    }

    fn wrote(&mut self, written: &[bool]) {
        self.written.iter_mut().zip(written).for_each(|(a, b)| *a |= b);
    }

    /// The same where a block begins.
    fn inside(&self) -> State {
        let written = vec![false; self.written.len()];
        State { registers: self.registers.clone(), exited: self.exited, written }
    }
}

/// What earlier walks found of a loop.
#[derive(Clone)]
struct Loop {
    /// The state at its end, from which it starts again.
    back: Option<State>,
    /// Which threads leave it together.
    leaves: Level,
}

/// A branch or loop around the instruction at hand.
#[derive(Clone, Copy)]
struct Control {
    level: Level,
    at: LocationId,
    /// Whether both ways have as many barriers of the block, so that every thread comes to one.
    balanced: bool,
}

/// A loop around the instruction at hand.
struct Frame {
    id: usize,
    /// Its place among the controls.
    control: usize,
    /// The state where it is left.
    left: Option<State>,
    /// The state where its next trip begins early.
    again: Option<State>,
}

struct Walk<'k> {
    kernel: &'k Kernel,
    levels: Levels<'k>,
    loops: Vec<Loop>,
    next_loop: usize,
    frames: Vec<Frame>,
    controls: Vec<Control>,
    changed: bool,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, state: &mut State) {
        for inst in block {
            match &inst.op {
                Op::If { uniform, then, otherwise } => self.branch(inst, *uniform, [then, otherwise], state),
                Op::For { index, body, .. } => {
                    let trips = self.levels.of_all(&inst.args);
                    self.levels.set(*index, trips);
                    self.repeat(inst, trips.of_condition(), body, state);
                }
                Op::Loop { body } => self.repeat(inst, Level::Block, body, state),
                Op::BreakIf => self.leave(inst, state),
                Op::ContinueIf => self.go_on(inst, state),
                Op::ExitIf => {
                    let level = self.levels.of_all(&inst.args).of_condition().max(self.control(0));
                    state.exit(Some((level, inst.location)));
                }
                Op::Set(r) => self.set(*r, self.levels.of_all(&inst.args), state),
                Op::Get(r) => {
                    let level = state.registers.get(r.0 as usize).copied().unwrap_or(Level::Lane);
                    inst.results.iter().for_each(|&v| self.levels.set(v, level));
                }
                Op::Machine(machine) => self.machine(inst, machine, state),
                Op::Barrier => {
                    self.whole_block(inst, state);
                }
                Op::Inline(inline) => {
                    let types = |values: &[crate::kernel::Value]| {
                        values.iter().map(|&v| self.kernel.type_of(v)).collect::<SmallVec<[crate::Type; 4]>>()
                    };
                    if inline.is_aligned(&types(&inst.results), &types(&inst.args)) {
                        self.whole_warp(inst, state);
                    }
                    self.levels.define(inst, Level::Block);
                }
                _ => self.levels.define(inst, Level::Block),
            }
        }
    }

    fn set(&mut self, r: RegisterId, level: Level, state: &mut State) {
        if let Some(place) = state.registers.get_mut(r.0 as usize) {
            *place = level;
        }
        if let Some(written) = state.written.get_mut(r.0 as usize) {
            *written = true;
        }
    }

    /// Which threads are together, by the controls from one on.
    fn control(&self, from: usize) -> Level {
        self.controls.iter().skip(from).map(|c| c.level).max().unwrap_or(Level::Block)
    }

    fn branch(&mut self, inst: &Inst, uniform: bool, arms: [&Block; 2], state: &mut State) {
        let level = if uniform { Level::Block } else { self.levels.of_all(&inst.args).of_condition() };
        let barriers = arms.map(block_barriers);
        let balanced = barriers[0] == barriers[1] && level <= Level::Warp;
        let own = self.controls.len();
        self.controls.push(Control { level, at: inst.location, balanced });
        let mut after: Option<State> = None;
        let (mut written, mut continued) = (vec![false; state.written.len()], vec![]);
        for arm in arms {
            let mut inside = state.inside();
            self.block(arm, &mut inside);
            // Who goes on with the next trip in one arm was not in the other, and is not behind both.
            continued.extend(self.controls.drain(own + 1..));
            written.iter_mut().zip(&inside.written).for_each(|(a, b)| *a |= b);
            match &mut after {
                Some(after) => {
                    after.join(&inside);
                }
                None => after = Some(inside),
            }
        }
        self.controls.truncate(own);
        self.controls.append(&mut continued);
        if let Some(after) = after {
            (state.registers, state.exited) = (after.registers, after.exited);
        }
        state.meet(level, &written);
    }

    fn repeat(&mut self, inst: &Inst, trips: Level, body: &Block, state: &mut State) {
        let id = self.next_loop;
        self.next_loop += 1;
        if self.loops.len() <= id {
            self.loops.push(Loop { back: None, leaves: trips });
        }
        if let Some(back) = &self.loops[id].back {
            state.join(back);
        }
        let level = self.loops[id].leaves.max(trips);
        let own = self.controls.len();
        self.frames.push(Frame { id, control: own + 1, left: None, again: None });
        self.controls.push(Control { level, at: inst.location, balanced: false });
        let mut inside = state.inside();
        self.block(body, &mut inside);
        let continued = self.control(own + 1);
        self.controls.truncate(own);
        let frame = self.frames.pop();

        let written = std::mem::take(&mut inside.written);
        if let Some(again) = frame.as_ref().and_then(|f| f.again.as_ref()) {
            inside.join(again);
        }
        inside.meet(continued, &written);
        let grew = state.join(&inside);
        let known = &mut self.loops[id];
        let more = known.back.as_ref().map_or(grew, |back| {
            let more = back.registers.iter().zip(&state.registers).any(|(a, b)| b > a);
            more || state.exited.map(|e| e.0) > back.exited.map(|e| e.0)
        });
        // Where its end is as its beginning, another walk would see the same.
        self.changed |= more;
        if more {
            known.back = Some(state.inside());
        }
        if let Some(left) = frame.and_then(|f| f.left) {
            state.join(&left);
        }
        state.meet(self.loops[id].leaves.max(trips), &written);
    }

    fn leave(&mut self, inst: &Inst, state: &State) {
        let condition = self.levels.of_all(&inst.args).of_condition();
        let Some(frame) = self.frames.last() else { return };
        let level = condition.max(self.control(frame.control));
        let known = &mut self.loops[frame.id];
        if level > known.leaves {
            known.leaves = level;
            self.changed = true;
        }
        if let Some(frame) = self.frames.last_mut() {
            match &mut frame.left {
                Some(left) => {
                    left.join(state);
                }
                None => frame.left = Some(state.clone()),
            }
        }
    }

    /// Who does not go on with the next trip is alone for the rest of the body.
    fn go_on(&mut self, inst: &Inst, state: &State) {
        let condition = self.levels.of_all(&inst.args).of_condition();
        let Some(frame) = self.frames.last_mut() else { return };
        match &mut frame.again {
            Some(again) => {
                again.join(state);
            }
            None => frame.again = Some(state.clone()),
        }
        let control = frame.control;
        let level = condition.max(self.control(control));
        self.controls.push(Control { level, at: inst.location, balanced: false });
    }

    fn machine(&mut self, inst: &Inst, machine: &Machine, state: &mut State) {
        let mut read = Level::Block;
        machine.each_run(|run| match state.registers.get(run) {
            Some(all) => read = all.iter().fold(read, |most, level| most.max(*level)),
            None => read = Level::Lane,
        });
        if is_block_barrier(machine) {
            self.whole_block(inst, state);
        } else if machine.convergence() == Convergence::Aligned {
            self.whole_warp(inst, state);
        }
        self.levels.define(inst, read);
        let after = self.levels.of_all(&inst.args).max(read).of_condition();
        machine.each_register(|r| self.set(r, after, state));
    }

    /// Something that all threads of the block must come to.
    fn whole_block(&mut self, inst: &Inst, state: &State) {
        // A name is made where there is something to say.
        let name = || inst.op.label();
        if let Some(control) = self.controls.iter().find(|c| c.level > Level::Block && !c.balanced) {
            self.problems.push(Problem {
                message: format!(
                    "this `{}` waits for all threads of the block, and not all of them come to it",
                    name()
                ),
                at: inst.location,
                note: differs(control.level),
                because: control.at,
                help: "move it out of the branch or loop, or use a named barrier that counts the threads that come",
            });
        } else if let Some((level, at)) = state.exited
            && level > Level::Block
        {
            self.problems.push(Problem {
                message: format!("this `{}` waits for all threads of the block, and some may have exited", name()),
                at: inst.location,
                note: "here they exit",
                because: at,
                help: "let them run to the end, with what they must not do in a branch",
            });
        }
    }

    /// Something that all threads of a warp must come to.
    fn whole_warp(&mut self, inst: &Inst, state: &State) {
        let name = || inst.op.label();
        if let Some(control) = self.controls.iter().find(|c| c.level > Level::Warp) {
            self.problems.push(Problem {
                message: format!("`{}` needs all threads of a warp together, and not all of them come to it", name()),
                at: inst.location,
                note: differs(control.level),
                because: control.at,
                help: "branch on what is the same for a warp, such as the index of the thread divided by 32",
            });
        } else if let Some((level, at)) = state.exited
            && level > Level::Warp
        {
            self.problems.push(Problem {
                message: format!("`{}` needs all threads of a warp together, and some may have exited", name()),
                at: inst.location,
                note: "here they exit",
                because: at,
                help: "let them run to the end, with what they must not do in a branch",
            });
        }
    }
}

fn differs(level: Level) -> &'static str {
    match level {
        Level::Block | Level::Warp => "this is not the same for all warps of the block",
        Level::Index | Level::Lane => "this is not the same for all threads of a warp",
    }
}

/// Whether it waits for the block: a barrier that does not say how many threads come.
fn is_block_barrier(machine: &Machine) -> bool {
    let values = machine.operands.iter().filter(|s| !matches!(s, Slot::Sink)).count();
    let waits = matches!(machine.opcode, Opcode::Bar | Opcode::Barrier) && !machine.has(Word::Cluster);
    let without_count = match (machine.has(Word::Sync), machine.has(Word::Red)) {
        (true, _) => values == 1,
        (_, true) => values == 3,
        _ => false,
    };
    waits && without_count && !machine.has(Word::Warp)
}

/// Barriers of the block in it and in the blocks inside.
fn block_barriers(block: &Block) -> usize {
    let one = |inst: &Inst| match &inst.op {
        Op::Barrier => 1,
        Op::Machine(machine) => usize::from(is_block_barrier(machine)),
        _ => inst.op.blocks().map(block_barriers).sum(),
    };
    block.iter().map(one).sum()
}
