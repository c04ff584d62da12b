//! The gradient of softmax.

use crate::act::{Act, TunedPlan, Tuner};
use crate::gate::{self, Candidate, choose};
use crate::rows::{BLOCK, Leaving, Narrow, PORTABLE, Room, RowPlan, Rows, Staging, Sum1, Ways, check, launch};
use warpsmith_dsl::ArgumentError;
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Bound, Device, Kernels, LaunchError, LaunchOutcome, Plans, Stream};
use warpsmith_types::Chip;

static BACKWARD: Kernels<SoftmaxBackward> = Kernels::with_plans();

/// The gradient of softmax for rows of one length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SoftmaxBackward {
    /// How it maps onto the chip.
    pub rows: RowPlan,
}

/// All are (rows, dim).
#[derive(KernelArgs)]
pub struct SoftmaxBackwardArgs<'a> {
    /// The gradient of the output.
    #[tensor(rows, dim = fixed)]
    pub dy: &'a TensorArg,
    /// The output.
    #[tensor(rows, dim = fixed)]
    pub y: &'a TensorArg,
    /// The gradient of the input.
    #[tensor(rows, dim = fixed)]
    pub dx: &'a mut TensorArg,
}

impl Kernel for SoftmaxBackward {
    type Args = SoftmaxBackwardParams;

    fn name(&self) -> String {
        format!("softmax_backward_{}", self.rows.dim)
    }

    fn launch(&self, a: &SoftmaxBackwardArgs<'_>) -> Launch {
        launch(&self.rows, [a.y.dim(0), 1], &[])
    }

    fn body(&self, a: SoftmaxBackwardParams) {
        let rows = Rows::new(&self.rows, &[&a.dy, &a.y], 1, Leaving::Last);
        wait_for_upstream();
        rows.run(|walk| {
            let both = walk.hold(|c| (c.input(0, 0.0), c.input(1, 0.0)));
            let dot = walk.reduce::<Sum1>(0, |c| {
                let (dy, y) = both(c);
                (dy * y).sum()
            });
            walk.each(|c| {
                let (dy, y) = both(c);
                c.store(&a.dx, y * (dy - dot));
            });
        });
        launch_dependents();
    }
}

/// What the body needs.
const ROOM: Room = Room {
    tensors: 2,
    threads: 1024,
    inputs: 2,
    block: BLOCK,
    accesses: [2, 4],
    held: 16 << 10,
    held_wide: PORTABLE,
    staging: Staging { threads: 256, blocks: 1, part: 32 << 10, most: 256, long_slices: 1, narrow: Narrow::USUAL },
    cluster: 256,
    once: false,
};

impl Plans for SoftmaxBackward {
    fn plans(&self) -> Vec<SoftmaxBackward> {
        self.rows.others(self.rows.dim).map(|rows| SoftmaxBackward { rows }).collect()
    }

    fn plan(&self) -> String {
        self.rows.to_string()
    }
}

fn check_all(dy: &TensorArg, y: &TensorArg, dx: &TensorArg) -> Result<(), ArgumentError> {
    check(&[("y", y), ("dy", dy), ("dx", dx)]).map(|_| ())
}

pub(crate) fn act<A: Act>(dy: &TensorArg, y: &TensorArg, dx: &mut TensorArg, act: &A) -> Result<A::Done, LaunchError> {
    let args = SoftmaxBackwardArgs { dy, y, dx };
    act.act(&BACKWARD, &args, || {
        check_all(args.dy, args.y, args.dx)?;
        Ok(SoftmaxBackward { rows: choose::<Ways>(&(&[args.y, args.dy, args.dx], ROOM), act.chip())? })
    })
}

/// Launches the gradient of softmax: `dx[r, c] = y[r, c] · (dy[r, c] − Σ dy[r, ·] · y[r, ·])`. `dx` may be `dy` or `y`.
///
/// # Errors
/// As [`softmax`](crate::softmax::softmax).
pub fn backward(
    dy: &TensorArg,
    y: &TensorArg,
    dx: &mut TensorArg,
    stream: &Stream,
) -> Result<LaunchOutcome, LaunchError> {
    act(dy, y, dx, stream)
}

/// Checks the arguments and compiles the kernel that [`backward`] takes for them, without launching it.
///
/// # Errors
/// As [`backward`].
pub fn bind(dy: &TensorArg, y: &TensorArg, dx: &mut TensorArg, device: &Device) -> Result<Bound, LaunchError> {
    act(dy, y, dx, device)
}

/// The same for a kernel of the caller's choice, as [`candidates`] gives them, with another [`RowPlan`].
///
/// # Errors
/// As [`backward`].
pub fn bind_plan(
    kernel: SoftmaxBackward,
    dy: &TensorArg,
    y: &TensorArg,
    dx: &mut TensorArg,
    device: &Device,
) -> Result<Bound, LaunchError> {
    BACKWARD.bind(kernel, &SoftmaxBackwardArgs { dy, y, dx }, device)
}

/// Measures the plans for calls like this one, and has [`backward`] take the fastest for them in this process, as
/// [`Kernels::tune`] says. `dx` is written as by the call; on an emulated device nothing is run.
///
/// # Errors
/// As [`backward`], or when the device breaks.
pub fn tune(dy: &TensorArg, y: &TensorArg, dx: &mut TensorArg, device: &Device) -> Result<TunedPlan, LaunchError> {
    act(dy, y, dx, &Tuner(device))
}

/// What each implementation says of these arguments on a chip: the first that takes them is the one that [`backward`]
/// runs.
///
/// # Errors
/// [`ArgumentError`] when no implementation could take them.
pub fn candidates(
    dy: &TensorArg,
    y: &TensorArg,
    dx: &TensorArg,
    chip: &Chip,
) -> Result<Vec<Candidate<SoftmaxBackward>>, ArgumentError> {
    check_all(dy, y, dx)?;
    let all = gate::candidates::<Ways>(&(&[y, dy, dx], ROOM), chip);
    Ok(all.into_iter().map(|c| c.map(|rows| SoftmaxBackward { rows })).collect())
}
