//! Reductions that climb from thread to warp to block.

use crate::bundle::Bundle;
use crate::flow::{branch, when};
use crate::shared::Shared;
use crate::thread::{lane_idx, sync_threads, thread_idx};
use crate::trace::{helper, with};
use crate::value::Number;
use crate::warp::shuffle_xor;

/// What a reduction does with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// Adds.
    Sum,
    /// Takes the larger; NaN gives way to numbers.
    Max,
}

impl Reduce {
    #[track_caller]
    fn of<T: Number>(self, a: T, b: T) -> T {
        match self {
            Reduce::Sum => a + b,
            Reduce::Max => a.max(b),
        }
    }

    #[track_caller]
    fn identity<T: Number>(self) -> T {
        match self {
            Reduce::Sum => T::zero(),
            Reduce::Max => T::lowest(),
        }
    }
}

/// How a block's threads share rows: `threads_per_row` neighbours to a row, `rows` rows to a block.
///
/// Up to 32 threads a row must be a power of two; more must be a multiple of 32, up to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowGroup {
    /// Rows in a block.
    pub rows: usize,
    /// Threads in a row.
    pub threads_per_row: usize,
}

impl RowGroup {
    /// Threads in a block.
    pub fn threads(&self) -> usize {
        self.rows * self.threads_per_row
    }
}

/// Combines one value of each thread over the threads that share its row; all of them get the result. Every thread of
/// the block takes part.
#[track_caller]
pub fn row_reduce<T: Number>(x: T, op: Reduce, over: &RowGroup) -> T {
    helper("row_reduce", || {
        let x = warp_reduce(x, over.threads_per_row.min(32), |a, b| op.of(a, b));
        let warps = over.threads_per_row.div_ceil(32);
        if warps <= 1 {
            return x;
        }
        // In a run-time loop a fast warp could write the next iteration's value while a slow one still reads this one's.
        if with(|t| t.in_loop()) {
            sync_threads();
        }
        let slots = Shared::<T>::new("row_reduce", over.rows * warps);
        let (lane, warp) = (lane_idx(), thread_idx().x / 32);
        when(lane.eq(0), || slots.set(warp, x));
        sync_threads();
        let first = warp / warps * warps;
        if warps.is_power_of_two() {
            return warp_reduce(slots.get(first + lane % warps), warps, |a, b| op.of(a, b));
        }
        let x = branch(lane.lt(warps), || slots.get(first + lane), || op.identity());
        warp_reduce(x, 32, |a, b| op.of(a, b))
    })
}

/// Combines a value, or several at once, over groups of `lanes` neighbouring lanes (a power of two, up to 32); each lane
/// gets the result. All 32 lanes take part.
#[track_caller]
pub fn warp_reduce<T: Bundle>(x: T, lanes: usize, combine: impl Fn(T, T) -> T) -> T {
    helper("warp_reduce", || {
        let (mut x, mut distance) = (x, lanes / 2);
        while distance > 0 {
            let other = shuffle_xor(&x, distance);
            x = combine(x, other); // a Rust loop: unrolled, so rebinding is right
            distance /= 2;
        }
        x
    })
}
