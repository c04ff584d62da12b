//! A row's target, and the gradient of its logits.

use crate::rows::{Chunk, scalar};
use warpsmith_dsl::prelude::*;

/// The target of a thread's row.
pub(super) struct Target {
    /// Whether the row counts, and its target is a class.
    pub(super) counts: Bool,
    /// What loss and gradient are where it does not: 0 where it is to be ignored, NaN where its target is no class.
    pub(super) instead: F32,
    /// The class; 0 where there is none.
    pub(super) class: U32,
}

impl Target {
    /// What is written for row `row`; −1 past the last.
    pub(super) fn load(targets: &Tensor, row: U32) -> I64 {
        let there = row.lt(U32::from(targets.dim(0)));
        match targets.dtype() {
            DType::I64 => targets.at::<I64>((row, 0)).load_if(there, -1),
            _ => targets.at::<I32>((row, 0)).load_if(there, -1).i64(),
        }
    }

    /// Of what is written, in a row that is `there` or past the last, of so many `classes`.
    pub(super) fn new(target: I64, there: Bool, ignore_index: I32, classes: Dim) -> Target {
        let ignored = target.eq(ignore_index.i64());
        let is_class = target.u64().lt(U32::from(classes).u64());
        let counts = is_class & !ignored & there;
        let instead = select(ignored, F32::from(0.0), f32::NAN);
        Target { counts, instead, class: select(counts, target.u32(), 0) }
    }

    /// The weight of its class, 1 without weights.
    pub(super) fn weight(&self, weights: Option<&Tensor>) -> Option<F32> {
        weights.map(|w| scalar(&w.broadcast(1), (U32::from(0), self.class)))
    }
}

/// What the gradient of a row's logits is made of: `p · all − each · w[c] − one · [c = target]`.
pub(super) struct Gradient {
    all: F32,
    each: Option<F32>,
    one: F32,
}

impl Gradient {
    /// For one of the loss. `weights` is what the weights sum to.
    pub(super) fn new(
        weight: Option<F32>,
        weights: F32,
        lse: F32,
        classes: usize,
        smoothing: Option<F32>,
        z_loss: Option<F32>,
    ) -> Gradient {
        let mut one = weight.unwrap_or_else(|| F32::from(1.0));
        let mut all = one;
        let mut each = None;
        if let Some(share) = smoothing {
            one = one * (1.0 - share);
            let of_each = share / classes as f32;
            (all, each) = (one + of_each * weights, Some(of_each));
        }
        if let Some(z) = z_loss {
            all = all + z * lse * 2.0;
        }
        Gradient { all, each, one }
    }

    /// Times the gradient of the loss.
    pub(super) fn scaled(self, by: F32) -> Gradient {
        let Gradient { all, each, one } = self;
        Gradient { all: all * by, each: each.map(|e| e * by), one: one * by }
    }

    /// Of a chunk's logits, from their probabilities.
    pub(super) fn of(&self, p: Frag<F32>, c: Chunk<'_>, target: &Target, weights: Option<&Tensor>) -> Frag<F32> {
        let mut d = p * self.all;
        match (self.each, weights) {
            (Some(each), Some(w)) => d = d - c.load_vector(w) * each,
            (Some(each), None) => d = d - each,
            (None, _) => {}
        }
        let columns = c.columns();
        let with_target = d.numbers().into_iter().zip(columns).map(|(d, column)| {
            let d = select(column.eq(target.class), d - self.one, d);
            select(target.counts, d, target.instead)
        });
        Frag::of(&with_target.collect::<Vec<F32>>()).f32()
    }
}
