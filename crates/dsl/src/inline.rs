//! PTX text in a kernel, for what the language does not say.

use crate::bundle::{Bundle, handles};
use crate::trace::{Handle, poison, with};
use crate::value::Scalar;
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ir::{Inline, Op};

pub use warpsmith_ir::Effect;

/// Instructions of PTX that are being given their operands.
#[must_use = "it is recorded by `emit`, `value` or `values`"]
pub struct InlinePtx {
    text: String,
    effect: Effect,
    args: SmallVec<[Handle; 4]>,
}

/// Instructions of PTX. `{0}`, `{1}` … stand for the results and then the operands. The text is parsed and checked, and
/// the emulator runs it like all else; what it does besides computing its results is declared with
/// [`effect`](InlinePtx::effect).
///
/// ```
/// # use warpsmith_dsl::{prelude::*, inline_ptx};
/// # trace("example", || {
/// let (a, b) = (I32::from(1), I32::from(2));
/// let sum: I32 = inline_ptx("add.sat.s32 {0}, {1}, {2};").arg(a).arg(b).value();
/// # }).unwrap();
/// ```
pub fn inline_ptx(text: impl Into<String>) -> InlinePtx {
    InlinePtx { text: text.into(), effect: Effect::None, args: SmallVec::new() }
}

impl InlinePtx {
    /// Says what it does besides computing: it is believed.
    pub fn effect(mut self, effect: Effect) -> InlinePtx {
        self.effect = effect;
        self
    }

    /// One more operand, or several.
    pub fn arg(mut self, x: impl Bundle) -> InlinePtx {
        self.args.extend(handles(&x));
        self
    }

    #[track_caller]
    fn record(self, results: &[warpsmith_ir::Type]) -> SmallVec<[Handle; 1]> {
        let at = Location::caller();
        let op = Op::Inline(Box::new(Inline { text: self.text, effect: self.effect }));
        with(|t| t.record(op, &self.args, results, at))
    }

    /// Records it, for its effect.
    #[track_caller]
    pub fn emit(self) {
        self.record(&[]);
    }

    /// Records it, for its one result.
    #[track_caller]
    pub fn value<T: Scalar>(self) -> T {
        let [x] = self.values();
        x
    }

    /// Records it, for its results of one type.
    #[track_caller]
    pub fn values<T: Scalar, const N: usize>(self) -> [T; N] {
        let mut all = self.record(&[T::TYPE; N]).into_iter();
        [(); N].map(|()| T::from_handle(all.next().unwrap_or_else(poison)))
    }
}
