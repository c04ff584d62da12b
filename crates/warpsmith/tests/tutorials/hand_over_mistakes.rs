//! Hand-overs that one could believe right, as the book's chapter on races shows them.

use crate::hand_over::HandOver;
use warpsmith::prelude::*;

// ANCHOR: relaxed
/// The flag is never torn and never stale for long. Is that enough?
pub(crate) fn relaxed() -> HandOver {
    HandOver { publish: |flag| flag.relaxed(Scope::Device).store(1), look: |flag| flag.relaxed(Scope::Device).load() }
}
// ANCHOR_END: relaxed

// ANCHOR: narrow
/// Released and acquired, but for whom?
pub(crate) fn narrow() -> HandOver {
    HandOver { publish: |flag| flag.release(Scope::Block).store(1), look: |flag| flag.acquire(Scope::Block).load() }
}
// ANCHOR_END: narrow

// ANCHOR: one_sided
/// The writer releases; the reader just looks.
pub(crate) fn one_sided() -> HandOver {
    HandOver { publish: |flag| flag.release(Scope::Device).store(1), look: |flag| flag.relaxed(Scope::Device).load() }
}
// ANCHOR_END: one_sided
