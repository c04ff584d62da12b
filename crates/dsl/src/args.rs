//! Arguments: what the host passes, what of it the code depends on, and how the kernel gets it back.

use crate::argument_error::ArgumentError;
use crate::dim::{Dim, Stride, gcd};
use crate::tensor::{Mode, Tensor};
use crate::trace::with;
use crate::value::{F32, I32, Scalar, U32, U64};
use std::panic::Location;
use warpsmith_ir::{Op, Param, Pointer, Type};
use warpsmith_types::DType;

/// Which device memory is on. The runtime numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(pub u32);

/// A tensor as a launch takes it: an address and how to read what is there. It owns nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorArg {
    /// Of the first element, on the device.
    pub address: u64,
    /// Where the memory is.
    pub device: DeviceId,
    /// Of the elements.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Distances between neighbours, in elements; as many as extents.
    pub strides: Vec<usize>,
}

impl TensorArg {
    /// A dense row-major tensor.
    pub fn new(address: u64, device: DeviceId, dtype: DType, shape: &[usize]) -> TensorArg {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        TensorArg { address, device, dtype, shape: shape.into(), strides }
    }

    /// The extent of a mode; 0 where there is none.
    pub fn dim(&self, mode: usize) -> usize {
        self.shape.get(mode).copied().unwrap_or(0)
    }

    /// Bytes from the first element to past the last.
    pub fn span(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        let last: usize = self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum();
        (last as u64 + 1) * self.dtype.bytes() as u64
    }

    /// Whether both have memory in common.
    pub fn overlaps(&self, other: &TensorArg) -> bool {
        self.device == other.device
            && self.address < other.address + other.span()
            && other.address < self.address + self.span()
    }
}

/// How an extent enters the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// Folded into the code: another extent is another kernel.
    Fixed,
    /// Read when the kernel runs.
    Dynamic,
}

/// What the code knows of one argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Entry {
    Tensor {
        name: &'static str,
        dtype: DType,
        align: u32,
        modes: Vec<(&'static str, ExtentFact, StrideFact)>,
        read_only: bool,
    },
    Scalar {
        name: &'static str,
        ty: Type,
    },
    Present(bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ExtentFact {
    Fixed(usize),
    /// Of the dense mode a divisor is known, so that whole vectors are inside or outside; of others it is 1.
    Dynamic {
        divisor: u32,
    },
}

/// Divisors are capped at 16 elements: finer facts would only make more kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum StrideFact {
    One,
    Narrow { divisor: u32 },
    Wide { divisor: u32 },
}

/// What the code depends on beyond the kernel's config. Two calls of equal signatures share a compiled kernel.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    entries: Vec<Entry>,
}

/// The arguments of one launch: their signature, the parameter bytes, and what is wrong with them.
#[derive(Clone, Default, Debug)]
pub struct Arguments {
    signature: Signature,
    bytes: Vec<u8>,
    tensors: Vec<(&'static str, TensorArg, bool)>,
    extents: Vec<(&'static str, usize, &'static str)>,
    errors: Vec<ArgumentError>,
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
    pub fn tensors(&self) -> impl Iterator<Item = (&'static str, &TensorArg)> {
        self.tensors.iter().map(|(name, t, _)| (*name, t))
    }

    /// What is wrong with them.
    pub fn errors(&self) -> &[ArgumentError] {
        &self.errors
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes.len()), 0);
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a tensor; `modes` name its extents and say how they enter the kernel. Strides along all modes but the last
    /// are read when the kernel runs; the last is dense.
    pub fn tensor(&mut self, name: &'static str, t: &TensorArg, modes: &[(&'static str, Extent)], output: bool) {
        if t.shape.len() != modes.len() || t.strides.len() != modes.len() {
            let names = modes.iter().map(|m| m.0).collect::<Vec<_>>().join(", ");
            self.errors.push(ArgumentError::Rank { name, expected: modes.len(), modes: names, shape: t.shape.clone() });
            return;
        }
        self.check(name, t, modes);
        let read_only = !output && self.is_not_written(name, t);
        if output {
            self.mark_written(name, t);
        }
        let bytes = t.dtype.bytes();
        self.push(&t.address.to_le_bytes());
        let mut facts = vec![];
        for (i, &(extent, kind)) in modes.iter().enumerate() {
            let n = t.shape[i];
            let first = !self.extents.iter().any(|e| e.0 == extent);
            if first {
                self.extents.push((extent, n, name));
            }
            let fact = match kind {
                Extent::Fixed => ExtentFact::Fixed(n),
                Extent::Dynamic => {
                    if first {
                        self.push(&(n as u32).to_le_bytes());
                    }
                    ExtentFact::Dynamic { divisor: if i + 1 == modes.len() { gcd(n as i64, 16) as u32 } else { 1 } }
                }
            };
            let stride = t.strides[i];
            let divisor = gcd(stride as i64, 16) as u32;
            let stride_fact = if i + 1 == modes.len() {
                StrideFact::One
            } else if stride < 1 << 31 {
                self.push(&(stride as u32).to_le_bytes());
                StrideFact::Narrow { divisor }
            } else {
                self.push(&(stride as u64).to_le_bytes());
                StrideFact::Wide { divisor }
            };
            facts.push((extent, fact, stride_fact));
        }
        // What the widest access wants.
        let align = gcd(t.address as i64, 32).max(bytes as i64) as u32;
        self.tensors.push((name, t.clone(), output));
        self.signature.entries.push(Entry::Tensor { name, dtype: t.dtype, align, modes: facts, read_only });
    }

    fn check(&mut self, name: &'static str, t: &TensorArg, modes: &[(&'static str, Extent)]) {
        if let Some((other, first, _)) = self.tensors.first()
            && first.device != t.device
        {
            let (got, expected) = (t.device.0, first.device.0);
            self.errors.push(ArgumentError::Device { name, got, other, expected });
        }
        let bytes = t.dtype.bytes();
        if !t.address.is_multiple_of(bytes as u64) {
            self.errors.push(ArgumentError::Misaligned { name, address: t.address, bytes, dtype: t.dtype });
        }
        let mut within = 1;
        for (i, &(extent, _)) in modes.iter().enumerate().rev() {
            let (n, stride) = (t.shape[i], t.strides[i]);
            if let Some(&(_, expected, other)) = self.extents.iter().find(|e| e.0 == extent)
                && expected != n
            {
                self.errors.push(ArgumentError::Disagree { name, extent, got: n, other, expected });
            }
            if n >= 1 << 31 {
                self.errors.push(ArgumentError::TooLarge { name, extent, got: n });
            }
            if n > 1 && i + 1 == modes.len() && stride != 1 {
                self.errors.push(ArgumentError::InnerStride { name, extent, got: stride });
            } else if n > 1 && stride < within {
                self.errors.push(ArgumentError::Overlapping { name, extent, got: stride, expected: within });
            }
            within = within.max(stride.saturating_mul(n));
        }
    }

    /// No output so far has memory in common with this input. An output that is exactly the input (in place) makes it an
    /// ordinary load; anything between is an error.
    fn is_not_written(&mut self, name: &'static str, t: &TensorArg) -> bool {
        let mut clean = true;
        for (output, other, written) in &self.tensors {
            if *written && t.overlaps(other) {
                clean = false;
                if t != other {
                    self.errors.push(ArgumentError::Alias { output, input: name });
                }
            }
        }
        clean
    }

    fn mark_written(&mut self, name: &'static str, t: &TensorArg) {
        for (input, other, _) in &self.tensors {
            if !t.overlaps(other) {
                continue;
            }
            if t != other {
                self.errors.push(ArgumentError::Alias { output: name, input });
            }
            for e in &mut self.signature.entries {
                if let Entry::Tensor { name, read_only, .. } = e
                    && name == input
                {
                    *read_only = false;
                }
            }
        }
    }

    /// Adds a float.
    pub fn f32(&mut self, name: &'static str, x: f32) {
        self.push(&x.to_le_bytes());
        self.signature.entries.push(Entry::Scalar { name, ty: Type::F32 });
    }

    /// Adds a signed integer.
    pub fn i32(&mut self, name: &'static str, x: i32) {
        self.push(&x.to_le_bytes());
        self.signature.entries.push(Entry::Scalar { name, ty: Type::I32 });
    }

    /// Adds an unsigned integer, of at most 32 bits.
    pub fn usize(&mut self, name: &'static str, x: usize) {
        match u32::try_from(x) {
            Ok(x) => self.push(&x.to_le_bytes()),
            Err(_) => self.errors.push(ArgumentError::TooLarge { name, extent: name, got: x }),
        }
        self.signature.entries.push(Entry::Scalar { name, ty: Type::U32 });
    }

    /// Notes whether an optional argument is there, and returns that.
    pub fn optional(&mut self, present: bool) -> bool {
        self.signature.entries.push(Entry::Present(present));
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

/// Hands the parameters out again, in the order they were described, as run-time values.
pub struct Receiver {
    entries: std::vec::IntoIter<Entry>,
    extents: Vec<(&'static str, Dim)>,
}

impl Receiver {
    /// For a signature; inside a trace.
    pub fn new(signature: &Signature) -> Receiver {
        Receiver { entries: signature.entries.clone().into_iter(), extents: vec![] }
    }

    #[track_caller]
    fn parameter<T: Scalar>(&mut self, name: String, pointer: Option<Pointer>) -> T {
        let at = Location::caller();
        T::from_handle(with(|t| {
            t.kernel.params.push(Param { pointer, ..Param::number(name, T::TYPE) });
            let index = t.kernel.params.len() as u32 - 1;
            t.record(Op::Param(index), &[], &[T::TYPE], at)[0]
        }))
    }

    /// The next parameter, a tensor.
    #[track_caller]
    pub fn tensor(&mut self) -> Tensor {
        let Some(Entry::Tensor { name, dtype, align, modes, read_only }) = self.entries.next() else {
            panic!("`receive` takes what `describe` gave: expected a tensor");
        };
        let address = self.parameter::<U64>(name.into(), Some(Pointer { tensor: name.into(), align }));
        let mut all = vec![];
        for (i, (extent, fact, stride)) in modes.into_iter().enumerate() {
            let known = self.extents.iter().find(|e| e.0 == extent).map(|e| e.1);
            let dim = match (fact, known) {
                (ExtentFact::Fixed(n), _) => Dim::from(n),
                (ExtentFact::Dynamic { divisor }, Some(Dim::Dynamic { value, divisor: known })) => {
                    Dim::Dynamic { value, divisor: known.max(divisor.into()) }
                }
                (ExtentFact::Dynamic { .. }, Some(d)) => d,
                (ExtentFact::Dynamic { divisor }, None) => {
                    Dim::Dynamic { value: self.parameter(extent.into(), None), divisor: divisor.into() }
                }
            };
            if known.is_none() {
                self.extents.push((extent, dim));
            }
            let stride = match stride {
                StrideFact::One => Stride::Static(1),
                StrideFact::Narrow { divisor } => {
                    Stride::Narrow { value: self.parameter(format!("{name}_stride{i}"), None), divisor: divisor.into() }
                }
                StrideFact::Wide { divisor } => {
                    Stride::Wide { value: self.parameter(format!("{name}_stride{i}"), None), divisor: divisor.into() }
                }
            };
            all.push(Mode { extent: dim, stride, bound: None });
        }
        Tensor { name: name.into(), address, align: align.into(), dtype, modes: all, read_only, is_view: false }
    }

    #[track_caller]
    fn scalar<T: Scalar>(&mut self) -> T {
        match self.entries.next() {
            Some(Entry::Scalar { name, ty }) if ty == T::TYPE => self.parameter(name.into(), None),
            _ => panic!("`receive` takes what `describe` gave: expected a scalar of {}", T::TYPE),
        }
    }

    /// The next parameter, a float.
    #[track_caller]
    pub fn f32(&mut self) -> F32 {
        self.scalar()
    }

    /// The next parameter, a signed integer.
    #[track_caller]
    pub fn i32(&mut self) -> I32 {
        self.scalar()
    }

    /// The next parameter, an unsigned integer.
    #[track_caller]
    pub fn usize(&mut self) -> U32 {
        self.scalar()
    }

    /// The next parameter, when it is there.
    pub fn optional<T>(&mut self, get: impl FnOnce(&mut Receiver) -> T) -> Option<T> {
        match self.entries.next() {
            Some(Entry::Present(there)) => there.then(|| get(self)),
            _ => panic!("`receive` takes what `describe` gave: expected an option"),
        }
    }
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
