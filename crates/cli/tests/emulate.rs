//! `warpsmith emulate` as people type it: on PTX that nvcc made, and on PTX with mistakes.

use std::path::PathBuf;
use std::process::Command;

/// Runs it from the workspace's folder.
fn emulate(args: &[&str]) -> (i32, String, String) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let output = command.arg("emulate").args(args).current_dir(root).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The words of a line, as a shell splits them.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A file of its own for each test.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A file with a kernel `k` of one pointer `x`, around a body; threads know their index in `%r0`, their address in `%rd1`.
fn kernel(name: &str, body: &str) -> String {
    let path = scratch(name);
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{{\n\
         .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p<2>;\n\
         ld.param.u64 %rd0, [x]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;\n\
         {body}\nret;\n}}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// The contents of a `.npy` file of f32.
fn floats(path: &PathBuf) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

const SAXPY: &str = "crates/emulator/tests/nvcc/saxpy.ptx --grid 8 --block 128";

#[test]
fn a_kernel_of_nvcc_gives_what_the_host_computes() {
    let (x, y) = (scratch("saxpy_x.npy"), scratch("saxpy_y.npy"));
    let line = format!(
        "{SAXPY} --arg n:i32=1000 --arg a:f32=1.5 --arg x:f32[1000]=random:7 --arg y:f32[1000]=iota --out x={} --out y={}",
        x.display(),
        y.display()
    );
    let (code, out, err) = emulate(&words(&line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("saxpy of crates/emulator/tests/nvcc/saxpy.ptx on an emulated H200\n"), "{out}");
    assert!(out.contains("8 x 1 x 1 blocks of 128 x 1 x 1 threads") && out.contains("sanitizer: clean"), "{out}");
    let (x, first) = (floats(&x), floats(&y));
    for (i, (x, y)) in x.iter().zip(&first).enumerate() {
        assert_eq!(*y, 1.5f32.mul_add(*x, i as f32), "{i}");
    }
    // Files come back as arguments, names or not; the same again is added.
    let files = [scratch("saxpy_x.npy"), scratch("saxpy_y.npy")];
    let again = scratch("saxpy_again.npy");
    let line = format!(
        "{SAXPY} --arg i32=1000 --arg f32=1.5 --arg {} --arg f32[1000]={} --out saxpy_param_3={}",
        files[0].display(),
        files[1].display(),
        again.display()
    );
    let (code, out, err) = emulate(&words(&line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for ((x, y), z) in x.iter().zip(&first).zip(floats(&again)) {
        assert_eq!(z, 1.5f32.mul_add(*x, *y));
    }
}

#[test]
fn extents_dtypes_and_seeds() {
    let file = scratch("softmax_out.npy");
    let line = format!(
        "crates/emulator/tests/nvcc/softmax.ptx --entry softmax --grid 2 --block 32,4 --seed 5 --arg i32=5 --arg i32=33 \
         --arg in:bf16[5,33]=random --arg out:bf16[5,33]=poison --out out={}",
        file.display()
    );
    let (code, out, err) = emulate(&words(&line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(&format!("written to {} as f32", file.display())), "{out}");
    let rows = floats(&file);
    assert_eq!(rows.len(), 165);
    assert!(rows.chunks(33).all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 0.01), "{rows:?}");
    // Bytes counted into bins: 64 of each number of four.
    let line = "crates/emulator/tests/nvcc/histogram.ptx --grid 2 --block 64 --arg i32=256 --arg data:u8[256]=iota \
                --arg bins:u32[256]=1 --json --head 256";
    let (code, out, err) = emulate(&words(line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["tensors"][0]["changed"], false);
    assert_eq!(report["tensors"][1]["name"], "bins");
    assert_eq!(report["tensors"][1]["head"], serde_json::json!(vec!["2"; 256]));
    assert_eq!(report["findings"], serde_json::json!([]));
}

#[test]
fn a_mistake_is_found_with_its_line() {
    let line = format!("{SAXPY} --arg i32=1001 --arg f32=1.5 --arg x:f32[1000]=random --arg y:f32[1000]");
    let (code, out, _) = emulate(&words(&line));
    assert_eq!(code, 3, "{out}");
    for part in [
        "`saxpy` writes 4 bytes of global memory out of bounds",
        "st.global.f32",
        "saxpy.ptx:63",
        "`y[1000]`",
        "`saxpy` reads uninitialised global memory",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // What is not looked for is not found.
    let found = |check: &str| {
        let (code, out, _) = emulate(&words(&format!("{line} --check {check}")));
        (code, out.contains("out of bounds"), out.contains("uninitialised"))
    };
    assert_eq!(found("memory"), (3, true, false));
    assert_eq!(found("init,sync"), (3, false, true));
    assert_eq!(found("memory,init"), (3, true, true));
    assert_eq!(found("none"), (0, false, false));
}

#[test]
fn the_source_is_shown_when_it_is_there() {
    let source = scratch("source.cu");
    std::fs::write(&source, "// a kernel\n    x[threadIdx.x + 1] = 7;\n").unwrap();
    let body = format!(
        ".loc 1 2 5\nst.global.u32 [%rd1+4], 7;\nret;\n}}\n.file 1 \"{}\"\n.visible .entry other()\n{{",
        source.display()
    );
    let file = kernel("with_source.ptx", &body);
    let (code, out, _) = emulate(&[&file, "--entry", "k", "--grid", "1", "--block", "32", "--arg", "u32[32]"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("source.cu:2:5") && out.contains("x[threadIdx.x + 1] = 7;"), "{out}");
    assert!(out.contains("`x[32]`") && out.contains("x        u32[32]: ? 7 7 7"), "{out}");
    assert!(out.contains("(1 elements were never written)"), "{out}");
}

#[test]
fn barriers_and_kernels_that_hang() {
    let divided = kernel(
        "divided.ptx",
        "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra low;\nbar.sync 0;\nbra end;\nlow:\nbar.sync 0;\nend:\nst.global.u32 [%rd1], %r0;",
    );
    let run = |file: &str, more: &[&str]| {
        emulate(&[&[file, "--grid", "1", "--block", "32", "--arg", "u32[32]"], more].concat())
    };
    let (code, out, _) = run(&divided, &[]);
    assert!(code == 3 && out.contains("reaches a barrier with a divided warp"), "{out}");
    let (_, out, _) = run(&divided, &["--check", "memory,init,races"]);
    assert!(!out.contains("divided warp"), "{out}");
    let endless = kernel("endless.ptx", "again:\nadd.u32 %r1, %r0, 1;\nbra again;");
    let (code, out, _) = run(&endless, &["--budget", "1000", "--check", "none"]);
    assert!(code == 3 && out.contains("then given up") && out.contains("no tensor changed"), "{out}");
    assert!(out.contains("does not finish within its budget"), "{out}");
}

#[test]
fn a_race_is_found_whatever_the_schedule() {
    // Each warp reads what the other one writes, without a barrier between.
    let exchange = |barrier: &str| {
        format!(
            ".shared .align 4 .b8 s[256];\nmov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2;\n\
             xor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\nst.shared.u32 [%r3], %r0;\n{barrier}\n\
             ld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd1], %r5;"
        )
    };
    let (wrong, right) = (kernel("race.ptx", &exchange("")), kernel("no_race.ptx", &exchange("bar.sync 0;")));
    for seed in ["0", "1", "2"] {
        let run = |file: &str, check| {
            emulate(&[file, "--grid", "1", "--block", "64", "--arg", "u32[64]", "--seed", seed, "--check", check])
        };
        let (code, out, _) = run(&wrong, "races");
        assert!(code == 3 && out.contains("`k` has a data race in shared memory"), "{out}");
        assert!(!run(&wrong, "memory,sync").1.contains("data race"));
        let (code, out, _) = run(&right, "all");
        assert!(code == 0 && out.contains("x        u32[64]: 32 33 34"), "{out}");
    }
}

#[test]
fn what_a_kernel_prints_is_shown() {
    let file = scratch("prints.ptx");
    let format: Vec<String> = b"seven is %d\n\0".iter().map(ToString::to_string).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 1 .b8 text[{}] = {{{}}};\n\
         .extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n\
         .visible .entry k()\n{{\n.local .align 8 .b8 frame[8]; .reg .b64 %rd<4>; .reg .b32 %r<2>;\n\
         mov.u32 %r0, 7; mov.u64 %rd0, frame; st.local.u32 [%rd0], %r0; cvta.local.u64 %rd1, %rd0;\n\
         mov.u64 %rd2, text; cvta.global.u64 %rd3, %rd2;\n{{\n.param .b64 a; st.param.b64 [a], %rd3;\n\
         .param .b64 b; st.param.b64 [b], %rd1;\n.param .b32 r;\n\
         call.uni (r), vprintf, (a, b);\nld.param.b32 %r1, [r];\n}}\nret;\n}}\n",
        format.len(),
        format.join(", ")
    );
    std::fs::write(&file, text).unwrap();
    let (code, out, err) = emulate(&[file.to_str().unwrap(), "--grid", "1", "--block", "1"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("printed:\nseven is 7\n"), "{out}");
}

#[test]
fn findings_for_machines() {
    let file = kernel("beyond.ptx", "st.global.u32 [%rd1+64], %r0;");
    let (code, out, _) = emulate(&[&file, "--grid", "1", "--block", "32", "--arg", "y:u32[4,8]=zeros", "--json"]);
    assert_eq!(code, 3, "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let [finding] = &report["findings"].as_array().unwrap()[..] else { panic!("{out}") };
    assert_eq!(finding["kind"], "OutOfBounds");
    assert_eq!(finding["tensor"], serde_json::json!({ "name": "y", "index": [4, 0], "inside": false }));
    assert_eq!((&finding["count"], &finding["ptx_line"], &finding["bytes"]), (&16.into(), &8.into(), &4.into()));
    assert_eq!(finding["thread"], serde_json::json!([16, 0, 0]));
}

#[test]
fn help_has_an_example_that_runs() {
    let (code, out, _) = emulate(&["--help"]);
    assert_eq!(code, 0);
    let (_, example) = out.split_once("\n  warpsmith emulate ").unwrap();
    let (example, _) = example.split_once("\n\n").unwrap();
    let example = example.replace('\\', " ");
    let line = example.split(" --out ").next().unwrap();
    let (code, out, err) = emulate(&words(line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn bad_input_is_named() {
    let refused = |line: &str, expected: &str| {
        let (code, out, err) = emulate(&words(line));
        assert_eq!((code, out.as_str(), err.trim_end()), (2, "", format!("error: {expected}").as_str()), "{line}");
    };
    refused(
        &format!("{SAXPY} --entry sax"),
        "--entry sax: there is no kernel `sax` in crates/emulator/tests/nvcc/saxpy.ptx; there are `saxpy`",
    );
    refused(
        &format!("{SAXPY} --arg n:i32=8 --arg f32[4]"),
        "kernel `saxpy` has 4 parameters, but 2 arguments came (--arg, in this order):\n  \
         1  .param .u32 saxpy_param_0                n:i32=8\n  \
         2  .param .f32 saxpy_param_1                f32[4]\n  \
         3  .param .u64 saxpy_param_2                (no argument)\n  \
         4  .param .u64 saxpy_param_3                (no argument)",
    );
    let with = |arguments: &str| format!("{SAXPY} {arguments} --arg x:f32[8] --arg y:f32[8]");
    refused(
        &with("--arg i64=8 --arg f32=1"),
        "--arg i64=8: `.param .u32 saxpy_param_0` takes a scalar of 32 bits, got i64, 64 bits",
    );
    refused(
        &with("--arg i32=8 --arg f32[1]"),
        "--arg f32[1]: `.param .f32 saxpy_param_1` takes a scalar of 32 bits, got a tensor, an address of 64 bits",
    );
    refused(
        &format!("{SAXPY} --arg i32=8 --arg f32=1 --arg x:f32[8] --arg x:f32[8]"),
        "--arg x:f32[8]: there is another tensor `x`",
    );
    refused(&with("--arg i32=8 --arg f32=1 --out z=z.npy"), "--out z: there is no tensor `z`; there are `x`, `y`");
    refused(
        &with("--arg i32=8 --arg f32=1 --shared 1000000"),
        "can not launch `saxpy`: 1000000 bytes of shared memory a block, but the H200 has 232448",
    );
    refused("no/such.ptx --grid 1 --block 1", "no/such.ptx: can not be read: No such file or directory (os error 2)");
    let (code, _, err) = emulate(&words(&format!("{SAXPY} --chip TPU")));
    assert!(code == 2 && err.contains("there is no chip `TPU`; there are A100, H100"), "{err}");
    let (code, _, err) = emulate(&words("crates/emulator/tests/nvcc/saxpy.ptx --grid 1,2,3,4 --block 1"));
    assert!(code == 2 && err.contains("`1,2,3,4` is not X[,Y[,Z]]"), "{err}");
    let hopper = scratch("hopper.ptx");
    std::fs::write(&hopper, ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry a()\n{\nret;\n}\n.visible .entry b()\n{\nret;\n}\n").unwrap();
    let path = hopper.display();
    refused(
        &format!("{path} --entry a --grid 1 --block 1 --chip a100"),
        "--chip A100: the PTX is for sm_90a, and this chip runs sm_80",
    );
    refused(
        &format!("{path} --grid 1 --block 1"),
        &format!("{path} has several kernels; choose one by --entry: `a`, `b`"),
    );
    let broken = scratch("broken_emulate.ptx");
    std::fs::write(&broken, "not PTX").unwrap();
    let (code, _, err) = emulate(&[broken.to_str().unwrap(), "--grid", "1", "--block", "1"]);
    assert!(code == 2 && err.contains("broken_emulate.ptx: ") && err.contains("line 1"), "{err}");
}

#[test]
fn a_warp_is_followed_with_its_registers() {
    let line = format!(
        "{SAXPY} --arg i32=1000 --arg f32=1.5 --arg x:f32[1000]=random --arg y:f32[1000]=iota --trace 7:3 --steps 14"
    );
    let (code, out, err) = emulate(&words(&line));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let after = |text: &str| {
        let lines: Vec<&str> = out.lines().skip_while(|l| !l.contains(text)).take(3).collect();
        lines.join("\n")
    };
    // The last warp of the last block: threads 96 to 127, of which eight have elements.
    assert!(after("mad.lo.s32 %r27").contains("-> %r27 = 992 993 … 1023"), "{out}");
    assert!(after("setp.ge.s32").contains("-> %p1 = lanes 8-31"), "{out}");
    assert!(after("@%p1 bra").contains("lanes 8-31 of all lanes"), "{out}");
    assert_eq!(out.lines().filter(|l| l.contains("all lanes")).count(), 14, "{out}");

    let (code, _, err) = emulate(&words(&line.replace("7:3", "7:4")));
    assert_eq!(code, 2);
    assert!(err.contains("--trace 7,0,0:4: there is no such warp in a grid of [8, 1, 1] blocks of 4 warps"), "{err}");
    let (code, _, err) = emulate(&words(&line.replace("7:3", "seven")));
    assert_eq!(code, 2);
    assert!(err.contains("is not X[,Y[,Z]]:WARP"), "{err}");
}

#[test]
fn lines_are_counted_and_advice_is_given() {
    let body = "mul.wide.u32 %rd2, %r0, 128; add.u64 %rd2, %rd2, %rd0;\nst.global.u32 [%rd2], %r0;";
    let file = kernel("strided.ptx", body);
    let line = format!("{file} --grid 1 --block 64 --arg x:u32[2048]=poison --check all,perf --profile");
    let (code, out, err) = emulate(&words(&line));
    // Advice is no fault.
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let said = "strided.ptx:9: split accesses: 2 accesses to global memory take 64 sectors, and 8 would do (8.0 times)";
    assert!(out.contains(said), "{out}");
    let row = out.lines().find(|l| l.starts_with("strided.ptx:9 ") && l.contains('%')).unwrap();
    assert!(row.contains(" 2 ") && row.contains(" 256 ") && row.ends_with("st.global.u32 [%rd2], %r0;"), "{row}");
    assert!(out.contains("2048 written, 2048 different"), "{out}");

    let (code, out, _) = emulate(&words(&format!("{line} --json")));
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["advice"][0]["kind"], "split-access");
    assert_eq!(json["advice"][0]["cost"], serde_json::json!([64, 8]));
    let lines = json["profile"]["lines"].as_array().unwrap();
    assert!(lines.iter().any(|l| l["ptx_line"] == 9 && l["global"]["transactions"] == 64), "{out}");

    let tidy = kernel("tidy.ptx", "st.global.u32 [%rd1], %r0;");
    let (code, out, _) = emulate(&words(&format!("{tidy} --grid 1 --block 64 --arg x:u32[64]=poison --check perf")));
    assert!(code == 0 && out.contains("nothing costs more than it needs to"), "{out}");
}

#[test]
fn a_seed_replays() {
    let body = "and.b32 %r1, %r0, 1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd0;\nst.global.u32 [%rd2], %r0;";
    let file = kernel("racing.ptx", body);
    let run = |flag: &str| {
        emulate(&words(&format!("{file} --grid 1 --block 96 --arg x:u32[2]=poison {flag} 7 --schedule slow-warp")))
    };
    let (code, out, _) = run("--seed");
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("the same again: --replay 7"), "{out}");
    // All but the time it took.
    let rest = |text: &str| text.lines().filter(|l| !l.contains("ran in")).collect::<Vec<_>>().join("\n");
    assert_eq!(rest(&run("--replay").1), rest(&out));
}
