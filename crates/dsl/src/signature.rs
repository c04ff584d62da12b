//! What of its arguments a kernel's code depends on.

use crate::tensor_arg::{DeviceId, TensorArg};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use warpsmith_ir::Type;
use warpsmith_types::DType;

/// Most kernels have no more facts than this: then a signature is made without an allocation.
pub(crate) type Facts = [Fact; 16];

/// What the code knows of one argument, or of one mode of the tensor before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    /// Its modes follow.
    Tensor {
        name: &'static str,
        dtype: DType,
        align: u8,
        modes: u8,
        reads: Reads,
    },
    Mode {
        name: &'static str,
        extent: ExtentFact,
        stride: StrideFact,
    },
    Scalar {
        name: &'static str,
        ty: Type,
    },
    Present(bool),
}

/// What is known of who writes a tensor while a kernel reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// The kernel itself may.
    Written,
    /// Not the kernel.
    Only,
    /// Nobody, also beside other launches.
    Constant,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ExtentFact {
    Fixed(usize),
    /// Of the dense mode a divisor is known, so that whole vectors are inside or outside; of others it is 1.
    Dynamic {
        divisor: u8,
    },
}

/// Divisors are capped at 16 elements: finer facts would only make more kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StrideFact {
    One,
    Narrow { divisor: u8 },
    Wide { divisor: u8 },
}

/// What the code depends on beyond the kernel's config. Two calls of equal signatures share a compiled kernel.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Signature {
    pub(crate) facts: SmallVec<Facts>,
}

impl Hash for Signature {
    /// Names are left out: kernels of one type have the same ones.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for fact in &self.facts {
            match *fact {
                Fact::Tensor { dtype, align, modes, reads, .. } => {
                    state.write_u32(u32::from_le_bytes([dtype as u8, align, modes, reads as u8]));
                }
                Fact::Mode { extent, stride, .. } => {
                    let stride = match stride {
                        StrideFact::One => 0,
                        StrideFact::Narrow { divisor } => u64::from(divisor) << 1,
                        StrideFact::Wide { divisor } => u64::from(divisor) << 1 | 1,
                    };
                    match extent {
                        ExtentFact::Fixed(n) => state.write_u64((n as u64) << 8 ^ stride),
                        ExtentFact::Dynamic { divisor } => state.write_u64(u64::from(divisor) << 56 | stride),
                    }
                }
                Fact::Scalar { ty, .. } => state.write_u8(ty as u8),
                Fact::Present(there) => state.write_u8(u8::from(there)),
            }
        }
    }
}

/// An argument of a launch that has been.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A tensor.
    Tensor(TensorArg),
    /// A float.
    F32(f32),
    /// A signed integer.
    I32(i32),
    /// An unsigned integer.
    U32(u32),
}

impl fmt::Display for Argument {
    /// `bf16 (32768, 4096) at 0x7f0000000000`, with strides where it is not dense.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Tensor(t) => {
                let list = |all: &[usize]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "{} ({})", t.dtype, list(&t.shape))?;
                if t.strides != TensorArg::new(0, t.device, t.dtype, &t.shape).strides {
                    write!(f, " of strides ({})", list(&t.strides))?;
                }
                write!(f, " at {:#x}", t.address)
            }
            Argument::F32(x) => write!(f, "{x:?}"),
            Argument::I32(x) => write!(f, "{x}"),
            Argument::U32(x) => write!(f, "{x}"),
        }
    }
}

impl Signature {
    /// Whether they are the same but for alignment, of addresses, strides, and extents that are read when the kernel runs;
    /// and for who else writes the tensors.
    pub fn is_like(&self, other: &Signature) -> bool {
        let coarse = |fact: &Fact| match *fact {
            Fact::Tensor { name, dtype, modes, .. } => {
                Fact::Tensor { name, dtype, align: 1, modes, reads: Reads::Written }
            }
            Fact::Mode { name, extent, stride } => {
                let extent = match extent {
                    ExtentFact::Fixed(n) => ExtentFact::Fixed(n),
                    ExtentFact::Dynamic { .. } => ExtentFact::Dynamic { divisor: 1 },
                };
                let stride = if stride == StrideFact::One { stride } else { StrideFact::Narrow { divisor: 1 } };
                Fact::Mode { name, extent, stride }
            }
            other => other,
        };
        self.facts.iter().map(coarse).eq(other.facts.iter().map(coarse))
    }

    /// The arguments of a launch with this signature, by their names, from its parameter block on a device. Those whose
    /// bytes are cut off are left out, and so are optional ones that were not there.
    pub fn arguments(&self, bytes: &[u8], device: DeviceId) -> Vec<(&'static str, Argument)> {
        let mut from = Bytes { bytes, at: 0 };
        let mut extents: Vec<(&'static str, usize)> = vec![];
        let mut all = vec![];
        let mut facts = self.facts.iter();
        while let Some(fact) = facts.next() {
            let next = match *fact {
                Fact::Present(_) | Fact::Mode { .. } => continue,
                Fact::Scalar { name, ty } => from.u32().map(|x| match ty {
                    Type::F32 => (name, Argument::F32(f32::from_bits(x))),
                    Type::I32 => (name, Argument::I32(x as i32)),
                    _ => (name, Argument::U32(x)),
                }),
                Fact::Tensor { name, dtype, modes, reads, .. } => (|| {
                    let (address, constant) = (from.u64()?, reads == Reads::Constant);
                    let (mut shape, mut strides) = (vec![], vec![]);
                    for _ in 0..modes {
                        let Some(Fact::Mode { name, extent, stride }) = facts.next() else { return None };
                        let known = extents.iter().find(|e| e.0 == *name).map(|e| e.1);
                        let n = match (extent, known) {
                            (ExtentFact::Fixed(n), _) => *n,
                            (_, Some(n)) => n,
                            _ => from.u32()? as usize,
                        };
                        if known.is_none() {
                            extents.push((name, n));
                        }
                        shape.push(n);
                        strides.push(match stride {
                            StrideFact::One => 1,
                            StrideFact::Narrow { .. } => from.u32()? as usize,
                            StrideFact::Wide { .. } => from.u64()? as usize,
                        });
                    }
                    Some((name, Argument::Tensor(TensorArg { address, device, dtype, shape, strides, constant })))
                })(),
            };
            let Some(next) = next else { break };
            all.push(next);
        }
        all
    }
}

/// Numbers out of a parameter block, each at its natural alignment.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let start = self.at.next_multiple_of(N);
        let found = self.bytes.get(start..start + N)?.first_chunk()?;
        self.at = start + N;
        Some(*found)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
