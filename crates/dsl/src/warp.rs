//! What the 32 lanes of a warp do together. All of them take part, unless said otherwise.

use crate::bundle::Bundle;
use crate::machine::ptx;
use crate::trace::{Handle, type_of, with};
use crate::value::{Bool, U32};
use std::panic::Location;
use warpsmith_ir::{Op, Shuffle, Type};

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

/// A value of any width, 32 bits at a time.
fn shuffle(kind: Shuffle, h: Handle, by: Handle, at: crate::trace::Loc) -> Handle {
    let ty = type_of(h).unwrap_or(Type::U32);
    let record = |op: Op, args: &[Handle], types: &[Type]| with(|t| t.record(op, args, types, at));
    match ty {
        Type::U8 | Type::I8 | Type::U16 | Type::I16 | Type::F16 | Type::BF16 => {
            let narrow = if ty.bits() == 8 { Type::U8 } else { Type::U16 };
            let bits = record(Op::Bitcast, &[h], &[narrow])[0];
            let word = record(Op::Convert, &[bits], &[Type::U32])[0];
            let moved = record(Op::Shuffle(kind), &[word, by], &[Type::U32])[0];
            let bits = record(Op::Convert, &[moved], &[narrow])[0];
            record(Op::Bitcast, &[bits], &[ty])[0]
        }
        Type::I64 | Type::U64 | Type::F64 => {
            let bits = record(Op::Bitcast, &[h], &[Type::U64])[0];
            let thirty_two = record(Op::Const(32), &[], &[Type::U32])[0];
            let high = record(Op::Binary(warpsmith_ir::Binary::Shr), &[bits, thirty_two], &[Type::U64])[0];
            let halves = [bits, high].map(|half| {
                let word = record(Op::Convert, &[half], &[Type::U32])[0];
                let moved = record(Op::Shuffle(kind), &[word, by], &[Type::U32])[0];
                record(Op::Convert, &[moved], &[Type::U64])[0]
            });
            let high = record(Op::Binary(warpsmith_ir::Binary::Shl), &[halves[1], thirty_two], &[Type::U64])[0];
            let both = record(Op::Binary(warpsmith_ir::Binary::Or), &[halves[0], high], &[Type::U64])[0];
            record(Op::Bitcast, &[both], &[ty])[0]
        }
        Type::Bool => {
            let one = record(Op::Const(1), &[], &[Type::U32])[0];
            let zero = record(Op::Const(0), &[], &[Type::U32])[0];
            let word = record(Op::Select, &[h, one, zero], &[Type::U32])[0];
            let moved = record(Op::Shuffle(kind), &[word, by], &[Type::U32])[0];
            record(Op::Compare(warpsmith_ir::Comparison::Ne), &[moved, zero], &[Type::Bool])[0]
        }
        _ => record(Op::Shuffle(kind), &[h, by], &[ty])[0],
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

/// The warp in the block, the same in all its lanes as far as the compiler is concerned: what roles branch on.
#[track_caller]
pub fn warp_idx() -> U32 {
    shuffle_from(&(crate::thread::thread_idx().x / 32), 0)
}
