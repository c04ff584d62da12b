//! Halves and bytes side by side in a register (PTX ISA §9.7.17), without selectors on operands.

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("vadd2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Sums of halves; c is ignored."),
    row("vadd2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vadd4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Sums of bytes; c is ignored."),
    row("vadd4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vsub2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Differences of halves; c is ignored."),
    row("vsub2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vsub4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Differences of bytes; c is ignored."),
    row("vsub4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vavrg2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Averages of halves; c is ignored."),
    row("vavrg2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vavrg4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Averages of bytes; c is ignored."),
    row("vavrg4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vabsdiff2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Distances of halves; c is ignored."),
    row("vabsdiff2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vabsdiff4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "Distances of bytes; c is ignored."),
    row("vabsdiff4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vmin2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "The smaller of halves; c is ignored."),
    row("vmin2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vmin4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "The smaller of bytes; c is ignored."),
    row("vmin4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vmax2<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "The larger of halves; c is ignored."),
    row("vmax2<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
    row("vmax4<any32><any32><any32>{.sat}", "d:T, a:U, b:V, c:T", "The larger of bytes; c is ignored."),
    row("vmax4<any32><any32><any32>.add", "d:T, a:U, b:V, c:T", "The same, summed up with c."),
];
