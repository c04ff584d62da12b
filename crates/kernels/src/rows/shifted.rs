//! Rows that begin anywhere, of elements narrower than what `cp.async` copies: a block copies the 16 bytes around them as they
//! lie in memory, so that they are in shared memory as far from a multiple of 16 as in global memory, and reads element by
//! element there. What is a thread's does not depend on where a row begins, and so neither do the bits of a sum.

use warpsmith_dsl::prelude::*;
use warpsmith_dsl::runs::copy_async_part;

/// Bytes of a copy.
const PIECE: usize = 16;

/// Room that a row needs besides its bytes.
pub(crate) const SLACK: usize = 2 * PIECE;

/// How many bytes a row begins past a multiple of 16.
pub(crate) fn shift(from: Pointer<U8>) -> U32 {
    from.address().u32() & (PIECE - 1)
}

/// Starts to copy `bytes` from `from` to as far past `stage`, which is at a multiple of 16, as `from` is past one; of `most`
/// bytes, by `threads`, of which this is number `lane`. Nothing else is read. Each thread copies what others read.
pub(crate) fn fill(stage: Pointer<U8>, from: Pointer<U8>, bytes: U32, most: usize, lane: U32, threads: usize) {
    let shift = shift(from);
    let end = shift + bytes;
    // What the first piece has of the row, if not all: others may write what precedes it.
    let head = lane * 2;
    when(shift.ne(0) & (shift + head).lt(PIECE) & head.lt(bytes), || {
        let element = from.offset(Dim::from(head)).assume_aligned(2).cast::<U16>().load();
        stage.offset(Dim::from(shift + head)).assume_aligned(2).cast::<U16>().store(element);
    });
    let base = from.address() - shift.u64();
    let first = select(shift.eq(0), U32::from(0), U32::from(PIECE));
    for piece in 0..(most + SLACK).div_ceil(PIECE * threads) {
        let at = (lane + piece * threads) * PIECE;
        when(at.ge(first) & at.lt(end), || {
            let to = stage.offset(Dim::from(at)).assume_aligned(PIECE);
            let from = Pointer::<U8>::global(base).offset(Dim::from(at)).assume_aligned(PIECE);
            copy_async_part(to, from, PIECE, (end - at).min(PIECE));
        });
    }
}
