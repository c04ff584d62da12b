//! Copy instructions: which thread reads and which thread gets which bit.

use crate::error::{LayoutError, Result};
use crate::layout::Layout;

/// One copy instruction. All three layouts map (thread, bit) to a bit of what the instruction moves.
///
/// ```
/// use warpsmith_layout::atom::CopyAtom;
/// let ldmatrix = CopyAtom::named("SM75_U32x4_LDSM_N")?.values(16)?;
/// assert_eq!(ldmatrix.source.to_string(), "(32,8):(8,1)"); // each thread gives a row of 8 halves,
/// assert_eq!(ldmatrix.target.to_string(), "(32,(2,4)):(2,(1,64))"); // and gets 2 of each matrix
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyAtom {
    /// CUTLASS' name of the instruction.
    pub name: String,
    /// From logical thread to lane.
    pub threads: Layout,
    /// What each thread reads.
    pub source: Layout,
    /// What each thread gets or writes.
    pub target: Layout,
    /// The numbering of bits that a thread-value layout refers to: the registers' side.
    pub reference: Layout,
}

const ROWS: &[(&str, &str, &str)] = &[
    ("SM75_U32x1_LDSM_N", "((8,4),128):((128,0),1)", "(32,32):(32,1)"),
    ("SM75_U32x2_LDSM_N", "((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))"),
    ("SM75_U32x4_LDSM_N", "(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))"),
    ("SM75_U16x2_LDSM_T", "((8,4),128):((128,0),1)", "((4,8),(16,2)):((256,16),(1,128))"),
    ("SM75_U16x4_LDSM_T", "((16,2),128):((128,0),1)", "((4,8),(16,2,2)):((256,16),(1,128,1024))"),
    ("SM75_U16x8_LDSM_T", "(32,128):(128,1)", "((4,8),(16,2,4)):((256,16),(1,128,1024))"),
];

impl CopyAtom {
    /// The instruction with this CUTLASS name: `ldmatrix`, `stmatrix`, `movmatrix`, `cp.async`, and plain copies by
    /// one thread.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert_eq!(CopyAtom::named("SM75_U32x4_LDSM_N")?.threads.to_string(), "32:1");
    /// assert!(CopyAtom::named("SM75_U32x3_LDSM_N").is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn named(name: &str) -> Result<CopyAtom> {
        let warp = |source: &str, target: &str, registers: &str| {
            Ok(CopyAtom {
                name: name.to_string(),
                threads: Layout::new(32, 1)?,
                source: source.parse()?,
                target: target.parse()?,
                reference: registers.parse()?,
            })
        };
        if name == "SM75_U32x1_MOVM_T" {
            let registers = "(32,32):(32,1)";
            return warp(registers, registers, registers);
        }
        if let Some((_, rows, registers)) = ROWS.iter().find(|row| row.0 == name) {
            return warp(rows, registers, registers);
        }
        // stmatrix is ldmatrix the other way round.
        let load = name.replace("SM90", "SM75").replace("_STSM_", "_LDSM_");
        if let Some((_, rows, registers)) = ROWS.iter().find(|row| row.0 == load) {
            return warp(registers, rows, registers);
        }
        match width(name) {
            Some(bits) => CopyAtom::plain(name, bits),
            None => Err(LayoutError::Unsupported(format!("no copy instruction {name}"))),
        }
    }

    /// A copy of so many bits by one thread.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert_eq!(CopyAtom::plain("a copy of 64 bits", 64)?.source.to_string(), "(1,64):(0,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn plain(name: impl Into<String>, bits: i64) -> Result<CopyAtom> {
        let layout = Layout::new((1, bits), (0, 1))?;
        Ok(CopyAtom {
            name: name.into(),
            threads: Layout::one(),
            source: layout.clone(),
            target: layout.clone(),
            reference: layout,
        })
    }

    /// The same in values of so many bits instead of bits.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// let halves = CopyAtom::named("UniversalCopy<uint128_t>")?.values(16)?;
    /// assert_eq!(halves.target.to_string(), "(1,8):(0,1)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn values(&self, bits: i64) -> Result<CopyAtom> {
        Ok(CopyAtom {
            name: self.name.clone(),
            threads: self.threads.clone(),
            source: self.source.upcast(bits)?,
            target: self.target.upcast(bits)?,
            reference: self.reference.upcast(bits)?,
        })
    }
}

/// The bits of `UniversalCopy<uint64_t>` and `SM80_CP_ASYNC_CACHEGLOBAL<uint128_t,uint128_t>`.
fn width(name: &str) -> Option<i64> {
    let (family, element) = name.split_once('<')?;
    let known = ["UniversalCopy", "SM80_CP_ASYNC_CACHEALWAYS", "SM80_CP_ASYNC_CACHEGLOBAL"].contains(&family);
    let element = element.strip_suffix('>')?.split(',').next()?;
    let bits = element.strip_prefix("uint")?.strip_suffix("_t")?.parse().ok()?;
    (known && [8, 16, 32, 64, 128].contains(&bits)).then_some(bits)
}
