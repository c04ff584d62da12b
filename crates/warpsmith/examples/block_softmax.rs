//! Softmax over rows, with the block's reduction by hand: the second tutorial of the book, as a whole program.
//!
//! `cargo run -p warpsmith --example block_softmax`

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, reason = "a program, not a library")]

use warpsmith::prelude::*;

/// Softmax over rows of `dim` elements, a block for each row.
pub struct BlockSoftmax {
    pub dim: usize,
    pub tv: Tv,
}

/// Threads of a block.
pub const THREADS: usize = 256;
/// Warps of a block.
pub const WARPS: usize = THREADS / 32;

// ANCHOR: plan
impl BlockSoftmax {
    /// Each thread holds runs of 4 neighbours, as many as the row needs.
    pub fn new(dim: usize) -> BlockSoftmax {
        BlockSoftmax { dim, tv: Tv::rows(1, THREADS, 4, dim.div_ceil(4 * THREADS)).unwrap() }
    }
}
// ANCHOR_END: plan

// ANCHOR: args
#[derive(KernelArgs)]
pub struct BlockSoftmaxArgs<'a> {
    #[tensor(rows, dim = fixed)]
    pub x: &'a TensorArg,
    #[tensor(rows, dim = fixed)]
    pub y: &'a mut TensorArg,
}
// ANCHOR_END: args

// ANCHOR: reduce
/// Combines one value of each thread over the block; every thread gets the result.
#[track_caller]
pub fn block_reduce(x: F32, combine: impl Fn(F32, F32) -> F32) -> F32 {
    helper("block_reduce", || {
        let (lane, warp) = (lane_idx(), warp_idx());
        let x = warp_reduce(x, 32, &combine); // by shuffles: every lane has its warp's value
        let slots = Shared::<F32>::new("slots", WARPS);
        when(lane.eq(0), || slots.set(warp, x));
        sync_threads();
        warp_reduce(slots.get(lane % WARPS), WARPS, &combine) // every warp combines all of them
    })
}
// ANCHOR_END: reduce

impl Kernel for BlockSoftmax {
    type Args = BlockSoftmaxParams;

    fn name(&self) -> String {
        format!("block_softmax_{}", self.dim)
    }

    fn launch(&self, a: &BlockSoftmaxArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(THREADS)
    }

    // ANCHOR: body
    fn body(&self, a: BlockSoftmaxParams) {
        let mine = |t: &Tensor| t.tile(self.tv.tile(), (block_idx().x, 0)).partition(&self.tv, thread_idx().x);

        let x = mine(&a.x).load_or(f32::NEG_INFINITY).f32();
        let max = block_reduce(x.max(), |a, b| a.max(b));
        let e = (x - max).exp();
        let sum = block_reduce(e.sum(), |a, b| a + b);
        mine(&a.y).store((e / sum).to(F32));
    }
    // ANCHOR_END: body
}

/// Softmax of rows on a device.
pub fn softmax(device: &Device, x: &[f32], dim: usize) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let x = DeviceTensor::from_bytes(device, "x", F32, &[x.len() / dim, dim], &bytes)?;
    let mut y = DeviceTensor::new(device, "y", F32, x.shape())?;
    let args = BlockSoftmaxArgs { x: x.arg(), y: y.arg_mut() };
    let outcome = Jit::new(BlockSoftmax::new(dim)).launch(&args, &device.default_stream())?;
    if let Some(finding) = outcome.findings.first() {
        return Err(finding.to_string().into());
    }
    Ok(y.to_bytes()?.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x: Vec<f32> = (0..3000).map(|i| (i % 7) as f32).collect();
    let y = softmax(&Device::best(), &x, 1000)?;
    println!("{:?} …, a row sums to {}", &y[..4], y[..1000].iter().sum::<f32>());
    Ok(())
}
