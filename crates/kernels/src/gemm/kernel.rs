//! The body: one producing thread, two consumer warpgroups, persistent tiles, results stored by TMA.

use super::GemmPlan;
use warpsmith_dsl::prelude::*;

/// `c = a · bᵀ` by warpgroup matrix instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// The dtype of `a`, `b` and `c`: bf16 or f16.
    pub dtype: DType,
    /// How it maps onto the chip.
    pub plan: GemmPlan,
}

/// `a` is (m, k), `b` is (n, k), `c` is (m, n).
#[derive(KernelArgs)]
pub struct GemmArgs<'a> {
    /// The left factor.
    #[tensor(m, k)]
    pub a: &'a TensorArg,
    /// The right factor, transposed.
    #[tensor(n, k)]
    pub b: &'a TensorArg,
    /// The product.
    #[tensor(m, n)]
    pub c: &'a mut TensorArg,
}

impl Kernel for Gemm {
    type Args = GemmParams;

    fn name(&self) -> String {
        let GemmPlan { tile: [m, n, k], stages, .. } = self.plan;
        format!("gemm_{}_{m}x{n}x{k}_{stages}", self.dtype)
    }

    fn launch(&self, a: &GemmArgs<'_>) -> Launch {
        let p = &self.plan;
        let tiles = a.c.dim(0).div_ceil(p.tile[0]) * a.c.dim(1).div_ceil(p.tile[1]);
        Launch::grid(tiles.min(p.blocks)).block(p.threads())
    }

    fn body(&self, x: GemmParams) {
        let (p, [m, n, k]) = (&self.plan, self.plan.tile);
        let [tile_a, tile_b] = [m, n].map(|rows| SmemTile { dtype: self.dtype, rows, columns: k });
        let mma = Mma { n, dtype: self.dtype };
        let ring = TmaRing::new(p.stages, p.consumers(), [tile_a, tile_b]);
        let out = TmaOutput::new(mma, self.dtype, p.consumers());
        let tiles = TileSchedule::new(x.a.dim(0).div_ceil(m), x.b.dim(0).div_ceil(n), p.band);
        let steps = x.a.dim(1).div_ceil(k);

        warp_roles()
            .producer(Registers(40), || {
                for tile in tiles.each() {
                    ring.fill(steps, |k, [a, b]| {
                        a.load(&x.a, (tile.m, k));
                        b.load(&x.b, (tile.n, k));
                    });
                }
            })
            .consumers(p.consumers(), Registers(232), |group| {
                for tile in tiles.each() {
                    let acc = mma.accumulator();
                    ring.drain(steps, |_, [a, b]| acc.mma(a.rows(group), b));
                    out.store(acc.finish().to(self.dtype), &x.c, tile, group);
                }
                out.finish();
            });
    }
}
