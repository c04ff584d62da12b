//! Round trips of what files under `tests/files` do not have, and errors with their places.

use super::parse;
use crate::access::Access;
use crate::kernel::{Inst, Kernel, LocationId, Value};
use crate::op::Op;
use crate::types::Type;
use smallvec::smallvec;
use std::sync::Arc;
use warpsmith_types::{Inlined, Location};

fn round_trip(kernel: &Kernel) {
    let text = kernel.to_string();
    assert_eq!(parse(&text).as_ref(), Ok(kernel), "{text}");
}

#[test]
fn every_kind_of_constant_comes_back() {
    let mut kernel = Kernel { name: "constants".into(), ..Kernel::default() };
    let patterns =
        [0, 1, 2, 0x7fff, 0x8000, 0x7c01, 0x3c00, 0x7f80_0001, 0x8000_0000, 0xff80_0000, 0x7ff8_0000_0000_0001];
    for ty in Type::ALL {
        // The last has bits beyond most types: wrong, but printed as it is.
        for bits in patterns.into_iter().chain([0xffff_ffff_ffff_fffe]) {
            let result = kernel.value(ty);
            let location = LocationId::NONE;
            kernel.body.push(Inst { op: Op::Const(bits), args: smallvec![], results: smallvec![result], location });
        }
    }
    round_trip(&kernel);
}

#[test]
fn places_and_names_of_any_kind_come_back() {
    let call = Location::new("a b.rs", 3, 0);
    let mut inner = Location::new("C:\\x\"y;.rs", 1, 2);
    inner.inlined_at = Some(Arc::new(Inlined { function: "row sum".into(), at: call }));
    let place = |i| Inst { op: Op::Barrier, args: smallvec![], results: smallvec![], location: LocationId(i) };
    let kernel = Kernel {
        name: "two words\n".into(),
        locations: vec![inner, Location::new("", 1, 1), Location::new("plain.rs", 9, 0)],
        body: vec![place(0), place(1), place(2)],
        ..Kernel::default()
    };
    round_trip(&kernel);
}

#[test]
fn references_out_of_range_and_wrong_operands_come_back() {
    let inst = |op, args: &[u32]| Inst {
        op,
        args: args.iter().map(|&v| Value(v)).collect(),
        results: smallvec![],
        location: LocationId::NONE,
    };
    let store =
        |guarded| Op::Store { space: crate::op::Space::Shared, offset: i32::MIN, guarded, access: Access::PLAIN };
    let load = Op::Load { space: crate::op::Space::Global, offset: i32::MAX, fill: Some(7), access: Access::PLAIN };
    let kernel = Kernel {
        name: "k".into(),
        values: vec![Type::F32],
        body: vec![
            inst(Op::Param(9), &[]),
            inst(Op::SharedAddress(crate::kernel::SharedId(9)), &[]),
            inst(store(true), &[]),
            inst(store(true), &[0]),
            inst(Op::If { uniform: false, then: vec![], otherwise: vec![] }, &[0, 5, 0]),
            inst(store(false), &[]),
            inst(Op::If { uniform: false, then: vec![], otherwise: vec![] }, &[]),
            inst(load, &[]),
            inst(Op::Set(crate::kernel::RegisterId(4)), &[]),
            inst(Op::Set(crate::kernel::RegisterId(4)), &[0, 0]),
        ],
        ..Kernel::default()
    };
    round_trip(&kernel);
}

#[test]
fn errors_say_where() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(error("kernel k() {\n  %0: u33 = const 1\n}"), "2:7: expected a type, found `u33`");
    assert_eq!(
        error("kernel k() {\n  %0: u16 = const 65536\n}"),
        "2:19: expected a literal of type u16, found `65536`"
    );
    assert_eq!(error("kernel k() {\n  frobnicate\n}"), "2:3: `frobnicate` is no operation");
    assert_eq!(error("kernel k() {\n  %0: u32 = param n\n}"), "2:19: no parameter is called `n`");
    assert_eq!(error("kernel k() {\n  %1: u32 = const 1\n}"), "1:1: %0 has no type; list it as `unused`");
    assert_eq!(error("kernel k() {\n  %0: u32 = const 1\n  %0: f32 = const 1.0\n}"), "3:7: %0 is also declared as u32");
    assert_eq!(error("kernel k() {\n  barrier @ a.rs\n}"), "2:17: expected `:` and a line");
    assert_eq!(error("kernel k() {"), "1:13: expected an operation, found the end");
    assert_eq!(error("kernel \"k"), "1:8: this quote is not closed");
    let deep = format!("kernel k() {{ {} }}", "loop { ".repeat(100_000));
    assert!(error(&deep).contains("nested more than 128 deep"));
    assert!(error("kernel k() { %4294967295: u32 = const 1 }").contains("numbered too high"));
}
