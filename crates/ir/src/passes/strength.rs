//! Strength reduction: an address that a `for` computes from its index becomes a register that every trip adds to.
//!
//! `[base + i · 512]` is a multiplication and an addition each time around; `ptxas` leaves it so. Where the address
//! grows by the same amount with every step of the index, wrapping included, its first value is computed before the
//! loop and the rest is one addition.

use crate::kernel::{Block, Inst, Kernel, LocationId, RegisterId, Value};
use crate::machine::Slot;
use crate::op::{Binary, Op};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// Addresses that a loop may carry: each is a register, or two, for as long as it runs.
const MAX_ADDRESSES: usize = 8;

/// Fewer operations than this are no dearer than the addition.
const MIN_OPERATIONS: usize = 2;

/// How far into an address to look.
const MAX_OPERATIONS: usize = 16;

/// Reduces the addresses of the loops of a verified kernel.
/// Whether there were any.
pub(super) fn strength(kernel: &mut Kernel) -> bool {
    if !counts(&kernel.body) {
        return false;
    }
    let mut body = std::mem::take(&mut kernel.body);
    let registers = kernel.registers.len();
    Strength { kernel, definitions: FxHashMap::default() }.block(&mut body);
    kernel.body = body;
    kernel.registers.len() > registers
}

/// Whether there is a `for`.
fn counts(block: &Block) -> bool {
    block.iter().any(|inst| matches!(inst.op, Op::For { .. }) || inst.op.blocks().any(counts))
}

/// An operation and its operands.
type Definition = (Op, SmallVec<[Value; 3]>);
type Definitions = FxHashMap<Value, Definition>;

struct Strength<'k> {
    kernel: &'k mut Kernel,
    /// Constants and arithmetic so far.
    definitions: Definitions,
}

/// By how much a value grows when the index grows by 1.
#[derive(Clone, Copy, PartialEq)]
enum Growth {
    Constant(u64),
    /// By a value from outside of the loop, of 32 bits or as wide as what grows.
    Value(Value),
}

/// A loop that is looked at.
struct Loop {
    index: Value,
    /// Values of its body.
    inside: FxHashSet<Value>,
}

impl Strength<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Block::with_capacity(block.len());
        for mut inst in block.drain(..) {
            inst.op.blocks_mut().for_each(|b| self.block(b));
            if let Op::For { index, body, .. } = &mut inst.op {
                let (from, step) = (inst.args[0], inst.args[2]);
                self.reduce(*index, from, step, body, inst.location, &mut out);
            } else {
                self.remember(&inst);
            }
            out.push(inst);
        }
        *block = out;
    }

    /// Values are defined once, so what is known of them stays true.
    fn remember(&mut self, inst: &Inst) {
        let known = matches!(inst.op, Op::Const(_) | Op::Binary(_) | Op::Convert);
        if let ([result], true) = (&inst.results[..], known) {
            self.definitions.insert(*result, (inst.op.clone(), inst.args.clone()));
        }
    }

    fn constant(&self, v: Value) -> Option<u64> {
        match self.definitions.get(&v)?.0 {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    fn reduce(&mut self, index: Value, from: Value, step: Value, body: &mut Block, at: LocationId, before: &mut Block) {
        let mut inside = FxHashSet::default();
        inside.insert(index);
        let mut addresses = vec![];
        survey(body, &mut inside, &mut addresses);
        let this = Loop { index, inside };
        addresses.retain(|v| this.inside.contains(v));
        let mut first = Block::new();
        let mut last = Block::new();
        let mut replaced = FxHashMap::default();
        for address in addresses {
            if replaced.len() == MAX_ADDRESSES {
                break;
            }
            let mut budget = MAX_OPERATIONS;
            let growth = match self.growth(&this, address, &mut budget) {
                Some(Growth::Constant(0)) | None => continue,
                Some(_) if MAX_OPERATIONS - budget < MIN_OPERATIONS => continue,
                Some(growth) => growth,
            };
            let ty = self.kernel.type_of(address);
            let mut emit = Emit { kernel: self.kernel, at, out: before };
            let Some(bump) = emit.bump(growth, step, self.definitions.get(&step), ty) else { continue };
            let mut copies = FxHashMap::default();
            copies.insert(index, from);
            let start = emit.copy(&self.definitions, &this, address, &mut copies);
            self.kernel.registers.push(ty);
            let register = RegisterId(self.kernel.registers.len() as u32 - 1);
            let inst = |op, args: &[Value], results| Inst { op, args: args.into(), results, location: at };
            before.push(inst(Op::Set(register), &[start], smallvec![]));
            let (here, next) = (self.kernel.value(ty), self.kernel.value(ty));
            first.push(inst(Op::Get(register), &[], smallvec![here]));
            last.push(inst(Op::Binary(Binary::Add), &[here, bump], smallvec![next]));
            last.push(inst(Op::Set(register), &[next], smallvec![]));
            replaced.insert(address, here);
        }
        if replaced.is_empty() {
            return;
        }
        replace(body, &replaced);
        // Nothing may come between a `continue_if` and the next address.
        if continues(body) {
            first.append(&mut last);
        }
        first.append(body);
        first.append(&mut last);
        *body = first;
    }

    /// How a value grows with the index; `None` where that is not by the same amount each time. Takes each operation
    /// on the way from the budget.
    fn growth(&self, this: &Loop, v: Value, budget: &mut usize) -> Option<Growth> {
        if v == this.index {
            return Some(Growth::Constant(1));
        }
        if !this.inside.contains(&v) {
            return Some(Growth::Constant(0));
        }
        *budget = budget.checked_sub(1)?;
        let (op, args) = self.definitions.get(&v)?;
        let mut of = |i: usize| self.growth(this, args[i], budget);
        match op {
            Op::Const(_) => Some(Growth::Constant(0)),
            Op::Binary(Binary::Add) => match (of(0)?, of(1)?) {
                (Growth::Constant(0), growth) | (growth, Growth::Constant(0)) => Some(growth),
                (Growth::Constant(a), Growth::Constant(b)) => Some(Growth::Constant(a.wrapping_add(b))),
                _ => None,
            },
            Op::Binary(Binary::Sub) => match (of(0)?, of(1)?) {
                (growth, Growth::Constant(0)) => Some(growth),
                (Growth::Constant(a), Growth::Constant(b)) => Some(Growth::Constant(a.wrapping_sub(b))),
                _ => None,
            },
            Op::Binary(Binary::Mul) => match (of(0)?, of(1)?) {
                (growth, Growth::Constant(0)) => self.times(growth, args[1]),
                (Growth::Constant(0), growth) => self.times(growth, args[0]),
                _ => None,
            },
            Op::Binary(Binary::Shl) => match (of(0)?, self.constant(args[1])?) {
                (Growth::Constant(a), by @ 0..64) => Some(Growth::Constant(a << by)),
                _ => None,
            },
            // Of the index itself alone: a sum of 32 bits may wrap before it is widened.
            Op::Binary(Binary::MulWide) if args[0] == this.index => match of(1)? {
                Growth::Constant(0) => self.times(Growth::Constant(1), args[1]),
                _ => None,
            },
            Op::Binary(Binary::MulWide) if args[1] == this.index => match of(0)? {
                Growth::Constant(0) => self.times(Growth::Constant(1), args[0]),
                _ => None,
            },
            Op::Convert if args[0] == this.index && matches!(self.kernel.type_of(v), Type::U64 | Type::I64) => {
                Some(Growth::Constant(1))
            }
            _ => None,
        }
    }

    fn times(&self, growth: Growth, factor: Value) -> Option<Growth> {
        match (growth, self.constant(factor)) {
            (Growth::Constant(a), Some(b)) => Some(Growth::Constant(a.wrapping_mul(b))),
            (Growth::Constant(1), None) => Some(Growth::Value(factor)),
            _ => None,
        }
    }
}

/// Whether a body may begin the next trip of its loop early.
fn continues(body: &Block) -> bool {
    body.iter().any(|inst| match &inst.op {
        Op::ContinueIf => true,
        Op::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        _ => false,
    })
}

/// Values that a block defines, and addresses that its accesses use, each once and in order.
fn survey(block: &Block, inside: &mut FxHashSet<Value>, addresses: &mut Vec<Value>) {
    for inst in block {
        inside.extend(&inst.results);
        if let Op::For { index, .. } = inst.op {
            inside.insert(index);
        }
        let mut use_at = |i: usize| match inst.args.get(i) {
            Some(v) if !addresses.contains(v) => addresses.push(*v),
            _ => {}
        };
        match &inst.op {
            Op::Load { .. } | Op::Store { .. } => use_at(0),
            Op::Machine(machine) => machine.each_slot(|slot| {
                if let Slot::Address { base, .. } = slot {
                    use_at(usize::from(*base));
                }
            }),
            _ => {}
        }
        inst.op.blocks().for_each(|b| survey(b, inside, addresses));
    }
}

fn replace(block: &mut Block, by: &FxHashMap<Value, Value>) {
    for inst in block {
        for v in &mut inst.args {
            if let Some(new) = by.get(v) {
                *v = *new;
            }
        }
        inst.op.blocks_mut().for_each(|b| replace(b, by));
    }
}

/// New instructions before a loop.
struct Emit<'a> {
    kernel: &'a mut Kernel,
    at: LocationId,
    out: &'a mut Block,
}

impl Emit<'_> {
    fn compute(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let v = self.kernel.value(ty);
        self.out.push(Inst { op, args: args.into(), results: smallvec![v], location: self.at });
        v
    }

    /// What an address grows by in a trip; `None` where the index does not step by a constant.
    fn bump(&mut self, growth: Growth, step: Value, definition: Option<&Definition>, ty: Type) -> Option<Value> {
        let step = match definition {
            Some((Op::Const(bits), _)) => Growth::Constant(*bits),
            _ => Growth::Value(step),
        };
        match (growth, step) {
            (Growth::Constant(a), Growth::Constant(b)) => {
                Some(self.compute(Op::Const(a.wrapping_mul(b) & ty.mask()), &[], ty))
            }
            (Growth::Value(v), Growth::Constant(n)) | (Growth::Constant(n), Growth::Value(v)) => {
                let wide = if self.kernel.type_of(v) == ty { v } else { self.compute(Op::Convert, &[v], ty) };
                if n == 1 {
                    return Some(wide);
                }
                let n = self.compute(Op::Const(n & ty.mask()), &[], ty);
                Some(self.compute(Op::Binary(Binary::Mul), &[wide, n], ty))
            }
            (Growth::Value(_), Growth::Value(_)) => None,
        }
    }

    /// The computation of a value again, with other operands where `copies` says so.
    fn copy(
        &mut self,
        definitions: &Definitions,
        this: &Loop,
        v: Value,
        copies: &mut FxHashMap<Value, Value>,
    ) -> Value {
        if let Some(copy) = copies.get(&v) {
            return *copy;
        }
        let Some((op, args)) = definitions.get(&v).filter(|_| this.inside.contains(&v)) else { return v };
        let args: SmallVec<[Value; 3]> = args.iter().map(|&a| self.copy(definitions, this, a, copies)).collect();
        let copy = self.compute(op.clone(), &args, self.kernel.type_of(v));
        copies.insert(v, copy);
        copy
    }
}
