//! What a launch's PTX does not say, for the emulator's reports: which tensors its pointers are, what lies in shared
//! memory.

use warpsmith_dsl::{Arguments, Compiled};
use warpsmith_emulator::{ArgumentInfo, DevicePointer, Manifest, SharedTile};
use warpsmith_types::DType;

/// The manifest of a launch.
pub(crate) fn manifest(compiled: &Compiled, arguments: &Arguments) -> Manifest {
    let tensors = arguments.tensors().map(|(name, t)| ArgumentInfo {
        name: name.into(),
        base: DevicePointer(t.address),
        dtype: t.dtype,
        shape: t.shape.clone(),
        strides: t.strides.clone(),
        exclusive: false,
    });
    let mut end = 0;
    let shared = compiled.program.shared.iter().map(|v| {
        let offset = u32::next_multiple_of(end, v.align.max(1));
        end = offset + v.bytes;
        let dtype = if v.bytes.is_multiple_of(4) { DType::U32 } else { DType::U8 };
        let shape = vec![v.bytes as usize / dtype.bytes()];
        SharedTile { name: v.name.clone(), offset, dtype, shape, strides: vec![1] }
    });
    Manifest { shared: shared.collect(), arguments: tensors.collect() }
}
