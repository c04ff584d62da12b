//! How a kernel gets its arguments back.

use crate::dim::{Dim, Stride};
use crate::signature::{ExtentFact, Fact, Facts, Reads, Signature, StrideFact};
use crate::tensor::{Mode, Tensor};
use crate::trace::with;
use crate::value::{F32, I32, Scalar, U32, U64};
use std::panic::Location;
use warpsmith_ir::{Op, Param, Pointer};

/// Hands the parameters out again, in the order they were described, as run-time values.
pub struct Receiver {
    facts: smallvec::IntoIter<Facts>,
    extents: Vec<(&'static str, Dim)>,
    /// Whether nothing else runs that may write what the kernel only reads.
    alone: bool,
}

impl Receiver {
    /// For a signature; inside a trace.
    pub fn new(signature: &Signature) -> Receiver {
        Receiver { facts: signature.facts.clone().into_iter(), extents: vec![], alone: true }
    }

    /// For a kernel that may start while the launch before still writes what it reads: then only what is promised to be
    /// constant is read-only for as long as it runs, which `ld.global.nc` asks for.
    pub(crate) fn beside_others(signature: &Signature) -> Receiver {
        Receiver { alone: false, ..Receiver::new(signature) }
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
        let Some(Fact::Tensor { name, dtype, align, modes, reads }) = self.facts.next() else {
            panic!("`receive` takes what `describe` gave: expected a tensor");
        };
        let read_only = match reads {
            Reads::Written => false,
            Reads::Only => self.alone,
            Reads::Constant => true,
        };
        let address = self.parameter::<U64>(name.into(), Some(Pointer { tensor: name.into(), align: align.into() }));
        let mut all = vec![];
        for i in 0..modes {
            let Some(Fact::Mode { name: extent, extent: fact, stride }) = self.facts.next() else {
                panic!("a signature lists a tensor's modes behind it");
            };
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
        match self.facts.next() {
            Some(Fact::Scalar { name, ty }) if ty == T::TYPE => self.parameter(name.into(), None),
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
        match self.facts.next() {
            Some(Fact::Present(there)) => there.then(|| get(self)),
            _ => panic!("`receive` takes what `describe` gave: expected an option"),
        }
    }
}
