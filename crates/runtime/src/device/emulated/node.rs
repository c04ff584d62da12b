//! Emulated devices with one address space, and what is queued on them.

use super::super::backend::PoolUse;
use super::super::function::LaunchOutcome;
use super::capture::{Capture, Written};
use super::work::Work;
use crate::error::Error;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;
use warpsmith_emulator::{Device, DevicePointer, Event, Options, Outcome, Stream, System};
use warpsmith_types::Chip;

/// Devices with one address space.
pub(super) struct Node {
    pub(super) chips: Vec<Chip>,
    state: Mutex<State>,
}

/// What changes of a node.
pub(super) struct State {
    pub(super) system: System,
    options: Options,
    /// Whether launches on a default stream may run at once: there is no other device that they could wait for.
    alone: bool,
    pub(super) memory: BTreeMap<u64, Piece>,
    pub(super) pools: Vec<Pool>,
    pub(super) streams: FxHashMap<u64, StreamState>,
    /// Of each device, its default stream, and the moment after the last piece of work that is queued there.
    defaults: Vec<(u64, Option<u64>)>,
    threads: FxHashMap<(ThreadId, u8), u64>,
    pub(super) events: FxHashMap<u64, EventState>,
    pub(super) captures: FxHashMap<u64, Capture>,
    pub(super) graphs: FxHashMap<u64, Arc<Written>>,
    /// By stream, in the order in which it was queued.
    pending: Vec<(u64, Work)>,
    /// What reads have read, until it is asked for.
    pub(super) results: FxHashMap<u64, Vec<u8>>,
    /// What ran that nobody has been told of.
    untold: LaunchOutcome,
    trouble: Option<Error>,
    next: u64,
    /// The emulator's streams and events that are not in use.
    idle_streams: Vec<Vec<Stream>>,
    idle_events: Vec<Event>,
}

/// An allocation.
pub(super) struct Piece {
    pub(super) bytes: usize,
    pub(super) device: u8,
    pub(super) pooled: bool,
}

/// A device's pool, as a card's would be.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) threshold: u64,
    pub(super) now: PoolUse,
}

/// A stream of a device.
pub(super) struct StreamState {
    pub(super) device: u8,
    /// With the default stream.
    ordered: bool,
    queue: Stream,
    pub(super) capture: Option<u64>,
    /// Whether something is queued that the default stream does not wait for yet.
    ahead: bool,
    /// The default stream's moment that it waits for.
    after: Option<u64>,
    destroyed: bool,
}

/// An event, as it was last recorded.
#[derive(Clone, Copy, Default)]
pub(super) struct EventState {
    pub(super) at: Option<Instant>,
    pub(super) moment: Option<u64>,
    pub(super) capture: Option<u64>,
}

impl Node {
    /// The devices of a system. `options` are those of every run.
    pub(super) fn new(system: System, chips: &[Chip], options: Options) -> Node {
        let state = State {
            system,
            options,
            alone: chips.len() == 1,
            memory: BTreeMap::new(),
            pools: vec![Pool { threshold: super::super::POOL_THRESHOLD, now: PoolUse::default() }; chips.len()],
            streams: FxHashMap::default(),
            defaults: vec![(NONE, None); chips.len()],
            threads: FxHashMap::default(),
            events: FxHashMap::default(),
            captures: FxHashMap::default(),
            graphs: FxHashMap::default(),
            pending: vec![],
            results: FxHashMap::default(),
            untold: LaunchOutcome::default(),
            trouble: None,
            next: FIRST,
            idle_streams: vec![vec![]; chips.len()],
            idle_events: vec![],
        };
        Node { chips: chips.into(), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.run_unasked();
        if let Some(error) = &state.trouble {
            tracing::warn!(%error, "what was queued on an emulated device can not run");
        }
    }
}

/// Numbers below are special streams.
const FIRST: u64 = 16;
/// A default stream that nothing was queued on yet.
const NONE: u64 = 0;

impl StreamState {
    fn new(device: u8, ordered: bool, queue: Stream) -> StreamState {
        StreamState { device, ordered, queue, capture: None, ahead: false, after: None, destroyed: false }
    }
}

impl State {
    /// A number that nothing else has or had.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn create_stream(&mut self, device: u8, ordered: bool) -> Result<u64, Error> {
        let queue = match self.idle_streams.get_mut(usize::from(device)).and_then(Vec::pop) {
            Some(queue) => queue,
            None => self.system.stream(Device(device))?,
        };
        let stream = self.number();
        self.streams.insert(stream, StreamState::new(device, ordered, queue));
        Ok(stream)
    }

    /// Gives it back once what is queued on it has run.
    pub(super) fn destroy_stream(&mut self, stream: u64) {
        if let Some(state) = self.streams.get_mut(&stream) {
            state.destroyed = true;
        }
        if self.pending.iter().all(|(s, _)| *s != stream) {
            self.forget_destroyed();
        }
    }

    fn forget_destroyed(&mut self) {
        let (idle, pending) = (&mut self.idle_streams, &self.pending);
        self.streams.retain(|stream, state| {
            let gone = state.destroyed && pending.iter().all(|(s, _)| s != stream);
            if gone && let Some(idle) = idle.get_mut(usize::from(state.device)) {
                idle.push(state.queue);
            }
            !gone
        });
    }

    pub(super) fn has_stream(&self, device: u8, stream: u64) -> bool {
        !self.is_default(stream) && self.streams.get(&stream).is_some_and(|s| s.device == device && !s.destroyed)
    }

    /// The stream of a handle.
    pub(super) fn stream(&mut self, device: u8, handle: u64) -> Result<u64, Error> {
        let thread = (std::thread::current().id(), device);
        let known = match handle {
            0 | 1 => self.defaults.get(usize::from(device)).map(|d| d.0).filter(|stream| *stream != NONE),
            2 => self.threads.get(&thread).copied(),
            other => Some(other),
        };
        if let Some(stream) = known {
            return Ok(stream);
        }
        let stream = self.create_stream(device, true)?;
        match self.defaults.get_mut(usize::from(device)).filter(|_| handle != 2) {
            Some(default) => default.0 = stream,
            None => drop(self.threads.insert(thread, stream)),
        }
        Ok(stream)
    }

    pub(super) fn is_default(&self, stream: u64) -> bool {
        self.defaults.iter().any(|(d, _)| *d == stream)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Queues work on a stream, or does it when nothing else is there to run beside it; then the outcome is that work's.
    pub(super) fn queue(&mut self, stream: u64, work: Work) -> Result<LaunchOutcome, Error> {
        if let Some(capture) = self.streams.get(&stream).and_then(|s| s.capture) {
            return self.write_down(capture, stream, work).map(|()| LaunchOutcome::default());
        }
        if let Work::Launch { program, launch, .. } = &work {
            let device = self.streams.get(&stream).map_or(0, |s| s.device);
            self.system.check_launch(Device(device), program, launch)?;
        }
        self.end_what_frees(&work);
        if self.runs_at_once(stream, &work) {
            self.run_unasked();
            return self.run_now(vec![(stream, work)]);
        }
        self.push(stream, work);
        Ok(LaunchOutcome::default())
    }

    /// Whether work on this stream need not wait for a synchronisation.
    pub(super) fn runs_at_once(&self, stream: u64, work: &Work) -> bool {
        if !self.is_default(stream) {
            return false;
        }
        match work {
            Work::Launch { .. } => self.alone && self.only_ordered(),
            _ => self.is_idle(),
        }
    }

    /// Whether what is queued must run before anything on the default stream does.
    pub(super) fn only_ordered(&self) -> bool {
        self.pending.iter().all(|(s, _)| self.streams.get(s).is_none_or(|s| s.ordered))
    }

    /// What names memory that is to be freed finds it freed.
    fn end_what_frees(&mut self, work: &Work) {
        let freed = self.pending.iter().any(|(_, queued)| match queued {
            Work::Free { address } => self.memory.get(address).is_some_and(|piece| work.names(*address, piece.bytes)),
            _ => false,
        });
        if freed {
            self.run_unasked();
        }
    }

    /// Queues work that is not captured, in order with the default stream's.
    pub(super) fn push(&mut self, stream: u64, work: Work) {
        let Some(state) = self.streams.get(&stream) else { return };
        let (device, ordered) = (usize::from(state.device), state.ordered);
        if self.is_default(stream) {
            let ahead: Vec<u64> = self
                .streams
                .iter()
                .filter(|(_, s)| s.ahead && s.ordered && usize::from(s.device) == device)
                .map(|(stream, _)| *stream)
                .collect();
            for other in ahead {
                let moment = self.number();
                self.pending.push((other, Work::Record { moment }));
                self.pending.push((stream, Work::Wait { moment }));
                if let Some(state) = self.streams.get_mut(&other) {
                    state.ahead = false;
                }
            }
            let moment = self.number();
            self.pending.push((stream, work));
            self.pending.push((stream, Work::Record { moment }));
            self.defaults[device].1 = Some(moment);
            return;
        }
        let moment = self.defaults[device].1.filter(|_| ordered);
        if let Some(state) = self.streams.get_mut(&stream) {
            if let Some(moment) = moment.filter(|moment| state.after != Some(*moment)) {
                self.pending.push((stream, Work::Wait { moment }));
                state.after = Some(moment);
            }
            state.ahead = true;
        }
        self.pending.push((stream, work));
    }

    /// Runs all that is queued; the outcome is told when somebody asks.
    pub(super) fn run_queued(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let outcome = self.run_now(pending)?;
        self.untold.add(outcome);
        Ok(())
    }

    /// The same where nobody has asked for the outcome: it is kept, and the log says that there is something to see.
    pub(super) fn run_unasked(&mut self) {
        let before = self.untold.findings.len();
        if let Err(e) = self.run_queued() {
            self.trouble.get_or_insert(e);
        }
        for finding in &self.untold.findings[before..] {
            tracing::warn!(%finding, "found in what was queued on an emulated device");
        }
    }

    /// The same for somebody who waits, and who is told when it can not run.
    pub(super) fn run_awaited(&mut self) -> Result<(), Error> {
        self.run_unasked();
        self.trouble.take().map_or(Ok(()), Err)
    }

    /// Runs all that is queued, and tells of all that ran since somebody was last told.
    pub(super) fn tell(&mut self) -> Result<LaunchOutcome, Error> {
        self.run_queued()?;
        self.trim_at_synchronisation();
        if let Some(error) = self.trouble.take() {
            return Err(error);
        }
        let nothing = LaunchOutcome { instructions: Some(0), ..LaunchOutcome::default() };
        Ok(std::mem::replace(&mut self.untold, nothing))
    }

    /// Runs work, side by side where it is on several streams.
    pub(super) fn run_now(&mut self, work: Vec<(u64, Work)>) -> Result<LaunchOutcome, Error> {
        // One launch alone is reported as that.
        if self.alone
            && let [(_, Work::Launch { program, launch, manifest })] = &work[..]
        {
            return Ok(self.system.launch(program, launch, manifest.as_deref(), &self.options)?.into());
        }
        let (mut moments, mut freed, mut reads) = (FxHashMap::default(), vec![], vec![]);
        for (stream, work) in work {
            let Some(state) = self.streams.get(&stream) else { continue };
            let mut on = self.system.on(state.queue);
            match work {
                Work::Copy { to, from, bytes } => {
                    on.copy(DevicePointer(to), DevicePointer(from), bytes);
                }
                Work::Fill { to, byte, bytes } => {
                    on.fill(DevicePointer(to), byte, bytes);
                }
                Work::Write { to, data } => {
                    on.write(DevicePointer(to), &data);
                }
                Work::Read { from, bytes, result } => reads.push((result, on.read(DevicePointer(from), bytes))),
                Work::Launch { program, launch, manifest } => {
                    on.launch_with(&program, launch, manifest);
                }
                Work::Free { address } => freed.push(address),
                Work::Record { moment } => {
                    let event = self.idle_events.pop().unwrap_or_else(|| self.system.event());
                    self.system.on(state.queue).record(event);
                    moments.insert(moment, event);
                }
                Work::Wait { moment } => {
                    // One that is not there is over.
                    if let Some(event) = moments.get(&moment) {
                        on.wait(*event);
                    }
                }
            }
        }
        let outcome = self.system.run(&self.options);
        self.idle_events.extend(moments.into_values());
        self.defaults.iter_mut().for_each(|(_, moment)| *moment = None);
        for state in self.streams.values_mut() {
            (state.ahead, state.after) = (false, None);
        }
        freed.into_iter().for_each(|address| self.release(address));
        for (result, ticket) in reads {
            self.results.insert(result, self.system.take_result(ticket));
        }
        self.forget_destroyed();
        Ok(outcome?.into())
    }
}

impl From<Outcome> for LaunchOutcome {
    fn from(outcome: Outcome) -> LaunchOutcome {
        LaunchOutcome {
            instructions: Some(outcome.instructions),
            findings: outcome.findings.iter().map(|f| f.diagnostic()).collect(),
            printed: outcome.printed,
        }
    }
}
