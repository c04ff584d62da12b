//! expect E0527: a ring of two tiles, three named
use warpsmith_dsl::prelude::*;
pub fn body(a: Tensor, ring: TmaRing<2>) {
    ring.fill(8, |k, [sa, sb, sc]| sa.load(&a, (0, k)));
}
