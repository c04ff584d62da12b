//! A compiled kernel on a device, and its launches.

use super::LaunchError;
use super::parameters::{Block, Encoded};
use crate::device::{Device, DeviceId, Function, LaunchOutcome, LaunchShape, Stream};
use crate::launched::Description;
use std::sync::Arc;
use warpsmith_dsl::{ArgumentError, Arguments, Compiled, Kernel, Launch, Signature};

/// A compiled kernel on a device.
#[derive(Debug)]
pub struct Loaded {
    /// What compiling gave.
    pub compiled: Compiled,
    /// The function on the device.
    pub function: Function,
    pub(super) device: DeviceId,
    pub(super) fixed: Fixed,
    dynamic_shared: u32,
    about: Arc<Description>,
    encoded: Encoded,
}

/// What of its launch a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    block: [usize; 3],
    cluster: Option<[usize; 3]>,
    registers: [Option<usize>; 2],
    pdl: bool,
}

impl Fixed {
    pub(super) fn of(launch: &Launch) -> Fixed {
        let registers = [launch.max_registers, launch.min_blocks];
        Fixed { block: launch.block, cluster: launch.cluster, registers, pdl: launch.pdl }
    }
}

impl Loaded {
    pub(super) fn new<K: Kernel>(
        kernel: &K,
        compiled: Compiled,
        function: Function,
        signature: &Signature,
        launch: &Launch,
    ) -> Loaded {
        let device = function.device().info().id;
        let about = Arc::new(Description::of::<K>(&compiled, signature, device.into(), kernel.command()));
        let (fixed, dynamic_shared) = (Fixed::of(launch), compiled.program.dynamic_shared());
        Loaded { compiled, function, device, fixed, dynamic_shared, about, encoded: Encoded::default() }
    }

    /// The same kernel from other code.
    pub(super) fn with_function(&self, function: Function) -> Loaded {
        Loaded {
            compiled: self.compiled.clone(),
            function,
            about: self.about.clone(),
            encoded: Encoded::default(),
            ..*self
        }
    }

    #[cfg(test)]
    pub(super) fn about(&self) -> &Description {
        &self.about
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.about.signature
    }

    /// The parameter block for arguments of this signature.
    pub(super) fn block(&self, arguments: &Arguments, device: &Device) -> Result<Block, LaunchError> {
        if self.compiled.tensor_maps.is_empty() {
            Ok(Block::from_slice(arguments.bytes()))
        } else {
            self.encoded.block(&self.compiled, arguments, device)
        }
    }

    /// Queues a launch of what this was compiled for.
    pub(super) fn launch(
        &self,
        launch: &Launch,
        parameters: &[u8],
        stream: &Stream,
    ) -> Result<LaunchOutcome, LaunchError> {
        let shape = shape(launch)?.dynamic_shared(self.dynamic_shared);
        Ok(self.function.launch_of(&self.about, &shape, parameters, stream)?)
    }
}

fn shape(launch: &Launch) -> Result<LaunchShape, ArgumentError> {
    let narrow =
        |name: &'static str, [x, y, z]: [usize; 3]| match (u32::try_from(x), u32::try_from(y), u32::try_from(z)) {
            (Ok(x), Ok(y), Ok(z)) => Ok([x, y, z]),
            _ => {
                let (expected, got) = ("at most 4294967295 along each axis".into(), format!("{x} x {y} x {z}"));
                Err(ArgumentError::Unexpected { name, expected, got })
            }
        };
    let shape = LaunchShape {
        cluster: narrow("cluster", launch.cluster.unwrap_or([1; 3]))?,
        pdl: launch.pdl,
        cooperative: launch.cooperative,
        priority: launch.priority,
        ..LaunchShape::new(narrow("grid", launch.grid)?, narrow("block", launch.block)?)
    };
    Ok(shape)
}
