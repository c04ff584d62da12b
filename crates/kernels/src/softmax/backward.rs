//! The gradient of softmax.

use crate::gate::{Implementation, Operator, choose};
use crate::rows::{Form, Room, RowPlan, Rows, Sum1, check, form, size};
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Kernels, LaunchError, LaunchOutcome, Stream};

static BACKWARD: Kernels<SoftmaxBackward> = Kernels::new();

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
        let p = &self.rows;
        p.launch(a.y.dim(0), 1)
    }

    fn body(&self, a: SoftmaxBackwardParams) {
        let rows = Rows::new(&self.rows, &[&a.dy, &a.y], 1);
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
const ROOM: Room = Room { tensors: 2, threads: 1024 };

struct Ways;

impl Operator for Ways {
    type Arguments<'a> = [&'a TensorArg; 3];
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |rows, chip| form(Form::Block, rows, ROOM, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |rows, chip| form(Form::Cluster, rows, ROOM, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read twice: for the sum, and for the output",
        supports: |rows, chip| form(Form::Streamed, rows, ROOM, chip),
    };
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
    let args = SoftmaxBackwardArgs { dy, y, dx };
    BACKWARD.launch(&args, size(args.y), stream, || {
        check(&[("y", args.y), ("dy", args.dy), ("dx", args.dx)])?;
        let rows = choose::<Ways>(&[args.y, args.dy, args.dx], stream.device().chip())?;
        Ok(SoftmaxBackward { rows })
    })
}
