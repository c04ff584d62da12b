//! Every synchronisation of the tutorials' kernels counts: weakened, it is reported; as it is, nothing is.

#![allow(clippy::print_stdout, reason = "tables are printed")]
#![allow(unreachable_pub, dead_code, reason = "a test's modules, and whole programs of which the kernels are taken")]

#[path = "../../examples/block_softmax.rs"]
mod block_softmax;
#[path = "../../examples/hand_over.rs"]
mod hand_over;
#[path = "../../../kernels/tests/mutation/judge.rs"]
mod judge;
#[path = "../../../kernels/tests/mutation/mutants.rs"]
mod mutants;
#[path = "../../../kernels/tests/mutation/seeds.rs"]
mod seeds;
#[path = "../../../kernels/tests/mutation/subject.rs"]
mod subject;
#[path = "../../examples/tiled_gemm.rs"]
mod tiled_gemm;
#[path = "../../examples/vector_add.rs"]
mod vector_add;
#[path = "../../../kernels/tests/mutation/weaker.rs"]
mod weaker;

use block_softmax::{BlockSoftmax, BlockSoftmaxArgs};
use hand_over::HandOverArgs;
use subject::{Ran, Subject};
use tiled_gemm::{TiledGemm, TiledGemmArgs};
use vector_add::{VectorAdd, VectorAddArgs};
use warpsmith::kernels::compare::encode;
use warpsmith::kernels::random::Random;
use warpsmith::prelude::*;

fn normals(device: &Device, name: &str, dtype: DType, shape: &[usize]) -> DeviceTensor {
    let values = Random::new(shape.len() as u64).normals(shape.iter().product(), 1.0);
    DeviceTensor::from_bytes(device, name, dtype, shape, &encode(dtype, &values)).unwrap()
}

fn empty(device: &Device, name: &str, dtype: DType, shape: &[usize]) -> DeviceTensor {
    DeviceTensor::new(device, name, dtype, shape).unwrap()
}

fn vector_add() -> Subject {
    Subject::new("vector_add", |device, ptx| {
        let (x, y) = (normals(device, "x", F32, &[1500]), normals(device, "y", F32, &[1500]));
        let mut z = empty(device, "z", F32, &[1500]);
        let args = VectorAddArgs { x: x.arg(), y: y.arg(), z: z.arg_mut() };
        Ran::of(&Jit::new(VectorAdd::new(F32)).bind(&args, device).unwrap(), device, ptx, &[&z])
    })
}

fn block_softmax() -> Subject {
    Subject::new("block_softmax", |device, ptx| {
        let (x, mut y) = (normals(device, "x", F32, &[3, 1000]), empty(device, "y", F32, &[3, 1000]));
        let args = BlockSoftmaxArgs { x: x.arg(), y: y.arg_mut() };
        Ran::of(&Jit::new(BlockSoftmax::new(1000)).bind(&args, device).unwrap(), device, ptx, &[&y])
    })
}

/// The ring of three stages goes round twice.
fn tiled_gemm() -> Subject {
    Subject::new("tiled_gemm", |device, ptx| {
        let (a, b) = (normals(device, "a", BF16, &[130, 448]), normals(device, "b", BF16, &[100, 448]));
        let mut c = empty(device, "c", BF16, &[130, 100]);
        let args = TiledGemmArgs { a: a.arg(), b: b.arg(), c: c.arg_mut() };
        Ran::of(&Jit::new(TiledGemm).bind(&args, device).unwrap(), device, ptx, &[&c])
    })
}

fn hand_over() -> Subject {
    Subject::new("hand_over", |device, ptx| {
        const N: usize = hand_over::N;
        let (x, mut table) = (normals(device, "x", F32, &[N]), empty(device, "table", F32, &[N]));
        let mut flag = DeviceTensor::from_bytes(device, "flag", DType::U32, &[1], &[0; 4]).unwrap();
        let mut y = empty(device, "y", F32, &[N]);
        let args = HandOverArgs { x: x.arg(), table: table.arg_mut(), flag: flag.arg_mut(), y: y.arg_mut() };
        let bound = Jit::new(hand_over::right()).bind(&args, device).unwrap();
        Ran::of(&bound, device, ptx, &[&table, &y])
    })
}

#[test]
fn every_synchronisation_counts() {
    judge::all_are_found(&[block_softmax(), tiled_gemm(), hand_over()], &[]);
}

#[test]
fn nothing_is_found() {
    seeds::nothing_is_found(&[vector_add(), block_softmax(), tiled_gemm(), hand_over()]);
}
