//! Kernels compiled before anyone calls: on a device, and in a bundle that a process loads. One bundle for the process, so
//! this is a program of its own.

#![allow(clippy::print_stdout, reason = "skips are told")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use warpsmith_kernels::{catalogue, rms_norm, softmax};
use warpsmith_runtime::bundle::{Bundle, BundleError, Form};
use warpsmith_runtime::report::Assembler;
use warpsmith_runtime::{Device, Tensor, counters, prepare};
use warpsmith_types::{Chip, DType, Target};

/// Held by those who count: the counters are the process's.
static COUNTING: Mutex<()> = Mutex::new(());

const LIST: &str = "rms_norm dtype=bf16 dim=4096,1024\nsoftmax dtype=f32 dim=128..512*2\nsoftmax dtype=f32 dim=256";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.bundle", std::process::id()))
}

fn make(path: &Path, targets: &[Target], assembler: Option<&Assembler>) -> warpsmith_runtime::bundle::Compiled {
    let wanted = catalogue::parse(LIST).unwrap();
    let mut all = vec![];
    for &target in targets {
        let chip = Chip::of_target(target).unwrap();
        all.extend(catalogue::requests(&wanted, &chip).unwrap().into_iter().map(|r| (r, target)));
    }
    Bundle::compile(path, &all, assembler).unwrap()
}

#[test]
fn what_is_prepared_is_not_compiled_when_it_is_called() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::emulated(Chip::H200);
    let wanted = catalogue::parse(LIST).unwrap();
    let requests = catalogue::requests(&wanted, device.chip()).unwrap();
    let prepared = prepare(&device, &requests).into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    let names: Vec<_> = prepared.iter().map(|p| p.kernel.as_str()).collect();
    let expected =
        ["rms_norm_bf16_bf16_bf16_4096", "rms_norm_bf16_bf16_bf16_1024", "softmax_f32_128", "softmax_f32_256"];
    assert_eq!(names[..4], expected);
    assert_eq!(names.len(), 5, "256 is listed twice: {names:?}");
    let before = counters::snapshot().compiles;
    let tensor = |name, dtype, shape: &[usize]| {
        let t = Tensor::new(&device, name, dtype, shape).unwrap();
        t.buffer().fill(0, &device.default_stream()).unwrap();
        t
    };
    let (x, weight) = (tensor("x", DType::BF16, &[5, 4096]), tensor("weight", DType::BF16, &[4096]));
    let mut y = tensor("y", DType::BF16, &[5, 4096]);
    let stream = device.default_stream();
    let outcome = rms_norm(x.arg(), Some(weight.arg()), y.arg_mut(), 1e-6, &stream).unwrap();
    assert!(!outcome.has_errors());
    let (x, mut y) = (tensor("x", DType::F32, &[5, 512]), tensor("y", DType::F32, &[5, 512]));
    softmax(x.arg(), y.arg_mut(), &stream).unwrap();
    assert_eq!(counters::snapshot().compiles, before);
}

#[test]
fn one_kernel_asked_for_many_times_is_compiled_once() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::emulated(Chip::H200);
    let wanted = catalogue::parse("softmax dtype=f16 dim=640").unwrap();
    let requests: Vec<_> = (0..16).flat_map(|_| catalogue::requests(&wanted, device.chip()).unwrap()).collect();
    let before = counters::snapshot().compiles;
    assert!(prepare(&device, &requests).iter().all(Result::is_ok));
    assert_eq!(counters::snapshot().compiles - before, 1);
}

#[test]
fn what_no_chip_takes_is_refused_by_name() {
    let wanted = catalogue::parse("gemm dtype=bf16 m=64 n=64 k=64").unwrap();
    let refused = catalogue::requests(&wanted, &Chip::A100).unwrap_err();
    assert_eq!(refused.to_string(), "`device`: expected a device of sm_90a, got sm_80");
    assert_eq!(catalogue::requests(&wanted, &Chip::H200).unwrap().len(), 1);
    // A kernel that its target does not take.
    let gemm = catalogue::requests(&wanted, &Chip::H200).unwrap().pop().unwrap();
    let path = file("refused");
    let refused = Bundle::compile(&path, &[(gemm, Target::SM_80)], None).unwrap_err();
    assert!(matches!(refused, BundleError::Kernel(_)) && refused.to_string().contains("for sm_80"), "{refused}");
    assert!(!path.exists());
}

#[test]
fn without_an_assembler_a_bundle_holds_ptx_and_says_so() {
    let path = file("ptx");
    let made = make(&path, &[Target::SM_90A, Target::SM_100A], None);
    assert_eq!((made.kernels, made.form), (10, Form::Ptx));
    let bundle = Bundle::open(&path).unwrap();
    assert!(bundle.contents().iter().all(|c| c.form == Form::Ptx));
    let again = file("ptx-again");
    make(&again, &[Target::SM_100A, Target::SM_90A], None);
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap(), "the same list gives the same file");
    for path in [path, again] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn machine_code_is_found_by_its_ptx_and_runs() {
    let assembler = match Assembler::find() {
        Ok(assembler) => assembler,
        Err(e) => return println!("skipped: {e}"),
    };
    let path = file("code");
    let made = make(&path, &[Target::SM_90A, Target::SM_100A], Some(&assembler));
    assert_eq!((made.kernels, made.form), (10, Form::MachineCode));
    let wanted = catalogue::parse(LIST).unwrap();
    let bundle = Bundle::open(&path).unwrap();
    for target in [Target::SM_90A, Target::SM_100A] {
        for request in catalogue::requests(&wanted, &Chip::of_target(target).unwrap()).unwrap() {
            let compiled = request.compile(target).unwrap();
            let ptx = compiled.module.to_string();
            let code = bundle.find(&ptx, &compiled.entry, target).unwrap();
            assert!(code.cubin.starts_with(b"\x7fELF"));
            assert!(bundle.find(&ptx.replace("ret;", "ret; ret;"), &compiled.entry, target).is_none());
        }
    }
    // Damage in an entry is no entry.
    let mut bytes = std::fs::read(&path).unwrap();
    let first = bundle.contents()[0].clone();
    bytes[first.offset as usize + 100] ^= 1;
    let damaged = file("damaged");
    std::fs::write(&damaged, bytes).unwrap();
    let damaged = Bundle::open(damaged).unwrap();
    let requests = catalogue::requests(&wanted, &Chip::of_target(first.target).unwrap()).unwrap();
    let found = requests.iter().filter(|r| {
        let compiled = r.compile(first.target).unwrap();
        damaged.find(&compiled.module.to_string(), &compiled.entry, first.target).is_some()
    });
    assert_eq!(found.count(), 4);
    std::fs::remove_file(damaged.path()).unwrap();

    on_a_card(bundle);
    std::fs::remove_file(path).unwrap();
}

/// A process with the bundle assembles nothing that is in it.
fn on_a_card(bundle: Bundle) {
    if !std::env::var("WARPSMITH_DEVICE").is_ok_and(|d| d.starts_with("cuda")) {
        return println!("skipped on a card: WARPSMITH_DEVICE=cuda asks for one");
    }
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::from_env().unwrap();
    assert!(bundle.install(), "the first bundle of this process");
    let before = counters::snapshot();
    let wanted = catalogue::parse(LIST).unwrap();
    let prepared = prepare(&device, &catalogue::requests(&wanted, device.chip()).unwrap());
    for p in prepared {
        assert_eq!(p.unwrap().cached, Some(true));
    }
    let after = counters::snapshot();
    assert_eq!(after.bundle_hits - before.bundle_hits, 5);
    assert_eq!((after.disk_hits, after.disk_misses), (before.disk_hits, before.disk_misses));
    let x = Tensor::from_bytes(&device, "x", DType::F32, &[2, 128], &[0; 1024]).unwrap();
    let mut y = Tensor::new(&device, "y", DType::F32, &[2, 128]).unwrap();
    softmax(x.arg(), y.arg_mut(), &device.default_stream()).unwrap();
    assert!(y.to_bytes().unwrap().chunks(4).all(|b| b == (1.0f32 / 128.0).to_le_bytes()));
}
