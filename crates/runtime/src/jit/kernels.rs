//! An operator's kernels: which one a call takes, decided once for all calls like it.

use super::known::Known;
use super::loaded::{Fixed, Loaded};
use super::{Bound, Jit, LaunchError, hash, unfit};
use crate::counters;
use crate::device::{Device, DeviceId, LaunchOutcome, Stream};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use warpsmith_dsl::{ArgumentError, Arguments, Kernel, Launch, Params, Signature};

/// The kernels of an operator, one for each config, for the life of the process; mostly a `static`.
///
/// What config a call takes is asked once for each signature of arguments, size and device, and remembered: planning
/// must depend on nothing else. A call like one before finds its loaded kernel without a lock and without an allocation.
pub struct Kernels<K: Kernel> {
    kernels: Mutex<Option<HashMap<K, Arc<Jit<K>>>>>,
    chosen: Known<Chosen<K>>,
    /// What tuning found in this process, the latest last.
    preferred: Mutex<Vec<Preferred<K>>>,
    /// Counts those: what was chosen before one of them is chosen again.
    age: AtomicU32,
    /// What tuning found in others.
    stored: Option<Stored<K>>,
}

/// Finds the stored winner for a kernel and arguments; launches are asked of the kernels to be compared.
pub(super) type Stored<K> = fn(&K, &Arguments, &dyn Fn(&K) -> Launch, u32, &Device) -> Option<K>;

/// What calls take for which the operator itself would take `model`: also those of another alignment, so that rows of one
/// tensor give the same bits from wherever a call begins in it.
struct Preferred<K> {
    device: DeviceId,
    size: u32,
    signature: Signature,
    model: K,
    kernel: K,
}

struct Chosen<K: Kernel> {
    device: DeviceId,
    size: u32,
    age: u32,
    kernel: Arc<Jit<K>>,
    loaded: Arc<Loaded>,
}

impl<K: Kernel> Chosen<K> {
    /// Whether something was chosen for calls like this, by what was known at that age.
    fn like<'a>(
        arguments: &'a Arguments,
        device: &Device,
        size: u32,
        age: u32,
    ) -> impl Fn(&Chosen<K>) -> bool + use<'a, K> {
        let here = device.info().id;
        move |c| c.device == here && c.size == size && c.age == age && c.loaded.signature() == arguments.signature()
    }
}

impl<K: Kernel + Clone + Eq + Hash> Kernels<K> {
    /// Without kernels yet.
    pub const fn new() -> Kernels<K> {
        Kernels::choosing(None)
    }

    pub(super) const fn choosing(stored: Option<Stored<K>>) -> Kernels<K> {
        Kernels {
            kernels: Mutex::new(None),
            chosen: Known::new(),
            preferred: Mutex::new(vec![]),
            age: AtomicU32::new(0),
            stored,
        }
    }

    /// The kernel of a config.
    pub fn kernel(&self, config: K) -> Arc<Jit<K>> {
        let mut all = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        all.entry(config.clone()).or_insert_with(|| Arc::new(Jit::new(config))).clone()
    }

    /// Launches the kernel that `choose` gives for arguments of this signature, on a device, of this `size`: a number that
    /// is equal where plans are. What a call must keep to beyond its signature is to be checked before, each time.
    ///
    /// # Errors
    /// As `choose` has it, and as [`Jit::launch`].
    pub fn launch(
        &self,
        args: &<K::Args as Params>::Host<'_>,
        size: u32,
        stream: &Stream,
        choose: impl FnOnce() -> Result<K, ArgumentError>,
    ) -> Result<LaunchOutcome, LaunchError> {
        let device = stream.device();
        let arguments = Arguments::of::<K::Args>(args);
        // Before anything is decided: what is tuned meanwhile is asked for by the next call.
        let age = self.age.load(Ordering::Acquire);
        if !unfit(&arguments, device) {
            let (hash, like) = (hash(&arguments, device, size), Chosen::like(&arguments, device, size, age));
            if let Some(Chosen { kernel, loaded, .. }) = self.chosen.find(hash, like) {
                let launch = kernel.kernel().launch(args);
                if launch.grid.contains(&0) {
                    return Ok(LaunchOutcome::default());
                }
                if loaded.fixed == Fixed::of(&launch) {
                    counters::FOUND.add(1);
                    return kernel.run(loaded, &launch, &arguments, stream);
                }
            }
        }
        let kernel = self.decide(choose()?, &arguments, &|k| k.launch(args), size, device);
        let kernel = self.kernel(kernel);
        let launch = kernel.kernel().launch(args);
        match kernel.prepare(&arguments, &launch, device)? {
            None => Ok(LaunchOutcome::default()),
            Some(loaded) => {
                self.remember(&kernel, loaded, &arguments, device, size, age);
                kernel.run(loaded, &launch, &arguments, stream)
            }
        }
    }

    fn remember(
        &self,
        kernel: &Arc<Jit<K>>,
        loaded: &Arc<Loaded>,
        arguments: &Arguments,
        device: &Device,
        size: u32,
        age: u32,
    ) {
        let chosen = Chosen { device: device.info().id, size, age, kernel: kernel.clone(), loaded: loaded.clone() };
        self.chosen.insert(hash(arguments, device, size), chosen, Chosen::like(arguments, device, size, age));
    }

    /// The kernel for a call: what tuning found here, or in another process, or the operator's own.
    fn decide(&self, model: K, arguments: &Arguments, launch: &dyn Fn(&K) -> Launch, size: u32, device: &Device) -> K {
        let Some(stored) = self.stored else { return model };
        let here = device.info().id;
        let like = |p: &&Preferred<K>| {
            let alike = p.device == here && p.size == size && p.model == model;
            alike && p.signature.is_like(arguments.signature())
        };
        let preferred = self.preferred.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = preferred.iter().rfind(like) {
            return found.kernel.clone();
        }
        drop(preferred);
        let Some(kernel) = stored(&model, arguments, launch, size, device) else { return model };
        self.keep(arguments, size, device, (model, kernel.clone()));
        kernel
    }

    fn keep(&self, arguments: &Arguments, size: u32, device: &Device, (model, kernel): (K, K)) {
        let (device, signature) = (device.info().id, arguments.signature().clone());
        let mut preferred = self.preferred.lock().unwrap_or_else(PoisonError::into_inner);
        preferred.push(Preferred { device, size, signature, model, kernel });
    }

    /// Calls like this, for which the operator would take `model`, take that kernel from here on.
    pub(super) fn prefer(&self, arguments: &Arguments, size: u32, device: &Device, (model, kernel): (K, K)) {
        self.keep(arguments, size, device, (model, kernel));
        self.age.fetch_add(1, Ordering::Release);
    }

    /// Compiles a config for arguments, wherever their memory is, or finds what was compiled; calls of that size take it
    /// from here on.
    ///
    /// # Errors
    /// As [`Jit::bind`].
    pub(crate) fn prepare(
        &self,
        config: K,
        arguments: &Arguments,
        launch: &Launch,
        size: u32,
        device: &Device,
    ) -> Result<Option<Arc<Loaded>>, LaunchError> {
        if !arguments.errors().is_empty() {
            return Err(super::refusal(arguments, device));
        }
        let kernel = self.kernel(config);
        let age = self.age.load(Ordering::Acquire);
        let loaded = kernel.form(arguments, launch, device)?;
        if let Some(loaded) = loaded {
            self.remember(&kernel, loaded, arguments, device, size, age);
        }
        Ok(loaded.cloned())
    }

    /// Checks the arguments of a launch and compiles a config for them, without launching it.
    ///
    /// # Errors
    /// As [`Jit::bind`].
    pub fn bind(&self, config: K, args: &<K::Args as Params>::Host<'_>, device: &Device) -> Result<Bound, LaunchError> {
        self.kernel(config).bind(args, device)
    }
}

impl<K: Kernel + Clone + Eq + Hash> Default for Kernels<K> {
    fn default() -> Kernels<K> {
        Kernels::new()
    }
}
