//! A barrier for all blocks of a grid.

use crate::flow::{select, when};
use crate::pointer::Pointer;
use crate::spin::spin;
use crate::thread::{block_idx, grid_size, sync_threads, thread_idx};
use crate::trace::helper;
use crate::value::U32;
use warpsmith_ir::access::Scope;

/// A barrier for all threads of a grid, on a counter in the caller's memory that was zero before its first use.
///
/// The counter needs no reset: all arrivals of a round together flip its highest bit, and nothing else of it counts. The
/// blocks must all run at once: launch no more than the device holds (a cooperative launch checks).
#[derive(Clone, Copy)]
pub struct GridBarrier {
    counter: Pointer<U32>,
}

impl GridBarrier {
    /// On this counter.
    pub fn new(counter: Pointer<U32>) -> GridBarrier {
        GridBarrier { counter }
    }

    /// All threads of the grid meet and see each other's writes.
    #[track_caller]
    pub fn sync(&self) {
        helper("GridBarrier::sync", || {
            const ROUND: usize = 1 << 31;
            sync_threads();
            let [threads, blocks, sizes] = [thread_idx(), block_idx(), grid_size()];
            when((threads.x | threads.y | threads.z).eq(0), || {
                let count = sizes.x * sizes.y * sizes.z;
                let first = (blocks.x | blocks.y | blocks.z).eq(0);
                let mine = select(first, ROUND - (count - 1), 1);
                let before = self.counter.release(Scope::Device).fetch_add(mine);
                let now = || self.counter.acquire(Scope::Device).load();
                spin("the grid's other blocks").until(|| ((now() ^ before) & ROUND).ne(0));
            });
            sync_threads();
        });
    }
}
