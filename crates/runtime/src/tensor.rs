//! Tensors that own their memory.

use crate::device::{Buffer, Device, DeviceId};
use crate::error::Error;
use warpsmith_dsl::TensorArg;
use warpsmith_types::DType;

/// A tensor on a device: a buffer, a dtype, extents and strides.
#[derive(Debug)]
pub struct Tensor {
    buffer: Buffer,
    arg: TensorArg,
}

impl From<DeviceId> for warpsmith_dsl::DeviceId {
    /// One number for all kinds: emulated devices have the top bit set, other libraries' contexts the one below it.
    fn from(id: DeviceId) -> Self {
        match id {
            DeviceId::Cuda(n) => warpsmith_dsl::DeviceId(n),
            DeviceId::Context(n) => warpsmith_dsl::DeviceId(n | 1 << 30),
            DeviceId::Emulated(n) => warpsmith_dsl::DeviceId(n | 1 << 31),
        }
    }
}

impl Tensor {
    /// A dense row-major tensor with undefined contents.
    ///
    /// # Errors
    /// When the device has no memory for it.
    pub fn new(device: &Device, name: &str, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = shape.iter().product::<usize>() * dtype.bytes();
        let buffer = device.allocate(bytes, name)?;
        let arg = TensorArg::new(buffer.address(), device.info().id.into(), dtype, shape);
        Ok(Tensor { buffer, arg })
    }

    /// A (rows, columns) tensor whose rows start `row_stride` elements apart, the first `offset` elements into its
    /// memory; contents undefined.
    ///
    /// # Errors
    /// When the device has no memory for it.
    pub fn strided(
        device: &Device,
        name: &str,
        dtype: DType,
        [rows, columns]: [usize; 2],
        row_stride: usize,
        offset: usize,
    ) -> Result<Tensor, Error> {
        let last = rows.saturating_sub(1) * row_stride + columns;
        let buffer = device.allocate((offset + last) * dtype.bytes(), name)?;
        let mut arg = TensorArg::new(buffer.address(), device.info().id.into(), dtype, &[rows, columns]);
        arg.address += (offset * dtype.bytes()) as u64;
        arg.strides[0] = row_stride;
        Ok(Tensor { buffer, arg })
    }

    /// A dense row-major tensor with these bytes.
    ///
    /// # Errors
    /// When the device has no memory for it, or the bytes are too many or too few.
    pub fn from_bytes(
        device: &Device,
        name: &str,
        dtype: DType,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<Tensor, Error> {
        let t = Tensor::new(device, name, dtype, shape)?;
        t.buffer.upload(bytes)?;
        Ok(t)
    }

    /// The same as an argument that is [constant](TensorArg::constant): read that before promising it.
    pub fn constant(self) -> Tensor {
        Tensor { arg: self.arg.constant(), ..self }
    }

    /// Its memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.arg.dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        &self.arg.shape
    }

    /// As an input of a launch.
    pub fn arg(&self) -> &TensorArg {
        &self.arg
    }

    /// As an output of a launch.
    pub fn arg_mut(&mut self) -> &mut TensorArg {
        &mut self.arg
    }

    /// The bytes of its buffer.
    ///
    /// # Errors
    /// When an earlier launch broke the device.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.buffer.to_vec()
    }
}
