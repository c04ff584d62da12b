//! Exchange within a warp (PTX ISA §9.7.9.6, §9.7.13).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("shfl.sync(.up|.down|.bfly|.idx).b32", "d:T|p?:pred, a:T, b:u32, c:u32, mask:u32", "Another lane's a.").mask(),
    row("vote.sync(.all|.any|.uni).pred", "p:T, a:T, mask:u32", "Whether a holds in all, in one, alike.").mask(),
    row("vote.sync.ballot.b32", "d:T, a:pred, mask:u32", "The lanes where a holds.").mask(),
    row("match.any.sync(.b32|.b64)", "d:b32, a:T, mask:u32", "The lanes with the same a.").sm(70).mask(),
    row("match.all.sync(.b32|.b64)", "d:b32|p?:pred, a:T, mask:u32", "The mask if a is the same in all, else 0.")
        .sm(70)
        .mask(),
    row("redux.sync(.add|.min|.max)(.u32|.s32)", "d:T, a:T, mask:u32", "Combines over the lanes.").sm(80).mask(),
    row("redux.sync(.and|.or|.xor).b32", "d:T, a:T, mask:u32", "Combines over the lanes.").sm(80).mask(),
    row("redux.sync(.min|.max){.abs}{.NaN}.f32", "d:T, a:T, mask:u32", "Combines over the lanes.")
        .ptx(8, 6)
        .only(&[100, 103])
        .mask(),
    row("activemask.b32", "d:T", "The lanes that are here now.").reads(),
    row("elect.sync", "d:b32_|p:pred, mask:u32", "p in one lane of the mask; d is which.").ptx(8, 0).sm(90).mask(),
    row("bar.warp.sync", "mask:u32", "Waits for the lanes of the mask.").barrier().mask(),
];
