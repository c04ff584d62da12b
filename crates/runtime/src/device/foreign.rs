//! Memory, streams and contexts that another library made. What reads the host's memory for it is in `driver`.

use super::backend::StreamHandle;
use super::buffer::{Buffer, Origin};
use super::stream::Stream;
use super::{Device, DeviceId, DeviceInfo, cuda};
use crate::driver::Context;
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Contexts that were taken over, by the driver's number of them.
static CONTEXTS: Mutex<BTreeMap<u64, Device>> = Mutex::new(BTreeMap::new());

impl Device {
    /// Memory of this device that another library allocated, as a buffer: PyTorch's `tensor.data_ptr()`, CuPy's
    /// `array.data.ptr`. Dropping the buffer frees nothing. Whose it is must keep it as long as the buffer is used, and order
    /// its own work with ours by streams.
    ///
    /// The address is looked up, so a wrong one is an error; but memory that is freed later is not noticed.
    ///
    /// # Errors
    /// When some of the bytes are not allocated, or are another device's or the host's.
    pub fn foreign(&self, address: u64, bytes: usize, name: &str) -> Result<Buffer, Error> {
        if bytes > 0 {
            self.backend().check_memory(address, bytes, name)?;
        }
        Ok(Buffer::new(self, address, bytes, name, Origin::Foreign))
    }

    /// The stream of a handle that has been checked as far as the driver can.
    pub(crate) fn adopt_stream(&self, handle: StreamHandle) -> Result<Stream, Error> {
        if matches!(handle, StreamHandle::DEFAULT | StreamHandle::LEGACY) {
            return Ok(self.default_stream());
        }
        if handle != StreamHandle::PER_THREAD && !self.backend().has_stream(handle) {
            return Err(Error::Foreign {
                what: format!("stream {:#x}", handle.0),
                expected: format!("one of {}", self.named_fully()),
                got: "none".into(),
            });
        }
        Ok(Stream::borrowed(self, handle))
    }

    /// The context, when it is a card.
    pub(crate) fn card(&self) -> Option<&Arc<Context>> {
        self.backend().card()
    }

    /// The device of another library's context, the same for each call.
    pub(crate) fn of_context(context: Context, id: u64, ordinal: u32) -> Result<Device, Error> {
        let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = contexts.get(&id) {
            return Ok(device.clone());
        }
        let number = contexts.len() as u32;
        let info = DeviceInfo { id: DeviceId::Context(number), ..cuda::info(ordinal)? };
        let device = Device::new(info, Box::new(cuda::Cuda::new(context)));
        contexts.insert(id, device.clone());
        Ok(device)
    }
}
