//! Launches written down once and replayed.

use super::Device;
use super::backend::GraphHandle;
use super::function::{Function, LaunchOutcome};
use super::info::{Counted, Kind};
use super::stream::{Capture, Stream};
use crate::error::Error;
use crate::launched::Launched;
use std::fmt;
use std::sync::Arc;

/// Work that was written down, to be run as a whole: cheaper than launching it piece by piece.
///
/// It holds its kernels, but not the memory that they were given: buffers must outlive it.
pub struct Graph {
    handle: GraphHandle,
    launches: Arc<[Launched]>,
    counted: Counted,
    /// Keeps their code loaded.
    functions: Vec<Function>,
}

/// How a graph came to run other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphUpdate {
    /// Pieces of work of the same kinds in the same order, with other kernels or arguments: changed in place.
    InPlace,
    /// Another graph took its place, which costs what the first one did.
    Anew,
}

/// A capture that has begun, and ends with this.
struct Capturing<'a> {
    stream: &'a Stream,
    noted: Arc<Capture>,
    ended: bool,
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        self.noted.end();
        if !self.ended {
            self.stream.device().backend().abandon_capture(self.stream.handle());
        }
    }
}

/// The kernels that were launched, and what to say of their launches.
type Noted = (Vec<Function>, Arc<[Launched]>);

/// Writes down what `work` queues on a stream, and ends the capture by `end`, unless the work fails: its own error says
/// more than that its capture failed.
fn capture<T>(
    device: &Device,
    work: impl FnOnce(&Stream) -> Result<(), Error>,
    end: impl FnOnce(&Stream) -> Result<T, Error>,
) -> Result<(T, Noted), Error> {
    let stream = device.create_independent_stream()?;
    device.backend().begin_capture(stream.handle())?;
    // A panic of the work ends it too.
    let mut capturing = Capturing { stream: &stream, noted: stream.start_noting(), ended: false };
    work(&stream)?;
    let (functions, launches) = capturing.noted.end();
    capturing.ended = true;
    Ok((end(&stream)?, (functions, launches.into())))
}

impl Graph {
    /// Writes down what `work` queues on the stream that it is given, and on those that wait for it by events and that it
    /// waits for in turn, which run side by side. It may neither synchronise nor copy to or from the host.
    ///
    /// # Errors
    /// The work's own, and when it queued something that can not be written down, or left a stream that it does not wait
    /// for.
    pub fn capture(device: &Device, work: impl FnOnce(&Stream) -> Result<(), Error>) -> Result<Graph, Error> {
        let (handle, (functions, launches)) =
            capture(device, work, |stream| device.backend().end_capture(stream.handle()))?;
        Ok(Graph { handle, launches, counted: Counted::new(device, Kind::Graph, 0), functions })
    }

    /// Writes down other work, which is what [`Graph::replay`] runs from here on: a step with other buffers, sizes or
    /// scalars, say. Where the pieces of work are of the same kinds as before and as they wait for each other, that is a
    /// fraction of a new graph's cost; where they are not, another graph takes this one's place. The answer says which. A
    /// replay in flight ends as it began.
    ///
    /// # Errors
    /// As [`Graph::capture`]; the graph is as it was then.
    pub fn update(&mut self, work: impl FnOnce(&Stream) -> Result<(), Error>) -> Result<GraphUpdate, Error> {
        let device = self.device().clone();
        let end = |stream: &Stream| device.backend().end_capture_into(self.handle, stream.handle());
        let (other, (functions, launches)) = capture(&device, work, end)?;
        self.launches = launches;
        self.functions = functions;
        Ok(match other {
            None => GraphUpdate::InPlace,
            Some(other) => {
                self.handle = other;
                GraphUpdate::Anew
            }
        })
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        self.counted.device()
    }

    /// The kernels that it launches, in the order in which they were written down.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Queues the work on a stream. The outcome is that of all its launches, where they have run on return.
    ///
    /// # Errors
    /// When the stream is another device's, or its work is being written down.
    pub fn replay(&self, stream: &Stream) -> Result<LaunchOutcome, Error> {
        let device = self.device();
        if stream.device() != device {
            return Err(device.other("the stream", stream.device()));
        }
        // A driver replays no graph into another.
        if stream.is_capturing() {
            return Err(Error::Capturing { what: "the replay of a graph" });
        }
        device.backend().replay(self.handle, &self.launches, stream.handle())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device().backend().destroy_graph(self.handle);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.functions.iter().map(Function::name).collect();
        names.dedup();
        write!(f, "Graph({} on {})", names.join(", "), self.device().info().id)
    }
}
