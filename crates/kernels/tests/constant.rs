//! Arguments that are promised to be constant, beside launches that keep the promise and such that break it.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::assemble::tensor;
use warpsmith::compare::{decode, encode};
use warpsmith::random::Random;
use warpsmith::{rms_norm, softmax};
use warpsmith_dsl::{Arguments, Compiled, DType, Kernel, Target, TensorArg, compile};
use warpsmith_runtime::{Device, LaunchOutcome, Stream, Tensor};
use warpsmith_types::Chip;

const ROWS: usize = 3;
const DIM: usize = 256;

/// `x` and `logits`, of which the weight becomes the softmax, and outputs.
struct Data {
    stream: Stream,
    x: Tensor,
    logits: Tensor,
    other: Tensor,
    out: Tensor,
    weight: Tensor,
    y: Tensor,
}

impl Data {
    fn new() -> Data {
        let device = Device::emulated(Chip::H200);
        let normals = |name: &str, rows: usize| {
            let bytes = encode(DType::F32, &Random::new(rows as u64).normals(rows * DIM, 1.0));
            Tensor::from_bytes(&device, name, DType::F32, &[rows, DIM], &bytes).unwrap()
        };
        let (x, logits, other) = (normals("x", ROWS), normals("logits", 1), normals("other", 1));
        let out = Tensor::new(&device, "out", DType::F32, &[1, DIM]).unwrap();
        let weight = Tensor::from_bytes(&device, "weight", DType::F32, &[1, DIM], &[0; 4 * DIM]).unwrap();
        let y = Tensor::new(&device, "y", DType::F32, &[ROWS, DIM]).unwrap();
        Data { stream: device.create_stream().unwrap(), x, logits, other, out, weight, y }
    }

    /// The weight as a vector.
    fn weight(&self) -> TensorArg {
        TensorArg { shape: vec![DIM], strides: vec![1], ..self.weight.arg().clone() }
    }

    /// What the launches of `enqueue` lead to, and what is then in `y`.
    fn run(mut self, enqueue: impl Fn(&mut Data)) -> (LaunchOutcome, Vec<f64>) {
        enqueue(&mut self);
        let outcome = self.stream.synchronize().unwrap();
        (outcome, decode(DType::F32, &self.y.to_bytes().unwrap()))
    }

    /// The softmax of `logits` becomes the weight.
    fn write(&mut self) {
        softmax(self.logits.arg(), self.weight.arg_mut(), &self.stream).unwrap();
    }

    /// A launch that has nothing to do with the weight.
    fn something_else(&mut self) {
        softmax(self.other.arg(), self.out.arg_mut(), &self.stream).unwrap();
    }

    fn norm(&mut self, weight: &TensorArg) {
        rms_norm(self.x.arg(), Some(weight), self.y.arg_mut(), 1e-6, &self.stream).unwrap();
    }
}

/// Clean, and with the weight that was written.
fn right((outcome, y): (LaunchOutcome, Vec<f64>)) {
    assert!(outcome.findings.is_empty(), "{}", outcome.findings[0]);
    let rows = |seed: usize| Random::new(seed as u64).normals(seed * DIM, 1.0);
    let weight = softmax::reference::softmax(&rows(1));
    let x = rows(ROWS);
    for (x, y) in x.chunks(DIM).zip(y.chunks(DIM)) {
        let expected = rms_norm::reference::rms_norm(x, Some(&weight), 1e-6);
        assert!(expected.iter().zip(y).all(|(e, y)| (e - y).abs() <= 1e-5 * e.abs() + 1e-9));
    }
}

/// That the weight is read as what does not change.
fn reported((outcome, _): (LaunchOutcome, Vec<f64>)) {
    let texts: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
    let says = |text: &String| text.contains("reads through `.nc`") && text.contains("`weight[");
    assert!(texts.iter().any(says), "{}", texts.join("\n"));
}

#[test]
fn a_weight_that_the_launch_before_writes_is_not_constant() {
    right(Data::new().run(|d| {
        d.write();
        d.norm(&d.weight());
    }));
    reported(Data::new().run(|d| {
        d.write();
        d.norm(&d.weight().constant());
    }));
}

#[test]
fn nor_is_one_that_is_written_through_a_chain_of_overlapping_launches() {
    reported(Data::new().run(|d| {
        d.write();
        d.something_else();
        d.norm(&d.weight().constant());
    }));
}

#[test]
fn a_weight_written_before_a_launch_without_pdl_is_constant() {
    right(Data::new().run(|d| {
        d.write();
        d.norm(&d.weight());
        d.norm(&d.weight().constant());
    }));
    right(Data::new().run(|d| {
        d.write();
        d.stream.synchronize().unwrap();
        d.norm(&d.weight().constant());
        // Beside others that leave the weight alone.
        d.something_else();
        d.norm(&d.weight().constant());
    }));
}

#[test]
fn a_constant_weight_is_written_again_when_nobody_reads_it() {
    // The softmax waits for the launch that read the weight.
    right(Data::new().run(|d| {
        d.write();
        d.stream.synchronize().unwrap();
        d.norm(&d.weight().constant());
        d.write();
    }));
}

/// RMS normalisation with a weight.
fn compiled(weight: &TensorArg, target: Target) -> (bool, Compiled) {
    let (x, mut y) = (tensor(1 << 40, DType::BF16, &[8, 4096]), tensor(1 << 41, DType::BF16, &[8, 4096]));
    let kernel = rms_norm::plan(&x, Some(weight), &y, 1e-6).unwrap();
    let args = rms_norm::RmsNormArgs { x: &x, weight: Some(weight), y: &mut y, eps: 1e-6 };
    let (arguments, launch) = (Arguments::of::<rms_norm::RmsNormParams>(&args), kernel.launch(&args));
    (launch.pdl, compile(&kernel, &arguments, &launch, target).unwrap())
}

#[test]
fn the_promise_buys_early_starts_and_keeps_nc() {
    let weight = tensor(1 << 42, DType::BF16, &[4096]);
    let loads = |(pdl, compiled): (bool, Compiled)| {
        let text = compiled.module.to_string();
        let constant = text.matches("ld.global.nc").count();
        (pdl, constant, text.matches("ld.global").count() - constant)
    };
    // Four accesses of the rows and four of the weight each.
    assert_eq!(loads(compiled(&weight, Target::SM_90A)), (false, 8, 0));
    assert_eq!(loads(compiled(&weight.clone().constant(), Target::SM_90A)), (true, 4, 4));
    // What never overlaps loses nothing.
    assert_eq!(loads(compiled(&weight.constant(), Target::SM_80)), (true, 8, 0));
}

#[test]
fn what_the_kernel_writes_itself_is_never_constant() {
    // In place on one row: the weight is the output.
    let (x, weight) = (tensor(1 << 40, DType::F32, &[1, 64]), tensor(1 << 41, DType::F32, &[64]).constant());
    let mut y = TensorArg { shape: vec![1, 64], strides: vec![64, 1], ..weight.clone() };
    let args = rms_norm::RmsNormArgs { x: &x, weight: Some(&weight), y: &mut y, eps: 0.0 };
    let arguments = Arguments::of::<rms_norm::RmsNormParams>(&args);
    assert!(arguments.errors()[0].to_string().contains("`y`"), "{:?}", arguments.errors());
}
