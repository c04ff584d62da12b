//! Fragments: a thread's elements in registers.
//!
//! A dtype in memory is a Rust value ([`DType`]), chosen while the program runs. A type to compute in is a Rust type. So
//! a load gives a [`Frag`] as stored (move, store, convert), `.f32()` gives a `Frag<F32>` with arithmetic, and
//! `.to(dtype)` goes back.

use crate::bundle::Bundle;
use crate::cast::Cast;
use crate::narrow::{E8M0, U16};
use crate::packed::eighths;
use crate::packing::{regroup, word};
use crate::pointer::Element;
use crate::rounding::pair;
use crate::trace::{FragData, Handle, mistake, poison, with};
use crate::value::{F32, Number, U32};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;
use warpsmith_ir::{Binary, Op, Type, Unary};
use warpsmith_types::DType;

/// The element type of a fragment as loaded: its dtype is known to the trace, not to Rust.
#[derive(Clone, Copy)]
pub struct Stored;

/// Element types that have arithmetic.
#[diagnostic::on_unimplemented(
    message = "a fragment of stored elements has no arithmetic",
    label = "which dtype this is, is known only when the kernel is traced",
    note = "convert it first: `.f32()`"
)]
pub trait Arithmetic {}
impl Arithmetic for F32 {}

/// A thread's elements in registers: an immutable value, 8 bytes, `Copy`. Mutable ones are `var(fragment)`.
#[derive(Clone, Copy)]
pub struct Frag<T = Stored> {
    index: u32,
    trace: u32,
    element: PhantomData<(T, *const ())>,
}

impl<T: Copy> Bundle for Frag<T> {
    fn map(&self, f: &mut dyn FnMut(Handle) -> Handle) -> Self {
        let mut data = self.data();
        for w in &mut data.words {
            *w = f(*w);
        }
        Frag::new(data)
    }
}

impl<T> Frag<T> {
    pub(crate) fn new(data: FragData) -> Self {
        let (index, trace) = with(|t| {
            t.fragments.push(data);
            (t.fragments.len() as u32 - 1, t.id())
        });
        Frag { index, trace, element: PhantomData }
    }

    #[track_caller]
    pub(crate) fn data(&self) -> FragData {
        let found = with(|t| {
            if t.id() != self.trace {
                return None;
            }
            t.fragments.get(self.index as usize).cloned()
        });
        found.unwrap_or_else(|| {
            mistake("this fragment belongs to another kernel's trace", &[], "load it inside this body");
            FragData { dtype: DType::F32, elements: 0, words: vec![] }
        })
    }

    /// Elements that this thread holds.
    pub fn len(&self) -> usize {
        self.data().elements
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.data().dtype
    }
}

/// A fragment of floats from their handles.
pub(crate) fn floats(words: Vec<Handle>) -> Frag<F32> {
    Frag::new(FragData { dtype: DType::F32, elements: words.len(), words })
}

impl Frag<Stored> {
    /// As floats, exactly: of floats of 32 bits and fewer, and of integers of 16 and fewer.
    #[track_caller]
    pub fn f32(self) -> Frag<F32> {
        let FragData { dtype, elements, words } = self.data();
        let at = Location::caller();
        let one = |op: Op, args: &[Handle], ty: Type| with(|t| t.record(op, args, &[ty], at)[0]);
        let (count, packed) = (words.len(), words.len() < elements);
        let mut out = Vec::with_capacity(elements);
        for w in words {
            match (dtype, packed) {
                (DType::F32, _) => out.push(w),
                // A bf16 is the upper half of its float: a shift or a mask, on any target.
                (DType::BF16, true) => {
                    let low = one(Op::Binary(Binary::Shl), &[w, U32::from(16).h], Type::U32);
                    let high = one(Op::Binary(Binary::And), &[w, U32::from(0xffff_0000).h], Type::U32);
                    out.push(one(Op::Bitcast, &[low], Type::F32));
                    out.push(one(Op::Bitcast, &[high], Type::F32));
                }
                (DType::BF16, false) => {
                    let wide = one(Op::Convert, &[w], Type::U32);
                    let up = one(Op::Binary(Binary::Shl), &[wide, U32::from(16).h], Type::U32);
                    out.push(one(Op::Bitcast, &[up], Type::F32));
                }
                (DType::F16, true) => {
                    let halves = with(|t| t.record(Op::Unpack, &[w], &[Type::U16, Type::U16], at));
                    for h in halves {
                        let half = one(Op::Bitcast, &[h], Type::F16);
                        out.push(one(Op::Convert, &[half], Type::F32));
                    }
                }
                (DType::F16, false) => {
                    let half = one(Op::Bitcast, &[w], Type::F16);
                    out.push(one(Op::Convert, &[half], Type::F32));
                }
                (DType::E4M3 | DType::E5M2, _) => out.extend(self.widened(w, elements / count)),
                (DType::E8M0 | DType::U8 | DType::I8 | DType::U16 | DType::I16, _) => {
                    for e in regroup(dtype, vec![w], elements / count, 1, at) {
                        out.push(match dtype {
                            DType::E8M0 => E8M0 { h: e }.f32().h,
                            DType::I8 => one(Op::Convert, &[one(Op::Bitcast, &[e], Type::I8)], Type::F32),
                            DType::I16 => one(Op::Convert, &[one(Op::Bitcast, &[e], Type::I16)], Type::F32),
                            _ => one(Op::Convert, &[e], Type::F32),
                        });
                    }
                }
                (other, _) => {
                    let help = "take the elements as they are: `fragment.elements::<I32>()`";
                    mistake(format!("{other} elements are not all f32 numbers"), &[], help);
                    out.push(poison());
                }
            }
        }
        floats(out)
    }
}

impl Frag<Stored> {
    /// The numbers of a word of 8-bit floats.
    #[track_caller]
    fn widened(self, word: Handle, held: usize) -> Vec<Handle> {
        let (dtype, at) = (self.dtype(), Location::caller());
        let format = if dtype == DType::E4M3 { "e4m3x2" } else { "e5m2x2" };
        let pairs = match held {
            1 => vec![with(|t| t.record(Op::Convert, &[word], &[Type::U16], at)[0])],
            _ => regroup(dtype, vec![word], held, 2, at),
        };
        let mut all: Vec<Handle> =
            pairs.into_iter().flat_map(|h| eighths::widen(U16 { h }, format).floats()).map(|x| x.h).collect();
        all.truncate(held);
        all
    }

    /// Its elements, one by one, to compute with in their own type: `i.elements::<I32>()`.
    #[track_caller]
    pub fn elements<T: Element>(self) -> Vec<T> {
        let FragData { dtype, elements, words } = self.data();
        if T::DTYPE != dtype || T::COUNT != 1 {
            let message = format!("elements of {dtype} are taken as {}", T::DTYPE);
            mistake(message, &[], "name the handle of their dtype");
            return (0..elements).map(|_| T::from_handle(poison())).collect();
        }
        let at = Location::caller();
        let held = elements / words.len().max(1);
        let single = regroup(dtype, words, held, 1, at);
        let (raw, _) = word(dtype, 1);
        let typed = |h| if raw == T::TYPE { h } else { with(|t| t.record(Op::Bitcast, &[h], &[T::TYPE], at)[0]) };
        single.into_iter().map(|h| T::from_handle(typed(h))).collect()
    }

    /// The element of an index that is known at run time, in a fragment of its own; some element where the index is past the
    /// last. Registers have no addresses: it is picked by as many selections as there are words, in a tree.
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// # trace("example", || {
    /// let x = Frag::of(&[F32::from(1.0), F32::from(2.0)]);
    /// let mine: F32 = x.pick(lane_idx() % 2).f32().numbers()[0];
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn pick(self, index: impl Into<U32>) -> Frag<Stored> {
        let FragData { dtype, elements, mut words } = self.data();
        let (index, at) = (index.into(), Location::caller());
        if words.is_empty() {
            mistake("there is nothing to pick in an empty fragment", &[], "load at least one element");
            return Frag::new(FragData { dtype, elements: 1, words: vec![poison()] });
        }
        let one = |op: Op, args: &[Handle], ty: Type| with(|t| t.record(op, args, &[ty], at)[0]);
        let held = elements / words.len();
        let (ty, single) = (word(dtype, held).0, word(dtype, 1).0);
        let mut bit = held;
        while words.len() > 1 {
            let odd = (index & bit).ne(0);
            let pick = |pair: &[Handle]| match pair {
                [even, other] => one(Op::Select, &[odd.h, *other, *even], ty),
                _ => pair[0],
            };
            words = words.chunks(2).map(pick).collect();
            bit *= 2;
        }
        if held > 1 {
            let down = index % held * dtype.bits();
            let shifted = one(Op::Binary(Binary::Shr), &[words[0], down.h], ty);
            words[0] = one(Op::Convert, &[shifted], single);
        }
        Frag::new(FragData { dtype, elements: 1, words })
    }

    /// Of elements.
    #[track_caller]
    pub fn of<T: Element>(elements: &[T]) -> Frag<Stored> {
        let (raw, _) = word(T::DTYPE, 1);
        let at = Location::caller();
        let untyped = |x: &T| match raw == T::TYPE {
            true => x.handle(),
            false => with(|t| t.record(Op::Bitcast, &[x.handle()], &[raw], at)[0]),
        };
        let single: Vec<Handle> = elements.iter().map(untyped).collect();
        // As wide as whole words allow.
        let widths = [4, 2, 1].into_iter().filter(|n| elements.len().is_multiple_of(*n));
        let width = widths.map(|n| word(T::DTYPE, n).1).find(|n| elements.len().is_multiple_of(*n)).unwrap_or(1);
        let words = regroup(T::DTYPE, single, 1, width, at);
        Frag::new(FragData { dtype: T::DTYPE, elements: elements.len(), words })
    }
}

impl Frag<F32> {
    /// Its elements, one by one.
    pub fn numbers(self) -> Vec<F32> {
        self.data().words.into_iter().map(|h| F32 { h }).collect()
    }

    /// `len` times the same number.
    #[track_caller]
    pub fn filled(len: usize, with: impl Into<F32>) -> Frag<F32> {
        let x = with.into();
        floats(vec![x.h; len])
    }

    /// Converted to a dtype (floats to nearest, ties to even, 8-bit and smaller ones clamped; integers towards zero,
    /// clamped), ready to be stored. Neighbours share a register where they fit.
    #[track_caller]
    pub fn to(self, dtype: DType) -> Frag {
        let FragData { elements, words, .. } = self.data();
        let at = Location::caller();
        let one = |op: Op, args: &[Handle], ty: Type| with(|t| t.record(op, args, &[ty], at)[0]);
        let words = match dtype {
            DType::F32 => words,
            DType::BF16 | DType::F16 if elements.is_multiple_of(2) => {
                let bf16 = dtype == DType::BF16;
                words.chunks(2).map(|p| one(Op::Pack { bf16 }, &[p[0], p[1]], Type::U32)).collect()
            }
            DType::BF16 | DType::F16 => {
                let ty = if dtype == DType::BF16 { Type::BF16 } else { Type::F16 };
                let narrow = words.iter().map(|&w| one(Op::Convert, &[w], ty)).collect::<Vec<_>>();
                narrow.into_iter().map(|h| one(Op::Bitcast, &[h], Type::U16)).collect()
            }
            DType::E4M3 | DType::E5M2 => return self.eighths(dtype),
            DType::F64 => return self.each(|x| x.f64()),
            DType::I64 => return self.each(|x| x.i64()),
            DType::I32 => return self.each(|x| x.i32()),
            DType::I16 => return self.each(|x| x.i16()),
            DType::I8 => return self.each(|x| x.i8()),
            DType::U64 => return self.each(|x| x.u64()),
            DType::U32 => return self.each(|x| x.u32()),
            DType::U16 => return self.each(|x| x.u16()),
            DType::U8 => return self.each(|x| x.u8()),
            DType::E2M1x2 if elements.is_multiple_of(2) => {
                let pairs = words.chunks(2).map(|p| pair(F32 { h: p[0] }, F32 { h: p[1] }).e2m1x2());
                return Frag::of(&pairs.collect::<Vec<_>>());
            }
            other => {
                let help = "e2m1 is stored in pairs; scales of e8m0 say how they round: `pair(a, b).e8m0x2()`";
                mistake(format!("{elements} elements of f32 have no conversion to {other}"), &[], help);
                vec![poison(); words.len()]
            }
        };
        Frag::new(FragData { dtype, elements, words })
    }

    #[track_caller]
    fn each<T: Element>(self, f: impl Fn(F32) -> T) -> Frag {
        Frag::of(&self.numbers().into_iter().map(f).collect::<Vec<T>>())
    }

    /// Rounded to 8-bit floats, in pairs.
    #[track_caller]
    fn eighths(self, dtype: DType) -> Frag {
        let (numbers, at) = (self.numbers(), Location::caller());
        let halves = numbers.chunks(2).map(|p| {
            let both = pair(p[0], p.get(1).copied().unwrap_or(p[0]));
            if dtype == DType::E4M3 { both.e4m3x2().to_bits().h } else { both.e5m2x2().to_bits().h }
        });
        let (halves, elements): (Vec<Handle>, usize) = (halves.collect(), numbers.len());
        let words = match elements % 4 {
            0 => regroup(dtype, halves, 2, 4, at),
            2 => halves,
            _ => {
                let mut bytes = regroup(dtype, halves, 2, 1, at);
                bytes.truncate(elements);
                bytes
            }
        };
        Frag::new(FragData { dtype, elements, words })
    }

    /// A function of each element.
    #[track_caller]
    pub fn map(self, f: impl Fn(F32) -> F32) -> Frag<F32> {
        floats(self.data().words.into_iter().map(|h| f(F32 { h }).h).collect())
    }

    #[track_caller]
    fn unary(self, op: Unary) -> Frag<F32> {
        let at = Location::caller();
        let words = self.data().words;
        floats(words.into_iter().map(|h| with(|t| t.record(Op::Unary(op), &[h], &[Type::F32], at)[0])).collect())
    }

    /// Combines all elements, as a tree: depth log₂ of the length, and rounding errors as small.
    #[track_caller]
    fn fold(self, op: Binary, empty: fn() -> F32) -> F32 {
        let at = Location::caller();
        let mut level = self.data().words;
        while level.len() > 1 {
            let pairs = level.chunks(2);
            level = pairs
                .map(|p| match *p {
                    [a, b] => with(|t| t.record(Op::Binary(op), &[a, b], &[Type::F32], at)[0]),
                    _ => p[0],
                })
                .collect();
        }
        level.first().map_or_else(empty, |&h| F32 { h })
    }
}

// Bounds stand on the methods, not on the impl: then rustc prints our words (E0277) and not E0599.
macro_rules! float_methods {
    ($($(#[$doc:meta])* $method:ident() -> $out:ty: |$x:ident| $body:expr;)*) => {
        impl<T: Copy> Frag<T> {
            fn as_floats(self) -> Frag<F32> {
                Frag { index: self.index, trace: self.trace, element: PhantomData }
            }
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $method(self) -> $out where T: Arithmetic {
                    let $x = self.as_floats();
                    $body
                }
            )*
        }
    };
}
float_methods! {
    /// The sum of all elements, as a tree.
    sum() -> F32: |x| x.fold(Binary::Add, F32::zero);
    /// The largest element; NaN gives way to numbers.
    max() -> F32: |x| x.fold(Binary::Max, F32::lowest);
    /// x².
    square() -> Frag<F32>: |x| zip(Binary::Mul, x, x);
    /// eˣ, approximate: see [`F32::exp`].
    exp() -> Frag<F32>: |x| (x * std::f32::consts::LOG2_E).unary(Unary::Exp2);
    /// 2ˣ, approximate: see [`F32::exp2`].
    exp2() -> Frag<F32>: |x| x.unary(Unary::Exp2);
    /// 1/x, approximate: see [`F32::rcp`].
    rcp() -> Frag<F32>: |x| x.unary(Unary::Rcp);
    /// |x|.
    abs() -> Frag<F32>: |x| x.unary(Unary::Abs);
}

#[track_caller]
fn zip(op: Binary, a: Frag<F32>, b: Frag<F32>) -> Frag<F32> {
    let (a, b) = (a.data().words, b.data().words);
    if a.len() != b.len() {
        let help = "partition both tensors by the same thread-value layout";
        mistake(format!("{} of fragments of {} and {} elements", op.name(), a.len(), b.len()), &[], help);
        return floats(a.iter().map(|_| poison()).collect());
    }
    let at = Location::caller();
    let pairs = a.into_iter().zip(b);
    floats(pairs.map(|(a, b)| with(|t| t.record(Op::Binary(op), &[a, b], &[Type::F32], at)[0])).collect())
}

macro_rules! elementwise {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait<Frag<F32>> for Frag<F32> {
            type Output = Frag<F32>;
            #[track_caller]
            fn $method(self, rhs: Frag<F32>) -> Frag<F32> {
                zip(Binary::$trait, self, rhs)
            }
        }
        elementwise!(@scalar $trait $method F32 f32);
    )*};
    (@scalar $trait:ident $method:ident $($scalar:ty)*) => {$(
        impl $trait<$scalar> for Frag<F32> {
            type Output = Frag<F32>;
            #[track_caller]
            fn $method(self, rhs: $scalar) -> Frag<F32> {
                zip(Binary::$trait, self, Frag::filled(self.len(), rhs))
            }
        }
        impl $trait<Frag<F32>> for $scalar {
            type Output = Frag<F32>;
            #[track_caller]
            fn $method(self, rhs: Frag<F32>) -> Frag<F32> {
                zip(Binary::$trait, Frag::filled(rhs.len(), self), rhs)
            }
        }
    )*};
}
elementwise!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Frag<F32> {
    type Output = Frag<F32>;
    #[track_caller]
    fn neg(self) -> Frag<F32> {
        self.unary(Unary::Neg)
    }
}

impl From<Frag<F32>> for Frag<Stored> {
    fn from(f: Frag<F32>) -> Self {
        Frag { index: f.index, trace: f.trace, element: PhantomData }
    }
}
