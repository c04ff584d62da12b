//! A matrix product as a page of CuTe: the third tutorial of the book, as a whole program.
//!
//! `cargo run -p warpsmith --example tiled_gemm`

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, reason = "a program, not a library")]

use warpsmith::dsl::cute::*;
use warpsmith::prelude::*;

/// `c = a · bᵀ`, all bf16; rows of `a` and `b` are aligned to 16 bytes.
pub struct TiledGemm;

// ANCHOR: args
#[derive(KernelArgs)]
pub struct TiledGemmArgs<'a> {
    #[tensor(m, k)]
    pub a: &'a TensorArg,
    #[tensor(n, k)]
    pub b: &'a TensorArg,
    #[tensor(m, n)]
    pub c: &'a mut TensorArg,
}

/// A block's tile, and how many stages of K are under way.
pub const M: usize = 128;
pub const N: usize = 128;
pub const K: usize = 64;
pub const STAGES: usize = 3;
// ANCHOR_END: args

impl Kernel for TiledGemm {
    type Args = TiledGemmParams;

    fn name(&self) -> String {
        "tiled_gemm".into()
    }

    fn launch(&self, x: &TiledGemmArgs<'_>) -> Launch {
        Launch::grid_3d([x.c.dim(0).div_ceil(M), x.c.dim(1).div_ceil(N), 1]).block(128)
    }

    fn body(&self, x: TiledGemmParams) {
        let (thread, block) = (thread_idx().x, block_idx());

        // ANCHOR: shared
        let smem = |rows: usize| smem_layout(BF16, Major::K, SharedSwizzle::B128, (rows, K, STAGES));
        let (sa, sb) = (SmemTensor::new("a", BF16, smem(M)), SmemTensor::new("b", BF16, smem(N)));
        // ANCHOR_END: shared

        // ANCHOR: copies
        let g2s = copy_atom("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", BF16);
        let g2s = make_tiled_copy(g2s, ((16, 8), (8, 1)), ((1, 8), (8, 1)));
        // ANCHOR_END: copies

        // ANCHOR: mma
        let mma = make_tiled_mma(mma_atom("SM80_16x8x16_F32BF16BF16F32_TN"), (2, 2, 1), (32, 32, 16));
        let ldmatrix = copy_atom("SM75_U32x4_LDSM_N", BF16);
        let (s2r_a, s2r_b) = (make_tiled_copy_a(ldmatrix.clone(), &mma), make_tiled_copy_b(ldmatrix, &mma));
        let (ra, rb) = (mma.make_fragment_a([M, K]), mma.make_fragment_b([N, K]));
        let (ra_copy, rb_copy) = (s2r_a.retile_d(&ra), s2r_b.retile_d(&rb));
        let sums = mma.make_fragment_c([M, N]);
        // ANCHOR_END: mma

        // ANCHOR: loop
        CpAsyncRing::new(STAGES).run(
            x.a.dim(1).div_ceil(K),
            |k, stage| {
                let (ga, gb) = (x.a.tile([M, K], (block.x, k)), x.b.tile([N, K], (block.y, k)));
                let (sa, sb) = (sa.slice((.., .., stage)), sb.slice((.., .., stage)));
                copy(&g2s, &g2s.partition_s(&ga, thread), &g2s.partition_d(&sa, thread));
                copy(&g2s, &g2s.partition_s(&gb, thread), &g2s.partition_d(&sb, thread));
            },
            |_, stage| {
                let sa = s2r_a.partition_s(&sa.slice((.., .., stage)), thread);
                let sb = s2r_b.partition_s(&sb.slice((.., .., stage)), thread);
                for k in 0..K / 16 {
                    copy(&s2r_a, &sa.slice((.., .., k)), &ra_copy.slice((.., .., k)));
                    copy(&s2r_b, &sb.slice((.., .., k)), &rb_copy.slice((.., .., k)));
                    gemm(&mma, &sums, &ra.slice((.., .., k)), &rb.slice((.., .., k)));
                }
            },
        );
        // ANCHOR_END: loop

        // ANCHOR: epilogue
        let gc = x.c.tile([M, N], (block.x, block.y));
        autovec_copy(&sums.to(BF16), &mma.partition_c(&gc, thread));
        // ANCHOR_END: epilogue
    }
}

/// `a · bᵀ` of (m, k) and (n, k) matrices of bf16 bits, k a multiple of 8.
pub fn product(
    device: &Device,
    a: &[u16],
    b: &[u16],
    [m, n, k]: [usize; 3],
) -> Result<Vec<u16>, Box<dyn std::error::Error>> {
    let bytes = |all: &[u16]| all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let a = DeviceTensor::from_bytes(device, "a", BF16, &[m, k], &bytes(a))?;
    let b = DeviceTensor::from_bytes(device, "b", BF16, &[n, k], &bytes(b))?;
    let mut c = DeviceTensor::new(device, "c", BF16, &[m, n])?;
    let args = TiledGemmArgs { a: a.arg(), b: b.arg(), c: c.arg_mut() };
    let outcome = Jit::new(TiledGemm).launch(&args, &device.default_stream())?;
    if let Some(finding) = outcome.findings.first() {
        return Err(finding.to_string().into());
    }
    Ok(c.to_bytes()?.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let one = 0x3f80; // 1.0 as bf16
    let c = product(&Device::best(), &[one; 200 * 64], &[one; 150 * 64], [200, 150, 64])?;
    println!("{} elements, all {}", c.len(), f32::from_bits(u32::from(c[0]) << 16));
    Ok(())
}
