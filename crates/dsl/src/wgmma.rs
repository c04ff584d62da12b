//! Warpgroup matrix instructions (`wgmma`, sm_90a), and accumulators that they own while they run.
//!
//! Misuse that Rust's types catch: reading an accumulator before `finish` (there is no such method), after it (moved), or
//! while an MMA is pending (borrowed). Left to the trace: a [`Pending`] that is dropped.

use crate::cast::Cast;
use crate::frag::{Frag, floats};
use crate::machine::ptx;
use crate::pipeline::Full;
use crate::smem::{MatrixAt, PANEL};
use crate::trace::{Loc, mistake, with};
use crate::value::{F32, U32, U64};
use std::marker::PhantomData;
use std::panic::Location;
use warpsmith_ir::{Op, RegisterId, Type};
use warpsmith_types::DType;

/// A matrix instruction of a warpgroup: 64 rows of A, `n` rows of B, both K-major in shared memory, sums in f32. Plain
/// data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mma {
    /// Columns of the result: a multiple of 8, up to 256.
    pub n: usize,
    /// The dtype of A and B: bf16 or f16.
    pub dtype: DType,
}

/// Rows of the result.
pub const MMA_ROWS: usize = 64;
/// Bytes of K that one instruction takes.
const K_BYTES: usize = 32;

impl Mma {
    /// Elements of the result that a thread holds.
    pub fn values(&self) -> usize {
        self.n / 2
    }

    /// A new accumulator, zero.
    #[track_caller]
    pub fn accumulator(&self) -> Acc {
        if self.n == 0 || self.n > 256 || !self.n.is_multiple_of(8) {
            mistake(format!("an MMA has {} columns", self.n), &[], "a multiple of 8, up to 256");
        }
        if !matches!(self.dtype, DType::BF16 | DType::F16) {
            mistake(format!("an MMA of {}", self.dtype), &[], "bf16 or f16");
        }
        let at = Location::caller();
        let first = with(|t| {
            let first = t.kernel.registers.len() as u32;
            for _ in 0..self.values() {
                let register = t.register(Type::F32);
                let zero = t.record(Op::Const(0), &[], &[Type::F32], at)[0];
                t.record(Op::Set(register), &[zero], &[], at);
            }
            first
        });
        Acc { mma: *self, first: RegisterId(first) }
    }
}

/// Pinned registers: neither `Copy` nor `Clone`, no operators. [`Acc::mma`] borrows it, [`Acc::finish`] consumes it.
pub struct Acc {
    mma: Mma,
    first: RegisterId,
}

impl Acc {
    /// Starts `self += a · bᵀ`. What it returns borrows the accumulator and both tiles until it is waited for.
    #[track_caller]
    pub fn mma<'t>(&self, a: Full<'t>, b: Full<'t>) -> Pending<'_, 't> {
        let (at, a, b) = (Location::caller(), a.matrix(), b.matrix());
        let Mma { n, dtype } = self.mma;
        if a.tile.dtype != dtype || b.tile.dtype != dtype || b.tile.rows != n || a.tile.columns != b.tile.columns {
            let message = format!(
                "an MMA of 64 × {n} {dtype} of tiles of {} × {} {} and {} × {} {}",
                a.tile.rows, a.tile.columns, a.tile.dtype, b.tile.rows, b.tile.columns, b.tile.dtype
            );
            mistake(message, &[], "A and B have the MMA's dtype and equal columns; B has `n` rows");
        }
        ptx("wgmma.fence.sync.aligned").emit();
        let steps = PANEL / K_BYTES;
        for panel in 0..a.tile.panels() {
            let [da, db] = [a, b].map(|m| descriptor(m, panel));
            for step in 0..steps {
                let advance = (step * K_BYTES / 16) as u64;
                let [da, db] = [da, db].map(|d| if advance == 0 { d } else { d + advance });
                ptx(format!("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{dtype}.{dtype}"))
                    .registers(self.first, self.mma.values())
                    .arg(da.h)
                    .arg(db.h)
                    .number(1)
                    .number(1)
                    .number(1)
                    .number(0)
                    .number(0)
                    .emit();
            }
        }
        Pending { borrowed: PhantomData, at, done: false }
    }

    #[track_caller]
    fn read(&self) -> Frag<F32> {
        let at = Location::caller();
        let all = 0..self.mma.values() as u32;
        floats(
            all.map(|i| with(|t| t.record(Op::Get(RegisterId(self.first.0 + i)), &[], &[Type::F32], at)[0])).collect(),
        )
    }

    /// Changes the sums in place, as when an online softmax rescales them. `&mut`: not while an MMA is pending.
    #[track_caller]
    pub fn update(&mut self, f: impl FnOnce(Frag<F32>) -> Frag<F32>) {
        let after = f(self.read()).data().words;
        if after.len() != self.mma.values() {
            mistake("an accumulator is updated by a fragment of another length", &[], "compute element by element");
            return;
        }
        let at = Location::caller();
        for (i, h) in after.into_iter().enumerate() {
            with(|t| t.record(Op::Set(RegisterId(self.first.0 + i as u32)), &[h], &[], at));
        }
    }

    /// The sums, as a fragment to compute with. Thread `t` of the warpgroup holds, for each pair of neighbouring columns
    /// `8 j + 2 (t % 4)`, row `16 (t / 32) + t % 32 / 4` and the row 8 below it, in this order.
    #[track_caller]
    pub fn finish(self) -> Frag<F32> {
        self.read()
    }
}

/// The descriptor of a panel (PTX ISA, "Matrix descriptor"): address, 1024 bytes from one group of 8 rows to the next,
/// 128-byte swizzle.
#[track_caller]
fn descriptor(m: MatrixAt, panel: usize) -> U64 {
    const ROWS_OF_EIGHT: u64 = ((8 * PANEL as u64) >> 4) << 32;
    const SWIZZLE_128: u64 = 1 << 62;
    const LEADING: u64 = 1 << 16; // not used by swizzled K-major tiles; CUTLASS gives 1
    let address: U32 = if panel == 0 { m.address } else { m.address + panel * m.tile.panel_bytes() };
    (address / 16).u64() | (SWIZZLE_128 | ROWS_OF_EIGHT | LEADING)
}

/// An MMA in flight. It borrows its accumulator and its tiles, so that nothing touches them before the wait.
#[must_use = "an MMA in flight must be waited for: return it to `ring.drain`, or call `.wait()`"]
pub struct Pending<'acc, 'tile> {
    borrowed: PhantomData<(&'acc (), &'tile ())>,
    at: Loc,
    done: bool,
}

impl Pending<'_, '_> {
    /// Closes the group of instructions (`wgmma.commit_group`).
    #[track_caller]
    pub(crate) fn commit(mut self) {
        self.done = true;
        ptx("wgmma.commit_group.sync.aligned").emit();
    }

    /// Waits until every MMA of this warpgroup is done.
    #[track_caller]
    pub fn wait(self) {
        self.commit();
        wait_mma(0);
    }
}

/// Waits until at most `in_flight` groups of MMAs run (`wgmma.wait_group`).
#[track_caller]
pub(crate) fn wait_mma(in_flight: usize) {
    ptx("wgmma.wait_group.sync.aligned").number(in_flight as i64).emit();
}

impl Drop for Pending<'_, '_> {
    fn drop(&mut self) {
        if !self.done && !std::thread::panicking() {
            let help = "return it to `ring.drain`, or call `.wait()`";
            with(|t| t.error("this MMA is never waited for".into(), self.at, "started here", &[], help));
        }
    }
}
