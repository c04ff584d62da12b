//! `z = x + y`: the first tutorial of the book, as a whole program.
//!
//! `cargo run -p warpsmith --example vector_add`

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, reason = "a program, not a library")]

use warpsmith::prelude::*;

// ANCHOR: config
/// Adds vectors of one dtype.
pub struct VectorAdd {
    pub dtype: DType,
    /// Which thread adds what: plain data, made before there is a kernel.
    pub tv: Tv,
}

impl VectorAdd {
    /// 256 threads, 4 neighbouring elements each.
    pub fn new(dtype: DType) -> VectorAdd {
        VectorAdd { dtype, tv: Tv::rows(1, 256, 4, 1).unwrap() }
    }
}
// ANCHOR_END: config

// ANCHOR: args
#[derive(KernelArgs)]
pub struct VectorAddArgs<'a> {
    #[tensor(n)]
    pub x: &'a TensorArg,
    #[tensor(n)]
    pub y: &'a TensorArg,
    #[tensor(n)]
    pub z: &'a mut TensorArg,
}
// ANCHOR_END: args

impl Kernel for VectorAdd {
    type Args = VectorAddParams;

    fn name(&self) -> String {
        format!("vector_add_{}", self.dtype)
    }

    // ANCHOR: launch
    fn launch(&self, a: &VectorAddArgs<'_>) -> Launch {
        let [_, columns] = self.tv.tile();
        Launch::grid(a.z.dim(0).div_ceil(columns)).block(self.tv.threads())
    }
    // ANCHOR_END: launch

    // ANCHOR: body
    fn body(&self, a: VectorAddParams) {
        let tile = |t: &Tensor| t.broadcast(1).tile(self.tv.tile(), (0, block_idx().x));
        let mine = |t: &Tensor| tile(t).partition(&self.tv, thread_idx().x);

        let x = mine(&a.x).load().f32();
        let y = mine(&a.y).load().f32();
        mine(&a.z).store((x + y).to(self.dtype));
    }
    // ANCHOR_END: body
}

// ANCHOR: run
/// Adds on a device: a card, or an emulated chip.
pub fn add(device: &Device, x: &[f32], y: &[f32]) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let x = DeviceTensor::from_bytes(device, "x", DType::F32, &[x.len()], &bytes(x))?;
    let y = DeviceTensor::from_bytes(device, "y", DType::F32, &[y.len()], &bytes(y))?;
    let mut z = DeviceTensor::new(device, "z", DType::F32, x.shape())?;

    let kernel = Jit::new(VectorAdd::new(DType::F32));
    let args = VectorAddArgs { x: x.arg(), y: y.arg(), z: z.arg_mut() };
    let outcome = kernel.launch(&args, &device.default_stream())?;
    if let Some(finding) = outcome.findings.first() {
        return Err(finding.to_string().into());
    }
    Ok(z.to_bytes()?.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}
// ANCHOR_END: run

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (x, y): (Vec<f32>, Vec<f32>) = (0..10_000).map(|i| (i as f32, 0.5)).unzip();
    let z = add(&Device::best(), &x, &y)?;
    println!("{:?} …", &z[..4]);
    Ok(())
}
