//! What the 32 lanes of a warp do together. All of them take part, unless said otherwise.

use crate::bundle::Bundle;
use crate::machine::ptx;
use crate::options::target;
use crate::trace::{Handle, Loc, emit, mistake, type_of, with};
use crate::value::{Bool, F32, I32, U32};
use std::panic::Location;
use warpsmith_ir::{Binary, Comparison, Op, Shuffle, Special, Type};
use warpsmith_types::Target;

/// Every lane.
const ALL: i64 = 0xffff_ffff;

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<T: Bundle>(x: &T, lanes: impl Into<U32>) -> T {
            let at = Location::caller();
            let by = lanes.into();
            x.map(&mut |h| shuffle(Shuffle::$kind, h, by.h, at))
        }
    )*};
}
shuffles! {
    /// Each lane gets the values of the lane whose number differs by `lanes` in its bits (`shfl.sync.bfly`).
    shuffle_xor Xor;
    /// Each lane gets the values of lane `lanes` (`shfl.sync.idx`).
    shuffle_from Index;
    /// Each lane gets the values of the lane so many above it; the last ones keep theirs (`shfl.sync.down`).
    shuffle_down Down;
    /// Each lane gets the values of the lane so many below it; the first ones keep theirs (`shfl.sync.up`).
    shuffle_up Up;
}

fn shuffle(kind: Shuffle, h: Handle, by: Handle, at: Loc) -> Handle {
    words(h, at, &|word| {
        let ty = type_of(word).unwrap_or(Type::U32);
        with(|t| t.record(Op::Shuffle(kind), &[word, by], &[ty], at)[0])
    })
}

/// A value of any width, exchanged 32 bits at a time.
fn words(h: Handle, at: Loc, exchange: &dyn Fn(Handle) -> Handle) -> Handle {
    let ty = type_of(h).unwrap_or(Type::U32);
    let record = |op: Op, args: &[Handle], ty: Type| with(|t| t.record(op, args, &[ty], at)[0]);
    match ty {
        Type::U8 | Type::I8 | Type::U16 | Type::I16 => {
            let word = record(Op::Convert, &[h], Type::U32);
            record(Op::Convert, &[exchange(word)], ty)
        }
        Type::F16 | Type::BF16 => {
            let word = record(Op::Convert, &[record(Op::Bitcast, &[h], Type::U16)], Type::U32);
            let bits = record(Op::Convert, &[exchange(word)], Type::U16);
            record(Op::Bitcast, &[bits], ty)
        }
        Type::I64 | Type::U64 | Type::F64 => {
            let bits = record(Op::Bitcast, &[h], Type::U64);
            let thirty_two = record(Op::Const(32), &[], Type::U32);
            let high = record(Op::Binary(Binary::Shr), &[bits, thirty_two], Type::U64);
            let [low, high] = [bits, high].map(|half| {
                let word = record(Op::Convert, &[half], Type::U32);
                record(Op::Convert, &[exchange(word)], Type::U64)
            });
            let high = record(Op::Binary(Binary::Shl), &[high, thirty_two], Type::U64);
            let both = record(Op::Binary(Binary::Or), &[low, high], Type::U64);
            record(Op::Bitcast, &[both], ty)
        }
        Type::Bool => {
            let [one, zero] = [1, 0].map(|n| record(Op::Const(n), &[], Type::U32));
            let word = record(Op::Select, &[h, one, zero], Type::U32);
            record(Op::Compare(Comparison::Ne), &[exchange(word), zero], Type::Bool)
        }
        Type::I32 | Type::U32 | Type::F32 => exchange(h),
    }
}

/// One lane of the warp, the same each time: true in that lane alone (`elect.sync`, sm_90).
#[track_caller]
pub fn elect() -> Bool {
    Bool { h: ptx("elect.sync").predicate().number(ALL).value() }
}

/// Whether the condition holds in every lane (`vote.sync.all`).
#[track_caller]
pub fn all_lanes(condition: Bool) -> Bool {
    Bool { h: ptx("vote.sync.all.pred").result(Type::Bool).arg(condition.h).number(ALL).value() }
}

/// Whether the condition is the same in every lane (`vote.sync.uni`).
#[track_caller]
pub fn is_uniform(condition: Bool) -> Bool {
    Bool { h: ptx("vote.sync.uni.pred").result(Type::Bool).arg(condition.h).number(ALL).value() }
}

/// Whether the value is the same in every lane (`match.all.sync`).
#[track_caller]
pub fn match_all_lanes(x: U32) -> Bool {
    let found = ptx("match.all.sync.b32").with_predicate(Type::U32).arg(x.h).number(ALL).emit();
    Bool { h: found[1] }
}

/// Whether the condition holds in some lane (`vote.sync.any`).
#[track_caller]
pub fn any_lane(condition: Bool) -> Bool {
    Bool { h: ptx("vote.sync.any.pred").result(Type::Bool).arg(condition.h).number(ALL).value() }
}

/// A bit for each lane in which the condition holds (`vote.sync.ballot`).
#[track_caller]
pub fn ballot(condition: Bool) -> U32 {
    U32 { h: ptx("vote.sync.ballot.b32").result(Type::U32).arg(condition.h).number(ALL).value() }
}

/// A bit for each lane that has the same value (`match.any.sync`).
#[track_caller]
pub fn match_lanes(x: U32) -> U32 {
    U32 { h: ptx("match.any.sync.b32").result(Type::U32).arg(x.h).number(ALL).value() }
}

/// The lanes that are here right now (`activemask`).
#[track_caller]
pub fn active_lanes() -> U32 {
    U32 { h: ptx("activemask.b32").result(Type::U32).value() }
}

/// The lanes meet and see each other's memory (`bar.warp.sync`).
#[track_caller]
pub fn sync_warp() {
    ptx("bar.warp.sync").number(ALL).emit();
}

/// Some neighbouring lanes of a warp, between which values are exchanged: `lanes(8).shuffle_xor(&x, 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    width: usize,
}

/// Groups of `width` neighbouring lanes: a power of two, up to 32. All 32 lanes take part, each in its group.
#[track_caller]
pub fn lanes(width: usize) -> Lanes {
    if !width.is_power_of_two() || width > 32 {
        mistake(format!("groups of {width} lanes"), &[], "a power of two, up to 32");
        return Lanes { width: 32 };
    }
    Lanes { width }
}

macro_rules! grouped {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {
        impl Lanes {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name<T: Bundle>(self, x: &T, by: impl Into<U32>) -> T {
                let at = Location::caller();
                let by = by.into();
                x.map(&mut |h| words(h, at, &|word| self.exchange(Shuffle::$kind, word, by.h)))
            }
        )*}
    };
}
grouped! {
    /// From the lane of the group whose number differs by `by` in its bits.
    shuffle_xor Xor;
    /// From lane `by` of the group.
    shuffle_from Index;
    /// From the lane so many above; the group's last ones keep theirs.
    shuffle_down Down;
    /// From the lane so many below; the group's first ones keep theirs.
    shuffle_up Up;
}

impl Lanes {
    #[track_caller]
    fn exchange(self, kind: Shuffle, word: Handle, by: Handle) -> Handle {
        let (name, last) = match kind {
            Shuffle::Xor => ("shfl.sync.bfly.b32", 31),
            Shuffle::Index => ("shfl.sync.idx.b32", 31),
            Shuffle::Down => ("shfl.sync.down.b32", 31),
            Shuffle::Up => ("shfl.sync.up.b32", 0),
        };
        let segments = (32 - self.width as i64) << 8 | last;
        ptx(name).result(Type::U32).arg(word).arg(by).number(segments).number(ALL).value()
    }
}

macro_rules! redux {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        impl U32 {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> U32 {
                U32 { h: ptx($text).result(Type::U32).arg(self.h).number(ALL).value() }
            }
        )*}
    };
}
redux! {
    /// The sum over the lanes, modulo 2³² (`redux.sync.add`, sm_80).
    warp_sum "redux.sync.add.u32";
    /// The smallest over the lanes.
    warp_min "redux.sync.min.u32";
    /// The largest over the lanes.
    warp_max "redux.sync.max.u32";
    /// Bits set in every lane.
    warp_and "redux.sync.and.b32";
    /// Bits set in some lane.
    warp_or "redux.sync.or.b32";
    /// Bits set in an odd number of lanes.
    warp_xor "redux.sync.xor.b32";
}

/// The lanes before this one, a bit each.
#[track_caller]
pub fn lanes_below() -> U32 {
    U32 { h: emit(Op::Special(Special::LanemaskLt), &[], Type::U32) }
}

macro_rules! signed_redux {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        impl I32 {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> I32 {
                I32 { h: ptx($text).result(Type::I32).arg(self.h).number(ALL).value() }
            }
        )*}
    };
}
signed_redux! {
    /// The sum over the lanes, modulo 2³² (`redux.sync.add`, sm_80).
    warp_sum "redux.sync.add.s32";
    /// The smallest over the lanes.
    warp_min "redux.sync.min.s32";
    /// The largest over the lanes.
    warp_max "redux.sync.max.s32";
}

macro_rules! float_redux {
    ($($(#[$doc:meta])* $name:ident $method:ident $text:literal;)*) => {
        impl F32 {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> F32 {
                let target = target();
                if target.has(Target::SM_100A) || target.has(Target::SM_103A) {
                    return F32 { h: ptx($text).result(Type::F32).arg(self.h).number(ALL).value() };
                }
                crate::reduce::warp_reduce(self, 32, |a, b| a.$method(b))
            }
        )*}
    };
}
float_redux! {
    /// The smallest over the lanes; NaN gives way to numbers. One instruction on sm_100a and sm_103a.
    warp_min min "redux.sync.min.f32";
    /// The largest over the lanes; NaN gives way to numbers. One instruction on sm_100a and sm_103a.
    warp_max max "redux.sync.max.f32";
}

/// The warp in the block, the same in all its lanes as far as the compiler is concerned: what roles branch on.
#[track_caller]
pub fn warp_idx() -> U32 {
    shuffle_from(&(crate::thread::thread_idx().x / 32), 0)
}
