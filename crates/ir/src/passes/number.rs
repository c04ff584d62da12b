//! Value numbering: an operation on the same operands is done once.
//!
//! Scopes follow the blocks: what was computed before, or around, is found again; nothing is moved. Loads that are
//! read-only count as operations.

use super::fold::floats::has_one_nan;
use super::rewrite::{Outcome, Rewriter, Rule, Scratch, rewrite};
use crate::access::{Access, AccessKind};
use crate::inline::Inline;
use crate::kernel::{Inst, Kernel, SharedId, Value};
use crate::machine::Machine;
use crate::op::{Binary, Op, Space, Special};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Removes repeated computations from a verified kernel.
pub(super) fn number(kernel: &mut Kernel, scratch: &mut Scratch) {
    let count = kernel.len();
    let first = FxHashMap::with_capacity_and_hasher(count, Default::default());
    rewrite(kernel, scratch, &mut Number { first, known: Vec::with_capacity(count), scopes: vec![] });
}

struct Number {
    /// The latest operation of each hash: its place in `known`.
    first: FxHashMap<u64, u32>,
    /// Operations so far.
    known: Vec<Known>,
    /// What each open inner block has added.
    scopes: Vec<Vec<u64>>,
}

/// No place.
const NONE: u32 = u32::MAX;

/// An operation that has been computed.
struct Known {
    /// The one before of the same hash.
    earlier: u32,
    op: Word,
    args: SmallVec<[Value; 3]>,
    results: SmallVec<[Value; 1]>,
}

/// What tells an operation apart besides operands and result types.
#[derive(PartialEq, Eq, Hash)]
enum Word {
    Const(u64),
    Param(u32),
    Special(Special),
    Shared(SharedId),
    Load(i32, Option<u64>, Access),
    /// Those that have nothing but a name.
    Named(&'static str),
    Machine(Box<Machine>),
    Inline(Box<Inline>),
}

/// The same of an operation that is only looked at.
#[derive(PartialEq, Eq, Hash)]
enum Seen<'a> {
    Word(Word),
    Machine(&'a Machine),
    Inline(&'a Inline),
}

impl Seen<'_> {
    /// `None` for what may not be merged.
    fn new(op: &Op) -> Option<Seen<'_>> {
        Some(Seen::Word(match op {
            Op::Const(bits) => Word::Const(*bits),
            Op::Param(i) => Word::Param(*i),
            Op::Special(s) if !s.is_volatile() => Word::Special(*s),
            Op::SharedAddress(id) => Word::Shared(*id),
            Op::Load { space: Space::Global, offset, fill, access } if access.kind == AccessKind::ReadOnly => {
                Word::Load(*offset, *fill, *access)
            }
            Op::Machine(machine) => return machine.is_pure().then_some(Seen::Machine(machine)),
            Op::Inline(inline) => return op.is_pure().then_some(Seen::Inline(inline)),
            op if op.is_pure() => Word::Named(op.name()),
            _ => return None,
        }))
    }

    fn is(&self, word: &Word) -> bool {
        match (self, word) {
            (Seen::Word(seen), word) => seen == word,
            (Seen::Machine(seen), Word::Machine(machine)) => **seen == **machine,
            (Seen::Inline(seen), Word::Inline(inline)) => **seen == **inline,
            _ => false,
        }
    }

    fn into_word(self) -> Word {
        match self {
            Seen::Word(word) => word,
            Seen::Machine(machine) => Word::Machine(Box::new(machine.clone())),
            Seen::Inline(inline) => Word::Inline(Box::new(inline.clone())),
        }
    }
}

/// The operands, sorted where their order does not matter.
fn operands(rw: &Rewriter<'_>, inst: &Inst) -> SmallVec<[Value; 3]> {
    let mut args = inst.args.clone();
    // `min` and `max` are left alone: which of two zeros or NaNs they give may depend on the order.
    let commutes = matches!(
        inst.op,
        Op::Binary(
            Binary::Add | Binary::Mul | Binary::MulHi | Binary::MulWide | Binary::And | Binary::Or | Binary::Xor
        )
    );
    // So may which of two NaNs of f64.
    if commutes && args.iter().all(|&v| has_one_nan(rw.type_of(v))) {
        args.sort_unstable();
    }
    args
}

impl Rule for Number {
    fn apply(&mut self, rw: &mut Rewriter<'_>, inst: Inst) -> Outcome {
        let Some(seen) = Seen::new(&inst.op) else { return Outcome::Keep(inst) };
        let args = operands(rw, &inst);
        let mut hasher = FxHasher::default();
        (&seen, &args).hash(&mut hasher);
        inst.results.iter().for_each(|&v| rw.type_of(v).hash(&mut hasher));
        let hash = hasher.finish();
        let first = self.first.entry(hash).or_insert(NONE);
        let types = |results: &[Value]| -> SmallVec<[Type; 4]> { results.iter().map(|&v| rw.type_of(v)).collect() };
        let mut place = *first;
        while let Some(k) = self.known.get(place as usize) {
            if k.args == args && seen.is(&k.op) && types(&k.results) == types(&inst.results) {
                for (&v, &w) in inst.results.iter().zip(&k.results) {
                    rw.replace(v, w);
                }
                return Outcome::Done;
            }
            place = k.earlier;
        }
        // What the outermost block computes stays known to the end.
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(hash);
        }
        let earlier = std::mem::replace(first, self.known.len() as u32);
        self.known.push(Known { earlier, op: seen.into_word(), args, results: inst.results.clone() });
        Outcome::Keep(inst)
    }

    fn enter(&mut self) {
        self.scopes.push(vec![]);
    }

    fn leave(&mut self) {
        // The last that came with a hash goes first.
        for hash in self.scopes.pop().unwrap_or_default().iter().rev() {
            if let Some(first) = self.first.get_mut(hash) {
                *first = self.known.get(*first as usize).map_or(NONE, |k| k.earlier);
            }
        }
    }
}
