//! How fast a chip's matrix instructions are, here and now: a loop of them on every multiprocessor, with their operands in
//! shared memory all the time. What a matrix product can hope for, at the clock that the card keeps under this load.

use warpsmith::dsl::cute::*;
use warpsmith::prelude::*;

/// Columns of K that lie in shared memory: one iteration takes them all, so that waiting costs little.
const K: usize = 256;
/// Columns of the result, the most that an instruction has.
const N: usize = 256;
/// Rows of the result.
const M: usize = 64;
/// Threads of a block: two warpgroups, one of which multiplies while the other waits.
const THREADS: usize = 256;

/// `y[t] = iterations · Σ (a · bᵀ)` over what thread `t` of a block holds, on Hopper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatrixLoop {
    /// bf16 or f16.
    pub(super) dtype: DType,
    /// One a multiprocessor.
    pub(super) blocks: usize,
    /// An element a thread.
    tv: Tv,
}

/// `a` is (64, 256), `b` is (256, 256), `y` has an element for each thread.
#[derive(KernelArgs)]
pub(super) struct MatrixLoopArgs<'a> {
    #[tensor(m = fixed, k = fixed)]
    pub(super) a: &'a TensorArg,
    #[tensor(n = fixed, k = fixed)]
    pub(super) b: &'a TensorArg,
    #[tensor(threads)]
    pub(super) y: &'a mut TensorArg,
    pub(super) iterations: usize,
}

impl MatrixLoop {
    /// For a chip; `None` where it has no warpgroup instructions for the dtype.
    pub(super) fn new(chip: &Chip, dtype: DType) -> Option<MatrixLoop> {
        let tv = Tv::rows(1, THREADS, 1, 1).ok()?;
        let fits = chip.target == Target::SM_90A && matches!(dtype, DType::BF16 | DType::F16);
        fits.then_some(MatrixLoop { dtype, blocks: chip.multiprocessors as usize, tv })
    }

    /// The shapes of `a`, `b` and `y`.
    pub(super) fn shapes(&self) -> [Vec<usize>; 3] {
        [vec![M, K], vec![N, K], vec![self.blocks * THREADS]]
    }

    /// Multiplications and additions of so many iterations.
    pub(super) fn operations(&self, iterations: usize) -> f64 {
        let warpgroups = self.blocks * THREADS / 128;
        2.0 * (M * N * K * warpgroups) as f64 * iterations as f64
    }
}

impl Kernel for MatrixLoop {
    type Args = MatrixLoopParams;

    fn name(&self) -> String {
        format!("matrix_loop_{}", self.dtype)
    }

    fn launch(&self, _: &MatrixLoopArgs<'_>) -> Launch {
        Launch::grid(self.blocks).block(THREADS)
    }

    fn body(&self, x: MatrixLoopParams) {
        let (dtype, thread) = (self.dtype, thread_idx().x);
        let fill = |name, from: &Tensor, rows: usize| {
            let s = SmemTensor::new(name, dtype, smem_layout(dtype, Major::K, SharedSwizzle::B128, (rows, K)));
            let word = 4 / dtype.bytes();
            let g2s =
                make_tiled_copy(copy_atom("UniversalCopy<uint32_t>", dtype), ((16, 16), (16, 1)), ((1, word), (0, 1)));
            let tile = from.tile([rows, K], (0, 0));
            copy(&g2s, &g2s.partition_s(&tile, thread), &g2s.partition_d(&s, thread));
            s
        };
        let (a, b) = (fill("a", &x.a, M), fill("b", &x.b, N));
        fence_async_shared();
        sync_threads();
        let sums = WarpgroupMma::new(N, dtype, dtype).accumulator();
        for _ in range(0, x.iterations) {
            sums.mma(&a, &b).wait();
        }
        // So that the sums are needed.
        let mine = x.y.broadcast(1).tile([1, THREADS], (0, block_idx().x)).partition(&self.tv, thread);
        mine.store(Frag::filled(1, sums.finish().sum()).to(DType::F32));
    }
}
