//! What is known of a launch that has been: put in words when it, or one after it, has broken the device.

use smallvec::SmallVec;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpsmith_dsl::{Argument, Compiled, DeviceId, Signature};
use warpsmith_emulator::{ArgumentInfo, DevicePointer, Manifest, SharedTile};
use warpsmith_types::DType;

/// What launches of a kernel have in common.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// Its name in the PTX.
    pub(crate) kernel: Box<str>,
    /// The Rust type that it was traced from; empty for PTX from elsewhere.
    operator: &'static str,
    /// What its parameters are; empty when not known.
    pub(crate) signature: Signature,
    device: Option<DeviceId>,
    /// The tiles that it has in shared memory.
    shared: Vec<SharedTile>,
    /// The command that runs it elsewhere, as [`warpsmith_dsl::Kernel::command`] gives it.
    command: Option<String>,
}

impl Description {
    /// Of PTX of which nothing is known but the kernel's name.
    pub(crate) fn named(kernel: &str) -> Description {
        Description { kernel: kernel.into(), ..Description::default() }
    }

    /// Of a kernel of the language, traced from the type `K`.
    pub(crate) fn of<K>(
        compiled: &Compiled,
        signature: &Signature,
        device: DeviceId,
        command: Option<String>,
    ) -> Description {
        let mut end = 0;
        let shared = compiled.program.shared.iter().map(|v| {
            let offset = u32::next_multiple_of(end, v.align.max(1));
            end = offset + v.bytes;
            let dtype = if v.bytes.is_multiple_of(4) { DType::U32 } else { DType::U8 };
            let shape = vec![v.bytes as usize / dtype.bytes()];
            SharedTile { name: v.name.clone(), offset, dtype, shape, strides: vec![1] }
        });
        // Without the path and what it is generic over.
        let path = std::any::type_name::<K>();
        let path = path.split('<').next().unwrap_or(path);
        Description {
            kernel: compiled.entry.as_str().into(),
            operator: path.rsplit("::").next().unwrap_or(path),
            signature: signature.clone(),
            device: Some(device),
            shared: shared.collect(),
            command,
        }
    }

    fn arguments(&self, parameters: &[u8]) -> Vec<(&'static str, Argument)> {
        self.device.map_or(vec![], |device| self.signature.arguments(parameters, device))
    }

    /// What the emulator wants to know of a launch with these parameters; `None` when nothing is known.
    pub(crate) fn manifest(&self, parameters: &[u8]) -> Option<Manifest> {
        self.device?;
        let tensors = self.arguments(parameters).into_iter().filter_map(|(name, argument)| match argument {
            Argument::Tensor(t) => Some(ArgumentInfo {
                name: name.into(),
                base: DevicePointer(t.address),
                dtype: t.dtype,
                shape: t.shape,
                strides: t.strides,
                exclusive: false,
            }),
            _ => None,
        });
        Some(Manifest { shared: self.shared.clone(), arguments: tensors.collect() })
    }

    pub(crate) fn suspect(&self, parameters: &[u8]) -> Suspect {
        let arguments = self.arguments(parameters);
        let command = self.command.as_ref().map(|command| {
            arguments.iter().fold(command.clone(), |command, (name, argument)| match argument {
                Argument::Tensor(t) => {
                    let shape = t.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
                    command.replace(&format!("{{{name}}}"), &shape)
                }
                other => command.replace(&format!("{{{name}}}"), &other.to_string()),
            })
        });
        Suspect {
            kernel: self.kernel.to_string(),
            operator: (!self.operator.is_empty()).then(|| self.operator.into()),
            arguments: arguments.into_iter().map(|(name, a)| (name.into(), a.to_string())).collect(),
            command,
        }
    }
}

/// A launch that may have broken a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The kernel's name in its PTX.
    pub kernel: String,
    /// The Rust type that it was traced from.
    pub operator: Option<String>,
    /// Names of its arguments, and what they were: `bf16 (33, 4096) at 0x7f0000000000`.
    pub arguments: Vec<(String, String)>,
    /// The shell command that runs the same on an emulated device.
    pub command: Option<String>,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.kernel)?;
        if let Some(operator) = &self.operator {
            write!(f, " of {operator}")?;
        }
        for (i, (name, argument)) in self.arguments.iter().enumerate() {
            write!(f, "{}{name}: {argument}", if i == 0 { " with " } else { ", " })?;
        }
        Ok(())
    }
}

/// Launches that are remembered. An error is found at the next synchronisation, and few launch more between two.
const REMEMBERED: usize = 32;
/// Bytes of a launch's parameters that are remembered: those of the arguments, which come first.
const BYTES: usize = 128;

/// The latest launches on a device, until they are known to have ended well.
#[derive(Default)]
pub(crate) struct Recent {
    next: AtomicU64,
    /// Of which each launch writes the next: they are locked one at a time, by nobody else most of the time.
    slots: Box<[Mutex<Option<Slot>>; REMEMBERED]>,
}

struct Slot {
    number: u64,
    stream: u64,
    what: What,
}

/// What was launched.
enum What {
    Kernel(Launched),
    Graph(Arc<[Launched]>),
}

/// A launch of a kernel: all that is needed to put it in words.
#[derive(Clone, Debug)]
pub(crate) struct Launched {
    about: Arc<Description>,
    parameters: SmallVec<[u8; BYTES]>,
}

impl Launched {
    pub(crate) fn new(about: &Arc<Description>, parameters: &[u8]) -> Launched {
        let parameters = SmallVec::from_slice(&parameters[..parameters.len().min(BYTES)]);
        Launched { about: about.clone(), parameters }
    }
}

/// A moment: what was launched before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before(u64);

impl Recent {
    /// Remembers a launch.
    pub(crate) fn launched(&self, about: &Arc<Description>, parameters: &[u8], stream: u64) {
        self.remember(What::Kernel(Launched::new(about, parameters)), stream);
    }

    /// Remembers a graph's launch.
    pub(crate) fn replayed(&self, launches: &Arc<[Launched]>, stream: u64) {
        self.remember(What::Graph(launches.clone()), stream);
    }

    fn remember(&self, what: What, stream: u64) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        *lock(&self.slots[number as usize % REMEMBERED]) = Some(Slot { number, stream, what });
    }

    /// Now.
    pub(crate) fn now(&self) -> Before {
        Before(self.next.load(Ordering::Relaxed))
    }

    /// Those of a stream have ended well, or of all streams, as far as they were launched before a moment: others may
    /// launch while one waits.
    pub(crate) fn finished(&self, stream: Option<u64>, Before(end): Before) {
        for slot in self.slots.iter() {
            let mut slot = lock(slot);
            if slot.as_ref().is_some_and(|s| s.number < end && stream.is_none_or(|stream| stream == s.stream)) {
                *slot = None;
            }
        }
    }

    /// Those of which that is not known, the latest last, and of equal ones only the latest.
    pub(crate) fn suspects(&self) -> Vec<Suspect> {
        let mut all: Vec<(u64, Suspect)> = vec![];
        for slot in self.slots.iter() {
            if let Some(Slot { number, what, .. }) = &*lock(slot) {
                let launches = match what {
                    What::Kernel(launch) => std::slice::from_ref(launch),
                    What::Graph(launches) => launches,
                };
                all.extend(launches.iter().map(|l| (*number, l.about.suspect(&l.parameters))));
            }
        }
        // Those of a graph stay in their order.
        all.sort_by_key(|(number, _)| *number);
        let mut suspects: Vec<Suspect> = vec![];
        for (_, suspect) in all {
            suspects.retain(|s| *s != suspect);
            suspects.push(suspect);
        }
        suspects
    }
}

fn lock(slot: &Mutex<Option<Slot>>) -> MutexGuard<'_, Option<Slot>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recent: &Recent) -> Vec<String> {
        recent.suspects().into_iter().map(|s| s.kernel).collect()
    }

    #[test]
    fn what_has_ended_is_no_suspect() {
        let recent = Recent::default();
        let about = |name: &str| Arc::new(Description::named(name));
        let launch = |name: &str, stream| recent.launched(&about(name), &[], stream);
        launch("a", 1);
        launch("b", 2);
        launch("a", 1);
        assert_eq!(names(&recent), ["b", "a"]);
        let before = recent.now();
        launch("c", 1);
        recent.finished(Some(1), before);
        assert_eq!(names(&recent), ["b", "c"]);
        let graph: Arc<[Launched]> = ["e", "d", "b"].map(|name| Launched::new(&about(name), &[])).into();
        recent.replayed(&graph, 1);
        assert_eq!(names(&recent), ["c", "e", "d", "b"]);
        recent.finished(None, recent.now());
        assert!(names(&recent).is_empty());
        for i in 0..100 {
            launch(&i.to_string(), 1);
        }
        let last: Vec<String> = (68..100).map(|i: i32| i.to_string()).collect();
        assert_eq!(names(&recent), last);
    }
}
