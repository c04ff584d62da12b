//! `warpsmith bench` as people type it, on emulated devices.

mod common;

use common::{command, line, refused, said, scratch, shown};
use serde_json::{Value, json};

/// A run of softmax over two lengths in a file.
fn run(name: &str, more: &[&str]) -> (String, Value, String) {
    let file = scratch(name);
    let path = file.to_str().unwrap().to_string();
    let args = ["bench", "softmax", "--shape", "4x256,4x1000", "--device", "emulated", "--json", &path];
    let out = shown(&[&args, more].concat());
    (out, serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap(), path)
}

#[test]
fn counts_on_an_emulated_device() {
    let (out, record, _) = run("bench_counts.json", &[]);
    assert!(out.starts_with("emulated H200 (sm_90a)\nno times: an emulator has no clock"), "{out}");
    assert!(out.contains("For times: --device cuda") && !out.contains("µs"), "{out}");
    // 2 · 4 · 256 · 2 bytes, each sector once.
    let row = line(&out, "softmax 4 × 256 ");
    assert!(row.ends_with(" 4096 4096 100.0 % 4096 100.0 % 0"), "{row}");
    let result = &record["rows"][0]["result"];
    assert_eq!((&result["on"], &result["moved"]), (&json!("emulator"), &json!(4096)));
    assert!(row.contains(&format!("own {} 4096", result["instructions"])), "{row}");
    // 1000 elements are no whole number of sectors; the row after them begins within one.
    assert_eq!(record["rows"][1]["floor"]["bytes"], 16_000);
    // Where it came from.
    assert_eq!(record["format"], 1);
    assert_eq!(record["device"]["kind"], "emulated");
    assert_eq!(record["device"]["driver"], Value::Null);
    assert_eq!(record["warpsmith"], env!("CARGO_PKG_VERSION"));
    let command = record["command"].as_str().unwrap();
    assert!(command.starts_with("warpsmith bench softmax --shape 4x256,4x1000 --device emulated --json "), "{command}");
    let date = record["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.starts_with("20") && date.ends_with('Z'), "{date}");
}

#[test]
fn counts_are_the_same_again_and_suites_run_whole() {
    let (first, second) =
        (shown(&["bench", "all", "--device", "emulated"]), shown(&["bench", "all", "--device", "emulated"]));
    assert_eq!(first, second);
    let all = [
        "softmax 2 × 49152 bf16",
        "rms_norm 32 × 256 bf16",
        "cross_entropy 32 × 256 bf16",
        "layer_norm_backward 16 × 8192 bf16",
        "gemm 256 × 256 × 256 bf16",
    ];
    for start in all {
        line(&first, start);
    }
    let gemms = shown(&["bench", "gemm", "--dtype", "f16", "--device", "emulated:H100"]);
    assert!(gemms.starts_with("emulated H100 (sm_90a)") && !gemms.contains("softmax"), "{gemms}");
    line(&gemms, "gemm 512 × 512 × 128 f16");
}

#[test]
fn dtypes_and_plans_stand_side_by_side() {
    let out = shown(&[
        "bench",
        "softmax",
        "--shape",
        "2x4096",
        "--dtype",
        "f32,bf16",
        "--plan",
        "threads_per_row=128,256",
        "--device",
        "emulated:B200",
    ]);
    assert!(out.starts_with("emulated B200 (sm_100a)"), "{out}");
    let instructions = |start: &str| -> u64 { line(&out, start).split(' ').nth(6).unwrap().parse().unwrap() };
    for dtype in ["f32", "bf16"] {
        let of = |n: usize| instructions(&format!("softmax 2 × 4096 {dtype} threads_per_row={n} "));
        // More threads to a row are more instructions that all threads have alike.
        assert!(of(256) > of(128), "{out}");
    }
}

#[test]
fn every_plan_is_counted() {
    let out = shown(&["bench", "softmax", "--shape", "2x4096", "--plan", "all", "--device", "emulated"]);
    let rows = out.lines().filter(|l| l.starts_with("softmax ")).count();
    assert!(rows > 3, "{out}");
    assert!(line(&out, "softmax 2 × 4096").contains(" own "), "{out}");
    assert!(out.contains(" threads_per_row=128 "), "{out}");
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let (_, mut record, path) = run("bench_then.json", &[]);
    let (out, ..) = run("bench_now.json", &["--compare", &path]);
    assert!(line(&out, "softmax 4 × 256").ends_with(" 1.000"), "{out}");
    assert!(out.contains(&format!("compared with {path}, of 20")) && !out.contains("another"), "{out}");
    // A worse one is shown, and is no failure.
    let instructions = record["rows"][0]["result"]["instructions"].as_u64().unwrap();
    record["rows"][0]["result"]["instructions"] = json!(instructions / 2);
    record["rows"].as_array_mut().unwrap().truncate(1);
    record["device"]["name"] = json!("emulated A100");
    std::fs::write(&path, record.to_string()).unwrap();
    let (out, ..) = run("bench_now.json", &["--compare", &path]);
    assert!(line(&out, "softmax 4 × 256").ends_with(" 0.500"), "{out}");
    assert!(line(&out, "softmax 4 × 1000").ends_with(" new"), "{out}");
    assert!(out.contains("another device: emulated A100 then, emulated H200 now"), "{out}");
    let (out, ..) = run("bench_now.json", &["--compare", &path, "--color", "always"]);
    assert!(out.contains("\x1b[1;31m0.500\x1b[0m"), "{out:?}");
}

#[test]
fn a_run_is_drawn() {
    let file = scratch("bench.svg");
    shown(&["bench", "rms_norm", "--shape", "2x64,2x128", "--device", "emulated", "--svg", file.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains("Warpsmith on emulated H200") && svg.contains(">rms_norm bf16</text>"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 2);
}

#[test]
fn bad_input_is_named_in_one_line() {
    let bench =
        |more: &[&str], expected: &str| refused(&[&["bench"], more, &["--device", "emulated"]].concat(), expected);
    bench(&["sofmax"], "there is no operator `sofmax`; did you mean `softmax`?");
    bench(
        &["attention"],
        "there is no operator or suite `attention`; there are softmax, rms_norm, layer_norm, cross_entropy, \
         softmax_backward, rms_norm_backward, layer_norm_backward, cross_entropy_backward, gemm, rows, gradients, all",
    );
    bench(&["softmax", "--shape", "4x4x4"], "--shape 4x4x4: expected ROWSxDIM for softmax");
    bench(&["gemm", "--shape", "4x4"], "--shape 4x4: expected MxNxK for gemm");
    bench(&["all", "--shape", "4x4"], "--shape 4x4: expected MxNxK for gemm");
    bench(&["gemm", "--plan", "64"], "--plan: gemm has one plan; operators over rows take threads_per_row=N");
    bench(
        &["softmax", "--shape", "4x64", "--plan", "48"],
        "`threads_per_row`: expected a power of two up to 32, or a multiple of 32 up to 1024, got 48",
    );
    bench(&["softmax", "--shape", "1x0"], "`x`: expected rows of at least 1 element, got 0");
    bench(&["softmax", "--shape", "1x8", "--dtype", "i32"], "`x`: expected elements of f32, f16 or bf16, got i32");
    let huge = "9999999999x9999999999";
    bench(&["softmax", "--shape", huge], &format!("--shape {huge}: more elements than an address reaches"));
    refused(&["bench", "gemm", "--device", "emulated:A100"], "`device`: expected a device of sm_90a, got sm_80");
    refused(
        &["bench", "rows", "--device", "gpu"],
        "--device gpu: expected cuda, cuda:N, emulated or emulated:CHIP (A100, H100, H200, B200, B300, RTX 4090, RTX 5090)",
    );
    for (args, expected) in [
        (["--shape", "4"], "`4` is no shape; expected ROWSxDIM or MxNxK, like 1024x4096 or 4096x4096x4096"),
        (["--plan", "fast"], "`fast` is no plan; expected threads_per_row=N, like threads_per_row=64, or all"),
        (["--dtype", "float"], "`float` is not a dtype"),
        (["--repetitions", "0"], "0 is not in 1..=10000"),
    ] {
        let (code, out, err) = said(command(&[&["bench", "softmax"][..], &args].concat()));
        assert!(code == 2 && out.is_empty() && err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn files_are_looked_at_before_anything_is_measured() {
    let bench = |more: &[&str], expected: &str| {
        refused(&[&["bench", "softmax", "--shape", "1x8", "--device", "emulated"], more].concat(), expected);
    };
    bench(&["--compare", "no/such.json"], "no/such.json: can not be read: No such file or directory (os error 2)");
    bench(&["--svg", "no/such/x.svg"], "no/such/x.svg: can not be written: No such file or directory (os error 2)");
    bench(&["--json", "crates"], "crates: can not be written: Is a directory (os error 21)");
    let file = |name: &str, text: &str| {
        std::fs::write(scratch(name), text).unwrap();
        scratch(name).to_str().unwrap().to_string()
    };
    let newer = file("bench_newer.json", r#"{"format": 2, "rows": []}"#);
    let words = "measure again, or compare by the version that wrote it";
    bench(&["--compare", &newer], &format!("{newer}: is of format 2, and this version reads 1; {words}"));
    let other = file("bench_other.json", "[1, 2]");
    bench(&["--compare", &other], &format!("{other}: is no JSON of `warpsmith bench`: it has no format"));
    let broken = file("bench_broken.json", "{");
    let (code, _, err) = said(command(&["bench", "softmax", "--device", "emulated", "--compare", &broken]));
    assert!(code == 2 && err.starts_with(&format!("error: {broken}: is no JSON of `warpsmith bench`: EOF")), "{err}");
    // A run on a card is none to compare counts with.
    let (_, mut record, path) = run("bench_card.json", &[]);
    record["device"]["kind"] = json!("cuda");
    record["device"]["name"] = json!("NVIDIA H200");
    std::fs::write(&path, record.to_string()).unwrap();
    let expected = format!(
        "--compare {path}: that run is from NVIDIA H200, this one from emulated H200: counts of the emulator and times of a \
         card have nothing in common"
    );
    bench(&["--compare", &path], &expected);
    // What fails leaves no file behind, and what was there as it was.
    let (kept, new) = (file("bench_kept.json", "kept"), scratch("bench_new.json"));
    let _ = std::fs::remove_file(&new);
    for path in [&kept, new.to_str().unwrap()] {
        let (code, ..) = said(command(&["bench", "softmax", "--shape", "1x0", "--device", "emulated", "--json", path]));
        assert_eq!(code, 2);
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    assert!(!new.exists());
}
