//! `.safetensors`: a length, a JSON header, and the tensors' bytes.

use super::{FileError, Problem, Tensor};
use ::safetensors::tensor::{Metadata, TensorView};
use ::safetensors::{Dtype, SafeTensorError, serialize_to_file};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use warpsmith_types::DType;

/// The format's own limit for its header.
const LARGEST_HEADER: u64 = 100_000_000;

/// Reads the one tensor that is wanted, so that the size of the others does not matter.
pub(super) fn read(path: &Path, name: Option<&str>) -> Result<Tensor, FileError> {
    let failed = |problem| FileError::new(path, problem);
    let unreadable = |e| failed(Problem::Read(e));
    let malformed = |reason: String| failed(Problem::Malformed { kind: "safetensors", reason });

    let mut file = File::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?.len();
    if found < 8 {
        return Err(malformed(format!("it has {found} bytes, fewer than a header's length takes")));
    }
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(unreadable)?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(malformed(format!("a header of {length} bytes is larger than the format allows")));
    }
    let start = 8 + length;
    if start > found {
        return Err(failed(Problem::Truncated { found, expected: start }));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(unreadable)?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|e| malformed(format!("its header: {e}")))?;
    let expected = start.saturating_add(metadata.data_len() as u64);
    if found < expected {
        return Err(failed(Problem::Truncated { found, expected }));
    }
    if found > expected {
        return Err(failed(Problem::Overlong { found, expected }));
    }

    let mut names = metadata.offset_keys();
    names.sort();
    let name = match (name, names.as_slice()) {
        (_, []) => return Err(failed(Problem::Empty)),
        (Some(name), _) => name.to_string(),
        (None, [only]) => only.clone(),
        (None, _) => return Err(failed(Problem::Several { names })),
    };
    let info = metadata.info(&name).ok_or_else(|| failed(Problem::NoTensor { name, names }))?;
    let dtype = from_file(info.dtype).ok_or_else(|| {
        failed(Problem::DType { got: format!("{:?}", info.dtype), expected: "floats of 8 to 64 bits or integers" })
    })?;
    let (from, to) = info.data_offsets;
    let mut bytes = vec![0; to - from];
    file.seek(SeekFrom::Start(start + from as u64)).map_err(unreadable)?;
    file.read_exact(&mut bytes).map_err(unreadable)?;
    Ok(Tensor { dtype, shape: info.shape.clone(), bytes })
}

/// Writes a file of one tensor; pairs of 4-bit floats as bytes.
pub(super) fn write(path: &Path, name: &str, tensor: &Tensor) -> Result<DType, FileError> {
    let problem = |e| match e {
        SafeTensorError::IoError(e) => FileError::new(path, Problem::Write(e)),
        e => FileError::new(path, Problem::Write(std::io::Error::other(e))),
    };
    // The file would count each half of a byte as an element.
    let dtype = if tensor.dtype == DType::E2M1x2 { DType::U8 } else { tensor.dtype };
    let view = TensorView::new(to_file(dtype), tensor.shape.clone(), &tensor.bytes).map_err(problem)?;
    serialize_to_file([(name, view)], None, path).map_err(problem)?;
    Ok(dtype)
}

fn from_file(dtype: Dtype) -> Option<DType> {
    DType::ALL.into_iter().filter(|d| *d != DType::E2M1x2).find(|d| to_file(*d) == dtype)
}

fn to_file(dtype: DType) -> Dtype {
    match dtype {
        DType::F64 => Dtype::F64,
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::E4M3 => Dtype::F8_E4M3,
        DType::E5M2 => Dtype::F8_E5M2,
        DType::E8M0 => Dtype::F8_E8M0,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U64 => Dtype::U64,
        DType::U32 => Dtype::U32,
        DType::U16 => Dtype::U16,
        DType::U8 | DType::E2M1x2 => Dtype::U8,
    }
}
