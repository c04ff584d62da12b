//! Copies and fragments of runs of neighbours anywhere in memory: what a thread-value layout does for a tensor's tile, for memory
//! that is no tensor, as a stage of a ring in shared memory.

use crate::flow::select;
use crate::frag::{Frag, Stored};
use crate::machine::ptx;
use crate::narrow::U8;
use crate::options::target;
use crate::packed::{BF16x2, F16x2};
use crate::packing::{repeated, word};
use crate::part::element;
use crate::pointer::Pointer;
use crate::trace::{FragData, Handle, with};
use crate::value::{Bool, F32, U32};
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ir::{Access, Op, Type};
use warpsmith_types::DType;

/// A run of neighbours: where it begins, and under which condition it is there; without one, it is.
pub type Run = (Pointer<U8>, Option<Bool>);

impl Frag<Stored> {
    /// Loads runs of `length` elements each, a power of two, an access a run; runs begin at multiples of their size. What is
    /// not there reads as `outside`.
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// # trace("example", || {
    /// let stage = Shared::<U8>::new("stage", 4096);
    /// let mine = stage.at(Dim::from(thread_idx().x) * 16);
    /// let x = Frag::load_runs(DType::BF16, 8, &[(mine, None)], 0.0).f32();
    /// # let _ = x;
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn load_runs(dtype: DType, length: usize, runs: &[Run], outside: f32) -> Frag {
        let (at, access) = (Location::caller(), Access::PLAIN);
        let (ty, per_word) = word(dtype, length);
        let fill = repeated(dtype, element(dtype, outside), per_word);
        let types: SmallVec<[Type; 8]> = std::iter::repeat_n(ty, length / per_word).collect();
        let mut words = vec![];
        for (pointer, condition) in runs {
            let mut args: SmallVec<[Handle; 2]> = SmallVec::from_slice(&[pointer.address]);
            args.extend(condition.map(|c| c.h));
            let op = Op::Load { space: pointer.space, offset: pointer.offset, fill: condition.map(|_| fill), access };
            words.extend(with(|t| t.record(op, &args, &types, at)));
        }
        Frag::new(FragData { dtype, elements: length * runs.len(), words })
    }

    /// The largest element as a float; NaN gives way to numbers. Of 16-bit floats two at a time.
    #[track_caller]
    pub fn largest(self) -> F32 {
        let FragData { dtype, elements, words } = self.data();
        let packed = words.len() * 2 == elements;
        let halves: &dyn Fn(Handle, Handle) -> Handle = match dtype {
            DType::BF16 if packed => &|a, b| BF16x2 { h: a }.max(BF16x2 { h: b }).h,
            DType::F16 if packed => &|a, b| F16x2 { h: a }.max(F16x2 { h: b }).h,
            _ => return self.f32().max(),
        };
        let Some(word) = words.into_iter().reduce(halves) else { return self.f32().max() };
        Frag::<Stored>::new(FragData { dtype, elements: 2, words: vec![word] }).f32().max()
    }
}

/// Starts to copy 4, 8 or 16 neighbouring bytes from global to shared memory (`cp.async`; 16 go past L1), with the cache
/// policy of `from`. Both begin at a multiple of as many. Where they are not `there`, nothing is read and zeros are written.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::{cute, runs::copy_async};
/// # fn example(row: Pointer<U8>) {
/// let (stage, at) = (Shared::<U8>::aligned("stage", 4096, 16), thread_idx().x * 16);
/// let once = CachePolicy::fractional(Eviction::First, 1.0);
/// let from = row.policy(once).offset(Dim::from(at)).assume_aligned(16);
/// copy_async(stage.at(at).assume_aligned(16), from, 16, None);
/// cute::cp_async_fence();
/// # }
/// ```
#[track_caller]
pub fn copy_async(to: Pointer<U8>, from: Pointer<U8>, bytes: usize, there: Option<Bool>) {
    copy(in_register(to, &from), from, bytes, there.map(|there| size(there, bytes)));
}

/// The same of as many bytes as are there: zeros are written for the others.
#[track_caller]
pub fn copy_async_part(to: Pointer<U8>, from: Pointer<U8>, bytes: usize, there: impl Into<U32>) {
    copy(in_register(to, &from), from, bytes, Some(there.into()));
}

/// As [`copy_async`], for a thread that itself reads what it copied, by the same pointer: its address is in a register for
/// that, and nothing is done to get it there.
#[track_caller]
pub fn copy_async_own(to: Pointer<U8>, from: Pointer<U8>, bytes: usize, there: Option<Bool>) {
    copy(to, from, bytes, there.map(|there| size(there, bytes)));
}

#[track_caller]
fn size(there: Bool, bytes: usize) -> U32 {
    select(there, U32::from(bytes), U32::from(0))
}

/// The pointer with its address in one register. From sm_90 on a copy can add a uniform register to it; of one with a cache policy
/// assemblers of CUDA 12.9 to 13.3, those in drivers too, then encode another register than they mean (13.5 does not). No
/// address in shared memory has the bit that is cleared, which they do not know.
#[track_caller]
fn in_register(mut to: Pointer<U8>, from: &Pointer<U8>) -> Pointer<U8> {
    if from.policy.is_some() && target().number >= 90 {
        to.address = (U32 { h: to.address } & 0x7fff_ffff).h;
    }
    to
}

#[track_caller]
fn copy(to: Pointer<U8>, from: Pointer<U8>, bytes: usize, there: Option<U32>) {
    let past_l1 = if bytes == 16 { "cg" } else { "ca" };
    let hint = if from.policy.is_some() { ".L2::cache_hint" } else { "" };
    let copy = ptx(format!("cp.async.{past_l1}.shared.global{hint}"));
    let copy = copy.at_offset(to.address, to.offset).at_offset(from.address, from.offset).number(bytes as i64);
    let copy = match there {
        Some(there) => copy.arg(there.h),
        None => copy,
    };
    match from.policy {
        Some(policy) => copy.arg(policy.policy.h).emit(),
        None => copy.emit(),
    };
}
