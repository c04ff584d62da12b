//! The streams that calls run on: other libraries', and how to find the current one.

use crate::dlpack::{self, ExchangeApi};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::ffi::c_void;
use warpsmith::runtime::{Device, Error, Stream};

/// Whose a tensor is.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// This package's, or the host's.
    Own,
    /// A library's with the C exchange API.
    Exchange(&'static ExchangeApi),
    /// An older PyTorch's.
    Torch,
    /// CuPy's.
    Cupy,
    /// Another library's, whose streams are not known.
    Unknown,
}

impl Source {
    /// The raw stream that its library queues on now; 0, the default stream, where there is no telling.
    pub(crate) fn current(self, py: Python<'_>, card: u32) -> PyResult<u64> {
        match self {
            Source::Own | Source::Unknown => Ok(0),
            Source::Exchange(api) => {
                let Some(ask) = api.current_stream else { return Ok(0) };
                let mut stream: *mut c_void = std::ptr::null_mut();
                // SAFETY: the API's function, and a live pointer that it sets.
                match unsafe { ask(dlpack::CUDA, card as i32, &mut stream) } {
                    0 => Ok(stream as u64),
                    _ => Err(PyErr::fetch(py)),
                }
            }
            Source::Torch => {
                let cuda = py.import("torch")?.getattr("cuda")?;
                cuda.call_method1("current_stream", (card,))?.getattr("cuda_stream")?.extract()
            }
            Source::Cupy => {
                let cuda = py.import("cupy")?.getattr("cuda")?;
                cuda.call_method1("get_current_stream", (card,))?.getattr("ptr")?.extract()
            }
        }
    }

    /// Whether the library may give the memory to another stream's work as soon as it is let go.
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self, Source::Unknown)
    }
}

/// Streams that a thread remembers: a program has few, and each call would ask the driver about its own.
const REMEMBERED: usize = 16;

thread_local! {
    static STREAMS: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// A stream of a raw handle on a device, for as long as the call that gave it.
pub(crate) struct Borrowed(Option<Stream>);

impl Borrowed {
    pub(crate) fn new(device: &Device, handle: u64) -> Result<Borrowed, Error> {
        // 1 is the default stream's other name.
        if handle <= 1 {
            return Ok(Borrowed(Some(device.default_stream())));
        }
        let known = STREAMS.with_borrow_mut(|streams| {
            let at = streams.iter().position(|s| s.as_raw() == handle && s.device() == device)?;
            Some(streams.swap_remove(at))
        });
        // SAFETY: the caller of the Python function gave it as a stream that is alive during the call. Beyond the call it
        // is kept as a number that is used again only when a caller gives that number.
        let stream = known.map_or_else(|| unsafe { Stream::from_raw(device, handle) }, Ok)?;
        Ok(Borrowed(Some(stream)))
    }

    pub(crate) fn stream(&self) -> Option<&Stream> {
        self.0.as_ref()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let Some(stream) = self.0.take().filter(|s| s.as_raw() > 1) else { return };
        // At the end of a thread the table may be gone.
        let _ = STREAMS.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            if streams.len() == REMEMBERED {
                streams.remove(0);
            }
            streams.push(stream);
        });
    }
}
