//! Kernels of roles: a warp copies and a warp computes; tiles are drawn from a counter.

use warpsmith_dsl::bulk::Bulk;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::value;
use warpsmith_layout::Layout;

#[derive(KernelArgs)]
pub struct RowsArgs<'a> {
    #[tensor(rows, dim)]
    pub x: &'a TensorArg,
    #[tensor(rows, dim)]
    pub y: &'a mut TensorArg,
}

/// Twice `x`, a tile of 8 rows of 64 floats at a time; a warp copies, a warp computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubled {
    /// By loads and stores.
    Plain,
    /// By `cp.async`.
    Asynchronous,
    /// By bulk copies, of one thread.
    Bulk,
}

impl Kernel for Doubled {
    type Args = RowsParams;
    fn name(&self) -> String {
        format!("doubled_{self:?}")
    }
    fn launch(&self, _: &RowsArgs<'_>) -> Launch {
        Launch::grid(1).block(64)
    }
    fn body(&self, x: RowsParams) {
        let (stages, tile) = (3, [8, 64]);
        let asynchronous = *self == Doubled::Asynchronous;
        let atom = if asynchronous { "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>" } else { "UniversalCopy<uint128_t>" };
        let copies = make_tiled_copy(copy_atom(atom, F32), ((2, 16), (16, 1)), ((1, 4), (0, 1)));
        let bulk = *self == Doubled::Bulk;
        let layout = match bulk {
            true => Layout::new((8, 64, stages), (64, 1, 8 * 64)).unwrap().into(),
            false => smem_layout(F32, Major::K, SharedSwizzle::B128, (8, 64, stages)),
        };
        let memory = SmemTensor::new("tiles", F32, layout);
        let ring = if bulk { Pipeline::for_bulk_copies(stages, 1, 32) } else { Pipeline::new(stages, 32, 32) };
        let (lane, warp) = (thread_idx().x % 32, thread_idx().x / 32);
        let count = x.x.dim(0).div_ceil(tile[0]);
        let fill = || {
            for i in range(0, count) {
                let stage = ring.producer_acquire();
                let here = memory.slice((.., .., stage.index()));
                if bulk {
                    let (to, from) = (here.pointer::<value::F32>((0, 0)), x.x.at::<value::F32>((i * 8, 0)));
                    Bulk::new().load(to, from, 8 * 64, stage.barrier());
                    stage.commit_bytes(8 * 64 * 4);
                    continue;
                }
                let to = copies.partition_d(&here, lane);
                copy(&copies, &copies.partition_s(&x.x.tile(tile, (i, 0)), lane), &to);
                if asynchronous { stage.commit_copies() } else { stage.commit() }
            }
        };
        when(warp.eq(0), || {
            if bulk {
                when(lane.eq(0), fill);
            } else {
                fill();
            }
        })
        .otherwise(|| {
            for i in range(0, count) {
                let stage = ring.consumer_wait();
                let from = copies.partition_s(&memory.slice((.., .., stage.index())), lane);
                let registers = RmemTensor::new(F32, Layout::compact(from.layout().shape().clone()).unwrap());
                autovec_copy(&from, &registers);
                stage.release();
                registers.update(|v| v * 2.0);
                autovec_copy(&registers, &copies.partition_d(&x.y.tile(tile, (i, 0)), lane));
            }
        });
    }
}

#[derive(KernelArgs)]
pub struct DrawArgs<'a> {
    /// One a tile.
    #[tensor(down, across)]
    pub seen: &'a mut TensorArg,
    #[tensor(one)]
    pub counter: &'a mut TensorArg,
}

/// Adds one to each tile that it draws.
pub struct Draw;

impl Kernel for Draw {
    type Args = DrawParams;
    fn name(&self) -> String {
        "draw".into()
    }
    fn launch(&self, _: &DrawArgs<'_>) -> Launch {
        Launch::grid(5).block(64)
    }
    fn body(&self, x: DrawParams) {
        let schedule = TileSchedule::new(x.seen.dim(0), x.seen.dim(1), 3).atomic(&x.counter);
        let one = Tv::rows(1, 1, 1, 1).unwrap();
        schedule.each(|tile| {
            when(thread_idx().x.eq(0), || {
                let to = x.seen.tile([1, 1], (tile.m, tile.n)).partition(&one, thread_idx().x);
                to.store(to.load().f32() + 1.0);
            });
        });
    }
}
