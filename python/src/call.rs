//! A call of an operator: where its tensors are decides what runs.

use crate::device::Device;
use crate::error::{Failure, judge, unexpected};
use crate::operand::Operand;
use crate::parameter::Parameter;
use crate::place::Place;
use crate::stage::Staged;
use crate::stream::{Borrowed, Source};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::{FxHashSet, FxHasher};
use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::sync::OnceLock;
use warpsmith::dsl::{ArgumentError, TensorArg};
use warpsmith::runtime::{self, LaunchError, LaunchOutcome, Stream};
use warpsmith::types::{Chip, DType};

/// An operator's tensors, in the order of its parameters; those that were not given are `None`.
pub(crate) type Tensors<'a, const T: usize> = [Option<&'a mut TensorArg>; T];

/// What an operator does.
pub(crate) trait Operator<const T: usize> {
    /// Its tensors.
    const PARAMETERS: [Parameter; T];

    /// Other parameters that kernels call otherwise: their names there and in Python.
    const SCALARS: &'static [(&'static str, &'static str)] = &[];

    /// Differs where numbers among the arguments take another kernel.
    fn variant(&self) -> u64 {
        0
    }

    /// Makes of tensors as they came what its kernels take: of any rank, rows.
    fn collapse(&self, _tensors: Tensors<'_, T>) {}

    /// Queues its kernels.
    fn launch(&self, tensors: Tensors<'_, T>, stream: &Stream) -> Result<LaunchOutcome, LaunchError>;

    /// Computes the same in float64, of tensors that `launch` would take.
    ///
    /// # Safety
    /// The tensors' elements are in the host's memory, and nobody else's during the call.
    unsafe fn reference(&self, tensors: Tensors<'_, T>) -> Result<(), ArgumentError>;
}

thread_local! {
    /// Arguments whose vectors are used again: a call allocates none.
    static SCRATCH: Cell<Vec<TensorArg>> = const { Cell::new(Vec::new()) };
    /// Calls that were seen before, and so compile nothing.
    static SEEN: RefCell<FxHashSet<u64>> = RefCell::new(FxHashSet::default());
}

/// Calls that are remembered.
const REMEMBERED: usize = 4096;

/// A call, as far as it is known when its tensors have been read.
struct Read<const T: usize> {
    args: Vec<TensorArg>,
    given: [bool; T],
    /// Of the first tensor; all others' too.
    place: Place,
    source: Source,
    /// What must live until the call is over.
    keep: Vec<Py<PyAny>>,
    /// Some of it may be used for something else as soon as it is let go.
    wait: bool,
}

/// Runs an operator on the tensors of a call.
pub(crate) fn run<const T: usize, O: Operator<T> + Sync>(
    py: Python<'_>,
    operator: &O,
    objects: [*mut ffi::PyObject; T],
    stream: Option<u64>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let mut args = SCRATCH.take();
    args.resize_with(T.max(args.len()), || TensorArg::new(0, Place::Host.id(), DType::F32, &[]));
    let mut call = Read { args, given: [false; T], place: Place::Host, source: Source::Own, keep: vec![], wait: false };
    let parameters = &O::PARAMETERS;
    let done = call.read(py, objects, stream, parameters).and_then(|()| {
        operator.collapse(call.tensors());
        call.dispatch(py, operator, stream, device)
    });
    SCRATCH.set(call.args);
    done.map_err(|e| {
        let tensors = parameters.iter().map(|p| (p.in_kernel, p.name));
        e.raise(py, &tensors.chain(O::SCALARS.iter().copied()).collect::<Vec<_>>())
    })
}

/// The arguments that were given.
fn given<const T: usize>(args: &mut [TensorArg], given: [bool; T]) -> Tensors<'_, T> {
    let mut args = args.iter_mut();
    given.map(|given| args.next().filter(|_| given))
}

impl<const T: usize> Read<T> {
    fn read(
        &mut self,
        py: Python<'_>,
        objects: [*mut ffi::PyObject; T],
        stream: Option<u64>,
        parameters: &[Parameter; T],
    ) -> Result<(), Failure> {
        let mut first: Option<&'static str> = None;
        for (i, (object, parameter)) in objects.into_iter().zip(parameters).enumerate() {
            // SAFETY: None lives for ever.
            if object.is_null() || object == unsafe { ffi::Py_None() } {
                if !parameter.optional {
                    return Err(
                        PyTypeError::new_err(format!("`{}`: expected a tensor, got None", parameter.name)).into()
                    );
                }
                continue;
            }
            // SAFETY: an argument of the call, alive until it returns.
            let object = unsafe { Bound::ref_from_ptr(py, &object) };
            let operand = Operand::read(object, parameter.name, stream, &mut self.args[i])?;
            if parameter.output && operand.read_only {
                return Err(unexpected(parameter.name, "memory to write to", "memory that can only be read").into());
            }
            match first {
                None => {
                    (self.place, self.source) = (operand.place, operand.source);
                    first = Some(parameter.name);
                }
                Some(first) if operand.place != self.place => {
                    let expected = format!("memory of {}, as `{first}`", self.place.name());
                    return Err(unexpected(parameter.name, expected, operand.place.name()).into());
                }
                Some(_) => {}
            }
            self.given[i] = true;
            if let Some(keep) = operand.keep {
                self.keep.push(keep);
                self.wait |= operand.source.is_unknown();
            }
        }
        Ok(())
    }

    fn tensors(&mut self) -> Tensors<'_, T> {
        given(&mut self.args, self.given)
    }

    fn dispatch<O: Operator<T> + Sync>(
        &mut self,
        py: Python<'_>,
        operator: &O,
        stream: Option<u64>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> Result<(), Failure> {
        let asked = match device {
            None => None,
            Some(device) => match device.cast::<Device>() {
                Ok(device) => Some(device.get().place),
                Err(_) => return Err(PyTypeError::new_err("`device`: expected a warpsmith.Device").into()),
            },
        };
        match (self.place, asked) {
            (Place::Host, None) => self.on_host(py, operator),
            (Place::Host, Some(place)) => self.copied(py, operator, place),
            (here, Some(there)) if here != there => {
                let expected = format!("memory of {}, or of the host", there.name());
                Err(unexpected(O::PARAMETERS[0].in_kernel, expected, here.name()).into())
            }
            (Place::Card(card), _) => self.on_card(py, operator, card, stream),
            (Place::Emulated(_), _) => {
                let Some(device) = self.place.device()? else { return Ok(()) };
                let tensors = self.tensors();
                let outcome = py.detach(|| operator.launch(tensors, &device.default_stream()))?;
                Ok(judge(py, &outcome)?)
            }
        }
    }

    /// Queues kernels on the caller's stream. While something may be compiled, other threads go on.
    fn on_card<O: Operator<T> + Sync>(
        &mut self,
        py: Python<'_>,
        operator: &O,
        card: u32,
        stream: Option<u64>,
    ) -> Result<(), Failure> {
        let Some(device) = Place::Card(card).device()? else { return Ok(()) };
        let handle = stream.map_or_else(|| self.source.current(py, card), Ok)?;
        let borrowed = Borrowed::new(&device, handle)?;
        let Some(stream) = borrowed.stream() else { return Ok(()) };
        let (key, wait) = (self.key(operator), self.wait);
        let tensors = self.tensors();
        if wait || !SEEN.with_borrow(|seen| seen.contains(&key)) {
            py.detach(|| {
                operator.launch(tensors, stream)?;
                if wait { stream.synchronize().map(drop).map_err(LaunchError::from) } else { Ok(()) }
            })?;
            SEEN.with_borrow_mut(|seen| {
                if seen.len() >= REMEMBERED {
                    seen.clear();
                }
                seen.insert(key);
            });
        } else {
            operator.launch(tensors, stream)?;
        }
        Ok(())
    }

    /// The reference, after all that a card would refuse has been refused.
    fn on_host<O: Operator<T> + Sync>(&mut self, py: Python<'_>, operator: &O) -> Result<(), Failure> {
        static CHECKING: OnceLock<runtime::Device> = OnceLock::new();
        let device = CHECKING.get_or_init(|| runtime::Device::idle(Chip::H200));
        for arg in &mut self.args {
            arg.device = device.info().id.into();
        }
        let tensors = self.tensors();
        py.detach(|| operator.launch(tensors, &device.default_stream()))?;
        let tensors = self.tensors();
        // SAFETY: the objects of the call are kept by it, and by Python's own custom nobody writes an argument meanwhile.
        Ok(py.detach(|| unsafe { operator.reference(tensors) })?)
    }

    /// On copies that a device has.
    fn copied<O: Operator<T> + Sync>(&mut self, py: Python<'_>, operator: &O, place: Place) -> Result<(), Failure> {
        let Some(device) = place.device()? else { return Ok(()) };
        let (args, there) = (&mut self.args, self.given);
        let outcome = py.detach(|| -> Result<_, Failure> {
            let pairs = O::PARAMETERS.iter().zip(given(args, there)).filter_map(|(p, arg)| Some((p, arg?)));
            // SAFETY: as `on_host` has it.
            let staged = unsafe { Staged::new(&device, pairs) }?;
            let outcome = operator.launch(given(args, there), &device.default_stream())?;
            if !outcome.has_errors() {
                // SAFETY: as above.
                unsafe { staged.give_back() }?;
            }
            Ok(outcome)
        })?;
        Ok(judge(py, &outcome)?)
    }

    /// Equal for calls that take the same kernels: all that they are chosen by, and not more than that where it differs
    /// from call to call.
    fn key<O: Operator<T>>(&self, operator: &O) -> u64 {
        let mut hasher = FxHasher::default();
        // Its address tells operators apart.
        hasher.write_usize(std::any::type_name::<O>().as_ptr() as usize);
        hasher.write_u64(operator.variant());
        for (arg, given) in self.args.iter().take(T).zip(self.given) {
            hasher.write_u8(u8::from(given));
            if !given {
                continue;
            }
            hasher.write_u64((arg.dtype as u64) << 32 | u64::from(arg.device.0));
            hasher.write_u32(arg.address.trailing_zeros().min(5));
            for (i, (n, stride)) in arg.shape.iter().zip(&arg.strides).enumerate() {
                hasher.write_usize(if i == 0 { n.checked_ilog2().map_or(0, |l| l as usize + 1) } else { *n });
                hasher.write_u32(stride.trailing_zeros().min(4));
            }
        }
        hasher.finish()
    }
}
