//! Launches written down once and replayed.

use super::Device;
use super::backend::GraphHandle;
use super::function::{Function, LaunchOutcome};
use super::stream::Stream;
use crate::error::Error;
use std::fmt;
use std::sync::Arc;

/// Work that was written down, to be run as a whole: cheaper than launching it piece by piece.
///
/// It holds its kernels, but not the memory that they were given: buffers must outlive it.
pub struct Graph {
    device: Device,
    handle: GraphHandle,
    kernels: Arc<str>,
    /// Keeps their code loaded.
    _functions: Vec<Function>,
}

impl Graph {
    /// Writes down what `work` queues on the stream that it is given. It may neither synchronise nor copy to or from the
    /// host.
    ///
    /// # Errors
    /// The work's own, and when it queued something that can not be written down.
    pub fn capture(device: &Device, work: impl FnOnce(&Stream) -> Result<(), Error>) -> Result<Graph, Error> {
        let stream = device.create_independent_stream()?;
        device.backend().begin_capture(stream.handle())?;
        stream.set_capturing(true);
        let done = work(&stream);
        let functions = stream.set_capturing(false);
        let ended = device.backend().end_capture(stream.handle());
        // The work's own error says more than that its capture failed.
        let handle = match (done, ended) {
            (Ok(()), ended) => ended?,
            (Err(e), Ok(handle)) => {
                device.backend().destroy_graph(handle);
                return Err(e);
            }
            (Err(e), Err(_)) => return Err(e),
        };
        let mut names: Vec<&str> = functions.iter().map(Function::name).collect();
        names.dedup();
        let kernels = names.join(", ").into();
        Ok(Graph { device: device.clone(), handle, kernels, _functions: functions })
    }

    /// Queues the work on a stream. The outcome is that of all its launches.
    ///
    /// # Errors
    /// When the stream is another device's.
    pub fn replay(&self, stream: &Stream) -> Result<LaunchOutcome, Error> {
        if *stream.device() != self.device {
            return Err(self.device.other("the stream", stream.device()));
        }
        self.device.backend().replay(self.handle, &self.kernels, stream.handle())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device.backend().destroy_graph(self.handle);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} on {})", self.kernels, self.device.info().id)
    }
}
