//! A function of every element, on the device of the tests.

use crate::common::{device, is_large};
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Extent, Receiver};
use warpsmith_kernels::random::Random;
use warpsmith_runtime::{Jit, Tensor as Memory};

pub struct MapParams {
    x: Tensor,
    y: Tensor,
}

pub struct MapArgs<'a> {
    x: &'a TensorArg,
    y: &'a mut TensorArg,
}

impl Params for MapParams {
    type Host<'a> = MapArgs<'a>;
    fn describe(host: &MapArgs<'_>, a: &mut Arguments) {
        a.tensor("x", host.x, &[("n", Extent::Dynamic)], false);
        a.tensor("y", host.y, &[("m", Extent::Dynamic)], true);
    }
    fn receive(r: &mut Receiver) -> MapParams {
        MapParams { x: r.tensor(), y: r.tensor() }
    }
}

/// `y[i] = f(x[i], x[i + 1])`, the last one's neighbour being the first.
struct Map<A, B, F> {
    name: String,
    f: F,
    types: std::marker::PhantomData<fn(A) -> B>,
}

const THREADS: usize = 256;

impl<A: Element, B: Element, F: Fn(A, A) -> B + Send + Sync> Kernel for Map<A, B, F> {
    type Args = MapParams;
    fn name(&self) -> String {
        format!("map_{}", self.name)
    }
    fn launch(&self, a: &MapArgs<'_>) -> Launch {
        Launch::grid((a.x.dim(0) / A::COUNT).div_ceil(THREADS)).block(THREADS)
    }
    fn body(&self, a: MapParams) {
        let i = block_idx().x * THREADS + thread_idx().x;
        let n = U32::from(a.x.dim(0)) / A::COUNT;
        let next = select((i + 1).lt(n), i + 1, 0);
        let at = |i: U32| a.x.at::<A>((Dim::from(i) * A::COUNT,)).load();
        when(i.lt(n), || a.y.at::<B>((Dim::from(i) * B::COUNT,)).store((self.f)(at(i), at(next))));
    }
}

/// What the device makes of neighbours.
pub fn map2<A: Element, B: Element>(name: &str, f: impl Fn(A, A) -> B + Send + Sync, x: &[u8]) -> Vec<u8> {
    let device = device();
    let count = x.len() / A::TYPE.bytes() as usize;
    let x = Memory::from_bytes(&device, "x", A::DTYPE, &[count * A::COUNT], x).unwrap();
    let mut y = Memory::new(&device, "y", B::DTYPE, &[count * B::COUNT]).unwrap();
    y.buffer().poison().unwrap();
    let stream = device.default_stream();
    let name = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let kernel = Map { name, f, types: std::marker::PhantomData };
    let outcome = Jit::new(kernel).launch(&MapArgs { x: x.arg(), y: y.arg_mut() }, &stream).unwrap();
    stream.synchronize().unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    y.to_bytes().unwrap()
}

/// What the device makes of each.
pub fn map<A: Element, B: Element>(name: &str, f: impl Fn(A) -> B + Send + Sync, x: &[u8]) -> Vec<u8> {
    map2::<A, B>(name, |a, _| f(a), x)
}

/// How many random 32-bit values.
pub fn random_count() -> usize {
    if is_large() { 10_000_000 } else { 4_000 }
}

/// Special floats: zeros, infinities, NaN, subnormals, powers of two and their neighbours, and what functions turn at.
pub fn special() -> Vec<u32> {
    let mut all = vec![];
    let mut with_neighbours = |x: f32| {
        for sign in [0, 1 << 31] {
            for d in -2i32..=2 {
                all.push(x.to_bits().wrapping_add_signed(d) & 0x7fff_ffff | sign);
            }
        }
    };
    for e in 0..255u32 {
        for mantissa in [0, 0x0040_0000, 0x002a_aaaa, 0x007f_ffff, 0x1000, 0xf000, 0x8000] {
            with_neighbours(f32::from_bits(e << 23 | mantissa));
        }
    }
    let turns =
        [88.722_84, 103.97, 104.5, 127.5, 149.5, 89.0, 0.625, 10.0, 65504.0, 65520.0, 448.0, 464.0, 57344.0, 6.0];
    turns.into_iter().for_each(&mut with_neighbours);
    with_neighbours(f32::INFINITY);
    all.extend([0x7fff_ffff, 0xffc0_0000, 0x7f80_0001]);
    all
}

/// Special and random floats, as bits; all bit patterns are as likely.
pub fn values(random: &mut Random) -> Vec<u32> {
    let mut all = special();
    all.extend((0..random_count()).map(|_| random.below(1 << 32) as u32));
    all
}

/// The same, but ordinary: magnitudes from 2⁻ʳ to 2ʳ.
pub fn ordinary(random: &mut Random, range: i32) -> Vec<u32> {
    let one = |r: &mut Random| {
        let exponent = r.below(2 * range as usize) as i32 - range;
        let magnitude = (1.0 + r.uniform()) * 2f64.powi(exponent);
        (if r.below(2) == 0 { magnitude } else { -magnitude }) as f32
    };
    (0..random_count()).map(|_| one(random).to_bits()).collect()
}

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
}

pub fn halves(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|c| u16::from_le_bytes(c.try_into().unwrap())).collect()
}
