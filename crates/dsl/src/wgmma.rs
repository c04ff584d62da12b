//! Warpgroup matrix instructions (`wgmma`, sm_90a), and accumulators that they own while they run.
//!
//! Misuse that Rust's types catch: reading an accumulator before `finish` (there is no such method), after it (moved), or
//! while an MMA is pending (borrowed); changing the registers of A while an MMA reads them (borrowed). Left to the trace:
//! a [`Pending`] that is dropped.

use crate::frag::{Frag, Stored};
use crate::machine::{Ptx, ptx};
use crate::trace::{FragData, Loc, mistake, with};
use crate::value::{Bool, F32};
use crate::warpgroup::{A, B, MatrixA, MatrixB, RegisterA, WarpgroupMma};
use std::marker::PhantomData;
use std::panic::Location;
use warpsmith_ir::{Op, RegisterId};
use warpsmith_types::DType;

/// A matrix instruction of a warpgroup: 64 rows of A, `n` rows of B, both K-major in shared memory, sums in f32. Plain
/// data; [`WarpgroupMma`] has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mma {
    /// Columns of the result: a multiple of 8, up to 256.
    pub n: usize,
    /// The dtype of A and B: bf16 or f16.
    pub dtype: DType,
}

/// Rows of the result.
pub const MMA_ROWS: usize = 64;

impl Mma {
    /// Elements of the result that a thread holds.
    pub fn values(&self) -> usize {
        self.n / 2
    }

    /// A new accumulator, zero.
    #[track_caller]
    pub fn accumulator(&self) -> Acc {
        if !matches!(self.dtype, DType::BF16 | DType::F16) {
            mistake(format!("an MMA of {}", self.dtype), &[], "bf16 or f16; `WarpgroupMma` has the others");
        }
        WarpgroupMma::new(self.n, self.dtype, self.dtype).accumulator()
    }
}

/// Pinned registers: neither `Copy` nor `Clone`, no operators. [`Acc::mma`] borrows it, [`Acc::finish`] consumes it.
pub struct Acc {
    mma: WarpgroupMma,
    first: RegisterId,
}

/// Whether the first instruction of a product adds to the accumulator.
#[derive(Clone, Copy)]
enum Keep {
    Yes,
    No,
    When(Bool),
}

impl Acc {
    #[track_caller]
    pub(crate) fn new(mma: WarpgroupMma) -> Acc {
        if let Some(problem) = mma.problem() {
            mistake(problem, &[], "see `WarpgroupMma`");
        }
        let (at, ty) = (Location::caller(), mma.register());
        let first = with(|t| {
            let first = t.kernel.registers.len() as u32;
            for _ in 0..mma.registers() {
                let register = t.register(ty);
                let zero = t.record(Op::Const(0), &[], &[ty], at)[0];
                t.record(Op::Set(register), &[zero], &[], at);
            }
            first
        });
        Acc { mma, first: RegisterId(first) }
    }

    /// Starts `self += a · bᵀ`. What it returns borrows the accumulator and both operands until it is waited for.
    #[track_caller]
    pub fn mma<'t>(&self, a: impl Into<A<'t>>, b: impl Into<B<'t>>) -> Pending<'_, 't> {
        self.start(Keep::Yes, a.into(), b.into())
    }

    /// Starts `self = a · bᵀ`, whatever it held: no zeros need be written.
    #[track_caller]
    pub fn mma_anew<'t>(&self, a: impl Into<A<'t>>, b: impl Into<B<'t>>) -> Pending<'_, 't> {
        self.start(Keep::No, a.into(), b.into())
    }

    /// Starts `self += a · bᵀ` where `keep` holds for the warpgroup, else `self = a · bᵀ`.
    #[track_caller]
    pub fn mma_keeping<'t>(&self, keep: Bool, a: impl Into<A<'t>>, b: impl Into<B<'t>>) -> Pending<'_, 't> {
        self.start(Keep::When(keep), a.into(), b.into())
    }

    #[track_caller]
    fn start<'t>(&self, keep: Keep, a: A<'t>, b: B<'t>) -> Pending<'_, 't> {
        let at = Location::caller();
        let done = Pending { borrowed: PhantomData, at, closed: false, done: false };
        if !self.mma.fits(&a, &b) {
            return done;
        }
        ptx("wgmma.fence.sync.aligned").emit();
        let Some((a, b)) = self.mma.operands(a, b) else { return done };
        let name = self.mma.instruction();
        for step in 0..b.steps() {
            let instruction = ptx(&*name).registers(self.first, self.mma.registers());
            let instruction = match &a {
                MatrixA::Shared(a) => instruction.arg(a.descriptor(step).h),
                MatrixA::Registers(words) => instruction.register_list(&words[4 * step..4 * step + 4]),
            };
            let instruction = instruction.arg(b.descriptor(step).h);
            let instruction = match keep {
                Keep::When(c) if step == 0 => instruction.arg(c.h),
                Keep::No if step == 0 => instruction.number(0),
                _ => instruction.number(1),
            };
            self.flags(instruction, &a, &b).emit();
        }
        done
    }

    /// Signs and transpositions, as far as the elements have them.
    fn flags(&self, instruction: Ptx, a: &MatrixA, b: &MatrixB) -> Ptx {
        let sign = |negated: bool| if negated { -1 } else { 1 };
        if self.mma.a.bits() == 8 && !self.mma.a.is_float() {
            return instruction;
        }
        let instruction = instruction.number(sign(self.mma.negate_a)).number(sign(self.mma.negate_b));
        if self.mma.a.bits() != 16 {
            return instruction;
        }
        let instruction = match a {
            MatrixA::Shared(a) => instruction.number(a.is_transposed().into()),
            MatrixA::Registers(_) => instruction,
        };
        instruction.number(b.is_transposed().into())
    }

    #[track_caller]
    fn read(&self) -> Frag {
        let (at, ty) = (Location::caller(), self.mma.register());
        let all = 0..self.mma.registers() as u32;
        let words = all.map(|i| with(|t| t.record(Op::Get(RegisterId(self.first.0 + i)), &[], &[ty], at)[0])).collect();
        Frag::new(FragData { dtype: self.mma.sums, elements: self.mma.values(), words })
    }

    #[track_caller]
    fn floats(&self) -> Frag<F32> {
        if self.mma.sums == DType::I32 {
            mistake("sums of i32 are read as floats", &[], "take `finish_stored`");
            return Frag::filled(self.mma.values(), 0.0);
        }
        self.read().f32()
    }

    /// Changes the sums in place, as when an online softmax rescales them. `&mut`: not while an MMA is pending.
    #[track_caller]
    pub fn update(&mut self, f: impl FnOnce(Frag<F32>) -> Frag<F32>) {
        let after = f(self.floats()).to(self.mma.sums).data().words;
        if after.len() != self.mma.registers() {
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
        self.floats()
    }

    /// The sums in their dtype, in the same order.
    #[track_caller]
    pub fn finish_stored(self) -> Frag<Stored> {
        self.read()
    }
}

impl RegisterA {
    /// Replaces the elements. `&mut`: not while an MMA reads them.
    #[track_caller]
    pub fn set(&mut self, value: impl Into<Frag<Stored>>) {
        self.write(value.into());
    }
}

/// An MMA in flight. It borrows its accumulator and its tiles, so that nothing touches them before the wait.
#[must_use = "an MMA in flight must be waited for: return it to `ring.drain`, or call `.wait()`"]
pub struct Pending<'acc, 'tile> {
    borrowed: PhantomData<(&'acc (), &'tile ())>,
    at: Loc,
    /// Its group is closed.
    closed: bool,
    done: bool,
}

impl Pending<'_, '_> {
    /// Closes the group of instructions (`wgmma.commit_group`).
    #[track_caller]
    pub(crate) fn commit(self) {
        self.close().done = true;
    }

    /// Closes its group, so that products started from here on are another one, and goes on while it runs.
    #[track_caller]
    pub fn close(mut self) -> Self {
        if !self.closed {
            ptx("wgmma.commit_group.sync.aligned").emit();
        }
        self.closed = true;
        self
    }

    /// Waits until every MMA of this warpgroup is done.
    #[track_caller]
    pub fn wait(self) {
        self.wait_but(0);
    }

    /// Waits until this product is done, while at most `later` groups that were closed after it run on.
    #[track_caller]
    pub fn wait_but(self, later: usize) {
        self.commit();
        wait_mma(later);
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
