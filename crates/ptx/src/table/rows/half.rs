//! Arithmetic on 16-bit floats, alone and in pairs (PTX ISA §9.7.4).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("add{.rn}{.ftz}{.sat}(.f16|.f16x2)", "d:T, a:T, b:T", "Sum.").sm(53),
    row("add{.rn}(.bf16|.bf16x2)", "d:T, a:T, b:T", "Sum.").ptx(7, 8).sm(90),
    row("sub{.rn}{.ftz}{.sat}(.f16|.f16x2)", "d:T, a:T, b:T", "Difference.").sm(53),
    row("sub{.rn}(.bf16|.bf16x2)", "d:T, a:T, b:T", "Difference.").ptx(7, 8).sm(90),
    row("mul{.rn}{.ftz}{.sat}(.f16|.f16x2)", "d:T, a:T, b:T", "Product.").sm(53),
    row("mul{.rn}(.bf16|.bf16x2)", "d:T, a:T, b:T", "Product.").ptx(7, 8).sm(90),
    row("fma.rn{.ftz}{.sat}(.f16|.f16x2)", "d:T, a:T, b:T, c:T", "a · b + c, rounded once.").sm(53),
    row("fma.rn{.ftz}.relu(.f16|.f16x2)", "d:T, a:T, b:T, c:T", "a · b + c, at least 0.").sm(80),
    row("fma.rn{.relu}(.bf16|.bf16x2)", "d:T, a:T, b:T, c:T", "a · b + c, rounded once.").sm(80),
    row(
        "fma.rn.oob{.relu}(.f16|.f16x2|.bf16|.bf16x2)",
        "d:T, a:T, b:T, c:T",
        "a · b + c; 0 where a or b is out of bounds.",
    )
    .ptx(8, 1)
    .sm(90),
    row("neg{.ftz}(.f16|.f16x2)", "d:T, a:T", "Negation.").sm(53),
    row("neg(.bf16|.bf16x2)", "d:T, a:T", "Negation.").sm(80),
    row("abs{.ftz}(.f16|.f16x2)", "d:T, a:T", "Magnitude.").sm(53),
    row("abs(.bf16|.bf16x2)", "d:T, a:T", "Magnitude.").sm(80),
    row("min{.ftz}{.NaN}(.f16|.f16x2)", "d:T, a:T, b:T", "The smaller.").sm(80),
    row("min{.NaN}(.bf16|.bf16x2)", "d:T, a:T, b:T", "The smaller.").sm(80),
    row("min{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", "d:T, a:T, b:T", "The smaller magnitude, product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("min{.NaN}.xorsign.abs(.bf16|.bf16x2)", "d:T, a:T, b:T", "The smaller magnitude, product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("max{.ftz}{.NaN}(.f16|.f16x2)", "d:T, a:T, b:T", "The larger.").sm(80),
    row("max{.NaN}(.bf16|.bf16x2)", "d:T, a:T, b:T", "The larger.").sm(80),
    row("max{.ftz}{.NaN}.xorsign.abs(.f16|.f16x2)", "d:T, a:T, b:T", "The larger magnitude, product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("max{.NaN}.xorsign.abs(.bf16|.bf16x2)", "d:T, a:T, b:T", "The larger magnitude, product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("tanh.approx(.f16|.f16x2)", "d:T, a:T", "Hyperbolic tangent.").sm(75),
    row("tanh.approx(.bf16|.bf16x2)", "d:T, a:T", "Hyperbolic tangent.").ptx(7, 8).sm(90),
    row("ex2.approx(.f16|.f16x2)", "d:T, a:T", "2 to the a.").sm(75),
    row("ex2.approx.ftz(.bf16|.bf16x2)", "d:T, a:T", "2 to the a.").ptx(7, 8).sm(90),
];
