//! Softmax.

use super::{on_host, row, some};
use crate::call::{Operator, Tensors, run};
use crate::function::function;
use crate::parameter::Parameter;
use crate::rows;
use pyo3::prelude::*;
use warpsmith::dsl::ArgumentError;
use warpsmith::kernels::softmax::{self, reference};
use warpsmith::runtime::{LaunchError, LaunchOutcome, Stream};

struct Forward;

impl Operator<2> for Forward {
    const PARAMETERS: [Parameter; 2] = [Parameter::input("x"), Parameter::output("out").in_kernel("y")];

    fn collapse(&self, tensors: Tensors<'_, 2>) {
        rows::collapse(&mut tensors.map(|t| (t, 1)));
    }

    fn launch(&self, [x, out]: Tensors<'_, 2>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        softmax::softmax(some("x", x)?, some("y", out)?, stream)
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 2>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let [x, out] = tensors.map(|t| unsafe { on_host(&t) });
        if let (Some(x), Some(out)) = (x, out) {
            let (n, values) = (x.shape()[1], x.read());
            out.write(&(0..x.shape()[0]).flat_map(|r| reference::softmax(row(&values, r, n))).collect::<Vec<_>>());
        }
        Ok(())
    }
}

struct Backward;

impl Operator<3> for Backward {
    const PARAMETERS: [Parameter; 3] = [Parameter::input("dy"), Parameter::input("y"), Parameter::output("dx")];

    fn collapse(&self, tensors: Tensors<'_, 3>) {
        rows::collapse(&mut tensors.map(|t| (t, 1)));
    }

    fn launch(&self, [dy, y, dx]: Tensors<'_, 3>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        softmax::backward(some("dy", dy)?, some("y", y)?, some("dx", dx)?, stream)
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 3>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let [dy, y, dx] = tensors.map(|t| unsafe { on_host(&t) });
        if let (Some(dy), Some(y), Some(dx)) = (dy, y, dx) {
            let (rows, n) = (y.shape()[0], y.shape()[1]);
            let (dy, y) = (dy.read(), y.read());
            let one = |r| reference::backward(row(&dy, r, n), row(&y, r, n));
            dx.write(&(0..rows).flat_map(one).collect::<Vec<_>>());
        }
        Ok(())
    }
}

function! {
    /// Softmax over the last dimension of (…, dim), whose others lie as one would; `out` may be `x`.
    fn softmax_fwd(x, out; stream = "None", device = "None")
    |py, a| run(py, &Forward, a.raw(0), a.handle(2)?, a.some(3))
}

function! {
    /// The gradient of softmax: dx = y · (dy − Σ dy · y); `dx` may be `dy` or `y`.
    fn softmax_bwd(dy, y, dx; stream = "None", device = "None")
    |py, a| run(py, &Backward, a.raw(0), a.handle(3)?, a.some(4))
}
