//! Kernels that the text form can not hold, and the limits. The rest is in `tests/files/verify`.

use super::*;
use crate::access::Access;
use crate::kernel::{LocationId, Param, Pointer, RegisterId, SharedId, SharedVariable};
use smallvec::smallvec;

fn inst(op: Op, args: &[u32], results: &[u32]) -> Inst {
    Inst {
        op,
        args: args.iter().map(|&v| Value(v)).collect(),
        results: results.iter().map(|&v| Value(v)).collect(),
        location: LocationId(77),
    }
}

fn kernel(body: Block, values: Vec<Type>) -> Kernel {
    Kernel { name: "k".into(), values, body, ..Kernel::default() }
}

fn messages(kernel: &Kernel) -> Vec<String> {
    verify(kernel).unwrap_err().diagnostics.into_iter().map(|d| d.message).collect()
}

#[test]
fn numbers_out_of_range_are_errors() {
    let far = u32::MAX;
    let body = vec![
        inst(Op::Const(0), &[], &[far]),
        inst(Op::Get(RegisterId(far)), &[], &[0]),
        inst(Op::Set(RegisterId(far)), &[far], &[]),
        inst(Op::Param(far), &[], &[1]),
        inst(Op::SharedAddress(SharedId(far)), &[], &[2]),
        inst(Op::For { index: Value(far), unroll: None, body: vec![] }, &[far, far, far], &[]),
        inst(Op::Store { space: Space::Global, offset: i32::MIN, guarded: true, access: Access::PLAIN }, &[], &[]),
        inst(Op::Load { space: Space::Shared, offset: i32::MIN, fill: None, access: Access::PLAIN }, &[], &[]),
        inst(Op::Select, &[], &[]),
    ];
    let kernel = kernel(body, vec![Type::U32; 3]);
    assert!(messages(&kernel).len() >= 9, "{:#?}", messages(&kernel));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth| {
        let mut body = vec![];
        for _ in 0..depth {
            body = vec![inst(Op::Loop { body }, &[], &[])];
        }
        kernel(body, vec![])
    };
    assert_eq!(verify(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(messages(&nested(MAX_DEPTH + 1)), ["blocks are nested more than 128 deep"]);
}

#[test]
fn shared_memory_counts_padding_and_does_not_overflow() {
    let variable = |bytes, align| SharedVariable { name: format!("s{bytes}"), bytes, align };
    let with = |shared| Kernel { shared, ..kernel(vec![], vec![]) };
    assert_eq!(verify(&with(vec![variable(232_448, 16)])), Ok(()));
    let padded = with(vec![variable(4, 4), variable(232_444, 16)]);
    assert!(messages(&padded)[0].starts_with("232460 bytes of shared memory"), "{:?}", messages(&padded));
    let huge = with(vec![variable(u32::MAX, 1024), variable(u32::MAX, 1024)]);
    assert_eq!(messages(&huge).len(), 1);
}

#[test]
fn alignment_is_proven_through_arithmetic() {
    // x + (tid · 4 << 2) is a multiple of 16 away from x.
    let address = |align, shift| {
        let pointer = Some(Pointer { tensor: "x".into(), align });
        let body = vec![
            inst(Op::Param(0), &[], &[0]),
            inst(Op::Special(crate::op::Special::ThreadX), &[], &[1]),
            inst(Op::Const(4), &[], &[2]),
            inst(Op::Binary(crate::op::Binary::Mul), &[1, 2], &[3]),
            inst(Op::Const(shift), &[], &[4]),
            inst(Op::Binary(crate::op::Binary::Shl), &[3, 4], &[5]),
            inst(Op::Convert, &[5], &[6]),
            inst(Op::Binary(crate::op::Binary::Add), &[0, 6], &[7]),
            Inst {
                results: smallvec![Value(8), Value(9), Value(10), Value(11)],
                ..inst(Op::Load { space: Space::Global, offset: 0, fill: None, access: Access::READ_ONLY }, &[7], &[])
            },
        ];
        let (u32, u64) = (Type::U32, Type::U64);
        let f32s = [Type::F32; 4];
        let values = [u64, u32, u32, u32, u32, u32, u64, u64].into_iter().chain(f32s).collect();
        let params = vec![Param { pointer, ..Param::number("x", Type::U64) }];
        Kernel { params, ..kernel(body, values) }
    };
    assert_eq!(verify(&address(16, 2)), Ok(()));
    assert_eq!(
        messages(&address(8, 2)),
        ["a global `load` of 16 bytes, but `x` is only known to be aligned to 8 bytes"]
    );
    // Only a multiple of 8: the rest may be what makes it right.
    assert_eq!(verify(&address(8, 1)), Ok(()));
}
