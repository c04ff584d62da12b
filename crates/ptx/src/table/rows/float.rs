//! Arithmetic on `.f32` and `.f64` (PTX ISA §9.7.3).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("add{<round>}{.ftz}{.sat}.f32", "d:T, a:T, b:T", "Sum."),
    row("add{<round>}.f64", "d:T, a:T, b:T", "Sum."),
    row("add{<round>}{.ftz}.f32x2", "d:T, a:T, b:T", "Two sums.").ptx(8, 6).sm(100),
    row("add{<round>}{.sat}.f32(.f16|.bf16)", "d:T, a:U, c:T", "Sum of a half and a float.").ptx(8, 6).sm(100),
    row("sub{<round>}{.ftz}{.sat}.f32", "d:T, a:T, b:T", "Difference."),
    row("sub{<round>}.f64", "d:T, a:T, b:T", "Difference."),
    row("sub{<round>}{.ftz}.f32x2", "d:T, a:T, b:T", "Two differences.").ptx(8, 6).sm(100),
    row("sub{<round>}{.sat}.f32(.f16|.bf16)", "d:T, a:U, c:T", "A half minus a float.").ptx(8, 6).sm(100),
    row("mul{<round>}{.ftz}{.sat}.f32", "d:T, a:T, b:T", "Product."),
    row("mul{<round>}.f64", "d:T, a:T, b:T", "Product."),
    row("mul{<round>}{.ftz}.f32x2", "d:T, a:T, b:T", "Two products.").ptx(8, 6).sm(100),
    row("fma<round>{.ftz}{.sat}.f32", "d:T, a:T, b:T, c:T", "a · b + c, rounded once."),
    row("fma<round>.f64", "d:T, a:T, b:T, c:T", "a · b + c, rounded once."),
    row("fma<round>{.ftz}.f32x2", "d:T, a:T, b:T, c:T", "Two of them.").ptx(8, 6).sm(100),
    row("fma<round>{.sat}.f32(.f16|.bf16)", "d:T, a:U, b:U, c:T", "Half · half + float, rounded once.")
        .ptx(8, 6)
        .sm(100),
    row("mad<round>{.ftz}{.sat}.f32", "d:T, a:T, b:T, c:T", "The same as fma."),
    row("mad<round>.f64", "d:T, a:T, b:T, c:T", "The same as fma."),
    row("div.approx{.ftz}.f32", "d:T, a:T, b:T", "Quotient within 2 units in the last place for ordinary divisors."),
    row("div.full{.ftz}.f32", "d:T, a:T, b:T", "Quotient within 2 units in the last place."),
    row("div<round>{.ftz}.f32", "d:T, a:T, b:T", "Quotient."),
    row("div<round>.f64", "d:T, a:T, b:T", "Quotient."),
    row("abs{.ftz}.f32", "d:T, a:T", "Magnitude."),
    row("abs.f64", "d:T, a:T", "Magnitude."),
    row("neg{.ftz}.f32", "d:T, a:T", "Negation."),
    row("neg.f64", "d:T, a:T", "Negation."),
    row("min{.ftz}.f32", "d:T, a:T, b:T", "The smaller; the number when one is NaN."),
    row("min{.ftz}.NaN.f32", "d:T, a:T, b:T", "The smaller; NaN when one is.").sm(80),
    row("min{.ftz}{.NaN}.xorsign.abs.f32", "d:T, a:T, b:T", "The smaller magnitude, with the product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("min{.ftz}{.NaN}{.abs}.f32", "d:T, a:T, b:T, c:T", "The smallest of three.").ptx(8, 8).sm(100),
    row("min.f64", "d:T, a:T, b:T", "The smaller; the number when one is NaN."),
    row("max{.ftz}.f32", "d:T, a:T, b:T", "The larger; the number when one is NaN."),
    row("max{.ftz}.NaN.f32", "d:T, a:T, b:T", "The larger; NaN when one is.").sm(80),
    row("max{.ftz}{.NaN}.xorsign.abs.f32", "d:T, a:T, b:T", "The larger magnitude, with the product's sign.")
        .ptx(7, 2)
        .sm(86),
    row("max{.ftz}{.NaN}{.abs}.f32", "d:T, a:T, b:T, c:T", "The largest of three.").ptx(8, 8).sm(100),
    row("max.f64", "d:T, a:T, b:T", "The larger; the number when one is NaN."),
    row("rcp.approx{.ftz}.f32", "d:T, a:T", "1 / a within 1 unit in the last place."),
    row("rcp.approx.ftz.f64", "d:T, a:T", "1 / a to 20 bits."),
    row("rcp<round>{.ftz}.f32", "d:T, a:T", "1 / a."),
    row("rcp<round>.f64", "d:T, a:T", "1 / a."),
    row("sqrt.approx{.ftz}.f32", "d:T, a:T", "Square root, relative error at most 2⁻²³."),
    row("sqrt<round>{.ftz}.f32", "d:T, a:T", "Square root."),
    row("sqrt<round>.f64", "d:T, a:T", "Square root."),
    row("rsqrt.approx{.ftz}.f32", "d:T, a:T", "1 / √a, relative error at most 2⁻²²·⁹."),
    row("rsqrt.approx{.ftz}.f64", "d:T, a:T", "1 / √a, approximate."),
    row("sin.approx{.ftz}.f32", "d:T, a:T", "Sine, absolute error about 2⁻²⁰ in [-π, π]."),
    row("cos.approx{.ftz}.f32", "d:T, a:T", "Cosine, absolute error about 2⁻²⁰ in [-π, π]."),
    row("lg2.approx{.ftz}.f32", "d:T, a:T", "Logarithm to base 2."),
    row("ex2.approx{.ftz}.f32", "d:T, a:T", "2 to the a, relative error about 2⁻²²."),
    row("tanh.approx.f32", "d:T, a:T", "Hyperbolic tangent, relative error about 2⁻¹¹.").sm(75),
    row("copysign(.f32|.f64)", "d:T, a:T, b:T", "b with the sign of a."),
    row("testp(.finite|.infinite|.number|.notanumber|.normal|.subnormal)(.f32|.f64)", "p:pred, a:T", "Kind of a."),
];
