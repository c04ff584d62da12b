//! The way out of a matrix kernel: from accumulators through shared memory to global memory, by TMA.

use crate::barrier::sync_named;
use crate::fence::fence_async_shared;
use crate::flow::when;
use crate::frag::Frag;
use crate::machine::ptx;
use crate::roles::Group;
use crate::schedule::TileAt;
use crate::smem::{PANEL, SmemTile};
use crate::tensor::Tensor;
use crate::thread::thread_idx;
use crate::tma::{Mapped, wait_stores_read};
use crate::trace::{emit, helper, mistake, with};
use crate::value::U32;
use crate::wgmma::{MMA_ROWS, Mma};
use warpsmith_ir::{Op, SharedId, SharedVariable, Type};
use warpsmith_types::DType;

/// Shared memory for the results of `groups` consumer warpgroups, 64 rows of an [`Mma`] each, and their way to global
/// memory.
pub struct TmaOutput {
    tile: SmemTile,
    memory: SharedId,
    groups: usize,
}

/// Named barriers of the groups start here; lower ones are the author's.
const FIRST_BARRIER: usize = 8;

impl TmaOutput {
    /// Declares the memory, for results stored as bf16 or f16.
    #[track_caller]
    pub fn new(mma: Mma, dtype: DType, groups: usize) -> TmaOutput {
        let tile = SmemTile { dtype, rows: MMA_ROWS, columns: mma.n };
        if let Some(problem) = tile.problem() {
            mistake(problem, &[], "an output tile's columns are a multiple of 64");
        }
        let bytes = (groups * tile.bytes()) as u32;
        let memory = with(|t| t.shared(SharedVariable { name: "output".into(), bytes, align: 1024 }));
        TmaOutput { tile, memory, groups }
    }

    #[track_caller]
    fn address(&self, group: Group) -> U32 {
        let base = U32 { h: emit(Op::SharedAddress(self.memory), &[], Type::U32) };
        base + group.index * self.tile.bytes()
    }

    /// Stores a group's part of the output tile at `place`: its sums as [`Acc::finish`](crate::Acc::finish) gives them,
    /// converted to the output's dtype. Returns while the copy is under way; the next store waits for it.
    #[track_caller]
    pub fn store(&self, value: Frag, to: &Tensor, place: TileAt, group: Group) {
        helper("TmaOutput::store", || {
            let words = value.data().words;
            if value.dtype() != self.tile.dtype || words.len() != self.tile.columns / 4 {
                let message = format!("{} words of {} stored to an output", words.len(), value.dtype());
                mistake(message, &[], "store `acc.finish()….to(dtype)` of the output's MMA");
                return;
            }
            let thread = thread_idx().x % 128;
            let (lane, warp) = (thread % 32, thread / 32);
            let base = self.address(group);
            let id = group.index + FIRST_BARRIER;
            when(thread.eq(0), wait_stores_read);
            sync_named(id, 128);
            // Lane l gives the address of row l % 8 of matrix l / 8; the four matrices are two groups of 8 rows by two of
            // 8 columns. A 16-byte chunk's place in its row is swizzled by the row.
            let row = lane % 16 + warp * 16;
            let chunk = (lane / 16) ^ (lane % 8);
            let row_address = base + row * PANEL;
            for (pair, four) in words.chunks_exact(4).enumerate() {
                let (panel, column) = (2 * pair / 8, 2 * pair % 8);
                let address = row_address + (chunk ^ column) * 16;
                ptx("stmatrix.sync.aligned.m8n8.x4.shared.b16")
                    .at_offset(address.h, (panel * self.tile.panel_bytes()) as i32)
                    .args(four)
                    .emit();
            }
            fence_async_shared();
            sync_named(id, 128);
            let down = place.m * self.groups + group.index;
            let mapped = Mapped::new(to, self.tile);
            when(thread.eq(0), || mapped.store(base, (down, place.n)));
        })
    }

    /// Waits until the last stores have read their shared memory: before the block ends.
    #[track_caller]
    pub fn finish(&self) {
        when((thread_idx().x % 128).eq(0), wait_stores_read);
    }
}
