//! Kernels compiled when they are first launched, and found again after that.

use crate::device::{Device, DeviceId, Function, LaunchOutcome, LaunchShape, Stream, TensorMap};
use crate::error::Error;
use crate::manifest::manifest;
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError, RwLock};
use warpsmith_dsl::{
    ArgumentError, Arguments, CompileError, Compiled, Kernel, Launch, Messages, Params, Signature, Tracing,
};

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
    loaded: RwLock<FxHashMap<Key, Arc<Loaded>>>,
}

/// What a compiled form depends on besides the kernel's config.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    device: DeviceId,
    block: [usize; 3],
    cluster: Option<[usize; 3]>,
    registers: [Option<usize>; 2],
    signature: Signature,
}

impl Key {
    fn new(device: &Device, launch: &Launch, signature: &Signature) -> Key {
        Key {
            device: device.info().id,
            block: launch.block,
            cluster: launch.cluster,
            registers: [launch.max_registers, launch.min_blocks],
            signature: signature.clone(),
        }
    }
}

/// A compiled kernel on a device.
#[derive(Debug)]
pub struct Loaded {
    /// What compiling gave.
    pub compiled: Compiled,
    /// The function on the device.
    pub function: Function,
}

/// A kernel with the arguments of one launch, ready to go as often as wanted. It borrows nothing: the tensors must live
/// until the last launch has ended.
#[derive(Clone, Debug)]
pub struct Bound {
    device: Device,
    /// What runs; `None` when the grid is empty and there is nothing to do.
    loaded: Option<Arc<Loaded>>,
    launch: Launch,
    arguments: Arguments,
    /// The whole parameter block: the arguments, then the tensor maps that the kernel asked for.
    parameters: Vec<u8>,
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
        let loaded = Some(Arc::new(Loaded { compiled: loaded.compiled.clone(), function }));
        Ok(Bound { loaded, ..self.clone() })
    }

    /// Launches on a stream of its device.
    ///
    /// # Errors
    /// When the device refuses, or an earlier launch broke it. On a card, what this launch does wrong is an error of a
    /// later call; on an emulated device it is in the outcome.
    pub fn launch(&self, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        let Some(loaded) = &self.loaded else { return Ok(LaunchOutcome::default()) };
        let shape = shape(&self.launch)?.dynamic_shared(loaded.compiled.program.dynamic_shared());
        let manifest = self.device.is_emulated().then(|| manifest(&loaded.compiled, &self.arguments));
        Ok(loaded.function.launch(&shape, &self.parameters, stream, manifest.as_ref())?)
    }
}

impl<K: Kernel> Jit<K> {
    /// Nothing is compiled yet.
    pub fn new(kernel: K) -> Jit<K> {
        Jit { kernel, messages: Messages::Off, loaded: RwLock::default() }
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
        if !arguments.errors().is_empty() {
            return Err(CompileError::Arguments(arguments.errors().to_vec()).into());
        }
        let here = device.info().id.into();
        if let Some((name, t)) = arguments.tensors().find(|(_, t)| t.device != here) {
            let expected = format!("memory of {}", device.info().id);
            let got = format!("memory of device {:#x}", t.device.0);
            return Err(ArgumentError::Unexpected { name, expected, got }.into());
        }
        let loaded = if launch.grid.contains(&0) { None } else { Some(self.find(device, &arguments, &launch)?) };
        let parameters = match &loaded {
            Some(loaded) => parameters(&loaded.compiled, &arguments, device)?,
            None => vec![],
        };
        Ok(Bound { device: device.clone(), loaded, launch, arguments, parameters })
    }

    fn find(&self, device: &Device, arguments: &Arguments, launch: &Launch) -> Result<Arc<Loaded>, LaunchError> {
        let key = Key::new(device, launch, arguments.signature());
        if let Some(found) = self.loaded.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(found.clone());
        }
        let options = Tracing { target: device.chip().target, messages: self.messages };
        let compiled = warpsmith_dsl::compile_with(&self.kernel, arguments, launch, options)?;
        let function = device.load(&compiled.module, &compiled.entry)?;
        let loaded = Arc::new(Loaded { compiled, function });
        // Another thread may have been faster; then its kernel stays, and this one is dropped.
        let mut all = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(key).or_insert(loaded).clone())
    }

    /// Launches on a stream. An empty grid launches nothing.
    ///
    /// # Errors
    /// As [`Jit::bind`] and [`Bound::launch`].
    pub fn launch(&self, args: &<K::Args as Params>::Host<'_>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        self.bind(args, stream.device())?.launch(stream)
    }
}

/// The arguments' bytes, and behind them each tensor map, encoded for the device.
fn parameters(compiled: &Compiled, arguments: &Arguments, device: &Device) -> Result<Vec<u8>, LaunchError> {
    let mut bytes = arguments.bytes().to_vec();
    for map in &compiled.tensor_maps {
        let Some((_, t)) = arguments.tensors().find(|(name, _)| *name == map.tensor) else {
            let (expected, got) = (format!("an argument `{}`", map.tensor), "none".into());
            return Err(ArgumentError::Unexpected { name: "tensor map", expected, got }.into());
        };
        let width = t.dtype.bytes() as u64;
        let encoded = device.encode_tensor_map(&TensorMap {
            address: t.address,
            dtype: map.dtype,
            extents: t.shape.iter().rev().map(|&n| n as u64).collect(),
            strides: t.strides.iter().rev().skip(1).map(|&s| s as u64 * width).collect(),
            boxed: map.boxed.clone(),
            swizzle: map.swizzle,
        })?;
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes.extend_from_slice(&encoded);
    }
    Ok(bytes)
}

fn shape(launch: &Launch) -> Result<LaunchShape, LaunchError> {
    let narrow = |name: &'static str, sizes: [usize; 3]| {
        let mut out = [0; 3];
        for (o, n) in out.iter_mut().zip(sizes) {
            *o = u32::try_from(n).map_err(|_| ArgumentError::Unexpected {
                name,
                expected: "at most 4294967295".into(),
                got: n.to_string(),
            })?;
        }
        Ok::<_, ArgumentError>(out)
    };
    let cluster = narrow("cluster", launch.cluster.unwrap_or([1; 3]))?;
    let shape = LaunchShape::new(narrow("grid", launch.grid)?, narrow("block", launch.block)?).cluster(cluster);
    let shape = if launch.cooperative { shape.cooperative() } else { shape };
    Ok(if launch.pdl { shape.pdl() } else { shape })
}
