//! The tutorials of the book: their programs run, their mistakes say what the chapters show.
//!
//! What is said lies in `docs/book/src/said`, where the chapters include it. `WARPSMITH_BLESS=1` writes it anew.

#[path = "../../examples/block_softmax.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod block_softmax;
mod block_softmax_mistakes;
#[path = "../../examples/vector_add.rs"]
#[allow(dead_code, reason = "a program, of which the parts are tested")]
mod vector_add;
mod vector_add_mistakes;

use block_softmax::{BlockSoftmax, BlockSoftmaxArgs};
use block_softmax_mistakes::{RowSum, divergent, unsynchronised};
use std::path::{Path, PathBuf};
use vector_add::{VectorAdd, VectorAddArgs};
use vector_add_mistakes::Accumulate;
use warpsmith::prelude::*;
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
    for chapter in ["vector_add.md", "block_softmax.md"] {
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
    // Without the mistakes, nothing is said.
    assert_eq!(wrong_addition(vector_add(), 1000), Vec::<String>::new());
    assert_eq!(wrong_sum(|x| block_softmax::block_reduce(x, |a, b| a + b)), Vec::<String>::new());
}
