//! Value numbering: an operation on the same operands is done once.
//!
//! Scopes follow the blocks: what was computed before, or around, is found again; nothing is moved. Loads that are
//! read-only count as operations.

use super::fold::floats::has_one_nan;
use super::rewrite::{Outcome, Rewriter, Rule, rewrite};
use crate::access::{Access, AccessKind};
use crate::inline::Inline;
use crate::kernel::{Inst, Kernel, Value};
use crate::machine::Machine;
use crate::op::{Binary, Op, Space};
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Removes repeated computations from a verified kernel.
pub(super) fn number(kernel: &mut Kernel) {
    rewrite(kernel, &mut Number::default());
}

type Results = SmallVec<[Value; 1]>;

#[derive(Default)]
struct Number {
    known: FxHashMap<Key, Results>,
    /// What each open inner block has added.
    scopes: Vec<Vec<Key>>,
}

/// An operation: its word, what else tells it apart, operands, result types.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    name: &'static str,
    detail: (u64, i32, u64),
    args: SmallVec<[Value; 3]>,
    types: SmallVec<[Type; 4]>,
    words: Words,
    access: Option<Access>,
}

/// What instructions of PTX say in words.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Words {
    None,
    Machine(Box<Machine>),
    Inline(Box<Inline>),
}

impl Key {
    fn new(rw: &Rewriter<'_>, inst: &Inst) -> Option<Key> {
        let detail = match &inst.op {
            Op::Const(bits) => (*bits, 0, 0),
            Op::Param(i) => ((*i).into(), 0, 0),
            Op::Special(s) if !s.is_volatile() => (*s as u64, 0, 0),
            Op::SharedAddress(id) => (id.0.into(), 0, 0),
            Op::Load { space: Space::Global, offset, fill, access } if access.kind == AccessKind::ReadOnly => {
                (fill.is_some().into(), *offset, fill.unwrap_or_default())
            }
            op if op.is_pure() => (0, 0, 0),
            _ => return None,
        };
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
        let types = inst.results.iter().map(|&v| rw.type_of(v)).collect();
        let words = match &inst.op {
            Op::Machine(machine) => Words::Machine(machine.clone()),
            Op::Inline(inline) => Words::Inline(inline.clone()),
            _ => Words::None,
        };
        Some(Key { name: inst.op.name(), detail, args, types, words, access: inst.access() })
    }
}

impl Rule for Number {
    fn apply(&mut self, rw: &mut Rewriter<'_>, inst: Inst) -> Outcome {
        let Some(key) = Key::new(rw, &inst) else { return Outcome::Keep(inst) };
        if let Some(earlier) = self.known.get(&key) {
            for (&v, &w) in inst.results.iter().zip(earlier) {
                rw.replace(v, w);
            }
            return Outcome::Done;
        }
        // What the outermost block computes stays known to the end.
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(key.clone());
        }
        self.known.insert(key, inst.results.clone());
        Outcome::Keep(inst)
    }

    fn enter(&mut self) {
        self.scopes.push(vec![]);
    }

    fn leave(&mut self) {
        for key in self.scopes.pop().unwrap_or_default() {
            self.known.remove(&key);
        }
    }
}
