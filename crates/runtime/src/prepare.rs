//! Compiling before anyone calls: so that no first request waits, and no collective starts skewed.
//!
//! A [`Request`] is a kernel with arguments as they will be: their shapes and alignment, not their memory. A device
//! prepares many at once; a [bundle](crate::bundle) compiles them for chips that are not there.

use crate::counters;
use crate::device::Device;
use crate::jit::{Jit, Kernels, LaunchError, Loaded};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use warpsmith_dsl::{Arguments, CompileError, Compiled, Kernel, Launch, Params, Signature, Target, Tracing};

/// A kernel to compile for arguments as they will be.
pub struct Request<'a> {
    name: String,
    job: Box<dyn Job + 'a>,
}

/// What can be done with a request. It is done by any thread, and waits for none.
trait Job: Send + Sync {
    fn signature(&self) -> &Signature;
    fn compile(&self, target: Target) -> Result<Compiled, CompileError>;
    fn load(&self, device: &Device) -> Result<Option<Arc<Loaded>>, LaunchError>;
}

impl Request<'_> {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its code depends on beyond its config.
    pub fn signature(&self) -> &Signature {
        self.job.signature()
    }

    /// Its PTX for a target.
    ///
    /// # Errors
    /// When arguments, body or target are not right.
    pub fn compile(&self, target: Target) -> Result<Compiled, CompileError> {
        self.job.compile(target)
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({})", self.name)
    }
}

struct OfJit<'a, K: Kernel> {
    jit: &'a Jit<K>,
    arguments: Arguments,
    launch: Launch,
}

impl<K: Kernel> Job for OfJit<'_, K> {
    fn signature(&self) -> &Signature {
        self.arguments.signature()
    }

    fn compile(&self, target: Target) -> Result<Compiled, CompileError> {
        let options = Tracing { target, ..Tracing::default() };
        warpsmith_dsl::compile_with(self.jit.kernel(), &self.arguments, &self.launch, options)
    }

    fn load(&self, device: &Device) -> Result<Option<Arc<Loaded>>, LaunchError> {
        Ok(self.jit.form(&self.arguments, &self.launch, device)?.cloned())
    }
}

struct OfOperator<'a, K: Kernel> {
    operator: &'a Kernels<K>,
    config: K,
    size: u32,
    arguments: Arguments,
    launch: Launch,
}

impl<K: Kernel + Clone + Eq + Hash> Job for OfOperator<'_, K> {
    fn signature(&self) -> &Signature {
        self.arguments.signature()
    }

    fn compile(&self, target: Target) -> Result<Compiled, CompileError> {
        let options = Tracing { target, ..Tracing::default() };
        warpsmith_dsl::compile_with(&self.config, &self.arguments, &self.launch, options)
    }

    fn load(&self, device: &Device) -> Result<Option<Arc<Loaded>>, LaunchError> {
        self.operator.prepare(self.config.clone(), &self.arguments, &self.launch, self.size, device)
    }
}

impl<K: Kernel> Jit<K> {
    /// A request for arguments like these. Their addresses count by what they are aligned to; nothing need be there.
    pub fn request(&self, args: &<K::Args as Params>::Host<'_>) -> Request<'_> {
        let (arguments, launch) = (Arguments::of::<K::Args>(args), self.kernel().launch(args));
        Request { name: self.kernel().name(), job: Box::new(OfJit { jit: self, arguments, launch }) }
    }
}

impl<K: Kernel + Clone + Eq + Hash> Kernels<K> {
    /// A request for a config and arguments like these, which calls of this `size` take from then on. Addresses count by
    /// what they are aligned to; nothing need be there.
    pub fn request<'a>(&'a self, config: K, args: &<K::Args as Params>::Host<'_>, size: u32) -> Request<'a>
    where
        K: 'a,
    {
        let (arguments, launch) = (Arguments::of::<K::Args>(args), config.launch(args));
        let name = config.name();
        Request { name, job: Box::new(OfOperator { operator: self, config, size, arguments, launch }) }
    }
}

/// A kernel that has been prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Its name.
    pub kernel: String,
    /// Whether its machine code was there before; `None` when the grid is empty and there is no kernel.
    pub cached: Option<bool>,
    /// From its Rust to loaded, beside the others.
    pub time: Duration,
}

/// Compiles and loads many kernels at once, on as many threads as the host has cores. A result for each request, in their
/// order; one that fails does not keep the others.
pub fn prepare(device: &Device, requests: &[Request<'_>]) -> Vec<Result<Prepared, LaunchError>> {
    let each = |request: &Request<'_>| {
        let start = Instant::now();
        let loaded = request.job.load(device)?;
        let cached = loaded.map(|l| l.function.report().cached);
        Ok(Prepared { kernel: request.name.clone(), cached, time: start.elapsed() })
    };
    let before = counters::snapshot().compiles;
    let all = side_by_side(requests, each);
    tracing::debug!(requests = requests.len(), compiled = counters::snapshot().compiles - before, "prepared");
    all
}

/// Does something with each, on threads of its own. They take one after the other and none waits for another to take
/// more: a thread that waits for a key's lock is never one that the lock's holder waits for, as could be in a pool that
/// steals work.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = each(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
