//! Findings as JSON.

mod support;

use serde_json::json;
use support::{Arg::*, Buffers, kernel, launch, program, run, system};

const BODY: &str = "
    .loc 1 7 5
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    .loc 1 8 9
    st.global.u32 [%rd1], %r1;
    ld.global.u32 %r2, [%rd1+64];";

#[test]
fn a_race_and_an_error_of_bounds() {
    let text = kernel(".param .u64 x", ".file 1 \"k.rs\"", BODY);
    let mut s = system();
    let x = s.u32s("x", &[0; 8]);
    let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [2, 1, 1], &[P(x)]));
    let records = serde_json::to_value(&outcome.findings).unwrap();
    let race = records.as_array().unwrap().iter().find(|r| r["class"] == "data-race").unwrap();
    assert_eq!((&race["thread"], &race["other"]["thread"]), (&json!([1, 0, 0]), &json!([0, 0, 0])));
    assert_eq!(race["location"], json!({"file": "k.rs", "line": 8, "column": 9}));
    assert_eq!((&race["storage"], &race["bytes"], &race["address"]), (&json!("global"), &json!(4), &json!(x.0)));
    let bounds = records.as_array().unwrap().iter().find(|r| r["class"] == "out-of-bounds").unwrap();
    assert_eq!((&bounds["access"], &bounds["count"], &bounds["other"]), (&json!("load"), &json!(2), &json!(null)));
    let summary = outcome.summary();
    assert_eq!((summary.exit_code, summary.findings, summary.classes["data-race"]), (1, 2, 1));
    let summary = serde_json::to_value(&summary).unwrap();
    assert_eq!(
        (&summary["times"], &summary["classes"]["out-of-bounds"], &summary["stopped"]),
        (&json!(3), &json!(1), &json!(false))
    );
}

#[test]
fn a_clean_launch_ends_with_zero() {
    let mut s = system();
    let outcome = run(&mut s, &program(&kernel("", "", ""), "k"), &launch([1, 1, 1], [32, 1, 1], &[]));
    assert_eq!(outcome.summary().exit_code, 0);
    assert_eq!(serde_json::to_string(&outcome.findings).unwrap(), "[]");
}
