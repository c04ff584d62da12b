//! How fast plans of kernels over rows are on a card, beside a copy of as many bytes:
//! `cargo bench -p warpsmith-kernels --bench rows -- [OPERATOR,…] [DTYPE,…] [ROWSxDIM,…]`. Random data, cold cache, medians.
//!
//! The first plan of each cell is the one that a call takes; the others, fastest first, are what the model's choice is to be
//! judged by. `PLANS=own` times that one alone, `PLANS=held` beside it those that hold rows in registers.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod plans;

use plans::{plans, streamed_plans};
use warpsmith_dsl::{Kernel, TensorArg};
use warpsmith_kernels::compare::encode;
use warpsmith_kernels::cross_entropy::{self, CrossEntropy, CrossEntropyArgs, Separate};
use warpsmith_kernels::norm::{
    self, ColumnSum, ColumnSumArgs, Forward, Kind, Norm, NormArgs, NormBackward, NormBackwardArgs,
};
use warpsmith_kernels::random::Random;
use warpsmith_kernels::rms_norm::{self, RmsNorm, RmsNormArgs};
use warpsmith_kernels::rows::{RowPlan, Summing};
use warpsmith_kernels::softmax::{self, Softmax, SoftmaxArgs, SoftmaxBackward, SoftmaxBackwardArgs};
use warpsmith_runtime::bench::{Settings, copy_time, measure};
use warpsmith_runtime::{Bound, Device, Jit, LaunchError, Tensor};
use warpsmith_types::{Chip, DType};

const OPERATORS: [&str; 8] = [
    "rms_norm",
    "rms_residual",
    "layer_norm",
    "softmax",
    "softmax_backward",
    "cross_entropy",
    "rms_backward",
    "rms_gradients",
];
const SHAPES: [[usize; 2]; 11] = [
    [32768, 256],
    [32768, 512],
    [32768, 1024],
    [32768, 2048],
    [32768, 4096],
    [32768, 8192],
    [32768, 16384],
    [32768, 32768],
    [16384, 65536],
    [8192, 131_072],
    [4096, 262_144],
];
const SETTINGS: Settings = Settings { warm_up: 1, repetitions: 7, cold: true, graph: false };

fn main() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(e) => return println!("nothing to measure: {e}"),
    };
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut list = || args.next().map(|a| a.split(',').map(str::to_string).collect::<Vec<_>>());
    let operators = list().unwrap_or_else(|| OPERATORS.map(String::from).to_vec());
    let dtypes = list().unwrap_or_else(|| vec!["bf16".into(), "f32".into()]);
    let shapes = list().map(|l| {
        l.iter().map(|s| s.split('x').map(|n| n.parse().expect("a number")).collect::<Vec<usize>>()).collect()
    });
    let shapes: Vec<Vec<usize>> = shapes.unwrap_or_else(|| SHAPES.map(|s| s.to_vec()).to_vec());
    for dtype in dtypes {
        let dtype: DType = dtype.parse().expect("a dtype");
        for shape in &shapes {
            let data = Data::new(&device, dtype, shape[0], shape[1]);
            for operator in &operators {
                cell(&device, operator, data.as_ref().expect("memory for the tensors"));
            }
        }
    }
}

struct Data {
    rows: usize,
    dim: usize,
    dtype: DType,
    /// Four of (rows, dim).
    x: [Tensor; 4],
    weight: Tensor,
    bias: Tensor,
    rstd: Tensor,
    target: Tensor,
    loss: Tensor,
    /// Room for sums of the weight's gradient.
    parts: Tensor,
    dweight: Tensor,
}

/// Parts that there is room for.
const PARTS: usize = 1056;

impl Data {
    fn new(device: &Device, dtype: DType, rows: usize, dim: usize) -> Result<Data, warpsmith_runtime::Error> {
        let some = encode(dtype, &Random::new(1).normals(1 << 22, 1.0));
        let make = |name| -> Result<Tensor, warpsmith_runtime::Error> {
            let t = Tensor::new(device, name, dtype, &[rows, dim])?;
            let bytes = t.buffer().len();
            for at in (0..bytes).step_by(some.len()) {
                t.buffer().upload_at(at, &some[..some.len().min(bytes - at)])?;
            }
            Ok(t)
        };
        let x = [make("x")?, make("y")?, make("z")?, make("w")?];
        let f32s = |n: usize, seed| encode(DType::F32, &Random::new(seed).normals(n, 1.0));
        let target: Vec<u8> = (0..rows).flat_map(|r| ((r * 7919 % dim) as i64).to_le_bytes()).collect();
        Ok(Data {
            rows,
            dim,
            dtype,
            x,
            weight: Tensor::from_bytes(device, "weight", DType::F32, &[dim], &f32s(dim, 2))?,
            bias: Tensor::from_bytes(device, "bias", DType::F32, &[dim], &f32s(dim, 4))?,
            rstd: Tensor::from_bytes(device, "rstd", DType::F32, &[rows, 1, 1], &f32s(rows, 3))?,
            target: Tensor::from_bytes(device, "target", DType::I64, &[rows, 1], &target)?,
            loss: Tensor::new(device, "loss", DType::F32, &[rows, 1])?,
            parts: Tensor::new(device, "parts", DType::F32, &[PARTS, 1, dim])?,
            dweight: Tensor::new(device, "dweight", DType::F32, &[1, dim])?,
        })
    }

    /// How many row tensors an operator moves, and how many it holds.
    fn tensors(operator: &str) -> (usize, usize) {
        match operator {
            "cross_entropy" => (1, 1),
            "rms_residual" => (4, 1),
            "softmax_backward" | "rms_backward" | "rms_gradients" => (3, 2),
            _ => (2, 1),
        }
    }

    /// The plan that a call takes.
    fn chosen(&self, operator: &str, chip: &Chip) -> Option<RowPlan> {
        let [x, y, z, w] = [0, 1, 2, 3].map(|i| self.x[i].arg());
        let (mut out, mut sum) = (y.clone(), w.clone());
        let weight = Some(self.weight.arg());
        Some(match operator {
            "rms_norm" => rms_norm::plan_on(x, weight, y, 1e-6, chip).ok()?.rows,
            "rms_residual" => {
                let call = Forward {
                    weight,
                    residual: Some(z),
                    residual_out: Some(&mut sum),
                    ..Forward::new(x, &mut out, 1e-6)
                };
                norm::plan_on(Kind::Rms, &call, chip).ok()?.rows
            }
            "layer_norm" => {
                let call = Forward { weight, bias: weight, ..Forward::new(x, &mut out, 1e-6) };
                norm::plan_on(Kind::Layer, &call, chip).ok()?.rows
            }
            "softmax" => softmax::plan_on(x, y, chip).ok()?.rows,
            "softmax_backward" => {
                let all = softmax::backward::candidates(x, z, w, chip).ok()?;
                all.into_iter().find_map(|c| c.verdict.ok())?.rows
            }
            "cross_entropy" => {
                let view = |t: &Tensor| TensorArg { shape: vec![self.rows], strides: vec![1], ..t.arg().clone() };
                let (target, mut loss) = (view(&self.target), view(&self.loss));
                let call = cross_entropy::Forward {
                    x,
                    target: &target,
                    target_logit: None,
                    weight: None,
                    loss: &mut loss,
                    lse: None,
                    dx: None,
                    options: cross_entropy::Options::default(),
                };
                let all = cross_entropy::candidates(&call, chip).ok()?;
                all.into_iter().find_map(|c| c.verdict.ok())?.rows
            }
            _ => {
                let all = norm::backward_candidates(Kind::Rms, [x, y, w], chip).ok()?;
                all.into_iter().find_map(|c| c.verdict.ok())?.rows
            }
        })
    }

    /// The kernel of a plan, and what sums its parts where it has them.
    fn bind_all(&self, device: &Device, operator: &str, rows: &RowPlan) -> Result<Vec<Bound>, LaunchError> {
        let mut all = vec![self.bind(device, operator, rows)?];
        if operator == "rms_gradients" {
            let mut parts = self.parts.arg().clone();
            parts.shape[0] = summing(rows, device.chip());
            let args = ColumnSumArgs { parts: &parts, out: &mut self.dweight.arg().clone() };
            all.push(Jit::new(ColumnSum { dim: self.dim, output: DType::F32 }).bind(&args, device)?);
        }
        Ok(all)
    }

    /// The plan that a call takes, and those of the others whose blocks go over several rows and keep their sums beside one.
    fn summing_plans(&self, plans: Vec<RowPlan>, chip: &Chip) -> Vec<RowPlan> {
        let bytes = self.dtype.bytes();
        let by = Summing { bytes: 2 * bytes, copies: true, keeps: true };
        let chosen = RowPlan::summing(self.dim, 16 / bytes, by, chip).map(|(plan, _)| plan);
        let others = plans.into_iter().filter(|p| p.tv.values() <= 64 && p.ring.is_none_or(|ring| ring.stages > 1));
        let others = others.map(|mut plan| {
            let parts = summing(&plan, chip) * plan.cluster;
            if let Some(ring) = &mut plan.ring {
                (ring.blocks, ring.most_blocks) = (parts, parts);
            }
            plan
        });
        chosen.into_iter().chain(others).collect()
    }

    fn bind(&self, device: &Device, operator: &str, rows: &RowPlan) -> Result<Bound, LaunchError> {
        let (rows, dim, dtype) = (rows.clone(), self.dim, self.dtype);
        let [x, y, z, w] = [0, 1, 2, 3].map(|i| self.x[i].arg().clone());
        let three = |i: usize| {
            let mut t = self.x[i].arg().clone();
            (t.shape, t.strides) = (vec![self.rows, 1, dim], vec![dim, dim, 1]);
            t
        };
        let weight = self.weight.arg();
        let [heads, bias] = [weight, self.bias.arg()].map(|vector| {
            let mut heads = vector.clone();
            (heads.shape, heads.strides) = (vec![1, dim], vec![0, 1]);
            heads
        });
        fn bind<K: Kernel>(
            kernel: K,
            args: &<K::Args as warpsmith_dsl::Params>::Host<'_>,
            device: &Device,
        ) -> Result<Bound, LaunchError> {
            Jit::new(kernel).bind(args, device)
        }
        match operator {
            "rms_norm" => {
                let kernel = RmsNorm { input: dtype, output: dtype, weight: Some(DType::F32), dim, rows };
                bind(kernel, &RmsNormArgs { x: &x, weight: Some(weight), y: &mut y.clone(), eps: 1e-6 }, device)
            }
            "rms_residual" | "layer_norm" => {
                let [x, mut y, z, mut w] = [0, 1, 2, 3].map(three);
                let layer = operator == "layer_norm";
                let kernel = Norm { kind: if layer { Kind::Layer } else { Kind::Rms }, rows };
                let args = NormArgs {
                    x: &x,
                    residual: (!layer).then_some(&z),
                    weight: Some(&heads),
                    bias: layer.then_some(&bias),
                    y: &mut y,
                    residual_out: if layer { None } else { Some(&mut w) },
                    rstd: None,
                    mean: None,
                    eps: 1e-6,
                    weight_offset: None,
                };
                bind(kernel, &args, device)
            }
            "softmax" => {
                let kernel = Softmax { input: dtype, output: dtype, dim, rows };
                bind(kernel, &SoftmaxArgs { x: &x, y: &mut y.clone() }, device)
            }
            "softmax_backward" => {
                bind(SoftmaxBackward { rows }, &SoftmaxBackwardArgs { dy: &x, y: &z, dx: &mut w.clone() }, device)
            }
            "cross_entropy" => {
                let args = CrossEntropyArgs {
                    x: &x,
                    target: self.target.arg(),
                    target_logit: None,
                    weight: None,
                    loss: &mut self.loss.arg().clone(),
                    lse: None,
                    dx: None,
                    ignore_index: -100,
                    smoothing: None,
                    z_loss: None,
                };
                bind(CrossEntropy { separate: Separate::No, rows }, &args, device)
            }
            _ => {
                let [x, dy, _, mut dx] = [0, 1, 2, 3].map(three);
                let parts = summing(&rows, device.chip());
                let mut sums = self.parts.arg().clone();
                sums.shape[0] = parts;
                let args = NormBackwardArgs {
                    x: &x,
                    dy: &dy,
                    weight: Some(&heads),
                    rstd: self.rstd.arg(),
                    mean: None,
                    dresidual_out: None,
                    dx: &mut dx,
                    dresidual: None,
                    dweight: (operator == "rms_gradients").then_some(&mut sums),
                    dbias: None,
                    weight_offset: None,
                };
                bind(NormBackward { kind: Kind::Rms, rows }, &args, device)
            }
        }
    }
}

/// Blocks, or clusters, that go over rows and sum.
fn summing(rows: &RowPlan, chip: &Chip) -> usize {
    let most = chip.multiprocessors as usize;
    let clusters =
        |resident: usize| if rows.cluster == 1 { most * resident } else { most * resident * 7 / 8 / rows.cluster };
    match rows.ring {
        Some(ring) => ring.blocks / rows.cluster,
        // As many as their registers let be resident.
        None => clusters((512 / rows.threads()).max(1)),
    }
    .min(PARTS)
}

/// Times all plans of an operator for one shape.
fn cell(device: &Device, operator: &str, data: &Data) {
    let (moved, held) = Data::tensors(operator);
    let inputs = if operator == "cross_entropy" { 1 } else { moved / 2 + moved % 2 };
    let weights = operator.starts_with("rms") || operator == "layer_norm";
    let bytes = (moved * data.rows * data.dim * data.dtype.bytes()) as u64;
    let copy = copy_time(device, bytes, &SETTINGS).expect("a card that measures").median().as_secs_f64() * 1e6;
    let mut vector = 16 / data.dtype.bytes();
    while !data.dim.is_multiple_of(vector) {
        vector /= 2;
    }
    let mut times = vec![];
    let plans =
        plans(data.dim, vector, held, inputs * data.dtype.bytes(), weights, operator == "cross_entropy", device.chip());
    let mut plans = match operator {
        "rms_gradients" => data.summing_plans(plans, device.chip()),
        _ => data.chosen(operator, device.chip()).into_iter().chain(plans).collect(),
    };
    if operator != "rms_gradients" && vector == 1 {
        plans.extend(streamed_plans(data.dim, device.chip()));
    }
    let slices = |p: &RowPlan| [2, 4].into_iter().filter_map(|s| p.clone().sliced(s)).collect::<Vec<_>>();
    let sliced: Vec<RowPlan> = plans.iter().filter(|p| p.tv.values() >= 32).flat_map(slices).collect();
    plans.extend(sliced);
    // `cp.async` copies 4 bytes at least, and what is narrower comes by whole blocks.
    let copies = vector * data.dtype.bytes() >= 4;
    plans.retain(|p| copies || p.ring.is_none_or(|r| r.stages == 1 && p.rows() == 1 && r.groups == 1));
    if std::env::var("PLANS").is_ok_and(|kinds| kinds == "own") {
        plans.truncate(1);
    }
    let mut seen = vec![];
    plans.retain(|p| {
        !seen.contains(p) && {
            seen.push(p.clone());
            true
        }
    });
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // Compiled side by side: it takes longer than running.
    let bound: Vec<_> = std::thread::scope(|scope| {
        let compile = |first: usize| {
            let plans = &plans;
            move || {
                let mine = plans.iter().enumerate().skip(first).step_by(workers);
                mine.map(|(i, plan)| (i, data.bind_all(device, operator, plan))).collect::<Vec<_>>()
            }
        };
        let all: Vec<_> = (0..workers).map(|first| scope.spawn(compile(first))).collect();
        all.into_iter().flat_map(|worker| worker.join().expect("a compiler that does not panic")).collect()
    });
    for (i, bound) in bound {
        let plan = plans[i].clone();
        let bound = match bound {
            Ok(bound) => bound,
            Err(e) => {
                println!("  {plan}: {e}");
                continue;
            }
        };
        let registers = bound[0].loaded().and_then(|l| l.function.report().registers).unwrap_or(0);
        let time = measure(device, &SETTINGS, |s| {
            for b in &bound {
                b.launch(s).expect("a launch that the device takes");
            }
            Ok(())
        });
        match time {
            Ok(t) => times.push((t.median().as_secs_f64() * 1e6, i, plan, registers)),
            Err(e) => println!("  {plan}: {e}"),
        }
    }
    println!("{operator} {} {} x {}: copy {copy:.1} us", data.dtype, data.rows, data.dim);
    times.sort_by(|a, b| (a.1 != 0, a.0).partial_cmp(&(b.1 != 0, b.0)).expect("numbers"));
    for (us, i, plan, registers) in times.into_iter().take(14) {
        let chosen = if i == 0 { "*" } else { " " };
        println!("  {chosen} {us:8.1} us {:5.3} of copy, {registers:3} registers, {plan}", copy / us);
    }
}
