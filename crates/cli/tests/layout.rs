//! `warpsmith layout` as people type it.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs it on a terminal of a fixed width.
fn layout(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command.arg("layout").args(args).env("COLUMNS", "80").output().unwrap()
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A file of its own for each test.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What is printed for arguments that are right.
fn shown(args: &[&str]) -> String {
    let (code, out, err) = said(&layout(args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Asserts a one-line error with exit code 2.
fn refused(args: &[&str], expected: &str) {
    let (code, out, err) = said(&layout(args));
    assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    assert_eq!(err.trim_end(), format!("error: {expected}"), "{args:?}");
}

#[test]
fn facts_and_a_drawing() {
    let expected = "\
layout   (4,8):(8,1)
shape    (4,8)
stride   (8,1)
size     32
cosize   32
rank     2
depth    1

      0   1   2   3   4   5   6   7
  0   0   1   2   3   4   5   6   7
  1   8   9  10  11  12  13  14  15
  2  16  17  18  19  20  21  22  23
  3  24  25  26  27  28  29  30  31
";
    assert_eq!(shown(&["(4,8):(8,1)"]), expected);
}

#[test]
fn nested_modes_stand_together() {
    let out = shown(&["--divide", "(4,6):(6,1)", "<2,3>"]);
    assert!(out.starts_with("layout   ((2,2),(3,2)):((6,12),(1,3))\n"), "{out}");
    let drawing = "
      0   1   2    3   4   5
  0   0   1   2    3   4   5
  1   6   7   8    9  10  11

  2  12  13  14   15  16  17
  3  18  19  20   21  22  23
";
    assert!(out.ends_with(drawing), "{out}");
}

#[test]
fn threads_and_values() {
    let file = scratch("threads.svg");
    let out = shown(&["--tv", "(4,8):(8,1)", "(2,2):(2,1)", "--svg", file.to_str().unwrap()]);
    assert!(out.starts_with("layout   ((8,4),(2,2)):((16,2),(8,1))\ntile     (8,16)\n"), "{out}");
    assert!(out.contains("  0   T0 V0   T0 V1   T1 V0   T1 V1"), "{out}");
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
    // All 32 threads, 4 values each, and a colour to each thread.
    assert_eq!(svg.matches(">T31<").count(), 4);
    assert_eq!(svg.matches(">V3<").count(), 32);
}

#[test]
fn operations() {
    let cases: [(&[&str], &str); 11] = [
        (&["--compose", "(4,6,8,10):(2,3,5,7)", "6:12"], "(2,3):(9,5)"),
        (&["--complement", "4:2", "24"], "(2,3):(1,8)"),
        (&["--divide", "16:3", "4:1"], "(4,4):(3,12)"),
        (&["--product", "(2,2):(4,1)", "6:1"], "((2,2),(2,3)):((4,1),(2,8))"),
        (&["--blocked-product", "(2,5):(5,1)", "(3,4):(1,3)"], "((2,3),(5,4)):((5,10),(1,30))"),
        (&["--raked-product", "(2,5):(5,1)", "(3,4):(1,3)"], "((3,2),(4,5)):((10,5),(30,1))"),
        (&["--coalesce", "(2,(1,6)):(1,(6,2))"], "12:1"),
        (&["--right-inverse", "(8,4):(4,1)"], "(4,8):(8,1)"),
        (&["--left-inverse", "(4,2):(1,16)"], "(16,2):(1,4)"),
        (&["--swizzle", "3,3,3", "(8,64):(64,1)"], "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        (&["--swizzle", "Sw<2,3,3>", "(8,32):(32,1)"], "Sw<2,3,3> o 0 o (8,32):(32,1)"),
    ];
    for (args, expected) in cases {
        let out = shown(args);
        assert_eq!(out.lines().next().unwrap(), format!("layout   {expected}"), "{args:?}");
    }
}

#[test]
fn banks_depend_on_the_width_of_elements() {
    let halves = shown(&["--swizzle", "3,3,3", "(8,64):(64,1)"]);
    assert!(halves.contains("  1   72 b4"), "{halves}");
    let words = shown(&["--swizzle", "3,2,3", "(8,32):(32,1)", "--bits", "32"]);
    assert!(words.contains("  1   36 b4"), "{words}");
    assert!(shown(&["(2,8):(8,1)", "--bits", "8"]).contains("  1   8 b2"));
}

#[test]
fn coordinates_and_more_than_two_modes() {
    let out = shown(&["(2,3):(1@0,1@1)"]);
    assert!(out.contains("cosize   none: the stride 1@0 is no integer"), "{out}");
    assert!(out.contains("(1,2)"), "{out}");
    assert!(shown(&["(2,3,2):(6,2,1)"]).contains("  1   6   8  10    7   9  11"));
}

#[test]
fn what_does_not_fit_is_said() {
    let out = shown(&["(4,64):(64,1)"]);
    assert!(out.ends_with("shown: 4 of 4 rows, 15 of 64 columns; --svg FILE draws all\n"), "{out}");
    assert!(out.lines().all(|line| line.len() <= 80), "{out}");
    let huge = shown(&["(4096,4096):(4096,1)"]);
    assert!(huge.ends_with("no picture: 16777216 cells are too many to draw; 16384 is the limit\n"), "{huge}");
}

#[test]
fn help_has_examples_that_run() {
    let (code, out, _) = said(&layout(&["--help"]));
    assert_eq!(code, 0);
    let examples: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  warpsmith layout ")).collect();
    assert!(examples.len() >= 5, "{out}");
    for example in examples {
        let words: Vec<&str> = example.split(' ').map(|word| word.trim_matches('\'')).collect();
        let words = words.split(|word| *word == "--svg").next().unwrap();
        shown(words);
    }
}

#[test]
fn bad_input_is_named_in_one_line() {
    refused(&["(4,8:(8,1)"], "\"(4,8:(8,1)\": expected `)` at byte 4");
    refused(&["(4,8)"], "\"(4,8)\": expected `:` at byte 5");
    refused(&["(4,x):(8,1)"], "\"(4,x):(8,1)\": expected an integer at byte 3");
    refused(&["4:1 5"], "\"4:1 5\": expected the end at byte 4");
    refused(&["(4,8):(8,1,2)"], "(4,8) and (8,1,2) have different profiles");
    refused(&["(4,-8):(8,1)"], "a size must be at least 1, but -8 is not");
    refused(
        &["--compose", "(8,8):(8,1)", "4:3"],
        "--compose: composition of (8,8):(8,1) and 4:3: mode 0: size 4 is not a multiple of 3, what is left of the mode",
    );
    refused(&["--compose", "(8,8):(8,1)", "4"], "--compose: \"4\": expected `:` at byte 1");
    refused(&["--tv", "4:1", "(2:1"], "--tv: \"(2:1\": expected `)` at byte 2");
    refused(
        &["--complement", "(2,2):(1,1)", "8"],
        "--complement: complement of (2,2):(1,1) and 8: mode 1 overlaps: its stride 1 is below the extent 2 of the modes before it",
    );
    refused(&["--swizzle", "3,3", "4:1"], "--swizzle: `3,3` is not B,M,S, like 3,3,3");
    refused(&["--swizzle", "3,3,2", "4:1"], "--swizzle: Sw<3,3,2> XORs bits with each other: |2| is below 3");
    refused(&["--swizzle", "3,-3,3", "4:1"], "--swizzle: B and M of `3,-3,3` must not be negative");
    refused(
        &["(4096,4096):(4096,1)", "--svg", scratch("huge.svg").to_str().unwrap()],
        "--svg: 16777216 cells are too many to draw; 16384 is the limit",
    );
    refused(
        &["4:1", "--svg", "no/such/folder/file.svg"],
        "no/such/folder/file.svg: can not be written: No such file or directory (os error 2)",
    );
    refused(&["4:1", "--bits", "0"], "--bits: an element has 1 to 1024 bits, not 0");
    let (code, out, err) = said(&layout(&[]));
    assert!(code == 2 && out.is_empty() && err.contains("Usage: warpsmith layout"), "{err}");
    let (code, ..) = said(&layout(&["4:1", "--coalesce", "4:1"]));
    assert_eq!(code, 2, "one thing at a time");
}
