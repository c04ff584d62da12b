//! The tutorials of the book: their programs run, their mistakes say what the chapters show.
//!
//! What is said lies in `docs/book/src/said`, where the chapters include it. `WARPSMITH_BLESS=1` writes it anew.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

#[path = "../../examples/block_softmax.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod block_softmax;
mod block_softmax_mistakes;
#[path = "../../examples/hand_over.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod hand_over;
mod hand_over_mistakes;
#[path = "../../examples/tiled_gemm.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod tiled_gemm;
mod tiled_gemm_mistakes;
#[path = "../../examples/vector_add.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod vector_add;
mod vector_add_mistakes;

use block_softmax::{BlockSoftmax, BlockSoftmaxArgs};
use block_softmax_mistakes::{RowSum, divergent, unsynchronised};
use std::path::{Path, PathBuf};
use tiled_gemm::{TiledGemm, TiledGemmArgs};
use vector_add::{VectorAdd, VectorAddArgs};
use vector_add_mistakes::Accumulate;
use warpsmith::prelude::*;
use warpsmith::runtime::report::Assembler;
use warpsmith::runtime::{LaunchError, LaunchOutcome};

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src")
}

fn device() -> Device {
    if std::env::var("WARPSMITH_DEVICE").is_ok() { Device::from_env().unwrap() } else { Device::emulated(Chip::H200) }
}

/// Asserts that the message in the book is among those that came; it is one with these words.
fn said(name: &str, words: &str, messages: &[String]) {
    let file = book().join("said").join(name);
    let about = || messages.iter().filter(|message| message.contains(words)).map(|message| message.trim_end());
    if let (Some(_), Some(first)) = (std::env::var_os("WARPSMITH_BLESS"), about().next()) {
        std::fs::write(&file, format!("{first}\n")).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    let found = about().any(|message| message == expected.trim_end());
    assert!(found, "{}:\n{expected}\nnot among\n{}", file.display(), messages.join("\n\n"));
}

#[test]
fn vectors_of_any_length_are_added() {
    let device = device();
    for n in [1, 1023, 1024, 1025, 10_000] {
        let (x, y): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32, 0.25 * i as f32 - 3.0)).unzip();
        let z = vector_add::add(&device, &x, &y).unwrap();
        assert!(z.iter().zip(&x).zip(&y).all(|((z, x), y)| *z == x + y) && z.len() == n, "{n}");
    }
    let refused = vector_add::add(&device, &[1.0; 8], &[1.0; 7]).unwrap_err();
    said("vector_add_lengths.txt", "`n`", &[refused.to_string()]);
}

#[test]
fn rows_are_normalised() {
    let device = device();
    for dim in [1, 100, 1024, 3000] {
        let x: Vec<f32> = (0..5 * dim).map(|i| ((i * 37) % 101) as f32 / 20.0).collect();
        let y = block_softmax::softmax(&device, &x, dim).unwrap();
        for (x, y) in x.chunks(dim).zip(y.chunks(dim)) {
            let max = x.iter().copied().fold(f32::MIN, f32::max);
            let e: Vec<f64> = x.iter().map(|v| f64::from(v - max).exp()).collect();
            let sum: f64 = e.iter().sum();
            assert!(y.iter().zip(&e).all(|(y, e)| (f64::from(*y) - e / sum).abs() <= 1e-5 * e / sum), "{dim}");
        }
    }
}

#[test]
fn a_table_is_handed_over() {
    let y = hand_over::run(&device(), hand_over::right()).unwrap();
    assert!(y.iter().enumerate().all(|(i, y)| *y == 2.0 * (hand_over::N - 1 - i) as f32), "{y:?}");
    let device = Device::emulated(Chip::H200);
    let wrong = |kernel| {
        let said = hand_over::run(&device, kernel).unwrap_err().to_string();
        vec![said.replace("tests/tutorials/../../", "")]
    };
    said("hand_over_relaxed.txt", "data race", &wrong(hand_over_mistakes::relaxed()));
    said("hand_over_one_sided.txt", "data race", &wrong(hand_over_mistakes::one_sided()));
    said("hand_over_narrow.txt", "data race", &wrong(hand_over_mistakes::narrow()));
}

#[test]
fn products_of_whole_tiles_and_of_edges() {
    let device = device();
    let wide = |bits: &u16| f64::from(f32::from_bits(u32::from(*bits) << 16));
    for [m, n, k] in [[128, 128, 64], [1, 1, 8], [130, 100, 72], [77, 256, 200]] {
        // Small integers and halves: products and sums are exact in f32, so that one rounding is all.
        let numbers = |count: usize, step: usize| -> Vec<u16> {
            let one = |i: usize| ((i * step) % 13) as f32 * 0.5 - 3.0;
            (0..count).map(|i| (one(i).to_bits() >> 16) as u16).collect()
        };
        let (a, b) = (numbers(m * k, 7), numbers(n * k, 5));
        let c = tiled_gemm::product(&device, &a, &b, [m, n, k]).unwrap();
        for (i, c) in c.iter().enumerate() {
            let (row, column) = (&a[i / n * k..][..k], &b[i % n * k..][..k]);
            let sum: f64 = row.iter().zip(column).map(|(a, b)| wide(a) * wide(b)).sum();
            assert_eq!(
                *c,
                warpsmith::types::convert::f32_to_bf16(sum as f32),
                "[{}, {}] of {m} × {n} × {k}",
                i / n,
                i % n
            );
        }
    }
}

#[test]
fn the_product_is_assembled_as_the_book_says() {
    let assembler = match Assembler::find() {
        Ok(found) => found,
        Err(e) => return println!("skipped: {e}"),
    };
    let tensor = |address, shape: &[usize]| TensorArg::new(address, DeviceId(0), BF16, shape);
    let (a, b, mut c) = (tensor(1 << 40, &[4096; 2]), tensor(1 << 41, &[4096; 2]), tensor(1 << 42, &[4096; 2]));
    let host = TiledGemmArgs { a: &a, b: &b, c: &mut c };
    let arguments = Arguments::of::<tiled_gemm::TiledGemmParams>(&host);
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
        let compiled = warpsmith::dsl::compile(&TiledGemm, &arguments, &TiledGemm.launch(&host), target).unwrap();
        let ptx = compiled.module.to_string();
        let report = assembler.assemble(&ptx, target).unwrap().report(&compiled.entry);
        assert!(report.registers.unwrap() <= 168 && report.warnings.is_empty(), "{target}: {report:?}");
        let count = |part: &str| ptx.matches(part).count();
        // Two prologues and the loop copy 128 × 64 of A and of B: 8 pieces of 16 bytes a thread each.
        assert_eq!(count("cp.async.cg.shared.global"), 3 * 2 * 8);
        // Four steps of K: 4 tiles of 16 × 16 of A, as many of B, and 4 × 8 products.
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 4 * (4 + 4));
        assert_eq!(count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 4 * 32);
        // Neighbours of the result share a store, and nothing is spilled.
        assert_eq!((count("st.global.b32"), count("st.global.b16"), count(".local")), (64, 0, 0));
    }
}

#[test]
fn accesses_are_as_wide_as_the_length_allows() {
    let device = Device::emulated(Chip::H200);
    let kernel = Jit::new(VectorAdd::new(DType::F32));
    let ptx = |n: usize| {
        let tensor = |name| DeviceTensor::new(&device, name, DType::F32, &[n]).unwrap();
        let (x, y, mut z) = (tensor("x"), tensor("y"), tensor("z"));
        let args = VectorAddArgs { x: x.arg(), y: y.arg(), z: z.arg_mut() };
        kernel.bind(&args, &device).unwrap().loaded().unwrap().compiled.module.to_string()
    };
    assert!(ptx(1000).contains("ld.global.nc.v4") && ptx(1000).contains("st.global.v4"), "{}", ptx(1000));
    assert!(!ptx(1001).contains(".v4") && ptx(1001).matches("ld.global.nc.f32").count() == 8, "{}", ptx(1001));
    // Other lengths of the same kind are the same kernel.
    assert_eq!(ptx(1000), ptx(1_000_000 - 8));
}

/// Chapters show code and messages by including them: each file and each part of one must be there.
#[test]
fn what_the_book_includes_is_there() {
    let mut included = 0;
    for chapter in ["vector_add.md", "block_softmax.md", "tiled_gemm.md", "finding_a_race.md"] {
        let text = std::fs::read_to_string(book().join(chapter)).unwrap();
        for include in text.split("{{#include ").skip(1) {
            let path = include.split_once("}}").unwrap().0;
            let (file, part) =
                path.split_once(".rs:").map_or((path.into(), None), |(f, p)| (format!("{f}.rs"), Some(p)));
            let source =
                std::fs::read_to_string(book().join(&file)).unwrap_or_else(|e| panic!("{chapter}: {file}: {e}"));
            for mark in part.iter().flat_map(|p| [format!("// ANCHOR: {p}\n"), format!("// ANCHOR_END: {p}\n")]) {
                assert!(source.contains(&mark), "{chapter}: {file} has no `{mark}`");
            }
            included += 1;
        }
    }
    assert!(included >= 10, "{included}");
}

/// What is wrong with a launch, in words.
fn messages(launched: Result<LaunchOutcome, LaunchError>) -> Vec<String> {
    match launched {
        // Paths go through this folder.
        Ok(outcome) => outcome.findings.iter().map(|f| f.to_string().replace("tests/tutorials/../../", "")).collect(),
        Err(e) => vec![e.to_string()],
    }
}

/// Launches on an emulated chip, with vectors of 1000 elements, of which the host may claim more.
fn wrong_addition<K: Kernel<Args = vector_add::VectorAddParams>>(kernel: K, claimed: usize) -> Vec<String> {
    let device = Device::emulated(Chip::H200);
    let ones = [1.0f32; 1000].map(f32::to_le_bytes).concat();
    let tensor = |name| DeviceTensor::from_bytes(&device, name, DType::F32, &[1000], &ones).unwrap();
    let (x, y) = (tensor("x"), tensor("y"));
    let z = DeviceTensor::new(&device, "z", DType::F32, &[1000]).unwrap();
    // ANCHOR: claimed
    let claim = |t: &DeviceTensor| TensorArg { shape: vec![claimed], ..t.arg().clone() };
    let args = VectorAddArgs { x: &claim(&x), y: &claim(&y), z: &mut claim(&z) };
    // ANCHOR_END: claimed
    messages(Jit::new(kernel).launch(&args, &device.default_stream()))
}

/// Launches a sum over rows on an emulated chip.
fn wrong_sum(reduce: fn(F32) -> F32) -> Vec<String> {
    let device = Device::emulated(Chip::H200);
    let ones = [1.0f32; 2000].map(f32::to_le_bytes).concat();
    let x = DeviceTensor::from_bytes(&device, "x", F32, &[2, 1000], &ones).unwrap();
    let mut y = DeviceTensor::new(&device, "y", F32, &[2, 1000]).unwrap();
    let args = BlockSoftmaxArgs { x: x.arg(), y: y.arg_mut() };
    messages(Jit::new(RowSum { plan: BlockSoftmax::new(1000), reduce }).launch(&args, &device.default_stream()))
}

#[test]
fn mistakes_say_what_the_book_shows() {
    let vector_add = || VectorAdd::new(DType::F32);
    said("vector_add_claimed.txt", "out of bounds", &wrong_addition(vector_add(), 1004));
    said("vector_add_accumulate.txt", "uninitialised", &wrong_addition(Accumulate(vector_add()), 1000));
    let unsynchronised = wrong_sum(unsynchronised);
    said("block_softmax_unsynchronised.txt", "uninitialised", &unsynchronised);
    said("block_softmax_race.txt", "data race", &unsynchronised);
    said("block_softmax_divergent.txt", "barrier", &wrong_sum(divergent));
    said("tiled_gemm_rows.txt", "ldmatrix", &[tiled_gemm_mistakes::said(tiled_gemm_mistakes::torn_rows)]);
    said("tiled_gemm_tile.txt", "whole tiles", &[tiled_gemm_mistakes::said(tiled_gemm_mistakes::uncovered)]);
    // Without the mistakes, nothing is said.
    assert_eq!(wrong_addition(vector_add(), 1000), Vec::<String>::new());
    assert_eq!(wrong_sum(|x| block_softmax::block_reduce(x, |a, b| a + b)), Vec::<String>::new());
}
