//! Streams, threads of the host and events, and what is enqueued on them.

use super::{Device, System};
use crate::Error;
use crate::Manifest;
use crate::machine::{Condition, Launch, Operation, Queue, Signal};
use crate::memory::{DevicePointer, Owner};
use crate::program::{Program, Semantics};
use std::sync::Arc;

/// A stream of a device: what is enqueued on it comes one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream(usize);

/// A thread of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostThread(usize);

/// A point in a stream or thread that others can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event(usize);

/// What a read will have read when the run is over: [`System::result`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(usize);

/// A word that the host reads or writes in one piece, of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    value: u64,
    bytes: usize,
}

impl From<u32> for Word {
    fn from(value: u32) -> Word {
        Word { value: value.into(), bytes: 4 }
    }
}

impl From<u64> for Word {
    fn from(value: u64) -> Word {
        Word { value, bytes: 8 }
    }
}

/// What an access of the host orders, for the whole system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// What comes after it.
    Acquire,
    /// What came before it.
    Release,
    /// Both.
    AcquireRelease,
}

impl From<Order> for Semantics {
    fn from(order: Order) -> Semantics {
        Semantics {
            acquires: matches!(order, Order::Acquire | Order::AcquireRelease),
            releases: matches!(order, Order::Release | Order::AcquireRelease),
        }
    }
}

impl System {
    /// A new stream of a device.
    pub fn stream(&mut self, device: Device) -> Result<Stream, Error> {
        let owner = self.check_device(device)?;
        let number = self.queues.iter().filter(|q| q.owner == owner).count();
        self.queues.push(Queue { owner, name: format!("stream {number} of {device}"), operations: vec![] });
        Ok(Stream(self.queues.len() - 1))
    }

    /// A new thread of the host, under a name for reports.
    pub fn host_thread(&mut self, name: &str) -> HostThread {
        let name = format!("host thread `{name}`");
        self.queues.push(Queue { owner: Owner::HOST, name, operations: vec![] });
        HostThread(self.queues.len() - 1)
    }

    /// A new event.
    pub fn event(&mut self) -> Event {
        self.events.push(None);
        Event(self.events.len() - 1)
    }

    /// Enqueues on a stream.
    pub fn on(&mut self, stream: Stream) -> OnStream<'_> {
        OnStream { system: self, queue: stream.0 }
    }

    /// Enqueues for a thread of the host.
    pub fn host(&mut self, thread: HostThread) -> OnHost<'_> {
        OnHost { system: self, queue: thread.0 }
    }

    /// What a read of an earlier run has read; empty before.
    pub fn result(&self, ticket: Ticket) -> &[u8] {
        self.results.get(ticket.0).map_or(&[], Vec::as_slice)
    }

    /// The same, taken out: what has been read is kept until then.
    pub fn take_result(&mut self, ticket: Ticket) -> Vec<u8> {
        self.results.get_mut(ticket.0).map(std::mem::take).unwrap_or_default()
    }

    fn push(&mut self, queue: usize, operation: Operation) {
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.operations.push(operation);
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.results.push(vec![]);
        Ticket(self.results.len() - 1)
    }

    fn record(&mut self, queue: usize, event: Event) {
        let index = self.queues.get(queue).map_or(0, |q| q.operations.len());
        self.push(queue, Operation::Record);
        if let Some(event) = self.events.get_mut(event.0) {
            *event = Some((queue, index));
        }
    }

    fn wait(&mut self, queue: usize, event: Event) {
        // One that was never recorded is over, as in CUDA.
        if let Some((other, index)) = self.events.get(event.0).copied().flatten() {
            self.push(queue, Operation::Wait { queue: other, index });
        }
    }
}

/// Enqueues on a stream.
#[derive(Debug)]
pub struct OnStream<'s> {
    system: &'s mut System,
    queue: usize,
}

impl OnStream<'_> {
    /// A launch.
    pub fn launch(&mut self, program: &Arc<Program>, launch: Launch) -> &mut Self {
        self.launch_with(program, launch, None)
    }

    /// A launch, with names for what it touches.
    pub fn launch_with(
        &mut self,
        program: &Arc<Program>,
        launch: Launch,
        manifest: Option<Arc<Manifest>>,
    ) -> &mut Self {
        let program = Arc::clone(program);
        self.system.push(self.queue, Operation::Launch { program, launch, manifest });
        self
    }

    /// A copy between memory of any devices, or the host's.
    pub fn copy(&mut self, to: DevicePointer, from: DevicePointer, bytes: usize) -> &mut Self {
        self.system.push(self.queue, Operation::Copy { to, from, bytes });
        self
    }

    /// A copy from the process: what `data` holds now.
    pub fn write(&mut self, to: DevicePointer, data: &[u8]) -> &mut Self {
        self.system.push(self.queue, Operation::Write { to, data: data.into() });
        self
    }

    /// A copy to the process.
    pub fn read(&mut self, from: DevicePointer, bytes: usize) -> Ticket {
        let ticket = self.system.ticket();
        self.system.push(self.queue, Operation::Read { from, bytes, result: ticket.0 });
        ticket
    }

    /// Sets bytes.
    pub fn fill(&mut self, to: DevicePointer, byte: u8, bytes: usize) -> &mut Self {
        self.system.push(self.queue, Operation::Fill { to, byte, bytes });
        self
    }

    /// The event happens when all before it on the stream is over.
    pub fn record(&mut self, event: Event) -> &mut Self {
        self.system.record(self.queue, event);
        self
    }

    /// What comes after it on the stream waits for the event as it was last recorded; for one that never was, not.
    pub fn wait(&mut self, event: Event) -> &mut Self {
        self.system.wait(self.queue, event);
        self
    }
}

/// Enqueues for a thread of the host.
#[derive(Debug)]
pub struct OnHost<'s> {
    system: &'s mut System,
    queue: usize,
}

impl OnHost<'_> {
    /// Writes memory that the host reaches, with ordinary stores.
    pub fn write(&mut self, to: DevicePointer, data: &[u8]) -> &mut Self {
        self.system.push(self.queue, Operation::Write { to, data: data.into() });
        self
    }

    /// Reads memory that the host reaches, with ordinary loads.
    pub fn read(&mut self, from: DevicePointer, bytes: usize) -> Ticket {
        let ticket = self.system.ticket();
        self.system.push(self.queue, Operation::Read { from, bytes, result: ticket.0 });
        ticket
    }

    /// Stores a word in one piece, as `std::atomic::store` does.
    pub fn store(&mut self, at: DevicePointer, word: impl Into<Word>, order: Order) -> &mut Self {
        let Word { value, bytes } = word.into();
        self.signal(at, bytes, Signal::Store(value), order)
    }

    /// Loads 32 bits in one piece.
    pub fn load(&mut self, at: DevicePointer, order: Order) -> Ticket {
        let ticket = self.system.ticket();
        self.signal(at, 4, Signal::Load(ticket.0), order);
        ticket
    }

    /// Adds to a word in one piece; the result is the old value.
    pub fn add(&mut self, at: DevicePointer, word: impl Into<Word>, order: Order) -> Ticket {
        let Word { value, bytes } = word.into();
        let ticket = self.system.ticket();
        self.signal(at, bytes, Signal::Add(value, ticket.0), order);
        ticket
    }

    /// Loads a word until it has this value.
    pub fn wait_until(&mut self, at: DevicePointer, word: impl Into<Word>, order: Order) -> &mut Self {
        let Word { value, bytes } = word.into();
        self.signal(at, bytes, Signal::Until(Condition::Equal(value)), order)
    }

    /// Loads a word until it has this value or a larger one.
    pub fn wait_at_least(&mut self, at: DevicePointer, word: impl Into<Word>, order: Order) -> &mut Self {
        let Word { value, bytes } = word.into();
        self.signal(at, bytes, Signal::Until(Condition::AtLeast(value)), order)
    }

    /// A fence for the whole system.
    pub fn fence(&mut self) -> &mut Self {
        self.system.push(self.queue, Operation::Fence);
        self
    }

    /// The event happens here: what waits for it comes after, as a launch does after what the host did before.
    pub fn record(&mut self, event: Event) -> &mut Self {
        self.system.record(self.queue, event);
        self
    }

    /// Waits for an event as it was last recorded; for one that never was, not.
    pub fn wait(&mut self, event: Event) -> &mut Self {
        self.system.wait(self.queue, event);
        self
    }

    fn signal(&mut self, at: DevicePointer, bytes: usize, what: Signal, order: Order) -> &mut Self {
        self.system.push(self.queue, Operation::Signal { at, bytes, what, order: order.into() });
        self
    }
}
