//! `.npy`: a header, a Python dictionary, and the elements.

use super::{FileError, Problem, Tensor};
use npyz::{NpyHeader, Order, TypeStr, WriteOptions, WriterBuilder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use warpsmith_types::DType;
use warpsmith_types::convert::{bf16_to_f32, e4m3_to_f32, e5m2_to_f32};

const EXPECTED: &str = "floats of 16 to 64 bits or integers, little-endian";

/// The types that the format and we have in common.
pub(super) const TYPES: [(&str, DType); 11] = [
    ("<f8", DType::F64),
    ("<f4", DType::F32),
    ("<f2", DType::F16),
    ("<i8", DType::I64),
    ("<i4", DType::I32),
    ("<i2", DType::I16),
    ("|i1", DType::I8),
    ("<u8", DType::U64),
    ("<u4", DType::U32),
    ("<u2", DType::U16),
    ("|u1", DType::U8),
];

/// Reads the array.
pub(super) fn read(path: &Path) -> Result<Tensor, FileError> {
    let failed = |problem| FileError::new(path, problem);
    let unreadable = |e| failed(Problem::Read(e));
    let malformed = |reason: String| failed(Problem::Malformed { kind: "npy", reason });

    let file = File::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?.len();
    let mut file = BufReader::with_capacity(64 << 10, file);
    if overflows(&String::from_utf8_lossy(file.fill_buf().map_err(unreadable)?)) {
        return Err(malformed("its shape has more elements than can be counted".into()));
    }
    let header = NpyHeader::from_reader(&mut file).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => malformed("its header is cut off".into()),
        io::ErrorKind::InvalidData => malformed(e.to_string()),
        _ => unreadable(e),
    })?;
    let descr = header.dtype().descr();
    let known = TYPES.iter().find(|(name, _)| *name == descr.trim_matches('\''));
    let Some((_, dtype)) = known.copied() else {
        return Err(failed(Problem::DType { got: descr.trim_matches('\'').into(), expected: EXPECTED }));
    };
    if header.order() == Order::Fortran && header.shape().len() > 1 {
        return Err(failed(Problem::FortranOrder));
    }
    let shape: Vec<usize> = header.shape().iter().map(|&n| n as usize).collect();
    let expected = shape
        .iter()
        .try_fold(dtype.bytes(), |bytes, &n| bytes.checked_mul(n))
        .ok_or_else(|| malformed(format!("its shape {shape:?} overflows")))?;

    // Read no more than there is: the size that the header speaks of may be nonsense.
    let mut bytes = vec![];
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let start = found.saturating_sub(bytes.len() as u64);
    let expected_in_all = start.saturating_add(expected as u64);
    if bytes.len() < expected {
        return Err(failed(Problem::Truncated { found, expected: expected_in_all }));
    }
    if bytes.len() > expected {
        return Err(failed(Problem::Overlong { found, expected: expected_in_all }));
    }
    Ok(Tensor { dtype, shape, bytes })
}

/// Whether the extents in a header multiply to more than an integer holds: `npyz` does not look.
fn overflows(header: &str) -> bool {
    let Some((_, rest)) = header.split_once("'shape'") else { return false };
    let shape = rest.split_once(')').map_or(rest, |(shape, _)| shape);
    let extents = shape.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    extents.map(|digits| digits.parse::<u64>().ok()).try_fold(1u64, |n, extent| n.checked_mul(extent?)).is_none()
}

/// Writes the array: bf16 and floats of 8 bits as f32, which holds all of their values, other bytes as they are.
pub(super) fn write(path: &Path, tensor: &Tensor) -> Result<DType, FileError> {
    let failed = |e: io::Error| FileError::new(path, Problem::Write(e));
    let dtype = match tensor.dtype {
        DType::BF16 | DType::E4M3 | DType::E5M2 => DType::F32,
        DType::E2M1x2 | DType::E8M0 => DType::U8,
        other => other,
    };
    let descr = TYPES.iter().find(|(_, d)| *d == dtype).map_or("|u1", |(descr, _)| descr);
    let descr: TypeStr = descr.parse().map_err(|e| failed(io::Error::other(format!("{e}"))))?;
    let shape: Vec<u64> = tensor.shape.iter().map(|&n| n as u64).collect();
    let mut file = WriteOptions::new_header_only()
        .dtype(npyz::DType::new_scalar(descr))
        .shape(&shape)
        .writer(BufWriter::new(File::create(path).map_err(failed)?))
        .write_header_only()
        .map_err(failed)?;
    let mut widened = |value: f32| file.write_all(&value.to_le_bytes());
    match tensor.dtype {
        DType::BF16 => {
            tensor.bytes.as_chunks().0.iter().try_for_each(|pair| widened(bf16_to_f32(u16::from_le_bytes(*pair))))
        }
        DType::E4M3 => tensor.bytes.iter().try_for_each(|byte| widened(e4m3_to_f32(*byte))),
        DType::E5M2 => tensor.bytes.iter().try_for_each(|byte| widened(e5m2_to_f32(*byte))),
        _ => file.write_all(&tensor.bytes),
    }
    .and_then(|()| file.flush())
    .map_err(failed)?;
    Ok(dtype)
}
