//! `cvt` of two values in a register: halves, and 8-bit floats.

use super::convert::{RELU, narrow, prepare, widen8};
use super::{Decoder, Result};
use crate::arithmetic::float::Float;
use crate::arithmetic::half::Half;
use crate::arithmetic::rounding::Format;
use crate::lanes::{Compute, F16, map1, map2};
use crate::quick::Quick;
use warpsmith_ptx::{Instruction, Operand, Type};
use warpsmith_types::convert;

pub(super) fn packed_format(ty: Type) -> Option<&'static Format> {
    Some(match ty {
        Type::F16x2 => &Format::F16,
        Type::BF16x2 => &Format::BF16,
        Type::E4M3x2 => &Format::E4M3,
        Type::E5M2x2 => &Format::E5M2,
        _ => return None,
    })
}

/// Two f32 to a packed register; the first source is the upper half.
fn pack<const FORMAT: usize>() -> Compute {
    |r, f, m| {
        let aux = f.aux;
        let (format, width) = match FORMAT {
            0 => (&Format::F16, 16),
            1 => (&Format::BF16, 16),
            2 => (&Format::E4M3, 8),
            _ => (&Format::E5M2, 8),
        };
        map2::<u32, f32, f32>(r, f, m, |a, b| {
            narrow(format, aux, prepare(aux, a)) << width | narrow(format, aux, prepare(aux, b))
        });
    }
}

impl Decoder<'_> {
    pub(super) fn packed_conversion(&mut self, i: &Instruction, to: Type, from: Type, aux: u16) -> Result<()> {
        let run: Option<Compute> = match (to, from) {
            (Type::BF16x2, Type::F32) if aux == 0 => Some(|r, f, m| {
                map2::<u32, f32, f32>(r, f, m, |a, b| {
                    u32::from(convert::f32_to_bf16(a)) << 16 | u32::from(convert::f32_to_bf16(b))
                });
            }),
            (Type::F16x2, Type::F32) => Some(pack::<0>()),
            (Type::BF16x2, Type::F32) => Some(pack::<1>()),
            (Type::E4M3x2, Type::F32) => Some(pack::<2>()),
            (Type::E5M2x2, Type::F32) => Some(pack::<3>()),
            _ => None,
        };
        if let Some(run) = run {
            self.simple(i, run, to, &[Type::F32; 2], aux)?;
            self.quick((to == Type::BF16x2 && aux == 0).then_some(Quick::F32ToBF16x2));
            return Ok(());
        }
        let run: Option<Compute> = match (to, from) {
            (Type::E4M3x2, Type::F16x2) => Some(|r, f, m| {
                let aux = f.aux;
                map1::<u32, u32>(r, f, m, |a| halves_to_bytes(&Format::E4M3, aux, a));
            }),
            (Type::E5M2x2, Type::F16x2) => Some(|r, f, m| {
                let aux = f.aux;
                map1::<u32, u32>(r, f, m, |a| halves_to_bytes(&Format::E5M2, aux, a));
            }),
            (Type::F16x2, Type::E4M3x2) => Some(|r, f, m| {
                let aux = f.aux;
                map1::<u32, u32>(r, f, m, |a| bytes_to_halves(&Format::E4M3, aux, a));
            }),
            (Type::F16x2, Type::E5M2x2) => Some(|r, f, m| {
                let aux = f.aux;
                map1::<u32, u32>(r, f, m, |a| bytes_to_halves(&Format::E5M2, aux, a));
            }),
            _ => None,
        };
        let run = run.ok_or_else(|| self.unsupported(i, ""))?;
        if matches!(i.operands.first(), Some(Operand::Vector(_))) {
            return Err(self.unsupported(i, "a vector result"));
        }
        self.simple(i, run, to, &[from], aux)
    }
}

fn halves_to_bytes(format: &Format, aux: u16, a: u32) -> u32 {
    let byte = |shift: u32| narrow(format, aux, F16((a >> shift) as u16).to_f64());
    byte(0) | byte(16) << 8
}

fn bytes_to_halves(format: &Format, aux: u16, a: u32) -> u32 {
    let half = |shift: u32| {
        let x = F16::round(widen8(format, a >> shift & 0xff));
        u32::from(if aux & RELU != 0 { x.relu() } else { x }.bits())
    };
    half(0) | half(8) << 16
}
