//! Shared memory that several tensors use, one after the other or side by side, placed and checked when traced.

use super::shared_tensor::{SmemTensor, footprint};
use crate::trace::{emit, mistake, with};
use crate::value::U32;
use std::cell::Cell;
use std::panic::Location;
use warpsmith_ir::{Op, SharedId, SharedVariable, Type};
use warpsmith_layout::ComposedLayout;
use warpsmith_types::DType;

/// A piece of shared memory in which tensors are placed, each aligned as its layout needs. [`SmemArena::reuse`] starts
/// over from a mark: what is placed then lies over what was placed since. Between the last use of the one and the first
/// of the other, threads must meet (`sync_threads`).
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::cute::*;
/// # trace("example", || {
/// let memory = SmemArena::new("scratch", 32 * 1024);
/// let tile = memory.place("tile", BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (128, 64)));
/// // … the products are done, and nobody reads the tile any more.
/// sync_threads();
/// memory.reuse(0);
/// let result = memory.place("result", F32, smem_layout(F32, Major::K, SharedSwizzle::B128, (64, 64)));
/// # let _ = (tile, result);
/// # }).unwrap();
/// ```
pub struct SmemArena {
    name: String,
    id: SharedId,
    bytes: u32,
    used: Cell<u32>,
}

impl SmemArena {
    /// Declares the memory, aligned to 1024 bytes.
    #[track_caller]
    pub fn new(name: &str, bytes: usize) -> SmemArena {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).max(1);
        let id = with(|t| t.shared(SharedVariable { name: name.into(), bytes, align: 1024 }));
        SmemArena { name: name.into(), id, bytes, used: Cell::new(0) }
    }

    /// Bytes taken so far: where the next tensor may start, and what [`SmemArena::reuse`] takes.
    pub fn mark(&self) -> usize {
        self.used.get() as usize
    }

    /// Gives everything from a mark on free for other tensors.
    #[track_caller]
    pub fn reuse(&self, mark: usize) {
        if mark > self.mark() {
            let message = format!("arena `{}` reused from byte {mark}, and {} are taken", self.name, self.mark());
            return mistake(message, &[], "give what `mark()` returned");
        }
        self.used.set(mark as u32);
    }

    /// Places a tensor behind those before it.
    #[track_caller]
    pub fn place(&self, name: &str, dtype: DType, layout: impl Into<ComposedLayout>) -> SmemTensor {
        let (layout, at) = (layout.into(), Location::caller());
        if with(|t| t.in_loop()) {
            mistake(format!("`{name}` is placed inside a run-time loop"), &[], "place tensors before the loop");
        }
        let (bytes, align) = footprint(dtype, &layout).unwrap_or_else(|e| {
            mistake(format!("shared `{name}` can not lie as {layout}: {e}"), &[], "its layout is static and not empty");
            (1, 1)
        });
        let start = self.used.get().next_multiple_of(align);
        let end = start.saturating_add(bytes);
        if end > self.bytes {
            let message = format!(
                "arena `{}` has {} bytes; `{name}` takes {bytes} from byte {start} on, {} too many",
                self.name,
                self.bytes,
                end - self.bytes
            );
            mistake(message, &[], "make the arena larger, or reuse what is done with");
        }
        self.used.set(end);
        let base = U32 { h: emit(Op::SharedAddress(self.id), &[], Type::U32) };
        let address = if start == 0 {
            base
        } else {
            let h = with(|t| {
                let offset = t.record(Op::Const(start.into()), &[], &[Type::U32], at)[0];
                t.record(Op::Binary(warpsmith_ir::Binary::Add), &[base.h, offset], &[Type::U32], at)[0]
            });
            U32 { h }
        };
        SmemTensor::at(name, dtype, layout, address)
    }
}
