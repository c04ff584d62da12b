//! Unrolling: a `for` whose author asks for it does several bodies in a trip.
//!
//! `ptxas` has no pragma for a number of bodies. The loop comes apart in two: one of whole trips, in which nothing is
//! tested between the bodies, and one of what is left. Where a body may leave the loop, it stays one, and each body but
//! the first is behind a test. A `continue_if` leaves its copy of the body alone, so each copy is a loop of one trip.
//!
//! A loop stays as it is where its step is not known, or its bodies both break and continue.

use crate::kernel::{Block, Inst, Kernel, LocationId, Value};
use crate::op::{Binary, Comparison, Op};
use crate::types::Type;
use crate::verify::MAX_DEPTH;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Instructions that an unrolled loop may have: more would take `ptxas` seconds.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// Unrolls the loops of a verified kernel.
pub(super) fn unroll(kernel: &mut Kernel) {
    if !wanted(&kernel.body) {
        return;
    }
    let mut body = std::mem::take(&mut kernel.body);
    // A copy that is a loop of its own nests once more.
    let nests = depth(&body) * 2 < MAX_DEPTH;
    Unroll { kernel, constants: FxHashMap::default(), nests, at: LocationId::NONE }.block(&mut body);
    kernel.body = body;
}

/// Whether an author asks for it, if only once a trip: that is forgotten, too.
fn wanted(block: &Block) -> bool {
    block.iter().any(|inst| matches!(inst.op, Op::For { unroll: Some(_), .. }) || inst.op.blocks().any(wanted))
}

fn depth(block: &Block) -> usize {
    block.iter().flat_map(|inst| inst.op.blocks()).map(|b| 1 + depth(b)).max().unwrap_or(0)
}

struct Unroll<'k> {
    kernel: &'k mut Kernel,
    constants: FxHashMap<Value, u64>,
    nests: bool,
    at: LocationId,
}

/// A loop that is unrolled.
struct Loop<'b> {
    index: Value,
    body: &'b Block,
    /// `from`, `to`, `step`.
    bounds: [Value; 3],
    step: u32,
    /// Bodies in a trip.
    times: u32,
}

impl Unroll<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Block::with_capacity(block.len());
        for mut inst in block.drain(..) {
            inst.op.blocks_mut().for_each(|b| self.block(b));
            if let (Op::Const(bits), [result]) = (&inst.op, &inst.results[..]) {
                self.constants.insert(*result, *bits);
            }
            self.at = inst.location;
            let wanted = match &mut inst.op {
                Op::For { unroll, .. } => unroll.take().filter(|n| *n > 1),
                _ => None,
            };
            match wanted {
                Some(times) => self.expand(inst, times, &mut out),
                None => out.push(inst),
            }
        }
        *block = out;
    }

    fn expand(&mut self, inst: Inst, times: u32, out: &mut Block) {
        let (Op::For { index, body, .. }, [from, to, step]) = (&inst.op, &inst.args[..]) else { return out.push(inst) };
        let known = self.constants.get(step).map(|n| *n as u32);
        let (breaks, continues) = (has(body, &Op::BreakIf), has(body, &Op::ContinueIf));
        let step = match known.filter(|n| n.checked_mul(times).is_some()) {
            Some(n) if !(continues && (breaks || !self.nests)) && len(body) * times as usize <= MAX_INSTRUCTIONS => n,
            _ => return out.push(inst),
        };
        let this = Loop { index: *index, body, bounds: [*from, *to, inst.args[2]], step, times };
        if breaks { self.tested(&this, out) } else { self.whole(&this, continues, out) }
    }

    /// Trips of whole bodies, then those that are left.
    fn whole(&mut self, this: &Loop<'_>, continues: bool, out: &mut Block) {
        let [from, to, step] = this.bounds;
        let (u32, chunk) = (Type::U32, this.step * this.times);
        let chunk = self.constant(chunk, out);
        let zero = self.constant(0, out);
        let distance = self.emit(Op::Binary(Binary::Sub), &[to, from], u32, out);
        let any = self.emit(Op::Compare(Comparison::Lt), &[from, to], Type::Bool, out);
        let distance = self.emit(Op::Select, &[any, distance, zero], u32, out);
        let rest = self.emit(Op::Binary(Binary::Rem), &[distance, chunk], u32, out);
        let whole = self.emit(Op::Binary(Binary::Sub), &[distance, rest], u32, out);
        let middle = self.emit(Op::Binary(Binary::Add), &[from, whole], u32, out);

        let index = self.kernel.value(u32);
        let mut body = vec![];
        for j in 0..this.times {
            let mut copy = vec![];
            self.copy(this, index, j, &mut copy);
            if continues {
                let bounds = [0, 1, 1].map(|n| self.constant(n, &mut body));
                let once = self.kernel.value(u32);
                body.push(self.counted(once, bounds, copy));
            } else {
                body.append(&mut copy);
            }
        }
        let main = self.counted(index, [from, middle, chunk], body);
        out.push(main);
        out.push(self.counted(this.index, [middle, to, step], this.body.clone()));
    }

    /// One loop, with a test before each body but the first.
    fn tested(&mut self, this: &Loop<'_>, out: &mut Block) {
        let [from, to, _] = this.bounds;
        let chunk = self.constant(this.step * this.times, out);
        let index = self.kernel.value(Type::U32);
        let mut body = vec![];
        // An index past `to` may pass 2³²: the distance that is left may not.
        let left = self.emit(Op::Binary(Binary::Sub), &[to, index], Type::U32, &mut body);
        for j in 0..this.times {
            if j > 0 {
                let passed = self.constant(j * this.step, &mut body);
                let done = self.emit(Op::Compare(Comparison::Le), &[left, passed], Type::Bool, &mut body);
                let (args, location) = (smallvec![done], self.at);
                body.push(Inst { op: Op::BreakIf, args, results: smallvec![], location });
            }
            self.copy(this, index, j, &mut body);
        }
        let main = self.counted(index, [from, to, chunk], body);
        out.push(main);
    }

    /// The body for an index that is `j` steps further.
    fn copy(&mut self, this: &Loop<'_>, index: Value, j: u32, out: &mut Block) {
        let mut names = FxHashMap::default();
        let further = j * this.step;
        let here = match further {
            0 => index,
            n => {
                let n = self.constant(n, out);
                self.emit(Op::Binary(Binary::Add), &[index, n], Type::U32, out)
            }
        };
        names.insert(this.index, here);
        let widened = Widened { index, here, further: further.into() };
        self.rename(this.body, &mut names, &widened, out);
    }

    fn rename(&mut self, block: &Block, names: &mut FxHashMap<Value, Value>, widened: &Widened, out: &mut Block) {
        for inst in block {
            let args: SmallVec<[Value; 3]> = inst.args.iter().map(|v| *names.get(v).unwrap_or(v)).collect();
            self.at = inst.location;
            if let Some(v) = self.widen(inst, &args, widened, out) {
                names.insert(inst.results[0], v);
                continue;
            }
            let mut define = |kernel: &mut Kernel, v: Value| {
                let new = kernel.value(kernel.type_of(v));
                names.insert(v, new);
                new
            };
            let results: SmallVec<[Value; 1]> = inst.results.iter().map(|&v| define(self.kernel, v)).collect();
            if let (Op::Const(bits), [result]) = (&inst.op, &results[..]) {
                self.constants.insert(*result, *bits);
            }
            let mut op = inst.op.clone();
            if let Op::For { index, .. } = &mut op {
                *index = define(self.kernel, *index);
            }
            for inner in op.blocks_mut() {
                let original = std::mem::take(inner);
                self.rename(&original, names, widened, inner);
            }
            out.push(Inst { op, args, results, location: inst.location });
        }
    }

    /// A 64-bit multiple of the index as the first body's plus a constant, for the offset of an access: the index stays
    /// below the loop's end, so the sum is exact.
    fn widen(&mut self, inst: &Inst, args: &[Value], widened: &Widened, out: &mut Block) -> Option<Value> {
        let Widened { index, here, further } = *widened;
        let ([result], true) = (&inst.results[..], further > 0 && args.first() == Some(&here)) else { return None };
        let (result, factor) = match inst.op {
            Op::Convert if matches!(self.kernel.type_of(*result), Type::U64 | Type::I64) => (*result, 1),
            Op::Binary(Binary::MulWide) => (*result, *self.constants.get(args.get(1)?)?),
            _ => return None,
        };
        let ty = self.kernel.type_of(result);
        let mut args: SmallVec<[Value; 3]> = args.into();
        args[0] = index;
        let first = self.emit(inst.op.clone(), &args, ty, out);
        let more = self.emit(Op::Const(further.wrapping_mul(factor)), &[], ty, out);
        Some(self.emit(Op::Binary(Binary::Add), &[first, more], ty, out))
    }

    fn counted(&self, index: Value, bounds: [Value; 3], body: Block) -> Inst {
        let op = Op::For { index, unroll: None, body };
        Inst { op, args: bounds.into(), results: smallvec![], location: self.at }
    }

    fn constant(&mut self, n: u32, out: &mut Block) -> Value {
        let v = self.emit(Op::Const(n.into()), &[], Type::U32, out);
        self.constants.insert(v, n.into());
        v
    }

    fn emit(&mut self, op: Op, args: &[Value], ty: Type, out: &mut Block) -> Value {
        let v = self.kernel.value(ty);
        out.push(Inst { op, args: args.into(), results: smallvec![v], location: self.at });
        v
    }
}

/// The index of a copy.
struct Widened {
    /// That of the first body.
    index: Value,
    here: Value,
    /// How much further it is.
    further: u64,
}

/// Whether a body does that to the loop it belongs to.
fn has(body: &Block, what: &Op) -> bool {
    body.iter().any(|inst| match &inst.op {
        Op::If { then, otherwise, .. } => has(then, what) || has(otherwise, what),
        op => op == what,
    })
}

fn len(block: &Block) -> usize {
    block.iter().map(|inst| 1 + inst.op.blocks().map(len).sum::<usize>()).sum()
}
