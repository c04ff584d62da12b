//! Clusters, bulk and tensor copies.

use super::support::{Arg::*, Buffers, Random, launch, system};
use super::{SEEDS, clean, ints, kernel, read_ints, read_u16s, small};
use warpsmith_emulator::{Fill, Launch, Swizzle, TensorMap};
use warpsmith_types::{DType, convert::bf16_to_f32};

#[test]
fn cluster_histogram() {
    let program = kernel("clusters", "cluster_histogram");
    for seed in SEEDS {
        let mut random = Random(seed);
        let x: Vec<u8> = (0..3000).map(|_| (random.next() & random.next()) as u8).collect();
        let mut s = system();
        let (px, bins) = (s.upload("in", &x, |x| [*x]), s.allocate(4 * 256, "bins").unwrap());
        let launch = launch([4, 1, 1], [96, 1, 1], &[I(3000), P(px), P(bins)]);
        clean(&mut s, &program, &Launch { cluster: [4, 1, 1], ..launch }, seed);
        let mut want = vec![0; 256];
        x.iter().for_each(|x| want[usize::from(*x)] += 1);
        assert_eq!(s.read_u32s(bins, 256), want);
    }
}

#[test]
fn cluster_swap() {
    let program = kernel("clusters", "cluster_swap");
    for seed in SEEDS {
        let x: Vec<i32> = (0..6 * 96).map(|i| i * i % 1013).collect();
        let mut s = system();
        let (px, out) = (ints(&mut s, "in", &x), s.allocate(4 * x.len(), "out").unwrap());
        let launch = launch([6, 1, 1], [96, 1, 1], &[P(px), P(out)]);
        clean(&mut s, &program, &Launch { cluster: [2, 1, 1], ..launch }, seed);
        let want = |i: usize| x[((i / 96) ^ 1) * 96 + i % 96] * 10 + x[i / 96 * 96 + 95 - i % 96];
        assert_eq!(read_ints(&s, out, x.len()), (0..x.len()).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn bulk_double() {
    let program = kernel("clusters", "bulk_double");
    for seed in SEEDS {
        let x = small(&mut Random(seed), 3 * 1024);
        let mut s = system();
        let (px, out) = (s.f32s("in", &x), s.allocate(4 * x.len(), "out").unwrap());
        clean(&mut s, &program, &launch([3, 1, 1], [128, 1, 1], &[P(px), P(out)]), seed);
        assert_eq!(s.read_f32s(out, x.len()), x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    }
}

#[test]
fn tensor_transpose() {
    let program = kernel("clusters", "tensor_transpose");
    for (seed, (rows, columns)) in SEEDS.into_iter().zip([(64usize, 32usize), (45, 72)]) {
        let x: Vec<i32> = (0..(rows * columns) as i32).collect();
        let mut s = system();
        let (base, out) = (ints(&mut s, "in", &x), s.allocate(4 * x.len(), "out").unwrap());
        let map = TensorMap {
            base,
            dtype: DType::I32,
            rank: 2,
            extents: [columns as u64, rows as u64, 1, 1, 1],
            strides: [4, 4 * columns as u64, 0, 0, 0],
            box_extents: [32, 32, 1, 1, 1],
            element_strides: [1; 5],
            swizzle: Swizzle::None,
            fill: Fill::Zero,
        };
        let grid = [columns.div_ceil(32) as u32, rows.div_ceil(32) as u32, 1];
        let mut launch = launch(grid, [128, 1, 1], &[]);
        launch.push(&map.encode()).push(&(rows as i32).to_le_bytes()).push(&(columns as i32).to_le_bytes());
        launch.push(&out.0.to_le_bytes());
        clean(&mut s, &program, &launch, seed);
        let want = |i: usize| x[i % rows * columns + i / rows];
        assert_eq!(read_ints(&s, out, x.len()), (0..x.len()).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn bf16_atomics() {
    let program = kernel("clusters", "bf16_atomics");
    for seed in SEEDS {
        let mut s = system();
        let [b, b2] = ["b", "b2"].map(|name| s.u32s(name, &[0]));
        clean(&mut s, &program, &launch([2, 1, 1], [48, 1, 1], &[P(b), P(b2)]), seed);
        let bf16s = |p| read_u16s(&s, p, 2).into_iter().map(bf16_to_f32).collect::<Vec<_>>();
        assert_eq!((bf16s(b), bf16s(b2)), (vec![96.0, 0.0], vec![96.0, -96.0]));
    }
}
