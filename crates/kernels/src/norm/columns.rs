//! Sums over rows, for the gradients of weight and bias: blocks sum parts of the rows, a second launch the parts. No
//! atomics, so the order of additions, and with it each bit, is the same run to run.

use crate::rows::{check_dtype, vector};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};

/// The most parts of the rows: with 256 columns to a block this fills a chip from dim = 1024 on.
pub(super) const PARTS: usize = 64;
/// Rows that a block sums side by side.
const SIDE: usize = 8;
/// Threads across columns.
const ACROSS: usize = 32;
/// Columns of a thread: one access of 16-bit floats, two of f32, more where rows are not aligned.
const COLUMNS: usize = 8;

/// Parts that so many rows have: each has a row at least.
fn parts(rows: usize) -> usize {
    rows.div_ceil(SIDE).clamp(1, PARTS)
}

static PARTIAL: Kernels<WeightGradient> = Kernels::new();
static FINAL: Kernels<ColumnSum> = Kernels::new();

/// Sums parts of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightGradient {
    /// Who owns what of a block's tile.
    pub tv: warpsmith_dsl::Tv,
    /// The length of a row.
    pub dim: usize,
}

/// Rows, and where their parts' sums go.
#[derive(KernelArgs)]
pub struct WeightGradientArgs<'a> {
    /// What was normalised.
    #[tensor(rows, heads, dim = fixed)]
    pub x: &'a TensorArg,
    /// The gradient of the output.
    #[tensor(rows, heads, dim = fixed)]
    pub dy: &'a TensorArg,
    /// What rows were scaled by.
    #[tensor(rows, heads, one = fixed)]
    pub rstd: &'a TensorArg,
    /// The means.
    #[tensor(rows, heads, one = fixed)]
    pub mean: Option<&'a TensorArg>,
    /// Of the weight's gradient.
    #[tensor(parts, heads, dim = fixed)]
    pub dweight: Option<&'a mut TensorArg>,
    /// Of the bias's gradient.
    #[tensor(parts, heads, dim = fixed)]
    pub dbias: Option<&'a mut TensorArg>,
}

impl Kernel for WeightGradient {
    type Args = WeightGradientParams;

    fn name(&self) -> String {
        format!("norm_weight_gradient_{}", self.dim)
    }

    fn launch(&self, a: &WeightGradientArgs<'_>) -> Launch {
        let columns = self.dim.div_ceil(self.tv.tile()[1]);
        Launch::grid_3d([columns, parts(a.x.dim(0)), a.x.dim(1)]).block(SIDE * ACROSS)
    }

    fn body(&self, a: WeightGradientParams) {
        let (column, part, head) = (block_idx().x, block_idx().y, block_idx().z);
        let [x, dy] = [&a.x, &a.dy].map(|t| t.slice(1, head));
        let rows = a.x.dim(0);
        let (side, across) = (thread_idx().x / ACROSS, thread_idx().x % ACROSS);
        let (values, vector) = (self.tv.values(), self.tv.vector());

        wait_for_upstream();
        let zeros = || Frag::filled(values, 0.0);
        let sums = var((zeros(), zeros()));
        for tile in range(part, rows.div_ceil(SIDE)).step(grid_size().y) {
            let row = tile * SIDE + side;
            let there = row.lt(U32::from(rows));
            let one = |t: &Tensor| t.at::<F32>((row, head, 0)).load_if(there, 0.0);
            let (rstd, mean) = (one(&a.rstd), a.mean.as_ref().map(one));
            let mine =
                |t: &Tensor| t.tile(self.tv.tile(), (tile, column)).partition(&self.tv, thread_idx().x).load().f32();
            let (x, dy) = (mine(&x), mine(&dy));
            let normal = mean.map_or(x, |m| x - m) * rstd;
            let (dweight, dbias) = sums.get();
            sums.set((dweight + dy * normal, dbias + dy));
        }
        let (dweight, dbias) = sums.get();
        for (out, sum) in [(&a.dweight, dweight), (&a.dbias, dbias)] {
            let Some(out) = out else { continue };
            // Value by value, so that neighbouring threads have neighbouring words.
            let slots = Shared::<F32>::new("sides", SIDE * ACROSS * values);
            for (v, x) in sum.numbers().into_iter().enumerate() {
                slots.set(thread_idx().x + v * SIDE * ACROSS, x);
            }
            sync_threads();
            when(side.eq(0), || {
                for v in 0..values {
                    let at = |s: usize| slots.get(across + (v * SIDE + s) * ACROSS);
                    let all = (1..SIDE).fold(at(0), |sum, s| sum + at(s));
                    let first = (across + v / vector * ACROSS) * vector + v % vector;
                    let to = U32::from(Dim::from(column) * self.tv.tile()[1]) + first;
                    out.at::<F32>((part, head, to)).store_if(to.lt(self.dim), all);
                }
            });
        }
        launch_dependents();
    }
}

/// Sums the parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSum {
    /// The length of a row.
    pub dim: usize,
    /// The dtype of the sums.
    pub output: DType,
}

/// Parts, and their sum.
#[derive(KernelArgs)]
pub struct ColumnSumArgs<'a> {
    /// What is summed.
    #[tensor(parts, heads, dim = fixed)]
    pub parts: &'a TensorArg,
    /// The sums.
    #[tensor(heads, dim = fixed)]
    pub out: &'a mut TensorArg,
}

impl Kernel for ColumnSum {
    type Args = ColumnSumParams;

    fn name(&self) -> String {
        format!("column_sum_{}", self.dim)
    }

    fn launch(&self, a: &ColumnSumArgs<'_>) -> Launch {
        Launch::grid_3d([self.dim.div_ceil(128), a.parts.dim(1), 1]).block(128)
    }

    fn body(&self, a: ColumnSumParams) {
        let (column, head) = (block_idx().x * 128 + thread_idx().x, block_idx().y);
        wait_for_upstream();
        when(column.lt(self.dim), || {
            let sum = var(0.0);
            for part in range(0, a.parts.dim(0)).unroll(8) {
                sum.add(a.parts.at::<F32>((part, head, column)).load());
            }
            let sum = sum.get();
            match self.output {
                DType::BF16 => a.out.at::<BF16>((head, column)).store(sum.bf16()),
                DType::F16 => a.out.at::<F16>((head, column)).store(sum.f16()),
                _ => a.out.at::<F32>((head, column)).store(sum),
            }
        });
        launch_dependents();
    }
}

/// What is summed, and where to.
pub(super) struct Sums<'a> {
    pub(super) x: &'a TensorArg,
    pub(super) dy: &'a TensorArg,
    pub(super) rstd: &'a TensorArg,
    pub(super) mean: Option<&'a TensorArg>,
    pub(super) dweight: Option<TensorArg>,
    pub(super) dbias: Option<TensorArg>,
}

impl Sums<'_> {
    pub(super) fn launch(
        self,
        workspace: Option<&mut TensorArg>,
        stream: &Stream,
    ) -> Result<Vec<LaunchOutcome>, LaunchError> {
        let Sums { x, dy, rstd, mean, dweight, dbias } = self;
        if dweight.is_none() && dbias.is_none() {
            return Ok(vec![]);
        }
        let (heads, dim) = (x.dim(1), x.dim(2));
        let parts = parts(x.dim(0));
        let [mut of_weight, mut of_bias] = halves(workspace, parts, heads, dim)?;
        let vector = vector(&[x, dy]);
        let tv = warpsmith_dsl::Tv::rows(SIDE, ACROSS, vector, COLUMNS / vector);
        let tv = tv.map_err(|e| ArgumentError::Unexpected {
            name: "x",
            expected: "rows that a tile covers".into(),
            got: e.to_string(),
        })?;
        let args = WeightGradientArgs {
            x,
            dy,
            rstd,
            mean,
            dweight: dweight.is_some().then_some(&mut of_weight),
            dbias: dbias.is_some().then_some(&mut of_bias),
        };
        let mut all = vec![PARTIAL.launch(&args, 0, stream, || Ok(WeightGradient { tv, dim }))?];
        for (sums, out) in [(&of_weight, dweight), (&of_bias, dbias)] {
            let Some(mut out) = out else { continue };
            check_dtype("dweight", out.dtype)?;
            let output = out.dtype;
            // One for all heads: each head's sums are parts of it.
            let shared = TensorArg::new(sums.address, sums.device, DType::F32, &[parts * heads, 1, dim]);
            let sums = if out.dim(0) == heads { sums } else { &shared };
            let args = ColumnSumArgs { parts: sums, out: &mut out };
            all.push(FINAL.launch(&args, 0, stream, || Ok(ColumnSum { dim, output }))?);
        }
        Ok(all)
    }
}

/// The workspace's part of the weight and that of the bias.
fn halves(
    workspace: Option<&mut TensorArg>,
    parts: usize,
    heads: usize,
    dim: usize,
) -> Result<[TensorArg; 2], ArgumentError> {
    let name = "workspace";
    let expected = format!("a dense f32 tensor of (2, {PARTS}, {heads}, {dim})");
    let Some(all) = workspace else {
        return Err(ArgumentError::Unexpected { name, expected, got: "none".into() });
    };
    let like = TensorArg::new(all.address, all.device, DType::F32, &[2, PARTS, heads, dim]);
    if *all != like {
        let got = format!("{} of shape {:?} and strides {:?}", all.dtype, all.shape, all.strides);
        return Err(ArgumentError::Unexpected { name, expected, got });
    }
    let half = |i: usize| {
        let address = all.address + (i * PARTS * heads * dim * 4) as u64;
        TensorArg::new(address, all.device, DType::F32, &[parts, heads, dim])
    };
    Ok([half(0), half(1)])
}
