//! Pipelines between roles, and tiles drawn from a counter.

use crate::common::{device, fresh};
use crate::harness::assert_clean;
use warpsmith::compare::{decode, encode};
use warpsmith_dsl::bulk::Bulk;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::value;
use warpsmith_layout::Layout;
use warpsmith_runtime::{Jit, Tensor};

#[derive(KernelArgs)]
struct RowsArgs<'a> {
    #[tensor(rows, dim)]
    x: &'a TensorArg,
    #[tensor(rows, dim)]
    y: &'a mut TensorArg,
}

/// Twice `x`, a tile of 8 rows of 64 floats at a time; a warp copies, a warp computes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubled {
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
        let ring = Pipeline::new(stages, if bulk { 1 } else { 32 }, 32);
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

#[test]
fn a_warp_copies_and_a_warp_computes() {
    for kernel in [Doubled::Plain, Doubled::Asynchronous, Doubled::Bulk] {
        for rows in [1, 8, 24, 77].into_iter().filter(|rows| kernel != Doubled::Bulk || rows % 8 == 0) {
            let values: Vec<f64> = decode(F32, &encode(F32, &fresh().normals(rows * 64, 1.0)));
            let x = Tensor::new(&device(), "x", F32, &[rows, 64]).unwrap();
            x.buffer().upload(&encode(F32, &values)).unwrap();
            let mut y = Tensor::new(&device(), "y", F32, &[rows, 64]).unwrap();
            let arguments = RowsArgs { x: x.arg(), y: y.arg_mut() };
            let outcome = Jit::new(kernel).launch(&arguments, &device().default_stream()).unwrap();
            assert_clean(&format!("{rows} rows"), &outcome);
            let expected: Vec<f64> = values.iter().map(|v| v * 2.0).collect();
            assert!(decode(F32, &y.to_bytes().unwrap()) == expected, "{rows} rows, {kernel:?}");
        }
    }
}

#[derive(KernelArgs)]
struct DrawArgs<'a> {
    /// One a tile.
    #[tensor(down, across)]
    seen: &'a mut TensorArg,
    #[tensor(one)]
    counter: &'a mut TensorArg,
}

/// Adds one to each tile that it draws.
struct Draw;

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

#[test]
fn every_tile_is_drawn_once_and_the_counter_is_zero_again() {
    let counter = Tensor::new(&device(), "counter", DType::U32, &[1]).unwrap();
    counter.buffer().upload(&[0; 4]).unwrap();
    let mut counter = counter;
    for [down, across] in [[1, 1], [7, 5], [4, 4]] {
        let mut seen = Tensor::new(&device(), "seen", F32, &[down, across]).unwrap();
        seen.buffer().upload(&encode(F32, &vec![0.0; down * across])).unwrap();
        let arguments = DrawArgs { seen: seen.arg_mut(), counter: counter.arg_mut() };
        let outcome = Jit::new(Draw).launch(&arguments, &device().default_stream()).unwrap();
        assert_clean(&format!("{down} × {across}"), &outcome);
        let seen = decode(F32, &seen.to_bytes().unwrap());
        assert!(seen.iter().all(|times| *times == 1.0), "{down} × {across}: {seen:?}");
        assert_eq!(counter.to_bytes().unwrap(), [0; 4], "{down} × {across}");
    }
}
