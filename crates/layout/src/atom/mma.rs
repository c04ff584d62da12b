//! Matrix instructions: who holds which element of the operands.

use crate::convert::IntTuple;
use crate::error::{LayoutError, Result};
use crate::layout::Layout;

/// One matrix instruction: its shape, its threads, and the fragments of its operands.
///
/// `a`, `b` and `c` map (thread, value) to an index in (M,K), (N,K) and (M,N), column by column.
///
/// ```
/// use warpsmith_layout::atom::MmaAtom;
/// let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
/// assert_eq!(mma.shape.to_string(), "(16,8,16)");
/// assert_eq!(mma.c.to_string(), "((4,8),(2,2)):((32,1),(16,8))");
/// // Value 2 of thread 5 of the accumulator: row 9, column 2.
/// assert_eq!(mma.c.at_coord((5, 2))?, 9 + 16 * 2);
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MmaAtom {
    /// CUTLASS' name of the instruction.
    pub name: String,
    /// Its shape (M,N,K).
    pub shape: IntTuple,
    /// From logical thread to lane.
    pub threads: Layout,
    /// The fragment of A.
    pub a: Layout,
    /// The fragment of B.
    pub b: Layout,
    /// The fragment of the accumulator.
    pub c: Layout,
    /// Bits of an element of A, B and the accumulator.
    pub bits: [i64; 3],
}

/// Name, shape, threads, fragments of A, B and C, bits.
type Row = (&'static [&'static str], &'static str, &'static str, [&'static str; 3], [i64; 3]);

const C_16X8: &str = "((4,8),(2,2)):((32,1),(16,8))";
const C_8X8: &str = "((4,8),2):((16,1),8)";
const C_QUAD_PAIR: &str = "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))";

/// The instructions of one thread, a quad pair or a warp.
const WARP: &[Row] = &[
    (&["SM61_DP4A"], "(1,1,4)", "1:0", ["(1,4):(0,1)", "(1,4):(0,1)", "(1,1):(0,0)"], [8, 8, 32]),
    (
        &["SM70_8x8x4_F16F16F16F16_TN"],
        "(8,8,4)",
        "(4,2):(1,16)",
        ["(8,4):(1,8)", "(8,4):(1,8)", "(8,8):(1,8)"],
        [16, 16, 16],
    ),
    (
        &["SM70_8x8x4_F32F16F16F32_TN"],
        "(8,8,4)",
        "(4,2):(1,16)",
        ["(8,4):(1,8)", "(8,4):(1,8)", C_QUAD_PAIR],
        [16, 16, 32],
    ),
    (
        &["SM70_8x8x4_F32F16F16F32_NT"],
        "(8,8,4)",
        "(4,2):(1,16)",
        ["((4,2),4):((8,4),1)", "((4,2),4):((8,4),1)", C_QUAD_PAIR],
        [16, 16, 32],
    ),
    (
        &["SM80_16x8x8_F16F16F16F16_TN"],
        "(16,8,8)",
        "32:1",
        ["((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", C_16X8],
        [16, 16, 16],
    ),
    (
        &["SM75_16x8x8_F32F16F16F32_TN", "SM80_16x8x8_F32F16F16F32_TN", "SM80_16x8x8_F32BF16BF16F32_TN"],
        "(16,8,8)",
        "32:1",
        ["((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", C_16X8],
        [16, 16, 32],
    ),
    (
        &["SM80_16x8x16_F16F16F16F16_TN"],
        "(16,8,16)",
        "32:1",
        ["((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", C_16X8],
        [16, 16, 16],
    ),
    (
        &["SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x16_F32BF16BF16F32_TN"],
        "(16,8,16)",
        "32:1",
        ["((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", C_16X8],
        [16, 16, 32],
    ),
    (
        &["SM80_16x8x4_F32TF32TF32F32_TN"],
        "(16,8,4)",
        "32:1",
        ["((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", C_16X8],
        [32, 32, 32],
    ),
    (
        &["SM80_16x8x8_F32TF32TF32F32_TN"],
        "(16,8,8)",
        "32:1",
        ["((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", C_16X8],
        [32, 32, 32],
    ),
    (
        &["SM80_8x8x4_F64F64F64F64_TN"],
        "(8,8,4)",
        "32:1",
        ["((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", C_8X8],
        [64, 64, 64],
    ),
    (
        &["SM90_16x8x4_F64F64F64F64_TN"],
        "(16,8,4)",
        "32:1",
        ["((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", C_16X8],
        [64, 64, 64],
    ),
    (
        &["SM90_16x8x8_F64F64F64F64_TN"],
        "(16,8,8)",
        "32:1",
        ["((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", C_16X8],
        [64, 64, 64],
    ),
    (
        &["SM90_16x8x16_F64F64F64F64_TN"],
        "(16,8,16)",
        "32:1",
        ["((4,8),(2,4)):((16,1),(8,64))", "((4,8),4):((8,1),32)", C_16X8],
        [64, 64, 64],
    ),
    (
        &["SM75_8x8x16_S32S8S8S32_TN", "SM80_8x8x16_S32S8S8S32_TN"],
        "(8,8,16)",
        "32:1",
        ["((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", C_8X8],
        [8, 8, 32],
    ),
    (
        &[
            "SM80_16x8x16_S32S8S8S32_TN",
            "SM80_16x8x16_S32U8U8S32_TN",
            "SM80_16x8x16_S32S8U8S32_TN",
            "SM80_16x8x16_S32U8S8S32_TN",
        ],
        "(16,8,16)",
        "32:1",
        ["((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)", C_16X8],
        [8, 8, 32],
    ),
    (
        &[
            "SM80_16x8x32_S32S8S8S32_TN",
            "SM80_16x8x32_S32U8U8S32_TN",
            "SM80_16x8x32_S32S8U8S32_TN",
            "SM80_16x8x32_S32U8S8S32_TN",
            "SM89_16x8x32_F32E4M3E4M3F32_TN",
            "SM89_16x8x32_F32E5M2E5M2F32_TN",
            "SM89_16x8x32_F32E4M3E5M2F32_TN",
            "SM89_16x8x32_F32E5M2E4M3F32_TN",
        ],
        "(16,8,32)",
        "32:1",
        ["((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C_16X8],
        [8, 8, 32],
    ),
    (
        &["SM89_16x8x32_F16E4M3E4M3F16_TN", "SM89_16x8x32_F16E5M2E5M2F16_TN"],
        "(16,8,32)",
        "32:1",
        ["((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C_16X8],
        [8, 8, 16],
    ),
    (
        &["SM80_16x8x32_S32S4S4S32_TN"],
        "(16,8,32)",
        "32:1",
        ["((4,8),(8,2)):((128,1),(16,8))", "((4,8),(8)):((64,1),(8))", C_16X8],
        [4, 4, 32],
    ),
    (
        &["SM80_16x8x64_S32S4S4S32_TN"],
        "(16,8,64)",
        "32:1",
        ["((4,8),(8,2,2)):((128,1),(16,8,512))", "((4,8),(8,2)):((64,1),(8,256))", C_16X8],
        [4, 4, 32],
    ),
];

/// The element types of a warpgroup instruction: the part of its name, whether it says `_TN`, K and the bits.
///
/// ```
/// use warpsmith_layout::*;
/// use warpsmith_layout::atom::*;
/// assert_eq!(MmaAtom::wgmma(WgmmaKind::F32E4m3E4m3, 64, false)?.shape.to_string(), "(64,64,32)");
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WgmmaKind {
    /// f16 to f32.
    F32F16F16,
    /// bf16 to f32.
    F32Bf16Bf16,
    /// f16 to f16.
    F16F16F16,
    /// tf32 to f32.
    F32Tf32Tf32,
    /// e4m3 to f32; all pairs of 8-bit floats have the same fragments.
    F32E4m3E4m3,
    /// s8 to s32.
    S32S8S8,
}

const KINDS: [(WgmmaKind, &str, i64, [i64; 3]); 6] = [
    (WgmmaKind::F32F16F16, "F32F16F16", 16, [16, 16, 32]),
    (WgmmaKind::F32Bf16Bf16, "F32BF16BF16", 16, [16, 16, 32]),
    (WgmmaKind::F16F16F16, "F16F16F16", 16, [16, 16, 16]),
    (WgmmaKind::F32Tf32Tf32, "F32TF32TF32", 8, [32, 32, 32]),
    (WgmmaKind::F32E4m3E4m3, "F32E4M3E4M3", 32, [8, 8, 32]),
    (WgmmaKind::S32S8S8, "S32S8S8", 32, [8, 8, 32]),
];

impl MmaAtom {
    /// The instruction with this CUTLASS name.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert_eq!(MmaAtom::named("SM90_64x128x16_F32F16F16_SS")?.shape.to_string(), "(64,128,16)");
    /// assert!(MmaAtom::named("SM90_64x129x16_F32F16F16_SS").is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn named(name: &str) -> Result<MmaAtom> {
        match WARP.iter().find(|row| row.0.contains(&name)) {
            Some(row) => from_row(name, row),
            None => warpgroup_name(name)
                .unwrap_or_else(|| Err(LayoutError::Unsupported(format!("no matrix instruction {name}")))),
        }
    }

    /// All instructions of a thread, a quad pair or a warp.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// use warpsmith_layout::atom::*;
    /// assert!(MmaAtom::warp()?.iter().any(|atom| atom.name == "SM80_16x8x8_F32TF32TF32F32_TN"));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn warp() -> Result<Vec<MmaAtom>> {
        WARP.iter().flat_map(|row| row.0.iter().map(move |name| from_row(name, row))).collect()
    }

    /// A warpgroup instruction, with `n` columns, and A from registers or from shared memory.
    ///
    /// What comes from shared memory has no fragment: each thread "holds" the whole operand.
    ///
    /// ```
    /// use warpsmith_layout::atom::{MmaAtom, WgmmaKind};
    /// let mma = MmaAtom::wgmma(WgmmaKind::F32Bf16Bf16, 256, false)?;
    /// assert_eq!(mma.name, "SM90_64x256x16_F32BF16BF16_SS");
    /// assert_eq!(mma.c.to_string(), "((4,8,4),(2,2,32)):((128,1,16),(64,8,512))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn wgmma(kind: WgmmaKind, n: i64, a_in_registers: bool) -> Result<MmaAtom> {
        if !(8..=256).contains(&n) || n % 8 != 0 {
            return Err(LayoutError::Unsupported(format!("a warpgroup instruction of {n} columns")));
        }
        if a_in_registers && kind == WgmmaKind::S32S8S8 {
            // The instruction exists; its fragment is that of 8-bit floats.
            return Self::wgmma(WgmmaKind::F32E4m3E4m3, n, true)
                .map(|atom| MmaAtom { name: format!("SM90_64x{n}x32_S32S8S8_RS_TN"), ..atom });
        }
        let (_, types, k, bits) = *KINDS
            .iter()
            .find(|row| row.0 == kind)
            .ok_or_else(|| LayoutError::Unsupported(format!("a warpgroup instruction of {kind:?}")))?;
        let source = if a_in_registers { "RS" } else { "SS" };
        let suffix = if bits[0] == 16 { "" } else { "_TN" };
        let a = match (a_in_registers, bits[0]) {
            (false, _) => format!("(128,(64,{k})):(0,(1,64))"),
            (true, 8) => "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))".to_string(),
            (true, 16) => "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))".to_string(),
            (true, _) => "((4,8,4),(2,2)):((64,1,16),(8,256))".to_string(),
        };
        Ok(MmaAtom {
            name: format!("SM90_64x{n}x{k}_{types}_{source}{suffix}"),
            shape: (64, n, k).into(),
            threads: Layout::new(128, 1)?,
            a: a.parse()?,
            b: Layout::new((128, (n, k)), (0, (1, n)))?,
            c: Layout::new(((4, 8, 4), (2, 2, n / 8)), ((128, 1, 16), (64, 8, 512)))?,
            bits,
        })
    }
}

fn from_row(name: &str, row: &Row) -> Result<MmaAtom> {
    let (_, shape, threads, [a, b, c], bits) = row;
    Ok(MmaAtom {
        name: name.to_string(),
        shape: shape.parse()?,
        threads: threads.parse()?,
        a: a.parse()?,
        b: b.parse()?,
        c: c.parse()?,
        bits: *bits,
    })
}

/// Reads `SM90_64x128x16_F32F16F16_SS`; none for a name of another form.
fn warpgroup_name(name: &str) -> Option<Result<MmaAtom>> {
    let (shape, types) = name.strip_prefix("SM90_64x")?.split_once('_')?;
    let n = shape.split_once('x')?.0.parse().ok()?;
    let types = types.strip_suffix("_TN").unwrap_or(types);
    let (types, source) = types.rsplit_once('_')?;
    let kind = KINDS.iter().find(|row| row.1 == types)?.0;
    let atom = MmaAtom::wgmma(kind, n, source == "RS");
    match &atom {
        Ok(atom) if atom.name != name => None,
        _ => Some(atom),
    }
}
