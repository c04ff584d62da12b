//! Which products a warpgroup can form, and the operands that it takes: tiles of shared memory, registers for A.

use crate::cute::SmemTensor;
use crate::frag::{Frag, Stored};
use crate::matrix_descriptor::Matrix;
use crate::pipeline::Full;
use crate::trace::{mistake, with};
use crate::wgmma::{Acc, MMA_ROWS};
use std::panic::Location;
use warpsmith_ir::{Op, RegisterId, Type};
use warpsmith_layout::atom::{MmaAtom, TiledMma, WgmmaKind};
use warpsmith_layout::{Layout, LayoutError};
use warpsmith_types::DType;

/// A product of a warpgroup: 64 rows of A by `n` rows of B, summed in f32, f16 or i32. Plain data.
///
/// | A and B | sums | one instruction takes of K |
/// |---|---|---|
/// | f16, bf16 (equal) | f32; f16 of f16 | 16 |
/// | f32, as tf32: the lower 13 bits are cut off | f32 | 8 |
/// | e4m3, e5m2 (mixed or not) | f32, f16 | 32 |
/// | i8, u8 (mixed or not) | i32 | 32 |
///
/// Elements of 16 bits may lie K-major or MN-major in shared memory, others K-major only; A may also come from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpgroupMma {
    /// Columns of the result: a multiple of 8, up to 256; of integers 8, 16, 24 or a multiple of 16.
    pub n: usize,
    /// The dtype of A.
    pub a: DType,
    /// The dtype of B.
    pub b: DType,
    /// The dtype of the sums.
    pub sums: DType,
    /// Take −A.
    pub negate_a: bool,
    /// Take −B.
    pub negate_b: bool,
}

/// Bytes of K that one instruction takes.
pub(crate) const K_BYTES: usize = 32;

impl WarpgroupMma {
    /// Sums in f32, or in i32 of integers.
    pub fn new(n: usize, a: DType, b: DType) -> WarpgroupMma {
        let sums = if a.is_float() { DType::F32 } else { DType::I32 };
        WarpgroupMma { n, a, b, sums, negate_a: false, negate_b: false }
    }

    /// With sums of another dtype.
    pub fn sums(self, sums: DType) -> WarpgroupMma {
        WarpgroupMma { sums, ..self }
    }

    /// Of −A.
    pub fn negate_a(self) -> WarpgroupMma {
        WarpgroupMma { negate_a: !self.negate_a, ..self }
    }

    /// Of −B.
    pub fn negate_b(self) -> WarpgroupMma {
        WarpgroupMma { negate_b: !self.negate_b, ..self }
    }

    /// Elements of K that one instruction takes.
    pub fn k(&self) -> usize {
        K_BYTES / self.a.bytes()
    }

    /// Elements of the result that a thread holds.
    pub fn values(&self) -> usize {
        self.n / 2
    }

    /// Registers of the result that a thread holds.
    pub(crate) fn registers(&self) -> usize {
        self.values() * self.sums.bytes() / 4
    }

    pub(crate) fn register(&self) -> Type {
        match self.sums {
            DType::F32 => Type::F32,
            DType::I32 => Type::I32,
            _ => Type::U32,
        }
    }

    /// A new accumulator, zero.
    #[track_caller]
    pub fn accumulator(&self) -> Acc {
        Acc::new(*self)
    }

    /// Registers for a tile (64, `k`) of A, with the elements of a fragment in the order of this product's A: as
    /// [`make_fragment_a`](crate::cute::ThreadMma::make_fragment_a) of [`WarpgroupMma::tiled`] has them.
    #[track_caller]
    pub fn register_a(&self, k: usize, value: impl Into<Frag<Stored>>) -> RegisterA {
        let steps = k / self.k();
        if steps == 0 || !k.is_multiple_of(self.k()) {
            mistake(format!("A of {k} columns in registers"), &[], &format!("a multiple of {}", self.k()));
        }
        let first = with(|t| {
            let first = t.kernel.registers.len() as u32;
            (0..4 * steps).for_each(|_| _ = t.register(Type::U32));
            first
        });
        let made = RegisterA { dtype: self.a, first: RegisterId(first), steps };
        made.write(value.into());
        made
    }

    /// This product as a tiled instruction of so many warpgroups along M, for partitions, fragments and copies; `A` from
    /// registers.
    ///
    /// # Errors
    /// As [`MmaAtom::wgmma`].
    pub fn tiled(&self, warpgroups: usize) -> Result<TiledMma, LayoutError> {
        let kind = match (self.a, self.sums) {
            (DType::F16, DType::F16) => WgmmaKind::F16F16F16,
            (DType::F16, _) => WgmmaKind::F32F16F16,
            (DType::BF16, _) => WgmmaKind::F32Bf16Bf16,
            (DType::F32, _) => WgmmaKind::F32Tf32Tf32,
            (DType::I8 | DType::U8, _) => WgmmaKind::S32S8S8,
            _ => WgmmaKind::F32E4m3E4m3,
        };
        let mut atom = MmaAtom::wgmma(kind, self.n as i64, true)?;
        // All instructions of one element size have one atom; the name says which this is.
        let word = |d: DType| match d {
            DType::F32 => "TF32".to_string(),
            DType::I8 => "S8".to_string(),
            other => other.name().to_uppercase(),
        };
        let sums = if self.sums == DType::I32 { "S32".into() } else { self.sums.name().to_uppercase() };
        atom.name = format!("SM90_64x{}x{}_{sums}{}{}_RS_TN", self.n, self.k(), word(self.a), word(self.b));
        TiledMma::new(atom, Layout::compact((warpgroups as i64, 1, 1))?, (.., .., ..))
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        use DType::{BF16, E4M3, E5M2, F16, F32, I8, I32, U8};
        let WarpgroupMma { n, a, b, sums, .. } = *self;
        if n == 0 || n > 256 || !n.is_multiple_of(8) {
            return Some(format!("an MMA has {n} columns; expected a multiple of 8, up to 256"));
        }
        let fits = match (a, b) {
            (F16, F16) => matches!(sums, F32 | F16),
            (BF16, BF16) | (F32, F32) => sums == F32,
            (E4M3 | E5M2, E4M3 | E5M2) => matches!(sums, F32 | F16),
            (I8 | U8, I8 | U8) => sums == I32,
            _ => false,
        };
        if !fits {
            return Some(format!("no warpgroup instruction multiplies {a} by {b} with sums of {sums}"));
        }
        if sums == I32 && n > 24 && !n.is_multiple_of(16) {
            return Some(format!("an MMA of integers has {n} columns; expected 8, 16, 24 or a multiple of 16"));
        }
        let negated = self.negate_a || self.negate_b;
        (sums == I32 && negated).then(|| format!("a negated MMA of {a}: only floats have signs to flip"))
    }

    pub(crate) fn instruction(&self) -> String {
        let word = |d: DType| match d {
            DType::F32 => "tf32",
            DType::I8 => "s8",
            other => other.name(),
        };
        let sums = if self.sums == DType::I32 { "s32" } else { self.sums.name() };
        format!("wgmma.mma_async.sync.aligned.m64n{}k{}.{sums}.{}.{}", self.n, self.k(), word(self.a), word(self.b))
    }

    /// Whether operands fit the instruction and each other.
    #[track_caller]
    pub(crate) fn fits(&self, a: &A<'_>, b: &B<'_>) -> bool {
        let (rows, columns) = b.0.extents();
        let fits = a.dtype() == self.a
            && b.0.dtype() == self.b
            && rows == self.n
            && a.extents() == (MMA_ROWS, columns)
            && columns.is_multiple_of(self.k());
        if !fits {
            let dtypes = if self.a == self.b { self.a.to_string() } else { format!("{} by {}", self.a, self.b) };
            let message = format!("an MMA of 64 × {} {dtypes} of tiles of {a} and {}", self.n, b.0);
            let help = format!(
                "A has 64 rows, B has {}, both the same columns, a multiple of {}, and the MMA's dtypes",
                self.n,
                self.k()
            );
            mistake(message, &[], &help);
        }
        fits
    }

    /// The operands as the instruction takes them.
    #[track_caller]
    pub(crate) fn operands(&self, a: A<'_>, b: B<'_>) -> Option<(MatrixA, MatrixB)> {
        let a = match a {
            A::Registers(a) => MatrixA::Registers((0..4 * a.steps as u32).map(|i| RegisterId(a.first.0 + i)).collect()),
            A::Shared(tile) => MatrixA::Shared(Matrix::new(tile)?),
        };
        Some((a, Matrix::new(b.0)?))
    }
}

/// A tile of shared memory that an MMA reads while it is pending.
#[derive(Clone)]
pub enum Tile<'t> {
    /// A stage of a ring.
    Ring(Full<'t>),
    /// A tensor, (rows, columns of K).
    Tensor(&'t SmemTensor),
}

/// The left operand of a warpgroup's product.
pub enum A<'t> {
    /// In shared memory.
    Shared(Tile<'t>),
    /// In registers.
    Registers(&'t RegisterA),
}

/// The right operand of a warpgroup's product, in shared memory.
pub struct B<'t>(Tile<'t>);

impl<'t> From<Full<'t>> for A<'t> {
    fn from(tile: Full<'t>) -> A<'t> {
        A::Shared(Tile::Ring(tile))
    }
}
impl<'t> From<&'t SmemTensor> for A<'t> {
    fn from(tile: &'t SmemTensor) -> A<'t> {
        A::Shared(Tile::Tensor(tile))
    }
}
impl<'t> From<&'t RegisterA> for A<'t> {
    fn from(registers: &'t RegisterA) -> A<'t> {
        A::Registers(registers)
    }
}
impl<'t> From<Full<'t>> for B<'t> {
    fn from(tile: Full<'t>) -> B<'t> {
        B(Tile::Ring(tile))
    }
}
impl<'t> From<&'t SmemTensor> for B<'t> {
    fn from(tile: &'t SmemTensor) -> B<'t> {
        B(Tile::Tensor(tile))
    }
}

impl Tile<'_> {
    fn dtype(&self) -> DType {
        match self {
            Tile::Ring(t) => t.matrix().tile.dtype,
            Tile::Tensor(t) => t.dtype,
        }
    }

    fn extents(&self) -> (usize, usize) {
        let extent = |t: &SmemTensor, i: usize| t.layout.mode(i).and_then(|m| m.size()).unwrap_or(0) as usize;
        match self {
            Tile::Ring(t) => (t.matrix().tile.rows, t.matrix().tile.columns),
            Tile::Tensor(t) if t.layout.rank() == 2 => (extent(t, 0), extent(t, 1)),
            Tile::Tensor(_) => (0, 0),
        }
    }
}

impl std::fmt::Display for Tile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.extents();
        write!(f, "{rows} × {columns} {}", self.dtype())
    }
}

impl A<'_> {
    fn dtype(&self) -> DType {
        match self {
            A::Shared(tile) => tile.dtype(),
            A::Registers(a) => a.dtype,
        }
    }

    fn extents(&self) -> (usize, usize) {
        match self {
            A::Shared(tile) => tile.extents(),
            A::Registers(a) => (MMA_ROWS, a.steps * K_BYTES / a.dtype.bytes()),
        }
    }
}

impl std::fmt::Display for A<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.extents();
        write!(f, "{rows} × {columns} {}", self.dtype())
    }
}

/// Elements of A in registers that an MMA owns while it is pending: neither `Copy` nor `Clone`.
pub struct RegisterA {
    dtype: DType,
    first: RegisterId,
    /// Instructions' worth of K, four registers each.
    steps: usize,
}

impl RegisterA {
    #[track_caller]
    pub(crate) fn write(&self, value: Frag) {
        let (at, value) = (Location::caller(), value.data());
        if value.dtype != self.dtype || value.words.len() != 4 * self.steps {
            let message = format!(
                "{} elements of {} in {} registers for A, which has {} registers of {}",
                value.elements,
                value.dtype,
                value.words.len(),
                4 * self.steps,
                self.dtype
            );
            return mistake(message, &[], "give a fragment of the MMA's A: `make_fragment_a` of `tiled`");
        }
        for (i, h) in value.words.into_iter().enumerate() {
            with(|t| {
                let bits = match t.kernel.values.get(h.id as usize) {
                    Some(Type::F32) => t.record(Op::Bitcast, &[h], &[Type::U32], at)[0],
                    _ => h,
                };
                t.record(Op::Set(RegisterId(self.first.0 + i as u32)), &[bits], &[], at)
            });
        }
    }
}

/// A as the instruction takes it.
pub(crate) enum MatrixA {
    Shared(Matrix),
    Registers(Vec<RegisterId>),
}

/// B as the instruction takes it.
pub(crate) type MatrixB = Matrix;
