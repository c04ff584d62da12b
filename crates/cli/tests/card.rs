//! `warpsmith bench` on a card: `WARPSMITH_DEVICE=cuda cargo test -p warpsmith-cli --test card`.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

mod common;

use common::{line, scratch, shown};
use serde_json::Value;

fn card() -> bool {
    let asked = std::env::var("WARPSMITH_DEVICE").is_ok_and(|name| name.starts_with("cuda"));
    if !asked {
        println!("skipped: WARPSMITH_DEVICE is not cuda");
    }
    asked
}

#[test]
fn times_are_medians_beside_what_is_measured_in_the_same_run() {
    if !card() {
        return;
    }
    let (json, svg) = (scratch("card.json"), scratch("card.svg"));
    let files = ["--json", json.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let run = |args: &[&str]| {
        let out = shown(&[&["bench"], args, &["--device", "cuda", "--repetitions", "11"], &files[..]].concat());
        let record: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(record["device"]["kind"], "cuda");
        assert!(record["device"]["cuda"].is_string() && record["settings"]["cold"] == true, "{record}");
        for row in record["rows"].as_array().unwrap() {
            let (result, floor) = (&row["result"], &row["floor"]);
            let of = |name: &str| result["time"][name].as_f64().unwrap();
            assert!(of("fastest") <= of("tenth") && of("tenth") <= of("median") && of("median") <= of("ninetieth"));
            assert_eq!(result["time"]["repetitions"], 11);
            assert!(row["registers"].as_u64().unwrap() > 0, "{row}");
            // What is faster than the datasheet was not cold, or not measured.
            let share = result["share"].as_f64().unwrap();
            assert!((0.02..1.5).contains(&share), "{row}");
            if floor["bytes"].as_u64().unwrap() > 1 << 26 {
                assert!(of("median") > floor["bytes_microseconds"].as_f64().unwrap(), "{row}");
            }
        }
        (out, record)
    };
    // A short one is launched several times, a long one alone.
    let (out, record) = run(&["softmax", "--shape", "1024x1024,32768x8192"]);
    assert!(line(&out, "operator").contains("of a copy"), "{out}");
    let launches = |row: usize| record["rows"][row]["result"]["time"]["launches"].as_u64().unwrap();
    assert!(launches(0) > 1 && launches(1) == 1, "{record}");
    assert!(record["rows"][1]["result"]["share"].as_f64().unwrap() > 0.8, "{record}");
    let (_, _) = run(&["rms_norm", "--shape", "4096x4096", "--plan", "threads_per_row=128,256", "--dtype", "f32,bf16"]);
    if out.contains("sm_90a") {
        let (out, record) = run(&["gemm", "--shape", "4096x4096x4096"]);
        assert!(out.contains("matrix instructions alone, measured in this run: "), "{out}");
        assert!(record["rows"][0]["result"]["share"].as_f64().unwrap() > 0.5, "{record}");
        // Against itself there is nothing to say but the ratio.
        let path = json.to_str().unwrap();
        let out = shown(&["bench", "gemm", "--shape", "4096x4096x4096", "--device", "cuda", "--compare", path]);
        let ratio: f64 = line(&out, "gemm 4096").split(' ').next_back().unwrap().parse().unwrap();
        assert!((0.7..1.4).contains(&ratio) && !out.contains("another"), "{out}");
    }
    assert!(std::fs::read_to_string(&svg).unwrap().contains("</svg>"));
}
