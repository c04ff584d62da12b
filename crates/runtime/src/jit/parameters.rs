//! The parameter block of a launch: the arguments' bytes, and behind them the tensor maps that the kernel asked for.

use super::LaunchError;
use crate::device::{Device, TensorMap};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};
use warpsmith_dsl::{ArgumentError, Arguments, Compiled};

/// Without an allocation up to four maps.
pub(super) type Block = SmallVec<[u8; 640]>;

/// The latest launch's block: encoding maps costs more than comparing arguments.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    latest: Mutex<Option<(SmallVec<[u8; 128]>, Block)>>,
}

impl Encoded {
    /// The block of a launch of a kernel that has maps.
    pub(super) fn block(
        &self,
        compiled: &Compiled,
        arguments: &Arguments,
        device: &Device,
    ) -> Result<Block, LaunchError> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((bytes, block)) = &*latest
            && bytes[..] == *arguments.bytes()
        {
            return Ok(block.clone());
        }
        let block = encode(compiled, arguments, device)?;
        *latest = Some((SmallVec::from_slice(arguments.bytes()), block.clone()));
        Ok(block)
    }
}

fn encode(compiled: &Compiled, arguments: &Arguments, device: &Device) -> Result<Block, LaunchError> {
    let mut bytes = Block::from_slice(arguments.bytes());
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
