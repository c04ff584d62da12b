//! Kernels compiled when they are first launched, and found again after that.
//!
//! | file | what |
//! |---|---|
//! | `kernels` | which kernel a call takes, decided once for all calls like it |
//! | `loaded` | a compiled kernel on a device, and its launches |
//! | `known` | a table that is read without a lock |
//! | `busy` | one thread compiles a kernel |
//! | `parameters` | the parameter block of a launch |
//! | `tune` | operators whose plans are measured |

mod busy;
mod kernels;
mod known;
mod loaded;
mod parameters;
#[cfg(test)]
mod tests;
mod tune;

pub use kernels::Kernels;
pub use loaded::Loaded;
pub use tune::Plans;

use crate::counters;
use crate::device::{Device, LaunchOutcome, Stream};
use crate::error::Error;
use crate::range;
use busy::Busy;
use known::Known;
use loaded::Fixed;
use parameters::Block;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use warpsmith_dsl::{ArgumentError, Arguments, CompileError, Kernel, Launch, Messages, Params, Tracing};

/// Why a launch failed.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel does not compile for these arguments.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The device refused, or broke.
    #[error(transparent)]
    Device(#[from] Error),
}

impl From<ArgumentError> for LaunchError {
    fn from(e: ArgumentError) -> LaunchError {
        LaunchError::Compile(CompileError::Arguments(vec![e]))
    }
}

/// A kernel with its compiled forms: one for each device and signature it was launched with.
pub struct Jit<K: Kernel> {
    kernel: K,
    messages: Messages,
    forms: Known<Arc<Loaded>>,
    busy: Busy,
}

/// A kernel with the arguments of one launch, ready to go as often as wanted. It borrows nothing: the tensors must live
/// until the last launch has ended.
#[derive(Clone, Debug)]
pub struct Bound {
    device: Device,
    /// What runs; `None` when the grid is empty and there is nothing to do.
    loaded: Option<Arc<Loaded>>,
    launch: Launch,
    parameters: Block,
}

impl Bound {
    /// The kernel; `None` when the grid is empty.
    pub fn loaded(&self) -> Option<&Arc<Loaded>> {
        self.loaded.as_ref()
    }

    /// How it is launched.
    pub fn shape(&self) -> &Launch {
        &self.launch
    }

    /// The same launch of other PTX with the same parameters: for looking at what a change does.
    ///
    /// # Errors
    /// When the text is no PTX, lacks the kernel, or the device refuses it.
    pub fn with_ptx(&self, text: &str) -> Result<Bound, LaunchError> {
        let Some(loaded) = &self.loaded else { return Ok(self.clone()) };
        let function = self.device.load(text, &loaded.compiled.entry)?;
        Ok(Bound { loaded: Some(Arc::new(loaded.with_function(function))), ..self.clone() })
    }

    /// Launches on a stream of its device.
    ///
    /// # Errors
    /// When the device refuses, or an earlier launch broke it. On a card, what this launch does wrong is an error of a
    /// later call; on an emulated device it is in the outcome of whoever runs it, as
    /// [`Function::launch`](crate::Function::launch) says.
    pub fn launch(&self, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        match &self.loaded {
            Some(loaded) => loaded.launch(&self.launch, &self.parameters, stream),
            None => Ok(LaunchOutcome::default()),
        }
    }
}

impl<K: Kernel> Jit<K> {
    /// Nothing is compiled yet.
    pub const fn new(kernel: K) -> Jit<K> {
        Jit { kernel, messages: Messages::Off, forms: Known::new(), busy: Busy::new() }
    }

    /// With messages and assertions of the kernel compiled in (`device_print!`, `device_assert!`).
    pub fn with_messages(self) -> Jit<K> {
        Jit { messages: Messages::On, ..self }
    }

    /// The kernel's config.
    pub fn kernel(&self) -> &K {
        &self.kernel
    }

    /// Checks the arguments of a launch, and compiles for them or finds what was compiled for others of the same
    /// signature.
    ///
    /// # Errors
    /// When arguments, body or device are not right.
    pub fn bind(&self, args: &<K::Args as Params>::Host<'_>, device: &Device) -> Result<Bound, LaunchError> {
        let arguments = Arguments::of::<K::Args>(args);
        let launch = self.kernel.launch(args);
        let loaded = self.prepare(&arguments, &launch, device)?.cloned();
        let parameters = match &loaded {
            Some(loaded) => loaded.block(&arguments, device)?,
            None => Block::new(),
        };
        Ok(Bound { device: device.clone(), loaded, launch, parameters })
    }

    /// Launches on a stream. An empty grid launches nothing. A call of a signature that was compiled before allocates
    /// nothing.
    ///
    /// # Errors
    /// As [`Jit::bind`] and [`Bound::launch`].
    pub fn launch(&self, args: &<K::Args as Params>::Host<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        let arguments = Arguments::of::<K::Args>(args);
        let launch = self.kernel.launch(args);
        match self.prepare(&arguments, &launch, stream.device())? {
            Some(loaded) => self.run(loaded, &launch, &arguments, stream),
            None => Ok(LaunchOutcome::default()),
        }
    }

    fn run(
        &self,
        loaded: &Loaded,
        launch: &Launch,
        arguments: &Arguments,
        stream: &Stream,
    ) -> Result<LaunchOutcome, LaunchError> {
        if loaded.compiled.tensor_maps.is_empty() {
            loaded.launch(launch, arguments.bytes(), stream)
        } else {
            loaded.launch(launch, &loaded.block(arguments, stream.device())?, stream)
        }
    }

    /// The compiled form for these arguments; `None` when the grid is empty.
    fn prepare(
        &self,
        arguments: &Arguments,
        launch: &Launch,
        device: &Device,
    ) -> Result<Option<&Arc<Loaded>>, LaunchError> {
        if unfit(arguments, device) {
            return Err(refusal(arguments, device));
        }
        self.form(arguments, launch, device)
    }

    /// The same, wherever their memory is.
    pub(crate) fn form(
        &self,
        arguments: &Arguments,
        launch: &Launch,
        device: &Device,
    ) -> Result<Option<&Arc<Loaded>>, LaunchError> {
        if launch.grid.contains(&0) {
            return Ok(None);
        }
        let (here, fixed) = (device.info().id, Fixed::of(launch));
        let like = |l: &Arc<Loaded>| l.device == here && l.fixed == fixed && l.signature() == arguments.signature();
        let hash = hash(arguments, device, 0);
        if let Some(found) = self.forms.find(hash, like) {
            counters::FOUND.add(1);
            return Ok(Some(found));
        }
        // Whoever was here before may have compiled it meanwhile.
        let _mine = self.busy.take(hash);
        if let Some(found) = self.forms.find(hash, like) {
            return Ok(Some(found));
        }
        let loaded = self.compile(arguments, launch, device)?;
        Ok(Some(self.forms.insert(hash, Arc::new(loaded), like)))
    }

    fn compile(&self, arguments: &Arguments, launch: &Launch, device: &Device) -> Result<Loaded, LaunchError> {
        let name = self.kernel.name();
        let _span = tracing::debug_span!("compile", kernel = name, device = %device.info().id).entered();
        let _range = range::enter("compile");
        let options = Tracing { target: device.chip().target, messages: self.messages };
        let compiled = {
            let _span = tracing::debug_span!("trace", kernel = name).entered();
            warpsmith_dsl::compile_with(&self.kernel, arguments, launch, options)?
        };
        let function = device.load(&compiled.module, &compiled.entry)?;
        counters::COMPILED.add(1);
        Ok(Loaded::new(&self.kernel, compiled, function, arguments.signature(), launch))
    }
}

/// Whether a launch on the device can not take the arguments.
fn unfit(arguments: &Arguments, device: &Device) -> bool {
    !arguments.errors().is_empty() || arguments.elsewhere(device.info().id.into()).is_some()
}

/// Why not.
fn refusal(arguments: &Arguments, device: &Device) -> LaunchError {
    if let (true, Some((name, there))) = (arguments.errors().is_empty(), arguments.elsewhere(device.info().id.into())) {
        let expected = format!("memory of {}", device.info().id);
        let got = format!("memory of device {:#x}", there.0);
        return ArgumentError::Unexpected { name, expected, got }.into();
    }
    CompileError::Arguments(arguments.errors().to_vec()).into()
}

/// Of a signature on a device.
fn hash(arguments: &Arguments, device: &Device, size: u32) -> u64 {
    let mut hasher = FxHasher::default();
    arguments.signature().hash(&mut hasher);
    device.info().id.hash(&mut hasher);
    hasher.write_u32(size);
    hasher.finish()
}
