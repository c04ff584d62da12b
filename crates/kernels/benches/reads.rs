//! How fast memory gives bytes to kernels that do nothing else, the floor of those that write next to nothing:
//! `cargo bench -p warpsmith-kernels --bench reads -- [MIB,…]`.
//!
//! The level-two cache is cold: full of what a fill of several times its size left there, changed, which has to be written back
//! where something else takes its place. For each kernel and mark, which says when what is read leaves the cache, there are two
//! medians in microseconds: after such a fill, and after the cache was filled by reading. No kernel asks that what it reads leave
//! last: such lines outlast the fill, and whatever reads them next finds them there (16 MiB then come in 7.3 µs, not 8.7).
//!
//! `answers` are kernels that read a class number of 64 bits for each of 32,768 rows beside, and write a float for it: all that
//! a loss of so many rows has to move.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

extern crate warpsmith_kernels as warpsmith;

use warpsmith_dsl::bulk::Bulk;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::value;
use warpsmith_kernels::compare::encode;
use warpsmith_kernels::random::Random;
use warpsmith_runtime::{Bound, Buffer, Device, Jit, Stream, Tensor};

/// Of different kinds, and all printed alike.
type Error = Box<dyn std::error::Error>;

const MIB: [usize; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const REPETITIONS: usize = 9;

/// Rows that have an answer.
const ROWS: usize = 32_768;

/// Reads a tile of rows a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Read {
    by: By,
    mark: Option<Eviction>,
    multiprocessors: usize,
    /// The bytes of a row, where each has an answer; of loads.
    answers: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    /// So many threads, each with so many accesses of 16 bytes.
    Loads { threads: usize, accesses: usize },
    /// One bulk copy of so many bytes, by a block of one warp.
    Bulk { bytes: usize },
    /// Bulk copies of so many bytes, so many of them under way, by so many blocks of one warp a multiprocessor, that go over all.
    Ring { bytes: usize, stages: usize, resident: usize },
}

#[derive(KernelArgs)]
struct ReadArgs<'a> {
    #[tensor(tiles, tile = fixed)]
    x: &'a TensorArg,
    #[tensor(rows, one = fixed)]
    target: &'a TensorArg,
    #[tensor(rows, one = fixed)]
    y: &'a mut TensorArg,
}

impl By {
    fn bytes(self) -> usize {
        match self {
            By::Loads { threads, accesses } => threads * accesses * 16,
            By::Bulk { bytes } | By::Ring { bytes, .. } => bytes,
        }
    }
}

impl Kernel for Read {
    type Args = ReadParams;

    fn name(&self) -> String {
        "read".into()
    }

    fn launch(&self, a: &ReadArgs<'_>) -> Launch {
        match self.by {
            By::Loads { threads, .. } => Launch::grid(a.x.dim(0)).block(threads),
            By::Bulk { .. } => Launch::grid(a.x.dim(0)).block(32),
            By::Ring { resident, .. } => Launch::grid(a.x.dim(0).min(resident * self.multiprocessors)).block(32),
        }
    }

    fn body(&self, a: ReadParams) {
        let tile = self.by.bytes() / 4;
        let policy = self.mark.map(|mark| CachePolicy::fractional(mark, 1.0));
        let bulk = policy.map_or(Bulk::new(), |policy| Bulk::new().policy(policy));
        match self.by {
            By::Loads { threads, accesses } => {
                let tv = Tv::rows(1, threads, 4, accesses).expect("a tile");
                let answer = self.answers.map(|row| self.answer(row));
                let target =
                    answer.map(|(row, there)| a.target.at::<value::I64>((row, 0)).load_if(there, 0).u32().f32());
                let part = a.x.tile([1, tile], (block_idx().x, 0)).partition(&tv, thread_idx().x);
                let part = if let Some(policy) = policy { part.policy(policy) } else { part };
                let sum = part.load().f32().sum();
                if let (Some((row, there)), Some(target)) = (answer, target) {
                    when(there, || a.y.at::<value::F32>((row, 0)).store(sum + target));
                }
                // Never so, but nobody knows.
                when(sum.eq(1.5e38), || a.y.at::<value::F32>((0, 0)).store(sum));
            }
            By::Bulk { .. } => {
                let (memory, barrier) = (Shared::<value::F32>::aligned("tile", tile, 128), Mbarriers::new("come", 1));
                barrier.init(1);
                fence_barrier_init();
                sync_threads();
                when(thread_idx().x.eq(0), || {
                    bulk.load(memory.at(0), a.x.at((block_idx().x, 0)), tile, barrier.at(0));
                    barrier.at(0).arrive_expect(self.by.bytes());
                });
                barrier.at(0).wait(0);
            }
            By::Ring { stages, .. } => {
                let memory = Shared::<value::F32>::aligned("tiles", stages * tile, 128);
                let barriers = Mbarriers::new("come", stages);
                barriers.init(1);
                fence_barrier_init();
                sync_threads();
                let (first, step, tiles) = (block_idx().x, grid_size().x, value::U32::from(a.x.dim(0)));
                let fetch = |turn: value::U32| {
                    let (at, stage) = (first + turn * step, turn % stages);
                    when(at.lt(tiles), || {
                        bulk.load(memory.at(stage * tile), a.x.at((at, 0)), tile, barriers.at(stage));
                        barriers.at(stage).arrive_expect(self.by.bytes());
                    });
                };
                when(thread_idx().x.eq(0), || {
                    for turn in 0..stages {
                        fetch(turn.into());
                    }
                    for turn in range(0, (tiles - first + step - 1) / step) {
                        barriers.at(turn % stages).wait((turn / stages) % 2);
                        fetch(turn + stages);
                    }
                });
            }
        }
    }
}

impl Read {
    /// The row of so many bytes that this thread answers for, and whether it does: one of each row's threads.
    fn answer(&self, row: usize) -> (value::U32, value::Bool) {
        let (tile, thread, block) = (self.by.bytes(), thread_idx().x, block_idx().x);
        if tile >= row {
            let rows = tile / row;
            return (block * rows + thread, thread.lt(rows));
        }
        let tiles = row / tile;
        (block / tiles, thread.eq(0) & (block % tiles).eq(0))
    }
}

fn main() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(e) => return println!("nothing to measure: {e}"),
    };
    let sizes: Vec<usize> = match std::env::args().skip(1).find(|a| !a.starts_with("--")) {
        Some(list) => list.split(',').map(|s| s.parse().expect("MiB")).collect(),
        None => MIB.to_vec(),
    };
    for size in sizes {
        table(&device, size).expect("a card that measures");
    }
}

struct Bench<'a> {
    device: &'a Device,
    stream: Stream,
    flush: Buffer,
    reader: Bound,
}

impl Bench<'_> {
    /// The median after the cache was filled, which changes its lines, and by `reading` where that is so.
    fn time(&self, reading: bool, bound: &Bound) -> Result<f64, Error> {
        let mut events = vec![];
        for _ in 0..REPETITIONS {
            let (start, end) = (self.device.create_event()?, self.device.create_event()?);
            self.flush.fill(0, &self.stream)?;
            if reading {
                self.reader.launch(&self.stream)?;
            }
            start.record(&self.stream)?;
            bound.launch(&self.stream)?;
            end.record(&self.stream)?;
            events.push((start, end));
        }
        self.stream.synchronize()?;
        let mut sorted = events.iter().map(|(start, end)| end.since(start)).collect::<Result<Vec<_>, _>>()?;
        sorted.sort_unstable();
        Ok(sorted[REPETITIONS / 2].as_secs_f64() * 1e6)
    }
}

/// Random numbers: what all lines hold alike might come by other rules.
fn random(device: &Device, bytes: usize) -> Result<Tensor, Error> {
    let x = Tensor::new(device, "x", DType::F32, &[1, bytes / 4])?;
    let some = encode(DType::F32, &Random::new(1).normals(1 << 22, 1.0));
    for at in (0..bytes).step_by(some.len()) {
        x.buffer().upload_at(at, &some[..some.len().min(bytes - at)])?;
    }
    Ok(x)
}

fn bound(device: &Device, read: Read, x: &Tensor, target: &Tensor, y: &mut Tensor) -> Result<Bound, Error> {
    let (tile, mut tiles) = (read.by.bytes() / 4, x.arg().clone());
    (tiles.shape, tiles.strides) = (vec![tiles.shape[1] / tile, tile], vec![tile, 1]);
    Ok(Jit::new(read).bind(&ReadArgs { x: &tiles, target: target.arg(), y: y.arg_mut() }, device)?)
}

fn table(device: &Device, mib: usize) -> Result<(), Error> {
    let flush = 4 * device.chip().l2 as usize;
    let (other, x) = (random(device, flush)?, random(device, mib << 20)?);
    let classes = vec![7u8; ROWS * 8];
    let target = Tensor::from_bytes(device, "target", DType::I64, &[ROWS, 1], &classes)?;
    let mut y = Tensor::new(device, "y", DType::F32, &[ROWS, 1])?;
    let multiprocessors = device.chip().multiprocessors as usize;
    let plain = |by| Read { by, mark: None, multiprocessors, answers: None };
    let reader = bound(device, plain(By::Loads { threads: 256, accesses: 4 }), &other, &target, &mut y)?;
    let (stream, flush) = (device.create_stream()?, device.allocate(flush, "cache flush")?);
    let bench = Bench { device, stream, flush, reader };
    println!("{mib} MiB, us; at 4.8 TB/s {:.1}", mib as f64 * 1.048_576 / 4.8);
    let loads =
        [(64, 4), (128, 1), (128, 2), (128, 4), (128, 8), (256, 1), (256, 2), (256, 4), (256, 8), (512, 2), (512, 4)];
    let bulks = [2, 4, 8, 16, 32].map(|kib| By::Bulk { bytes: kib << 10 });
    let rings = [(2, 16, 4), (4, 8, 6), (8, 8, 3), (8, 4, 4), (16, 4, 3), (16, 8, 1), (32, 4, 1), (32, 2, 3)];
    let rings = rings.map(|(kib, stages, resident)| By::Ring { bytes: kib << 10, stages, resident });
    let ways = loads.map(|(threads, accesses)| By::Loads { threads, accesses }).into_iter().chain(bulks).chain(rings);
    // Of kernels that only read, after a fill and after reading, and of those that answer, after a fill.
    let mut fastest = [f64::INFINITY; 3];
    for by in ways {
        let mut line = format!("  {by:?}");
        let row = (mib << 20) / ROWS;
        let answers = if matches!(by, By::Loads { .. }) { vec![None, Some(row)] } else { vec![None] };
        for (answers, mark) in answers.into_iter().flat_map(|a| [(a, None), (a, Some(Eviction::First))]) {
            let kernel = bound(device, Read { mark, answers, ..plain(by) }, &x, &target, &mut y)?;
            let [filled, read] = [bench.time(false, &kernel)?, bench.time(true, &kernel)?];
            let of = if answers.is_some() { "answers, " } else { "" };
            line += &format!(" | {of}{}: {filled:.1} {read:.1}", mark.map_or("unmarked".into(), |m| format!("{m:?}")));
            match answers {
                None => fastest = [fastest[0].min(filled), fastest[1].min(read), fastest[2]],
                Some(_) => fastest[2] = fastest[2].min(filled),
            }
        }
        println!("{line}");
    }
    let [filled, read, answers] = fastest;
    println!("  fastest: {filled:.1}, after reading {read:.1}, with answers {answers:.1}");
    Ok(())
}
