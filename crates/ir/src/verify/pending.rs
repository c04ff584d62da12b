//! Registers that products in flight own.
//!
//! From a `wgmma.mma_async` until a `wgmma.wait_group` covers it, its accumulator and the registers of its A may be
//! neither read, written nor copied: PTX leaves what they hold undefined, and `ptxas` serialises what it sees copied. Products of
//! one shape may follow one another on an accumulator. Values as fragments of A are let be: nobody writes them again, and
//! which register holds them is `ptxas`' business.
//!
//! Groups are counted as the hardware does: each commit closes one, and a wait for n leaves the n newest in flight. Each
//! register knows how many commits came since its product; where ways meet, the fewest count. Loops are walked to a
//! fixpoint.

use super::Verifier;
use crate::kernel::{Block, Inst, LocationId, RegisterId};
use crate::machine::{Immediate, Machine, Modifier, Opcode, Slot, Word};
use crate::op::Op;
use rustc_hash::FxHashSet;

/// Walks of one loop. More than any program takes: what a walk changes gets fewer each time.
const MAX_WALKS: usize = 64;

/// More groups than anybody waits for.
const MAX_AGE: i32 = 1 << 10;

/// The age of a product whose group nobody has closed.
const OPEN: i32 = -1;

impl Verifier<'_> {
    /// Checks a kernel that is right otherwise.
    pub(super) fn pending(&mut self) {
        if !starts(&self.kernel.body) {
            return;
        }
        let mut walk = Walk { loops: vec![], reported: FxHashSet::default(), found: vec![] };
        walk.block(&self.kernel.body, &mut State { owned: vec![None; self.kernel.registers.len()] });
        for Access { register, at, owner } in walk.found {
            let made = first_write(&self.kernel.body, register);
            let help = match owner.age {
                OPEN => {
                    "close its group by `wgmma.commit_group`, and wait for it by `wgmma.wait_group` before this".into()
                }
                age => format!("wait for it before this: a `wgmma.wait_group` of at most {age} covers it"),
            };
            let (made, started) = (made.and_then(|at| self.place(at)), self.place(owner.at));
            let error = self.error(format!("register ${} is touched here while a `wgmma` owns it", register.0), at);
            *error =
                error.clone().note("the register is first written here", made).note("the `wgmma` starts here", started);
            error.help = Some(help);
        }
    }
}

/// What a product does with a register: an accumulator's shape and element, or nothing for A.
type Part = Option<(Modifier, u32)>;

#[derive(Clone, Copy, PartialEq)]
struct Owner {
    part: Part,
    /// Commits since, its own not counted; [`OPEN`] before that.
    age: i32,
    at: LocationId,
}

/// What is owned at a place of the program.
#[derive(Clone, Default)]
struct State {
    /// By register.
    owned: Vec<Option<Owner>>,
}

impl State {
    /// Where two ways meet. Whether it became more.
    fn join(&mut self, other: &State) -> bool {
        let mut grew = false;
        self.owned.resize(self.owned.len().max(other.owned.len()), None);
        for (ours, theirs) in self.owned.iter_mut().zip(&other.owned) {
            if let Some(owner) = theirs
                && ours.is_none_or(|o| owner.age < o.age)
            {
                *ours = Some(*owner);
                grew = true;
            }
        }
        grew
    }

    fn commit(&mut self) {
        self.owned.iter_mut().flatten().for_each(|o| o.age = (o.age + 1).min(MAX_AGE));
    }

    fn wait(&mut self, left: i64) {
        self.owned.iter_mut().for_each(|o| *o = o.filter(|o| i64::from(o.age) < left));
    }

    fn owner(&self, r: RegisterId) -> Option<Owner> {
        self.owned.get(r.0 as usize).copied().flatten()
    }
}

/// A register that is touched too early.
struct Access {
    register: RegisterId,
    at: LocationId,
    owner: Owner,
}

/// Where a loop is left, and where its next trip begins early.
#[derive(Default)]
struct Jumps {
    left: Option<State>,
    again: Option<State>,
}

struct Walk {
    loops: Vec<Jumps>,
    /// Products and places of the program that are reported already: one register speaks for all.
    reported: FxHashSet<(LocationId, LocationId)>,
    found: Vec<Access>,
}

impl Walk {
    fn block(&mut self, block: &Block, state: &mut State) {
        block.iter().for_each(|inst| self.inst(inst, state));
    }

    fn inst(&mut self, inst: &Inst, state: &mut State) {
        match &inst.op {
            Op::Get(r) | Op::Set(r) => self.touch(*r, inst.location, state),
            Op::Machine(machine) => self.machine(inst, machine, state),
            Op::If { then, otherwise, .. } => {
                let mut other = state.clone();
                self.block(then, state);
                self.block(otherwise, &mut other);
                state.join(&other);
            }
            Op::For { body, .. } => {
                let left = self.repeat(body, state);
                left.map(|left| state.join(&left));
            }
            Op::Loop { body } => {
                // Nothing comes after a loop that is never left.
                *state = self.repeat(body, state).unwrap_or_default();
            }
            Op::BreakIf => self.jump(state, |jumps| &mut jumps.left),
            Op::ContinueIf => self.jump(state, |jumps| &mut jumps.again),
            _ => {}
        }
    }

    /// Leaves what may be owned when a trip begins or ends; gives what may be where the loop is left.
    fn repeat(&mut self, body: &Block, state: &mut State) -> Option<State> {
        if is_idle(body) {
            return is_left(body).then(|| state.clone());
        }
        let mut left = None;
        for _ in 0..MAX_WALKS {
            self.loops.push(Jumps::default());
            let mut end = state.clone();
            self.block(body, &mut end);
            let jumps = self.loops.pop().unwrap_or_default();
            if let Some(again) = jumps.again {
                end.join(&again);
            }
            left = jumps.left;
            if !state.join(&end) {
                break;
            }
        }
        left
    }

    fn jump(&mut self, state: &State, way: fn(&mut Jumps) -> &mut Option<State>) {
        if let Some(jumps) = self.loops.last_mut() {
            way(jumps).get_or_insert_default().join(state);
        }
    }

    fn machine(&mut self, inst: &Inst, machine: &Machine, state: &mut State) {
        if is_product(&inst.op) {
            return self.product(inst, machine, state);
        }
        if machine.opcode == Opcode::Wgmma && machine.has(Word::CommitGroup) {
            state.commit();
        } else if machine.opcode == Opcode::Wgmma
            && let [Slot::Immediate(Immediate::Integer(left))] = machine.operands[..]
        {
            state.wait(left);
        }
        machine.each_register(|r| self.touch(r, inst.location, state));
    }

    fn product(&mut self, inst: &Inst, machine: &Machine, state: &mut State) {
        let shape = machine.modifiers.iter().copied().find(|m| m.name().starts_with("m64"));
        // The accumulator comes first; what registers follow are A's.
        let each = |see: &mut dyn FnMut(RegisterId, Part)| {
            for (i, operand) in machine.operands.iter().take(2).enumerate() {
                let mut element = 0;
                operand.each(&mut |slot| {
                    let Slot::Register(r) = slot else { return };
                    see(*r, shape.filter(|_| i == 0).map(|shape| (shape, element)));
                    element += 1;
                });
            }
        };
        each(&mut |r, part| {
            if state.owner(r).is_some_and(|owner| owner.part != part) {
                self.touch(r, inst.location, state);
            }
        });
        each(&mut |r, part| {
            if let Some(owner) = state.owned.get_mut(r.0 as usize) {
                *owner = Some(Owner { part, age: OPEN, at: inst.location });
            }
        });
    }

    fn touch(&mut self, register: RegisterId, at: LocationId, state: &State) {
        if let Some(owner) = state.owner(register)
            && self.reported.insert((owner.at, at))
        {
            self.found.push(Access { register, at, owner });
        }
    }
}

fn is_product(op: &Op) -> bool {
    matches!(op, Op::Machine(machine) if machine.opcode == Opcode::Wgmma && machine.has(Word::MmaAsync))
}

/// Whether a block leaves all registers alone, and all products.
fn is_idle(block: &Block) -> bool {
    block.iter().all(|inst| match &inst.op {
        Op::Get(_) | Op::Set(_) => false,
        Op::Machine(machine) => machine.opcode != Opcode::Wgmma && !machine.has_registers(),
        op => op.blocks().all(is_idle),
    })
}

/// Whether a loop of this body may be left from inside.
fn is_left(body: &Block) -> bool {
    body.iter().any(|inst| match &inst.op {
        Op::BreakIf => true,
        Op::If { then, otherwise, .. } => is_left(then) || is_left(otherwise),
        _ => false,
    })
}

/// Whether a product starts in a block.
fn starts(block: &Block) -> bool {
    block.iter().any(|inst| is_product(&inst.op) || inst.op.blocks().any(starts))
}

/// The first write of a register in the order of the program.
fn first_write(block: &Block, r: RegisterId) -> Option<LocationId> {
    block.iter().find_map(|inst| match inst.op {
        Op::Set(written) if written == r => Some(inst.location),
        _ => inst.op.blocks().find_map(|b| first_write(b, r)),
    })
}
