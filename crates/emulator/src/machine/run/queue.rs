//! What is to be done, and in which order: queues of operations, one for each stream and each thread of the host.

use super::super::launch::Launch;
use crate::Manifest;
use crate::memory::{DevicePointer, Owner};
use crate::program::{Program, Semantics};
use std::sync::Arc;

/// Operations that come one after the other.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The device of a stream; the host for one of its threads.
    pub owner: Owner,
    /// "stream 0 of device 1".
    pub name: String,
    pub operations: Vec<Operation>,
}

/// An operation, and who asked for it.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Launch {
        program: Arc<Program>,
        launch: Launch,
        manifest: Option<Arc<Manifest>>,
    },
    Copy {
        to: DevicePointer,
        from: DevicePointer,
        bytes: usize,
    },
    Fill {
        to: DevicePointer,
        byte: u8,
        bytes: usize,
    },
    /// From memory of the process, as it was when the operation was enqueued.
    Write {
        to: DevicePointer,
        data: Arc<[u8]>,
    },
    /// To the results of the run.
    Read {
        from: DevicePointer,
        bytes: usize,
        result: usize,
    },
    Record,
    /// Waits until the queue has come to an operation of another.
    Wait {
        queue: usize,
        index: usize,
    },
    /// A strong access of the host.
    Signal {
        at: DevicePointer,
        bytes: usize,
        what: Signal,
        order: Semantics,
    },
    /// A fence of the host.
    Fence,
}

/// A strong access of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Store(u64),
    /// To the results of the run.
    Load(usize),
    /// The old value goes to the results.
    Add(u64, usize),
    Until(Condition),
}

/// What a value is waited for to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// This value.
    Equal(u64),
    /// This value or a larger one.
    AtLeast(u64),
}

impl Condition {
    pub(crate) fn holds(self, value: u64) -> bool {
        match self {
            Condition::Equal(x) => value == x,
            Condition::AtLeast(x) => value >= x,
        }
    }
}

impl Operation {
    /// What it does, in words. `name` names memory.
    pub(crate) fn in_words(&self, name: impl Fn(DevicePointer) -> String) -> String {
        match self {
            Operation::Launch { program, .. } => format!("launch of `{}`", program.name),
            Operation::Copy { to, from, bytes } => {
                format!("copy of {bytes} bytes from {} to {}", name(*from), name(*to))
            }
            Operation::Fill { to, bytes, .. } => format!("fill of {bytes} bytes at {}", name(*to)),
            Operation::Write { to, data } => format!("write of {} bytes to {}", data.len(), name(*to)),
            Operation::Read { from, bytes, .. } => format!("read of {bytes} bytes from {}", name(*from)),
            Operation::Record => "record of an event".into(),
            Operation::Wait { .. } => "wait for an event".into(),
            Operation::Signal { at, what, .. } => match what {
                Signal::Store(value) => format!("store of {value} to {}", name(*at)),
                Signal::Load(_) => format!("load of {}", name(*at)),
                Signal::Add(value, _) => format!("atomic addition of {value} to {}", name(*at)),
                Signal::Until(Condition::Equal(value)) => format!("wait until {} holds {value}", name(*at)),
                Signal::Until(Condition::AtLeast(value)) => format!("wait until {} holds {value} or more", name(*at)),
            },
            Operation::Fence => "fence".into(),
        }
    }

    /// Whether it is a party of its own on a stream.
    pub(crate) fn is_work(&self) -> bool {
        !matches!(self, Operation::Record | Operation::Wait { .. })
    }
}
