//! How fast memory gives bytes to kernels that do nothing else, the floor of those that write next to nothing:
//! `cargo bench -p warpsmith-kernels --bench reads -- [MIB,…]`.
//!
//! The level-two cache is cold: full of what a fill of several times its size left there, changed, which has to be written back
//! where something else takes its place. For each mark, which says when what is read leaves the cache, there are four medians in
//! microseconds: after such a fill, the same 200 µs and 2 ms later, and after the cache was filled by reading.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

extern crate warpsmith_kernels as warpsmith;

use warpsmith_dsl::bulk::Bulk;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::value;
use warpsmith_runtime::{Bound, Buffer, Device, Jit, Stream, Tensor};

/// Of different kinds, and all printed alike.
type Error = Box<dyn std::error::Error>;

const MIB: [usize; 6] = [16, 32, 64, 128, 256, 512];
const REPETITIONS: usize = 9;

/// Reads a tile of rows a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Read {
    by: By,
    mark: Option<Eviction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    /// So many threads, each with so many accesses of 16 bytes.
    Loads { threads: usize, accesses: usize },
    /// One bulk copy of so many bytes, by a block of one warp.
    Bulk { bytes: usize },
}

#[derive(KernelArgs)]
struct ReadArgs<'a> {
    #[tensor(tiles, tile = fixed)]
    x: &'a TensorArg,
    #[tensor(one = fixed)]
    y: &'a mut TensorArg,
}

impl By {
    fn bytes(self) -> usize {
        match self {
            By::Loads { threads, accesses } => threads * accesses * 16,
            By::Bulk { bytes } => bytes,
        }
    }
}

impl Kernel for Read {
    type Args = ReadParams;

    fn name(&self) -> String {
        "read".into()
    }

    fn launch(&self, a: &ReadArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(if let By::Loads { threads, .. } = self.by { threads } else { 32 })
    }

    fn body(&self, a: ReadParams) {
        let tile = self.by.bytes() / 4;
        let policy = self.mark.map(|mark| CachePolicy::fractional(mark, 1.0));
        match self.by {
            By::Loads { threads, accesses } => {
                let tv = Tv::rows(1, threads, 4, accesses).expect("a tile");
                let part = a.x.tile([1, tile], (block_idx().x, 0)).partition(&tv, thread_idx().x);
                let part = if let Some(policy) = policy { part.policy(policy) } else { part };
                let sum = part.load().f32().sum();
                // Never so, but nobody knows.
                when(sum.eq(1.5e38), || a.y.at::<value::F32>((0,)).store(sum));
            }
            By::Bulk { .. } => {
                let (memory, barrier) = (Shared::<value::F32>::aligned("tile", tile, 128), Mbarriers::new("come", 1));
                barrier.init(1);
                fence_barrier_init();
                sync_threads();
                when(thread_idx().x.eq(0), || {
                    let bulk = policy.map_or(Bulk::new(), |policy| Bulk::new().policy(policy));
                    bulk.load(memory.at(0), a.x.at((block_idx().x, 0)), tile, barrier.at(0));
                    barrier.at(0).arrive_expect(self.by.bytes());
                });
                barrier.at(0).wait(0);
            }
        }
    }
}

/// Does nothing for about so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pause {
    microseconds: usize,
}

impl Kernel for Pause {
    type Args = ();

    fn name(&self) -> String {
        "pause".into()
    }

    fn launch(&self, (): &()) -> Launch {
        Launch::grid(1).block(32)
    }

    fn body(&self, (): ()) {
        for _ in 0..self.microseconds / 100 {
            sleep_nanoseconds(100_000);
        }
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

/// What to do to the cache before a kernel.
#[derive(Clone, Copy)]
enum Flush {
    Write,
    Pause(usize),
    Read,
}

struct Bench<'a> {
    device: &'a Device,
    stream: Stream,
    flush: Buffer,
    reader: Bound,
    /// Of 200 and 2000 µs.
    pauses: [Bound; 2],
}

impl Bench<'_> {
    fn time(&self, flush: Flush, bound: &Bound) -> Result<f64, Error> {
        let mut events = vec![];
        for _ in 0..REPETITIONS {
            let (start, end) = (self.device.create_event()?, self.device.create_event()?);
            self.flush.fill(0, &self.stream)?;
            match flush {
                Flush::Write => {}
                Flush::Pause(which) => drop(self.pauses[which].launch(&self.stream)?),
                Flush::Read => drop(self.reader.launch(&self.stream)?),
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

fn bound(device: &Device, read: Read, bytes: usize) -> Result<(Bound, Tensor, Tensor), Error> {
    let tile = read.by.bytes();
    let x = Tensor::new(device, "x", DType::F32, &[bytes / tile, tile / 4])?;
    let mut y = Tensor::new(device, "y", DType::F32, &[1])?;
    let bound = Jit::new(read).bind(&ReadArgs { x: x.arg(), y: y.arg_mut() }, device).expect("a kernel");
    Ok((bound, x, y))
}

fn table(device: &Device, mib: usize) -> Result<(), Error> {
    let flush = 4 * device.chip().l2 as usize;
    let plain = Read { by: By::Loads { threads: 256, accesses: 4 }, mark: None };
    let (reader, _x, _y) = bound(device, plain, flush)?;
    let pauses = [200, 2000].map(|microseconds| Jit::new(Pause { microseconds }).bind(&(), device).expect("a kernel"));
    let (stream, flush) = (device.create_stream()?, device.allocate(flush, "cache flush")?);
    let bench = Bench { device, stream, flush, reader, pauses };
    println!("{mib} MiB, us; at 4.8 TB/s {:.1}", mib as f64 * 1.048_576 / 4.8);
    let loads = [(64, 4), (128, 1), (128, 2), (128, 4), (128, 8), (256, 1), (256, 2), (256, 4), (512, 2)];
    let bulks = [2, 4, 8, 16, 32].map(|kib| By::Bulk { bytes: kib << 10 });
    let ways = loads.map(|(threads, accesses)| By::Loads { threads, accesses }).into_iter().chain(bulks);
    for by in ways {
        let mut line = format!("  {by:?}");
        for mark in [None, Some(Eviction::First), Some(Eviction::Last)] {
            let (kernel, _x, _y) = bound(device, Read { by, mark }, mib << 20)?;
            let mut all = vec![];
            for flush in [Flush::Write, Flush::Pause(0), Flush::Pause(1), Flush::Read] {
                all.push(format!("{:.1}", bench.time(flush, &kernel)?));
            }
            line += &format!(" | {}: {}", mark.map_or("unmarked".into(), |m| format!("{m:?}")), all.join(" "));
        }
        println!("{line}");
    }
    Ok(())
}
