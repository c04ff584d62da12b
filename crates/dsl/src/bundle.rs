//! Bundles: what may cross a run-time branch or live in a `Var`. Scalars, fragments, and tuples of them.

use crate::trace::Handle;
use crate::value::{Bool, F32, I32, I64, U32, U64};

/// A few run-time values that travel together.
pub trait Bundle: Clone {
    #[doc(hidden)]
    fn map(&self, f: &mut dyn FnMut(Handle) -> Handle) -> Self;
}

impl Bundle for () {
    fn map(&self, _: &mut dyn FnMut(Handle) -> Handle) -> Self {}
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Bundle),*> Bundle for ($($t,)*) {
            fn map(&self, f: &mut dyn FnMut(Handle) -> Handle) -> Self {
                ($(self.$i.map(f),)*)
            }
        }
    )*};
}
tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

/// The handles of a bundle, in order.
pub(crate) fn handles<T: Bundle>(x: &T) -> Vec<Handle> {
    let mut all = vec![];
    x.map(&mut |h| {
        all.push(h);
        h
    });
    all
}

/// Rust numbers become handles; handles stay. The float literal in `var(0.0)` infers through this.
pub trait IntoBundle {
    /// What it becomes.
    type Bundle: Bundle;
    #[doc(hidden)]
    fn into_bundle(self) -> Self::Bundle;
}

impl<T: Bundle> IntoBundle for T {
    type Bundle = T;
    fn into_bundle(self) -> T {
        self
    }
}

macro_rules! host {
    ($($host:ident => $t:ident),*) => {$(
        impl IntoBundle for $host {
            type Bundle = $t;
            #[track_caller]
            fn into_bundle(self) -> $t { self.into() }
        }
    )*};
}
host!(f32 => F32, usize => U32, i32 => I32, u64 => U64, i64 => I64, bool => Bool);
