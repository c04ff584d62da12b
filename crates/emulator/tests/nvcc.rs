//! Kernels that nvcc compiled from our CUDA sources run and give what the host computes.

mod support;

#[path = "nvcc/algorithms.rs"]
mod algorithms;
#[path = "nvcc/clusters.rs"]
mod clusters;
#[path = "nvcc/groups.rs"]
mod groups;
#[path = "nvcc/language.rs"]
mod language;
#[path = "nvcc/locks.rs"]
mod locks;
#[path = "nvcc/matrices.rs"]
mod matrices;
#[path = "nvcc/numbers.rs"]
mod numbers;
#[path = "nvcc/scans.rs"]
mod scans;

use support::{Arg::*, Buffers, Random, assert_clean, launch, run, run_with, system};
use warpsmith_emulator::{DevicePointer, Launch, Options, Outcome, Program, System};
use warpsmith_ptx::FunctionKind;
use warpsmith_types::convert::{bf16_to_f32, f32_to_bf16};

/// A kernel of one of the files. Parses, prints, parses again, and decodes.
fn kernel(file: &str, entry: &str) -> Program {
    let path = format!("{}/tests/nvcc/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let module = warpsmith_ptx::parse(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
    let printed = module.to_string();
    let again = warpsmith_ptx::parse(&printed).unwrap_or_else(|e| panic!("{file}, printed: {e}\n{printed}"));
    assert_eq!(again.to_string(), printed, "{file} changes when printed and parsed");
    let decode = |module| Program::decode(module, entry).unwrap_or_else(|e| panic!("{file}, {entry}: {e}"));
    assert!(decode(&again).len() == decode(&module).len());
    decode(&module)
}

fn load(name: &str) -> Program {
    kernel(name, name)
}

/// Runs a kernel without a finding under one of two schedules.
fn clean(s: &mut System, program: &Program, launch: &Launch, seed: u64) -> Outcome {
    let outcome = run_with(s, program, launch, None, &Options { seed, ..Options::default() });
    assert_clean(&outcome);
    outcome
}

fn ints(s: &mut System, name: &str, values: &[i32]) -> DevicePointer {
    s.upload(name, values, |x| x.to_le_bytes())
}

fn read_ints(s: &System, at: DevicePointer, count: usize) -> Vec<i32> {
    s.read_u32s(at, count).into_iter().map(|x| x as i32).collect()
}

fn read_u16s(s: &System, at: DevicePointer, count: usize) -> Vec<u16> {
    s.read_u32s(at, count / 2).iter().flat_map(|x| [*x as u16, (*x >> 16) as u16]).collect()
}

fn read_u64s(s: &System, at: DevicePointer, count: usize) -> Vec<u64> {
    s.read_u32s(at, 2 * count).chunks(2).map(|x| u64::from(x[0]) | u64::from(x[1]) << 32).collect()
}

fn read_doubles(s: &System, at: DevicePointer, count: usize) -> Vec<f64> {
    read_u64s(s, at, count).into_iter().map(f64::from_bits).collect()
}

/// Small integers, so that sums of their products are exact.
fn small(random: &mut Random, n: usize) -> Vec<f32> {
    (0..n).map(|_| random.below(9) as f32 - 4.0).collect()
}

fn assert_close(got: f64, want: f64, relative: f64, what: &str) {
    assert!((got - want).abs() <= relative * want.abs().max(1e-30), "{what}: {got}, not {want}");
}

/// The order of warps and blocks, and another one.
const SEEDS: [u64; 2] = [0, 7];

#[test]
fn everything_decodes() {
    let folder = format!("{}/tests/nvcc", env!("CARGO_MANIFEST_DIR"));
    let (mut kernels, mut refused) = (0, vec![]);
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let module = warpsmith_ptx::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for entry in module.functions.iter().filter(|f| f.kind == FunctionKind::Entry) {
            kernels += 1;
            refused.extend(Program::decode(&module, &entry.name).err().map(|e| format!("{}: {e}", entry.name)));
        }
    }
    assert!(refused.is_empty() && kernels >= 65, "{kernels} kernels, refused {}", refused.join("\n"));
}

#[test]
fn saxpy() {
    let program = load("saxpy");
    for n in [1usize, 31, 1000, 5000] {
        let mut random = Random(n as u64);
        let (x, y): (Vec<f32>, Vec<f32>) = (0..n).map(|_| (random.float(), random.float())).unzip();
        let mut s = system();
        let (px, py) = (s.f32s("x", &x), s.f32s("y", &y));
        let launch = launch([7, 1, 1], [96, 1, 1], &[I(n as i32), F(1.7), P(px), P(py)]);
        assert_clean(&run(&mut s, &program, &launch));
        let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.7f32.mul_add(*x, *y)).collect();
        assert_eq!(s.read_f32s(py, n), want);
    }
}

#[test]
fn reduce() {
    let program = load("reduce");
    for (n, grid, block) in [(1, 1, 32), (1000, 3, 64), (100_000, 20, 256), (4096, 1, 1024)] {
        let mut random = Random(n);
        // Integers, so that the order of the additions does not matter.
        let x: Vec<f32> = (0..n).map(|_| random.below(64) as f32).collect();
        let mut s = system();
        let (px, sum) = (s.f32s("x", &x), s.f32s("sum", &[0.0]));
        let launch = launch([grid, 1, 1], [block, 1, 1], &[I(n as i32), P(px), P(sum)]);
        assert_clean(&run(&mut s, &program, &launch));
        assert_eq!(s.read_f32s(sum, 1), [x.iter().sum::<f32>()]);
    }
}

#[test]
fn histogram() {
    let program = load("histogram");
    for (n, grid, block) in [(0usize, 1, 64), (1000, 2, 64), (50_000, 5, 320)] {
        let mut random = Random(n as u64);
        let data: Vec<u8> = (0..n).map(|_| (random.next() & random.next()) as u8).collect();
        let mut s = system();
        let (d, bins) = (s.upload("data", &data, |x| [*x]), s.u32s("bins", &[1; 256]));
        let launch = launch([grid, 1, 1], [block, 1, 1], &[I(n as i32), P(d), P(bins)]);
        assert_clean(&run(&mut s, &program, &launch));
        let mut want = vec![1; 256];
        data.iter().for_each(|b| want[*b as usize] += 1);
        assert_eq!(s.read_u32s(bins, 256), want);
    }
}

#[test]
fn scan() {
    let program = load("scan");
    for (n, block) in [(1usize, 32), (777, 128), (5000, 1024)] {
        let mut random = Random(n as u64);
        let x: Vec<u32> = (0..n).map(|_| random.next()).collect();
        let mut s = system();
        let (px, out) = (s.u32s("in", &x), s.u32s("out", &vec![0; n]));
        let grid = n.div_ceil(block) as u32;
        let launch = launch([grid, 1, 1], [block as u32, 1, 1], &[I(n as i32), P(px), P(out)]);
        assert_clean(&run(&mut s, &program, &launch));
        let sums = x.chunks(block).flat_map(|c| {
            c.iter().scan(0u32, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            })
        });
        assert_eq!(s.read_u32s(out, n), sums.collect::<Vec<_>>());
    }
}

#[test]
fn transpose() {
    let program = load("transpose");
    for (rows, columns) in [(1usize, 1usize), (32, 32), (33, 70), (100, 5)] {
        let x: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
        let mut s = system();
        let (px, out) = (s.f32s("in", &x), s.allocate(4 * x.len(), "out").unwrap());
        let grid = [columns.div_ceil(32) as u32, rows.div_ceil(32) as u32, 1];
        let launch = launch(grid, [32, 8, 1], &[I(rows as i32), I(columns as i32), P(px), P(out)]);
        assert_clean(&run(&mut s, &program, &launch));
        assert!(s.is_initialized(out, 4 * x.len()).unwrap());
        let want: Vec<f32> =
            (0..columns).flat_map(|c| (0..rows).map(move |r| (r, c))).map(|(r, c)| x[r * columns + c]).collect();
        assert_eq!(s.read_f32s(out, x.len()), want);
    }
}

#[test]
fn collatz() {
    let program = load("collatz");
    let start: Vec<u32> = (0..333).map(|i| if i % 50 == 49 { 0 } else { 3 * i + 1 }).collect();
    let (limit, n) = (200, start.len());
    let mut s = system();
    let px = s.u32s("start", &start);
    let steps = s.allocate(4 * n, "steps").unwrap();
    let warps = 3 * 128 / 32;
    let (longest, holders) = (s.allocate(4 * warps, "longest").unwrap(), s.allocate(4 * warps, "holders").unwrap());
    let args = [I(n as i32), I(limit), P(px), P(steps), P(longest), P(holders)];
    assert_clean(&run(&mut s, &program, &launch([3, 1, 1], [128, 1, 1], &args)));
    let walk = |start: u32| {
        let (mut x, mut count) = (u64::from(start), 0);
        while x != 1 && count < limit {
            x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
            count += 1;
        }
        count
    };
    let want: Vec<i32> = start.iter().map(|x| walk(*x)).collect();
    assert_eq!(s.read_u32s(steps, n), want.iter().map(|x| *x as u32).collect::<Vec<_>>());
    let mut all = want.clone();
    all.resize(32 * warps, -1);
    let most: Vec<i32> = all.chunks(32).map(|c| *c.iter().max().unwrap()).collect();
    assert_eq!(s.read_u32s(longest, warps), most.iter().map(|x| *x as u32).collect::<Vec<_>>());
    let who = |(c, most): (&[i32], &i32)| c.iter().enumerate().fold(0u32, |m, (l, x)| m | u32::from(x == most) << l);
    assert_eq!(s.read_u32s(holders, warps), all.chunks(32).zip(&most).map(who).collect::<Vec<_>>());
}

#[test]
fn softmax() {
    let program = load("softmax");
    for (rows, columns) in [(1usize, 1usize), (5, 33), (7, 1000)] {
        let mut random = Random(columns as u64);
        let x: Vec<u16> = (0..rows * columns).map(|_| f32_to_bf16(8.0 * random.float())).collect();
        let mut s = system();
        let (px, out) = (s.upload("in", &x, |x| x.to_le_bytes()), s.allocate(2 * x.len(), "out").unwrap());
        let args = [I(rows as i32), I(columns as i32), P(px), P(out)];
        assert_clean(&run(&mut s, &program, &launch([rows.div_ceil(4) as u32, 1, 1], [32, 4, 1], &args)));
        let mut bytes = vec![0; 2 * x.len()];
        s.read(out, &mut bytes).unwrap();
        let got: Vec<f32> = bytes.chunks(2).map(|b| bf16_to_f32(u16::from_le_bytes([b[0], b[1]]))).collect();
        for (row, got) in x.chunks(columns).zip(got.chunks(columns)) {
            let row: Vec<f64> = row.iter().map(|x| bf16_to_f32(*x).into()).collect();
            let top = row.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
            for (x, got) in row.iter().zip(got) {
                let want = (x - top).exp() / sum;
                assert!((f64::from(*got) - want).abs() <= want / 256.0, "{got} not {want}");
            }
        }
    }
}
