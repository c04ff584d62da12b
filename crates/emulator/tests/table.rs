//! Which operations of PTX the emulator runs: every alternative of every row of the table is decoded.

#[path = "../../ptx/tests/common/mod.rs"]
mod common;

use common::Breadth;
use std::collections::BTreeMap;
use warpsmith_emulator::Program;
use warpsmith_ptx::{Function, FunctionKind, Module, Statement, table};

/// Rows of which some form is refused, with the first refusal.
fn refused() -> BTreeMap<&'static str, String> {
    let mut refused = BTreeMap::new();
    for module in common::modules(Breadth::Alternatives) {
        let (kernels, callees): (Vec<_>, Vec<_>) =
            module.functions.iter().cloned().partition(|f| f.kind == FunctionKind::Entry);
        for function in kernels {
            for statement in &function.body {
                let Statement::Instruction(i) = statement else { continue };
                let one = Function { body: vec![statement.clone()], ..function.clone() };
                let functions = callees.iter().cloned().chain([one]).collect();
                if let Err(error) = Program::decode(&Module { functions, ..module.clone() }, &function.name) {
                    let row = table::resolve(i).expect("a row").row.syntax;
                    refused.entry(row).or_insert_with(|| error.to_string());
                }
            }
        }
    }
    refused
}

/// What does not run. The list may only get shorter.
const KNOWN: &[&str] = &[
    "clusterlaunchcontrol.query_cancel(.get_first_ctaid::x|.get_first_ctaid::y|.get_first_ctaid::z).b32.b128",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
    "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes.b128",
    "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
    "fma.rn.oob{.relu}(.f16|.f16x2|.bf16|.bf16x2)",
    "isspacep(.const|.global|.local|<any_shared>)",
    "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32<f8f6f4><f8f6f4>.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "wmma.mma.sync.aligned<layout><layout><wmma>.f16.f32",
    "wmma.mma.sync.aligned<layout><layout><wmma>.f32.f16",
];

#[test]
fn all_but_the_known_forms_decode() {
    let refused = refused();
    let new: Vec<_> = refused.iter().filter(|(row, _)| !KNOWN.contains(row)).collect();
    assert!(new.is_empty(), "refused, and not on the list: {new:#?}");
    let stale: Vec<_> = KNOWN.iter().filter(|row| !refused.contains_key(*row)).collect();
    assert!(stale.is_empty(), "these run now; take them off the list: {stale:#?}");
}
