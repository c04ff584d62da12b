//! What begins with Blackwell; emulated, and assembled.

use crate::harness::{Case, CaseParams, Host, floats, words};
use warpsmith_dsl::prelude::*;

pub fn cases() -> Vec<Case> {
    let wide = |t: Target| t.number >= 100;
    vec![
        // One instruction there, two elsewhere.
        Case::new(
            "F32x2 arithmetic",
            DType::F32,
            (DType::F32, 64),
            floats(64),
            |a: &CaseParams| {
                let i = Dim::from(thread_idx().x) * 2;
                let x = a.x.at::<F32x2>((i,)).load();
                let y = (x + 1.5) * x - F32x2::new(2.0, 3.0);
                a.y.at::<F32x2>((i,)).store(y.mul_add(x, 0.25));
            },
            |x, y| {
                for (i, (x, y)) in f32::read(x).into_iter().zip(f32::read(y)).enumerate() {
                    let right = ((x + 1.5) * x - [2.0, 3.0][i % 2]).mul_add(x, 0.25);
                    assert!(
                        right.to_bits() == y.to_bits() || right.is_nan() && y.is_nan(),
                        "of {x}: {y} and not {right}"
                    );
                }
            },
        ),
        Case::new(
            "access of 256 bits",
            DType::F32,
            (DType::F32, 256),
            words::<f32>(256),
            |a: &CaseParams| {
                let i = Dim::from(thread_idx().x) * 8;
                let (from, to) = (a.x.at::<F32>((i,)), a.y.at::<F32>((i,)));
                to.l2(L2::EvictFirst).store_vector(from.l2(L2::EvictLast).load_vector::<8>());
            },
            |x, y| assert_eq!(x, y),
        )
        .on(wide),
    ]
}
