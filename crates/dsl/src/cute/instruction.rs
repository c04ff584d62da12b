//! From an atom's name to its instruction.

use warpsmith_layout::Layout;
use warpsmith_layout::atom::{CopyAtom, MmaAtom, TiledCopy};
use warpsmith_types::DType;

/// What a copy atom does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyKind {
    /// Loads and stores of up to so many bytes.
    Plain,
    /// `cp.async`, past L1 or through it.
    Async {
        /// `.cg`.
        past_l1: bool,
        bytes: i64,
    },
    /// `ldmatrix` of so many matrices.
    LoadMatrix { count: usize, transposed: bool },
    /// `stmatrix`.
    StoreMatrix { count: usize, transposed: bool },
}

/// What a copy atom does; the error says why it can not be done.
pub(crate) fn copy_of(atom: &CopyAtom) -> Result<CopyKind, String> {
    let name = atom.name.as_str();
    let family = name.split_once('<').map_or(name, |n| n.0);
    match family {
        "SM80_CP_ASYNC_CACHEGLOBAL" | "SM80_CP_ASYNC_CACHEALWAYS" => {
            let past_l1 = family.ends_with("GLOBAL");
            let bits = name.split("uint").nth(1).and_then(|n| n.split('_').next()).and_then(|n| n.parse::<i64>().ok());
            match bits {
                Some(128) => Ok(CopyKind::Async { past_l1, bytes: 16 }),
                Some(bits @ (32 | 64)) if !past_l1 => Ok(CopyKind::Async { past_l1, bytes: bits / 8 }),
                _ => Err(format!("`{name}`: cp.async.ca copies 4, 8 or 16 bytes, cp.async.cg 16")),
            }
        }
        "SM75_U32x1_LDSM_N" => Ok(CopyKind::LoadMatrix { count: 1, transposed: false }),
        "SM75_U32x2_LDSM_N" => Ok(CopyKind::LoadMatrix { count: 2, transposed: false }),
        "SM75_U32x4_LDSM_N" => Ok(CopyKind::LoadMatrix { count: 4, transposed: false }),
        "SM75_U16x2_LDSM_T" => Ok(CopyKind::LoadMatrix { count: 1, transposed: true }),
        "SM75_U16x4_LDSM_T" => Ok(CopyKind::LoadMatrix { count: 2, transposed: true }),
        "SM75_U16x8_LDSM_T" => Ok(CopyKind::LoadMatrix { count: 4, transposed: true }),
        "SM90_U32x1_STSM_N" => Ok(CopyKind::StoreMatrix { count: 1, transposed: false }),
        "SM90_U32x2_STSM_N" => Ok(CopyKind::StoreMatrix { count: 2, transposed: false }),
        "SM90_U32x4_STSM_N" => Ok(CopyKind::StoreMatrix { count: 4, transposed: false }),
        "SM90_U16x2_STSM_T" => Ok(CopyKind::StoreMatrix { count: 1, transposed: true }),
        "SM90_U16x4_STSM_T" => Ok(CopyKind::StoreMatrix { count: 2, transposed: true }),
        "SM90_U16x8_STSM_T" => Ok(CopyKind::StoreMatrix { count: 4, transposed: true }),
        "SM75_U32x1_MOVM_T" => Err(format!("`{name}` moves between registers of lanes, not between tensors")),
        _ => Ok(CopyKind::Plain),
    }
}

/// Why an atom does not cover the threads and values of a tiled copy, if so.
pub(crate) fn uncovered(copy: &TiledCopy) -> Option<String> {
    let sizes = |l: &Layout| Some((l.mode(0).ok()?.size().ok()?, l.mode(1).ok()?.size().ok()?));
    let ((threads, values), (atom_threads, atom_values)) = (sizes(copy.tv())?, sizes(&copy.atom().reference)?);
    if threads % atom_threads == 0 && values % atom_values == 0 {
        return None;
    }
    Some(format!(
        "`{}` moves {atom_values} elements of each of {atom_threads} threads; {threads} threads of {values} elements are \
         no whole number of it",
        copy.atom().name
    ))
}

/// A matrix instruction of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MmaInstruction {
    /// As PTX writes it.
    pub(crate) name: String,
    /// Of A, B and the sums; tf32 is kept as f32.
    pub(crate) dtypes: [DType; 3],
}

/// The instruction of an atom `SM80_16x8x16_F32BF16BF16F32_TN`; the error says why there is none.
pub(crate) fn mma_of(atom: &MmaAtom) -> Result<MmaInstruction, String> {
    let none = |why: &str| format!("`{}` is no mma.sync: {why}", atom.name);
    let mut parts = atom.name.split('_');
    let (_, shape, types, order) = (parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(shape), Some(types), Some("TN")) = (shape, types, order) else {
        return Err(none("its name is not `SM80_16x8x16_F32BF16BF16F32_TN` or alike"));
    };
    if atom.threads.size() != Ok(32) {
        return Err(none("it is not one warp's"));
    }
    let mut types = types;
    let mut next = || {
        let (text, word, dtype) = WORDS.iter().find(|(text, ..)| types.starts_with(text))?;
        types = &types[text.len()..];
        Some((*word, *dtype))
    };
    let (Some(d), Some(a), Some(b), Some(c)) = (next(), next(), next(), next()) else {
        return Err(none("elements are f16, bf16, tf32, e4m3, e5m2, s8 or u8, sums f32, f16 or s32"));
    };
    let mut extents = shape.split('x');
    let (Some(m), Some(n), Some(k)) = (extents.next(), extents.next(), extents.next()) else {
        return Err(none("its name has no shape"));
    };
    let name = format!("mma.sync.aligned.m{m}n{n}k{k}.row.col.{}.{}.{}.{}", d.0, a.0, b.0, c.0);
    Ok(MmaInstruction { name, dtypes: [a.1, b.1, d.1] })
}

/// The dtypes of A, B and the sums of an atom, of a warp or a warpgroup.
pub(crate) fn dtypes_of(atom: &MmaAtom) -> Result<[DType; 3], String> {
    let Some(types) = atom.name.strip_prefix("SM90_64x").and_then(|rest| rest.split('_').nth(1)) else {
        return mma_of(atom).map(|i| i.dtypes);
    };
    let mut types = types;
    let mut next = || {
        let (text, _, dtype) = WORDS.iter().find(|(text, ..)| types.starts_with(text))?;
        types = &types[text.len()..];
        Some(*dtype)
    };
    match (next(), next(), next()) {
        (Some(sums), Some(a), Some(b)) => Ok([a, b, sums]),
        _ => Err(format!("the elements of `{}` have no dtypes", atom.name)),
    }
}

/// CUTLASS' word, PTX's word, the dtype in memory.
const WORDS: [(&str, &str, DType); 9] = [
    ("F32", "f32", DType::F32),
    ("F16", "f16", DType::F16),
    ("BF16", "bf16", DType::BF16),
    ("TF32", "tf32", DType::F32),
    ("E4M3", "e4m3", DType::E4M3),
    ("E5M2", "e5m2", DType::E5M2),
    ("S32", "s32", DType::I32),
    ("S8", "s8", DType::I8),
    ("U8", "u8", DType::U8),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let of = |name: &str| MmaAtom::named(name).map_err(|e| e.to_string()).and_then(|a| mma_of(&a));
        let tf32 = of("SM80_16x8x8_F32TF32TF32F32_TN").unwrap();
        assert_eq!(tf32.name, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
        assert_eq!(tf32.dtypes, [DType::F32; 3]);
        assert_eq!(of("SM80_16x8x32_S32S8S8S32_TN").unwrap().dtypes, [DType::I8, DType::I8, DType::I32]);
        assert!(of("SM90_64x64x16_F32F16F16_SS").unwrap_err().contains("is no mma.sync"));
        let copy = |name: &str| copy_of(&CopyAtom::named(name).unwrap());
        assert_eq!(copy("SM80_CP_ASYNC_CACHEALWAYS<uint64_t>"), Ok(CopyKind::Async { past_l1: false, bytes: 8 }));
        assert!(copy("SM80_CP_ASYNC_CACHEGLOBAL<uint64_t>").unwrap_err().contains("cp.async.cg 16"));
        assert_eq!(copy("SM90_U16x4_STSM_T"), Ok(CopyKind::StoreMatrix { count: 2, transposed: true }));
    }
}
