//! The walk that most passes share: forward through a kernel, instruction by instruction, with what is known of the
//! operands at hand.

use crate::kernel::{Block, Inst, Kernel, LocationId, Value};
use crate::op::{Binary, Op, Unary};
use crate::types::Type;
use smallvec::{SmallVec, smallvec};

/// What becomes of an instruction.
pub(super) enum Outcome {
    /// It stays, perhaps changed.
    Keep(Inst),
    /// These instructions stand for it.
    Splice(Block),
    /// It goes: what replaces it has been emitted, or its results are aliases.
    Done,
}

/// A pass, seen from one instruction.
pub(super) trait Rule {
    /// Decides; the operands are final already.
    fn apply(&mut self, rw: &mut Rewriter<'_>, inst: Inst) -> Outcome;
    /// An inner block begins.
    fn enter(&mut self) {}
    /// It ends.
    fn leave(&mut self) {}
}

/// Memory that rewrites leave to the next: of a long kernel it is megabytes, and fresh pages cost more than the walk.
#[derive(Default)]
pub(super) struct Scratch {
    alias: Vec<Value>,
    definitions: Vec<Option<Definition>>,
    out: Block,
}

/// Rewrites a kernel by a rule.
pub(super) fn rewrite(kernel: &mut Kernel, scratch: &mut Scratch, rule: &mut impl Rule) {
    let mut body = std::mem::take(&mut kernel.body);
    let values = kernel.values.len();
    let Scratch { mut alias, mut definitions, mut out } = std::mem::take(scratch);
    alias.extend((0..values as u32).map(Value));
    definitions.resize_with(values, || None);
    out.reserve(body.len());
    let mut rewriter = Rewriter { kernel, alias, definitions, out, at: LocationId::NONE };
    rewriter.walk(body.drain(..), rule);
    let Rewriter { mut alias, mut definitions, out, .. } = rewriter;
    kernel.body = out;
    alias.clear();
    definitions.clear();
    *scratch = Scratch { alias, definitions, out: body };
}

/// A pure definition.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) op: Op,
    pub(super) args: SmallVec<[Value; 3]>,
}

/// The state of a walk.
pub(super) struct Rewriter<'k> {
    kernel: &'k mut Kernel,
    /// What to read instead of each value.
    alias: Vec<Value>,
    definitions: Vec<Option<Definition>>,
    out: Block,
    /// Whose place new instructions get.
    at: LocationId,
}

impl Rewriter<'_> {
    fn walk(&mut self, block: impl IntoIterator<Item = Inst>, rule: &mut impl Rule) {
        for mut inst in block {
            for v in &mut inst.args {
                *v = self.alias[v.0 as usize];
            }
            self.at = inst.location;
            match rule.apply(self, inst) {
                Outcome::Keep(inst) => self.keep(inst, rule),
                Outcome::Splice(block) => self.walk(block, rule),
                Outcome::Done => {}
            }
        }
    }

    fn keep(&mut self, mut inst: Inst, rule: &mut impl Rule) {
        for inner in inst.op.blocks_mut() {
            let around = std::mem::replace(&mut self.out, Vec::with_capacity(inner.len()));
            rule.enter();
            self.walk(std::mem::take(inner), rule);
            rule.leave();
            *inner = std::mem::replace(&mut self.out, around);
        }
        self.push(inst);
    }

    fn push(&mut self, inst: Inst) {
        // Nobody looks into an instruction of PTX.
        if !matches!(inst.op, Op::Machine(_) | Op::Inline(_))
            && inst.op.is_pure()
            && let [result] = inst.results[..]
        {
            self.definitions[result.0 as usize] =
                Some(Definition { op: inst.op.clone(), args: SmallVec::from_slice(&inst.args) });
        }
        self.out.push(inst);
    }

    /// Threads in a block, where every launch has the same number.
    pub(super) fn block(&self) -> Option<[u32; 3]> {
        self.kernel.block
    }

    pub(super) fn type_of(&self, v: Value) -> Type {
        self.kernel.type_of(v)
    }

    /// How a value is computed.
    pub(super) fn definition(&self, v: Value) -> Option<&Definition> {
        self.definitions[v.0 as usize].as_ref()
    }

    /// The bits of a constant.
    pub(super) fn constant(&self, v: Value) -> Option<u64> {
        match self.definition(v)?.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The operand of a value that this operation made.
    pub(super) fn unary_operand(&self, v: Value, op: Unary) -> Option<Value> {
        let definition = self.definition(v)?;
        (definition.op == Op::Unary(op)).then(|| definition.args[0])
    }

    /// The operands of a value that this operation made.
    pub(super) fn binary_operands(&self, v: Value, op: Binary) -> Option<(Value, Value)> {
        let definition = self.definition(v)?;
        (definition.op == Op::Binary(op)).then(|| (definition.args[0], definition.args[1]))
    }

    /// From here on, `to` is read instead of `from`.
    pub(super) fn replace(&mut self, from: Value, to: Value) {
        self.alias[from.0 as usize] = to;
    }

    /// A new value, computed here.
    pub(super) fn compute(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let v = self.kernel.value(ty);
        self.alias.push(v);
        self.definitions.push(None);
        let location = self.at;
        self.push(Inst { op, args: SmallVec::from_slice(args), results: smallvec![v], location });
        v
    }

    /// A new constant.
    pub(super) fn new_constant(&mut self, ty: Type, bits: u64) -> Value {
        self.compute(Op::Const(bits & ty.mask()), &[], ty)
    }

    /// A new value of the type of its operands.
    pub(super) fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.compute(Op::Binary(op), &[a, b], self.type_of(a))
    }

    /// The same with a constant on the right.
    pub(super) fn binary_constant(&mut self, op: Binary, a: Value, bits: u64) -> Value {
        let ty = if matches!(op, Binary::Shl | Binary::Shr) { Type::U32 } else { self.type_of(a) };
        let b = self.new_constant(ty, bits);
        self.binary(op, a, b)
    }
}
