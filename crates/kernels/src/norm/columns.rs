//! Sums over rows, for the gradients of weight and bias: blocks sum parts of the rows, a second launch the parts. No
//! atomics, so the order of additions, and with it each bit, is the same run to run.

use crate::act::Act;
use crate::rows::vector;
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, Plans};

/// The most parts of the rows that this kernel sums: with 256 columns to a block this fills a chip from dim = 1024 on.
const PARTS: usize = 64;

/// Parts that there is room for: as many blocks, or clusters, as run at once on a chip of 132 multiprocessors and keep sums
/// in registers while they go over rows.
pub(super) fn most_parts(dim: usize) -> usize {
    match dim {
        ..=1024 => 1056,
        1025..=32_768 => (1056 * 1024 / dim).max(132),
        _ => PARTS,
    }
}

/// Threads across columns of [`ColumnSum`]'s blocks, and along parts.
const SUMS: [usize; 2] = [32, 16];
/// Rows that a block sums side by side.
const SIDE: usize = 8;
/// Threads across columns.
const ACROSS: usize = 32;
/// Columns of a thread: one access of 16-bit floats, two of f32, more where rows are not aligned.
const COLUMNS: usize = 8;

/// Parts that so many rows have: each has a row at least.
pub(super) fn parts(rows: usize) -> usize {
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
        Launch::grid_3d([columns, parts(a.x.dim(0)), a.x.dim(1)]).block(SIDE * ACROSS).pdl()
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
        Launch::grid_3d([self.dim.div_ceil(SUMS[0]), a.parts.dim(1), 1]).block(SUMS[0] * SUMS[1]).pdl()
    }

    fn body(&self, a: ColumnSumParams) {
        let [across, along] = SUMS;
        let (lane, first, head) = (thread_idx().x % across, thread_idx().x / across, block_idx().y);
        let column = block_idx().x * across + lane;
        wait_for_upstream();
        let sum = var(0.0);
        when(column.lt(self.dim), || {
            for part in range(first, a.parts.dim(0)).step(along).unroll(8) {
                sum.add(a.parts.at::<F32>((part, head, column)).load());
            }
        });
        let slots = Shared::<F32>::new("sums", across * along);
        slots.set(thread_idx().x, sum.get());
        sync_threads();
        when(first.eq(0) & column.lt(self.dim), || {
            let sum = (1..along).fold(slots.get(lane), |sum, row| sum + slots.get(lane + row * across));
            match self.output {
                DType::BF16 => a.out.at::<BF16>((head, column)).store(sum.bf16()),
                DType::F16 => a.out.at::<F16>((head, column)).store(sum.f16()),
                _ => a.out.at::<F32>((head, column)).store(sum),
            }
        });
        launch_dependents();
    }
}

impl Plans for WeightGradient {
    /// One: its order of additions is part of what a call gives.
    fn plans(&self) -> Vec<WeightGradient> {
        vec![self.clone()]
    }

    fn plan(&self) -> String {
        format!("{} threads, {SIDE} rows side by side, {} columns a block", SIDE * ACROSS, self.tv.tile()[1])
    }
}

impl Plans for ColumnSum {
    fn plans(&self) -> Vec<ColumnSum> {
        vec![self.clone()]
    }

    fn plan(&self) -> String {
        let [across, along] = SUMS;
        format!("{} threads and {across} columns a block, {along} parts at a time", across * along)
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
    /// Whether there is anything to sum.
    pub(super) fn is_empty(&self) -> bool {
        self.dweight.is_none() && self.dbias.is_none()
    }

    /// Sums parts of the rows into the workspace, in a launch of its own.
    pub(super) fn partial<A: Act>(&self, room: &mut [TensorArg; 2], act: &A) -> Result<A::Done, LaunchError> {
        let Sums { x, dy, rstd, mean, dweight, dbias } = self;
        let dim = x.dim(2);
        let vector = vector(&[x, dy]);
        let tv = warpsmith_dsl::Tv::rows(SIDE, ACROSS, vector, COLUMNS / vector);
        let tv = tv.map_err(|e| ArgumentError::Unexpected {
            name: "x",
            expected: "rows that a tile covers".into(),
            got: e.to_string(),
        })?;
        let [of_weight, of_bias] = room;
        let args = WeightGradientArgs {
            x,
            dy,
            rstd,
            mean: *mean,
            dweight: dweight.is_some().then_some(of_weight),
            dbias: dbias.is_some().then_some(of_bias),
        };
        act.act(&PARTIAL, &args, || Ok(WeightGradient { tv, dim }))
    }

    /// Sums what is in the workspace.
    pub(super) fn last<A: Act>(self, room: &[TensorArg; 2], act: &A) -> Result<Vec<A::Done>, LaunchError> {
        let (heads, dim, mut all) = (self.x.dim(1), self.x.dim(2), vec![]);
        for (sums, out) in room.iter().zip([self.dweight, self.dbias]) {
            let Some(mut out) = out else { continue };
            let output = out.dtype;
            // One for all heads: each head's sums are parts of it.
            let shared = TensorArg::new(sums.address, sums.device, DType::F32, &[sums.dim(0) * heads, 1, dim]);
            let sums = if out.dim(0) == heads { sums } else { &shared };
            let args = ColumnSumArgs { parts: sums, out: &mut out };
            all.push(act.act(&FINAL, &args, || Ok(ColumnSum { dim, output }))?);
        }
        Ok(all)
    }
}

/// The workspace's room for the weight's parts and for the bias's, `parts` of each; `x` is (rows, heads, dim).
pub(super) fn room(
    workspace: Option<&mut TensorArg>,
    parts: usize,
    x: &TensorArg,
) -> Result<[TensorArg; 2], ArgumentError> {
    let (name, shape) = ("workspace", [2, most_parts(x.dim(2)), x.dim(1), x.dim(2)]);
    let expected = format!("a dense f32 tensor of shape {shape:?}");
    let Some(all) = workspace else {
        return Err(ArgumentError::Unexpected { name, expected, got: "none".into() });
    };
    let like = TensorArg::new(all.address, all.device, DType::F32, &shape);
    if *all != like {
        let got = format!("{} of shape {:?} and strides {:?}", all.dtype, all.shape, all.strides);
        return Err(ArgumentError::Unexpected { name, expected, got });
    }
    let half = |i: usize| {
        let address = all.address + (i * shape[1] * shape[2] * shape[3] * 4) as u64;
        TensorArg::new(address, all.device, DType::F32, &[parts, shape[2], shape[3]])
    };
    Ok([half(0), half(1)])
}
