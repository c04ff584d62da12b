//! Arguments: what the host passes, checked, described and packed. A launch does this each time, so that nothing here
//! allocates for the number of arguments that kernels have.

use crate::argument_error::ArgumentError;
use crate::receiver::Receiver;
use crate::signature::{ExtentFact, Fact, Reads, Signature, StrideFact};
use crate::tensor_arg::{DeviceId, TensorArg};
use smallvec::SmallVec;
use warpsmith_ir::Type;
use warpsmith_types::DType;

/// How an extent enters the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// Folded into the code: another extent is another kernel.
    Fixed,
    /// Read when the kernel runs.
    Dynamic,
}

/// The arguments of one launch: their signature, the parameter bytes, and what is wrong with them.
#[derive(Clone, Default, Debug)]
pub struct Arguments {
    signature: Signature,
    bytes: SmallVec<[u8; 128]>,
    tensors: SmallVec<[Described; 6]>,
    /// Of all tensors, one after the other.
    modes: SmallVec<[DescribedMode; 12]>,
    errors: Vec<ArgumentError>,
}

/// A tensor as it was passed.
#[derive(Clone, Copy, Debug)]
struct Described {
    name: &'static str,
    address: u64,
    span: u64,
    device: DeviceId,
    dtype: DType,
    output: bool,
    constant: bool,
    /// Of its modes in the list of all, and of itself in the signature.
    first: u16,
    fact: u16,
    modes: u16,
}

/// A mode as it was passed.
#[derive(Clone, Copy, Debug)]
struct DescribedMode {
    extent: &'static str,
    n: usize,
    stride: usize,
    /// The tensor that has it, an index.
    of: u16,
}

impl Arguments {
    /// Describes a kernel's arguments.
    pub fn of<P: Params>(host: &P::Host<'_>) -> Arguments {
        let mut a = Arguments::default();
        P::describe(host, &mut a);
        a
    }

    /// What the code depends on.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The kernel's parameter block: each parameter at its natural alignment, in the order that [`Receiver`] declares.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The tensors with their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&'static str, TensorArg)> {
        self.tensors.iter().map(|t| {
            let Described { name, address, device, dtype, constant, .. } = *t;
            let (shape, strides) = self.modes_of(t).iter().map(|m| (m.n, m.stride)).unzip();
            (name, TensorArg { address, device, dtype, shape, strides, constant })
        })
    }

    /// The first tensor that is not on `device`, with where it is.
    pub fn elsewhere(&self, device: DeviceId) -> Option<(&'static str, DeviceId)> {
        self.tensors.iter().find(|t| t.device != device).map(|t| (t.name, t.device))
    }

    /// What is wrong with them.
    pub fn errors(&self) -> &[ArgumentError] {
        &self.errors
    }

    fn modes_of(&self, t: &Described) -> &[DescribedMode] {
        &self.modes[usize::from(t.first)..][..usize::from(t.modes)]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes.len()), 0);
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a tensor; `modes` name its extents and say how they enter the kernel. Strides along all modes but the last
    /// are read when the kernel runs; the last is dense.
    pub fn tensor(&mut self, name: &'static str, t: &TensorArg, modes: &[(&'static str, Extent)], output: bool) {
        self.add(name, t, modes, (output, false));
    }

    /// Adds an input of which the kernel makes use that it is [constant](TensorArg::constant), where that is promised.
    pub fn constant(&mut self, name: &'static str, t: &TensorArg, modes: &[(&'static str, Extent)]) {
        self.add(name, t, modes, (false, t.constant));
    }

    fn add(
        &mut self,
        name: &'static str,
        t: &TensorArg,
        modes: &[(&'static str, Extent)],
        (output, constant): (bool, bool),
    ) {
        if t.shape.len() != modes.len() || t.strides.len() != modes.len() {
            let names = modes.iter().map(|m| m.0).collect::<Vec<_>>().join(", ");
            self.errors.push(ArgumentError::Rank { name, expected: modes.len(), modes: names, shape: t.shape.clone() });
            return;
        }
        self.check(name, t, modes, output);
        let here = Described {
            name,
            address: t.address,
            span: t.span(),
            device: t.device,
            dtype: t.dtype,
            output,
            constant,
            first: self.modes.len() as u16,
            fact: self.signature.facts.len() as u16,
            modes: modes.len() as u16,
        };
        let reads = match self.share(&here, t) && !output {
            true if constant => Reads::Constant,
            true => Reads::Only,
            false => Reads::Written,
        };
        // What the widest access wants.
        let align = divisor(t.address as usize, 32).max(t.dtype.bytes() as u8);
        let fact = Fact::Tensor { name, dtype: t.dtype, align, modes: modes.len() as u8, reads };
        self.signature.facts.push(fact);
        self.push(&t.address.to_le_bytes());
        for (i, (&(extent, kind), (&n, &stride))) in modes.iter().zip(t.shape.iter().zip(&t.strides)).enumerate() {
            let (first, last) = (!self.modes.iter().any(|m| m.extent == extent), i + 1 == modes.len());
            self.modes.push(DescribedMode { extent, n, stride, of: self.tensors.len() as u16 });
            let extent_fact = match kind {
                Extent::Fixed => ExtentFact::Fixed(n),
                Extent::Dynamic => {
                    if first {
                        self.push(&(n as u32).to_le_bytes());
                    }
                    ExtentFact::Dynamic { divisor: if last { divisor(n, 16) } else { 1 } }
                }
            };
            let stride_fact = if last {
                StrideFact::One
            } else if stride < 1 << 31 {
                self.push(&(stride as u32).to_le_bytes());
                StrideFact::Narrow { divisor: divisor(stride, 16) }
            } else {
                self.push(&(stride as u64).to_le_bytes());
                StrideFact::Wide { divisor: divisor(stride, 16) }
            };
            self.signature.facts.push(Fact::Mode { name: extent, extent: extent_fact, stride: stride_fact });
        }
        self.tensors.push(here);
    }

    fn check(&mut self, name: &'static str, t: &TensorArg, modes: &[(&'static str, Extent)], output: bool) {
        if let Some(&Described { name: other, device, .. }) = self.tensors.first()
            && device != t.device
        {
            let (got, expected) = (t.device.0, device.0);
            self.errors.push(ArgumentError::Device { name, got, other, expected });
        }
        let bytes = t.dtype.bytes();
        if !t.address.is_multiple_of(bytes as u64) {
            self.errors.push(ArgumentError::Misaligned { name, address: t.address, bytes, dtype: t.dtype });
        }
        let mut within = 1;
        for (i, &(extent, _)) in modes.iter().enumerate().rev() {
            let (n, stride) = (t.shape[i], t.strides[i]);
            if let Some(&DescribedMode { n: expected, of, .. }) = self.modes.iter().find(|m| m.extent == extent)
                && expected != n
            {
                let other = self.tensors.get(usize::from(of)).map_or("", |t| t.name);
                self.errors.push(ArgumentError::Disagree { name, extent, got: n, other, expected });
            }
            if n >= 1 << 31 {
                self.errors.push(ArgumentError::TooLarge { name, extent, got: n });
            }
            if n > 1 && i + 1 == modes.len() && stride != 1 {
                self.errors.push(ArgumentError::InnerStride { name, extent, got: stride });
            } else if output && n > 1 && stride < within {
                // Inputs may be broadcast; two writers of one element would race.
                self.errors.push(ArgumentError::Overlapping { name, extent, got: stride, expected: within });
            }
            within = within.max(stride.saturating_mul(n));
        }
    }

    /// Finds the tensors so far that have memory in common with one of which one of both is written. Where it is exactly the
    /// same memory (in place) loads are ordinary ones; anything between is an error. Says whether no output shares with it.
    fn share(&mut self, here: &Described, t: &TensorArg) -> bool {
        let mut clean = true;
        for other in &self.tensors {
            let apart = other.address + other.span <= here.address || here.address + here.span <= other.address;
            if apart || other.device != here.device || !(other.output || here.output) {
                continue;
            }
            clean &= !other.output;
            let same = other.address == here.address
                && other.dtype == here.dtype
                && self.modes_of(other).iter().map(|m| (m.n, m.stride)).eq(t
                    .shape
                    .iter()
                    .copied()
                    .zip(t.strides.iter().copied()));
            if !same {
                let (output, input) = if here.output { (here.name, other.name) } else { (other.name, here.name) };
                self.errors.push(ArgumentError::Alias { output, input });
            }
            if here.output
                && let Some(Fact::Tensor { reads, .. }) = self.signature.facts.get_mut(usize::from(other.fact))
            {
                *reads = Reads::Written;
            }
        }
        clean
    }

    /// Adds a float.
    pub fn f32(&mut self, name: &'static str, x: f32) {
        self.push(&x.to_le_bytes());
        self.signature.facts.push(Fact::Scalar { name, ty: Type::F32 });
    }

    /// Adds a signed integer.
    pub fn i32(&mut self, name: &'static str, x: i32) {
        self.push(&x.to_le_bytes());
        self.signature.facts.push(Fact::Scalar { name, ty: Type::I32 });
    }

    /// Adds an unsigned integer, of at most 32 bits.
    pub fn usize(&mut self, name: &'static str, x: usize) {
        match u32::try_from(x) {
            Ok(x) => self.push(&x.to_le_bytes()),
            Err(_) => self.errors.push(ArgumentError::TooLarge { name, extent: name, got: x }),
        }
        self.signature.facts.push(Fact::Scalar { name, ty: Type::U32 });
    }

    /// Notes whether an optional argument is there, and returns that.
    pub fn optional(&mut self, present: bool) -> bool {
        self.signature.facts.push(Fact::Present(present));
        present
    }

    /// Adds what a kernel says of its own arguments.
    pub fn expect(&mut self, name: &'static str, holds: bool, expected: impl Into<String>, got: impl ToString) {
        if !holds {
            let (expected, got) = (expected.into(), got.to_string());
            self.errors.push(ArgumentError::Unexpected { name, expected, got });
        }
    }
}

/// The greatest power of two up to `most`, itself one, that divides `n`; `most` for 0.
fn divisor(n: usize, most: usize) -> u8 {
    1 << n.trailing_zeros().min(most.trailing_zeros())
}

/// The device's side of an argument struct; `#[derive(KernelArgs)]` writes it.
pub trait Params: Sized {
    /// The host's side.
    type Host<'a>;
    /// Lists the host's arguments.
    fn describe(host: &Self::Host<'_>, arguments: &mut Arguments);
    /// Takes them back as run-time values, in the same order.
    fn receive(receiver: &mut Receiver) -> Self;
}

impl Params for () {
    type Host<'a> = ();
    fn describe(_: &(), _: &mut Arguments) {}
    fn receive(_: &mut Receiver) {}
}
