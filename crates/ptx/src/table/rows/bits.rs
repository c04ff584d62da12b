//! Logic, shifts, bytes (PTX ISA §9.7.8).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("and(.pred|.b16|.b32|.b64)", "d:T, a:T, b:T", "a and b."),
    row("or(.pred|.b16|.b32|.b64)", "d:T, a:T, b:T", "a or b."),
    row("xor(.pred|.b16|.b32|.b64)", "d:T, a:T, b:T", "a exclusive-or b."),
    row("not(.pred|.b16|.b32|.b64)", "d:T, a:T", "Complement."),
    row("cnot<bits>", "d:T, a:T", "1 where a is 0, else 0."),
    row("lop3.b32", "d:T, a:T, b:T, c:T, #table:b32", "Any function of three bits, by its table."),
    row("lop3(.or|.and).b32", "d:T_|p:pred, a:T, b:T, c:T, #table:b32, r:pred", "The same; p = (d ≠ 0) with r.")
        .ptx(8, 2)
        .sm(70),
    row("shl<bits>", "d:T, a:T, b:u32", "Left shift; 0 from the width on."),
    row("shr(<bits>|<int>)", "d:T, a:T, b:u32", "Right shift, arithmetic for signed types."),
    row("shf(.l|.r)(.clamp|.wrap).b32", "d:T, a:T, b:T, c:u32", "Funnel shift: a is the low half, b the high."),
    row("prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}", "d:T, a:T, b:T, c:T", "Four bytes picked from eight."),
];
