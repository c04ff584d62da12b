//! Operands: random bits with the values among them that arithmetic treats specially.

use warpsmith_ptx::Type;
use warpsmith_types::convert::{f32_to_bf16, f32_to_f16};

/// A random sequence that is the same everywhere (splitmix64).
pub struct Random(u64);

impl Random {
    /// Seeded by a text (FNV-1a).
    pub fn seeded(text: &str) -> Random {
        Random(text.bytes().fold(0xcbf29ce484222325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100000001b3)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// In [-1, 1).
    fn unit(&mut self) -> f32 {
        self.next() as i32 as f32 / (1u64 << 31) as f32
    }
}

/// What a register may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Bits of that type, specials included; now and then those of the operand before.
    Of(Type),
    /// The same, but as often as not the bits of that operand.
    OftenLike(usize, Type),
    /// An amount of bits: mostly up to a little more than 64.
    Amount,
    /// Less than that.
    Below(u64),
    /// From minus that to that, as 32 bits.
    Within(i64),
    /// Angles up to 100 π in both directions, and specials, in f32.
    Angle,
    /// Predicates or small numbers that are sometimes alike in the whole warp.
    Alike(u64),
    /// Registers full of small integers of that element type.
    Small(Type),
    /// Registers full of elements of that type in [-1, 1].
    Unit(Type),
}

impl Values {
    /// The value of a set, when those of the operands before are known.
    pub fn pick(self, random: &mut Random, set: usize, before: &[Vec<u128>]) -> u128 {
        match self {
            Values::Of(ty) => match before.last() {
                Some(last) if random.below(8) == 0 => last[set],
                _ => of(ty, random),
            },
            Values::OftenLike(which, ty) => {
                if random.below(2) == 0 {
                    before[which][set]
                } else {
                    of(ty, random)
                }
            }
            Values::Amount => match random.below(8) {
                0 => random.next() as u32,
                1 => random.below(300) as u32,
                _ => random.below(70) as u32,
            }
            .into(),
            Values::Below(n) => random.below(n).into(),
            Values::Within(n) => (random.below(2 * n as u64 + 1) as i64 - n) as u32 as u128,
            Values::Angle => match random.below(4) {
                0 => u128::from(*choose(&F32, random)) & !(0x7f << 24) | 0x3f << 24,
                1 => match random.below(6) {
                    0 => 0,
                    1 => 0x8000_0000,
                    2 => 0x7f80_0000,
                    3 => 0xff80_0000,
                    4 => 0x7fc0_1234,
                    _ => 0x0000_1234,
                },
                2 => (random.unit() * 314.0).to_bits().into(),
                _ => (random.unit() * std::f32::consts::PI).to_bits().into(),
            },
            Values::Alike(n) => match set / 32 % 4 {
                0 => 0,
                1 => 1,
                2 => u128::from(set % 32 == 7),
                _ => random.below(n).into(),
            },
            Values::Small(ty) => elements(ty, |r| small(ty, r), random),
            Values::Unit(ty) => elements(ty, |r| unit(ty, r), random),
        }
    }
}

fn choose<'a, T>(from: &'a [T], random: &mut Random) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

const F16: [u64; 24] = [
    0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xfe12, 0xffff, 0x7c01, 0xfd00, 0x0001, 0x8001, 0x03ff, 0x83ff,
    0x0400, 0x8400, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4100, 0x7bff, 0xfbff, 0x5bf8,
];
const BF16: [u64; 22] = [
    0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x7fff, 0xffc1, 0xffff, 0x7f81, 0xffa0, 0x0001, 0x8001, 0x007f, 0x0080,
    0x8080, 0x3f80, 0xbf80, 0x3f00, 0x4020, 0x7f7f, 0xff7f, 0x4780,
];
const F32: [u32; 36] = [
    0x0000_0000,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7fff_ffff,
    0xffc1_2345,
    0xffff_ffff,
    0x7f80_0001,
    0xffa0_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0xc020_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x477f_e000,
    0x477f_f000,
    0x3380_0000,
    0x3300_0001,
    0x437f_8000,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0xdf00_0000,
    0x5f80_0000,
];
const F64: [u64; 30] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xfff8_1234_5678_9abc,
    0xffff_ffff_ffff_ffff,
    0x7ff0_0000_0000_0001,
    0xfff4_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0000,
    0x40ef_fc00_0000_0000,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
];

/// Random bits of a type.
fn of(ty: Type, random: &mut Random) -> u128 {
    let half = |random: &mut Random, ty| of(ty, random) & 0xffff;
    let special = random.below(3) == 0;
    match ty {
        Type::Pred => random.below(2).into(),
        Type::F16x2 => half(random, Type::F16) | half(random, Type::F16) << 16,
        Type::BF16x2 => half(random, Type::BF16) | half(random, Type::BF16) << 16,
        Type::U16x2 | Type::S16x2 => half(random, Type::U16) | half(random, Type::U16) << 16,
        Type::F16 if special => (*choose(&F16, random)).into(),
        Type::BF16 if special => (*choose(&BF16, random)).into(),
        Type::F32 if special => (*choose(&F32, random)).into(),
        Type::F64 if special => (*choose(&F64, random)).into(),
        Type::F16 | Type::BF16 | Type::F32 | Type::F64 => {
            let bits = match random.below(3) {
                0 => random.next(),
                // Near 1, where sums and products of operands meet.
                1 => near_one(ty, random),
                _ => number(ty, random),
            };
            (bits & mask(ty.bits())).into()
        }
        Type::B128 => u128::from(random.next()) << 64 | u128::from(random.next()),
        _ => (integer(ty.bits(), random) & mask(ty.bits())).into(),
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.min(64))
}

fn near_one(ty: Type, random: &mut Random) -> u64 {
    let (exponent, bias) = match ty {
        Type::F16 => (10, 15),
        Type::BF16 => (7, 127),
        Type::F32 => (23, 127),
        _ => (52, 1023),
    };
    let sign = random.below(2) << (ty.bits() - 1);
    let fraction = random.next() & mask(exponent);
    sign | (bias + random.below(9) - 4) << exponent | fraction
}

/// Small and large integers with halves and quarters, where conversions round and clamp.
fn number(ty: Type, random: &mut Random) -> u64 {
    let magnitude = 1u64 << random.below(40);
    let x = (random.below(4 * magnitude) as f64 - 2.0 * magnitude as f64) / 4.0;
    match ty {
        Type::F16 => f32_to_f16(x as f32).into(),
        Type::BF16 => f32_to_bf16(x as f32).into(),
        Type::F32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

fn integer(bits: u32, random: &mut Random) -> u64 {
    match random.below(6) {
        0 => {
            let top = 1u64 << (bits - 1);
            *choose(&[0, 1, u64::MAX, top, top - 1, top + 1, 2, u64::MAX - 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000], random)
        }
        1 => random.below(80),
        2 => (1u64 << random.below(bits.into())).wrapping_add(random.below(3)).wrapping_sub(1),
        3 => random.next() >> random.below(64),
        4 => (random.next() as i64 >> random.below(64)) as u64,
        _ => random.next(),
    }
}

/// A register's worth of elements.
fn elements(ty: Type, mut one: impl FnMut(&mut Random) -> u64, random: &mut Random) -> u128 {
    match ty.bits() {
        64 => one(random).into(),
        bits => (0..32 / bits).fold(0, |word, i| word | u128::from(one(random) & mask(bits)) << (bits * i)),
    }
}

/// A small integer.
fn small(ty: Type, random: &mut Random) -> u64 {
    let x = random.below(7) as i32 - 3;
    match ty {
        Type::F16 => f32_to_f16(x as f32).into(),
        Type::BF16 => f32_to_bf16(x as f32).into(),
        Type::F32 | Type::TF32 => (x as f32).to_bits().into(),
        Type::F64 => f64::from(x).to_bits(),
        // A half's upper byte.
        Type::E5M2 => (f32_to_f16(x as f32) >> 8).into(),
        Type::E4M3 if x == 0 => 0,
        // Three bits of the fraction, and the bias is 7.
        Type::E4M3 => {
            let bits = (x as f32).abs().to_bits();
            (u32::from(x < 0) << 7 | (bits >> 23).wrapping_sub(120) << 3 | bits >> 20 & 7).into()
        }
        _ => random.next(),
    }
}

fn unit(ty: Type, random: &mut Random) -> u64 {
    let x = random.unit();
    match ty {
        Type::F16 => f32_to_f16(x).into(),
        Type::BF16 => f32_to_bf16(x).into(),
        Type::F32 => x.to_bits().into(),
        Type::TF32 => (x.to_bits() & !0x1fff).into(),
        Type::F64 => f64::from(x).to_bits(),
        // Up to 1.
        Type::E5M2 => random.below(2) << 7 | random.below(0x3d),
        Type::E4M3 => random.below(2) << 7 | random.below(0x39),
        _ => random.next(),
    }
}
