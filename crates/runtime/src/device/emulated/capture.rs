//! Work of an emulated device that is written down, and replayed.

use super::super::function::LaunchOutcome;
use super::node::State;
use super::work::Work;
use crate::error::Error;
use rustc_hash::FxHashMap;
use std::mem::discriminant;
use std::sync::Arc;

/// What is being written down.
#[derive(Default)]
pub(super) struct Capture {
    /// The stream that it began on, and those that joined it.
    streams: Vec<u64>,
    /// By index of the stream.
    work: Vec<(usize, Work)>,
}

/// What was written down.
pub(super) struct Written {
    /// The device of each stream.
    devices: Vec<u8>,
    work: Vec<(usize, Work)>,
}

impl Written {
    /// Whether the other is work of the same kinds in the same order: what a card changes in place.
    fn is_like(&self, other: &Written) -> bool {
        let same = |a: &Work, b: &Work| match (a, b) {
            (Work::Wait { moment: a }, Work::Wait { moment: b }) => self.record(*a) == other.record(*b),
            _ => discriminant(a) == discriminant(b),
        };
        self.devices == other.devices
            && self.work.len() == other.work.len()
            && self.work.iter().zip(&other.work).all(|((s, a), (t, b))| s == t && same(a, b))
    }

    /// Which piece of work is that moment.
    fn record(&self, moment: u64) -> Option<usize> {
        self.work.iter().position(|(_, work)| matches!(work, Work::Record { moment: m } if *m == moment))
    }
}

fn refused(reason: &str) -> Error {
    Error::Capture { reason: reason.into() }
}

impl State {
    pub(super) fn begin_capture(&mut self, stream: u64) {
        let capture = self.number();
        self.captures.insert(capture, Capture { streams: vec![stream], work: vec![] });
        if let Some(state) = self.streams.get_mut(&stream) {
            state.capture = Some(capture);
        }
    }

    /// Writes work down.
    pub(super) fn write_down(&mut self, capture: u64, stream: u64, work: Work) -> Result<(), Error> {
        let Some(capture) = self.captures.get_mut(&capture) else { return Ok(()) };
        let index = capture.streams.iter().position(|s| *s == stream).unwrap_or(0);
        match work {
            Work::Write { .. } | Work::Read { .. } => {
                return Err(Error::Capturing { what: "a copy from or to the host" });
            }
            work => capture.work.push((index, work)),
        }
        Ok(())
    }

    /// A stream waits for an event.
    pub(super) fn wait(&mut self, stream: u64, event: u64) -> Result<(), Error> {
        let event = self.events.get(&event).copied().unwrap_or_default();
        let here = self.streams.get(&stream).and_then(|s| s.capture);
        let Some(moment) = event.moment else {
            // Either never recorded, or over.
            return match (here, event.at) {
                (Some(_), Some(_)) => Err(refused("it waits for an event of work that is not written down with it")),
                _ => Ok(()),
            };
        };
        match (here, event.capture) {
            (Some(here), Some(there)) if here == there => self.write_down(here, stream, Work::Wait { moment }),
            (None, Some(there)) if self.captures.contains_key(&there) => {
                if self.is_default(stream) {
                    return Err(refused("the default stream waits for it, and can not be written down"));
                }
                if let Some(state) = self.streams.get_mut(&stream) {
                    state.capture = Some(there);
                }
                if let Some(capture) = self.captures.get_mut(&there) {
                    capture.streams.push(stream);
                }
                self.write_down(there, stream, Work::Wait { moment })
            }
            (None, Some(_)) => {
                Err(refused("the event was last recorded in work that was written down, and never happens"))
            }
            (Some(_), _) => Err(refused("it waits for an event of work that is not written down with it")),
            (None, None) if self.is_idle() => Ok(()),
            (None, None) => self.queue(stream, Work::Wait { moment }).map(drop),
        }
    }

    /// Ends a capture; `None` when there was none.
    fn take_capture(&mut self, stream: u64) -> Option<Written> {
        let capture = self.streams.get(&stream)?.capture?;
        let Capture { streams, work } = self.captures.remove(&capture)?;
        let mut devices = vec![];
        for stream in streams {
            if let Some(state) = self.streams.get_mut(&stream) {
                state.capture = None;
                devices.push(state.device);
            }
        }
        Some(Written { devices, work })
    }

    pub(super) fn abandon_capture(&mut self, stream: u64) {
        drop(self.take_capture(stream));
    }

    pub(super) fn end_capture(&mut self, stream: u64) -> Result<Written, Error> {
        let written = self.take_capture(stream).ok_or_else(|| refused("nothing was being written down"))?;
        if is_joined(&written) {
            Ok(written)
        } else {
            Err(refused("a stream joined it by an event, and it does not wait for that stream's end"))
        }
    }

    /// Ends a capture into a graph; the number of another one where it is not like what was there.
    pub(super) fn end_capture_into(&mut self, graph: u64, stream: u64) -> Result<Option<u64>, Error> {
        let written = self.end_capture(stream)?;
        let like = self.graphs.remove(&graph).is_some_and(|before| before.is_like(&written));
        let number = if like { graph } else { self.number() };
        self.graphs.insert(number, Arc::new(written));
        Ok((!like).then_some(number))
    }

    /// Runs a graph on a stream, or queues it there.
    pub(super) fn replay(&mut self, graph: u64, stream: u64) -> Result<LaunchOutcome, Error> {
        // A stream may have come to a capture by an event.
        if self.streams.get(&stream).is_some_and(|s| s.capture.is_some()) {
            return Err(Error::Capturing { what: "the replay of a graph" });
        }
        let Some(written) = self.graphs.get(&graph).cloned() else { return Ok(LaunchOutcome::default()) };
        // The graph's own streams live as long as its work is queued.
        let mut streams = vec![stream];
        for device in written.devices.iter().skip(1) {
            streams.push(self.create_stream(*device, false)?);
        }
        let mut moments = FxHashMap::default();
        let mut work = vec![];
        for (index, piece) in &written.work {
            let mut piece = piece.clone();
            if let Work::Record { moment } | Work::Wait { moment } = &mut piece {
                *moment = *moments.entry(*moment).or_insert_with(|| self.number());
            }
            work.push((streams[(*index).min(streams.len() - 1)], piece));
        }
        let at_once = work.iter().all(|(_, piece)| self.runs_at_once(stream, piece));
        let outcome = if at_once {
            self.run_unasked();
            self.run_now(work)
        } else {
            // What was written down has been checked, and queues.
            work.into_iter().for_each(|(stream, piece)| self.push(stream, piece));
            Ok(LaunchOutcome::default())
        };
        streams.into_iter().skip(1).for_each(|s| self.destroy_stream(s));
        outcome
    }
}

/// Whether the first stream's end comes after everything.
fn is_joined(written: &Written) -> bool {
    // Of each stream, how many pieces of all work the first stream's end comes after, as far as it is known.
    let mut before = vec![0; written.devices.len()];
    if let Some(first) = before.first_mut() {
        *first = written.work.len();
    }
    for (i, (stream, work)) in written.work.iter().enumerate().rev() {
        if i >= before[*stream] {
            return false;
        }
        if let Work::Wait { moment } = work
            && let Some(at) = written.record(*moment)
        {
            let other = written.work[at].0;
            before[other] = before[other].max(at + 1);
        }
    }
    true
}
