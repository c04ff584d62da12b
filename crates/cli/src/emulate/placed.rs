//! Arguments in the memory of the emulated machine, and what became of them.

use super::argument::{Argument, Contents, Value};
use super::values::{self, Fill};
use crate::failure::Failure;
use crate::tensor_file::Tensor;
use warpsmith::runtime::Error;
use warpsmith_emulator::{ArgumentInfo, DevicePointer, Manifest, Program, System};
use warpsmith_ptx::{Function, Parameter};
use warpsmith_types::DType;

/// Elements that are asked about at once.
const RUN: usize = 1024;

/// The arguments of a launch: their parameter bytes, and the tensors.
pub(super) struct Placed {
    pub(super) parameters: Vec<u8>,
    pub(super) tensors: Vec<PlacedTensor>,
}

/// A tensor in the machine's memory.
pub(super) struct PlacedTensor {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pointer: DevicePointer,
    /// What it held before the launch; `None` for nothing.
    before: Option<Vec<u8>>,
}

/// What a tensor holds after the launch.
pub(super) struct After {
    pub(super) bytes: Vec<u8>,
    /// Whether the launch changed it.
    pub(super) changed: bool,
    /// Elements that nothing ever wrote.
    pub(super) unwritten: usize,
}

impl Placed {
    /// Checks arguments against the kernel's parameters and places them.
    pub(super) fn new(
        arguments: &[Argument],
        kernel: &Function,
        program: &Program,
        system: &mut System,
    ) -> Result<Placed, Failure> {
        if arguments.len() != kernel.parameters.len() {
            return Err(Failure::Option(mismatch(arguments, kernel)));
        }
        let mut parameters = vec![0; program.parameter_bytes() as usize];
        let mut tensors = vec![];
        for (index, (argument, parameter)) in arguments.iter().zip(&kernel.parameters).enumerate() {
            let name = argument.name.clone().unwrap_or_else(|| parameter.name.clone());
            if tensors.iter().any(|t: &PlacedTensor| t.name == name) {
                return Err(Failure::Option(format!("--arg {}: there is another tensor `{name}`", argument.text)));
            }
            let bytes = match &argument.value {
                Value::Scalar { bytes, .. } => bytes.clone(),
                Value::Tensor { dtype, shape, contents } => {
                    let tensor = place(name, *dtype, shape, contents, index, system)?;
                    let pointer = tensor.pointer.0.to_le_bytes().to_vec();
                    tensors.push(tensor);
                    pointer
                }
            };
            let wrong = || Failure::Option(format!("--arg {}: {}", argument.text, unfit(argument, parameter)));
            let place = program.parameters().nth(index).filter(|(_, _, size)| *size as usize == bytes.len());
            let (_, offset, size) = place.ok_or_else(wrong)?;
            let room = parameters.get_mut(offset as usize..(offset + size) as usize).ok_or_else(wrong)?;
            room.copy_from_slice(&bytes);
        }
        Ok(Placed { parameters, tensors })
    }

    /// Names for reports.
    pub(super) fn manifest(&self) -> Manifest {
        let arguments = self.tensors.iter().map(|t| ArgumentInfo {
            name: t.name.clone(),
            base: t.pointer,
            dtype: t.dtype,
            shape: t.shape.clone(),
            strides: strides(&t.shape),
            exclusive: false,
        });
        Manifest { arguments: arguments.collect(), shared: vec![] }
    }
}

impl PlacedTensor {
    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether something wrote all of these elements.
    fn written(&self, first: usize, count: usize, system: &System) -> Result<bool, Failure> {
        let width = self.dtype.bytes();
        let start = self.pointer.offset((first * width) as u64);
        Ok(system.is_initialized(start, count * width).map_err(Error::from)?)
    }

    /// Reads it back.
    pub(super) fn after(&self, system: &System) -> Result<After, Failure> {
        let width = self.dtype.bytes();
        let mut bytes = vec![0; self.elements() * width];
        system.read(self.pointer, &mut bytes).map_err(Error::from)?;
        let mut unwritten = 0;
        if self.before.is_none() {
            for first in (0..self.elements()).step_by(RUN) {
                let run = RUN.min(self.elements() - first);
                if !self.written(first, run, system)? {
                    for i in first..first + run {
                        unwritten += usize::from(!self.written(i, 1, system)?);
                    }
                }
            }
        }
        let changed = match &self.before {
            Some(before) => *before != bytes,
            None => unwritten < self.elements(),
        };
        Ok(After { bytes, changed, unwritten })
    }

    /// The first elements in words; `?` for those that nothing wrote.
    pub(super) fn head(&self, after: &After, count: usize, system: &System) -> Result<Vec<String>, Failure> {
        let width = self.dtype.bytes();
        let element = |(i, bytes): (usize, &[u8])| {
            Ok(if self.written(i, 1, system)? { values::show(self.dtype, bytes) } else { "?".into() })
        };
        after.bytes.chunks_exact(width).enumerate().take(count).map(element).collect()
    }

    /// As a file takes it.
    pub(super) fn host(&self, after: After) -> Tensor {
        Tensor { dtype: self.dtype, shape: self.shape.clone(), bytes: after.bytes }
    }
}

fn place(
    name: String,
    dtype: DType,
    shape: &[usize],
    contents: &Contents,
    index: usize,
    system: &mut System,
) -> Result<PlacedTensor, Failure> {
    let count: usize = shape.iter().product();
    let filled = |what| values::fill(dtype, count, what).map_err(|e| Failure::Option(format!("{name}: {e}")));
    let before = match contents {
        Contents::Filled(what) => filled(*what)?,
        Contents::Random => filled(Fill::Random(index as u64 + 1))?,
        Contents::Bytes(bytes) => Some(bytes.clone()),
    };
    let pointer = system.allocate(count * dtype.bytes(), &name).map_err(Error::from)?;
    if let Some(bytes) = &before {
        system.write(pointer, bytes).map_err(Error::from)?;
    }
    Ok(PlacedTensor { name, dtype, shape: shape.into(), pointer, before })
}

/// Row-major.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

/// A parameter as PTX declares it.
fn declared(p: &Parameter) -> String {
    let count = if p.array { format!("[{}]", p.count) } else { String::new() };
    format!(".param .{} {}{count}", p.ty.name(), p.name)
}

/// How many arguments there should be, and for what.
fn mismatch(arguments: &[Argument], kernel: &Function) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (wanted, given) = (kernel.parameters.len(), arguments.len());
    let mut text = format!(
        "kernel `{}` has {wanted} parameter{}, but {given} argument{} came (--arg, in this order):",
        kernel.name,
        plural(wanted),
        plural(given)
    );
    for i in 0..wanted.max(given) {
        let parameter = kernel.parameters.get(i).map_or("(no parameter)".into(), declared);
        let argument = arguments.get(i).map_or("(no argument)", |a| &a.text);
        text += &format!("\n  {}  {parameter:<40} {argument}", i + 1);
    }
    text
}

/// Why an argument is none for a parameter.
fn unfit(argument: &Argument, parameter: &Parameter) -> String {
    let bytes = parameter.count * u64::from(parameter.ty.bytes());
    let takes = match bytes {
        8 if !parameter.array => "a tensor or a scalar of 64 bits".into(),
        1 | 2 | 4 if !parameter.array => format!("a scalar of {} bits", 8 * bytes),
        _ => format!("a struct of {bytes} bytes, which can not be typed"),
    };
    let got = match &argument.value {
        Value::Scalar { dtype, .. } => format!("{dtype}, {} bits", dtype.bits()),
        Value::Tensor { .. } => "a tensor, an address of 64 bits".into(),
    };
    format!("`{}` takes {takes}, got {got}", declared(parameter))
}
