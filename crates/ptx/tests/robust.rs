//! Whatever the text, the parser answers.

mod common;

use common::Breadth;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::LazyLock;
use warpsmith_ptx::parse;

const KERNEL: &str = include_str!("data/everything.ptx");

/// What PTX is made of, to put where it does not belong.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ";",
    ":",
    ",",
    "@",
    "!",
    "|",
    "=",
    "+",
    "-",
    "_",
    ".",
    "\"",
    "/*",
    "*/",
    "//",
    ".reg .b32 %r<9>;",
    "%r1",
    "%tid.x",
    "WARP_SZ",
    "0f3F800000",
    "0d",
    "0x",
    "99999999999999999999",
    "-1",
    "1.5e",
    ".param",
    ".entry k()",
    ".func f",
    ".global .b8 a[]",
    ".loc 1 1 1",
    ".section .debug_str {",
    "bra A;",
    "A:",
    "ld.global.v4.f32 {%f1, %f2}, [%rd1+-9223372036854775808];",
    "mov.b64",
    "call",
    ".version 8.0",
    "é",
    "\u{0}",
];

static ROWS: LazyLock<Vec<String>> =
    LazyLock::new(|| common::modules(Breadth::Alternatives).iter().map(|m| m.to_string()).collect());

/// A text with a slice cut out and a piece put in.
fn spoilt(text: &str, at: usize, cut: usize, piece: &str) -> String {
    let boundary = |mut i: usize| {
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = boundary(at % (text.len() + 1));
    let end = boundary((start + cut).min(text.len())).max(start);
    [&text[..start], piece, &text[end..]].concat()
}

/// The answer is used, so that printing and checking are tried too.
fn answer(text: &str) {
    match parse(text) {
        Ok(module) => {
            let _ = module.verify();
            let _ = module.minimal_version();
            let printed = module.to_string();
            assert!(parse(&printed).is_ok(), "{printed}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        answer(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces(pieces in proptest::collection::vec(select(PIECES), 0..60)) {
        answer(&format!(".version 8.0 .target sm_90a .visible .entry k() {{ {}", pieces.join(" ")));
    }

    #[test]
    fn spoilt_kernels(spots in proptest::collection::vec((any::<usize>(), 0usize..40, select(PIECES)), 1..4)) {
        let text = spots.iter().fold(KERNEL.to_string(), |text, (at, cut, piece)| spoilt(&text, *at, *cut, piece));
        answer(&text);
    }

    #[test]
    fn spoilt_rows(module in any::<usize>(), at in any::<usize>(), cut in 0usize..40, piece in select(PIECES)) {
        let text = &ROWS[module % ROWS.len()];
        // A few lines are enough, and quick.
        let text: String = text.lines().take(120).map(|l| format!("{l}\n")).collect();
        answer(&spoilt(&text, at, cut, piece));
    }
}

#[test]
fn deep_nesting_is_no_recursion() {
    let head = ".version 8.0 .target sm_90a .visible .entry k() {";
    answer(&format!("{head}{}", "{".repeat(100_000)));
    answer(&format!("{head}{}{}", "{".repeat(100_000), "}".repeat(100_001)));
    answer(&format!(".version 8.0 .target sm_90a .global .b8 a = {}", "{".repeat(100_000)));
}
