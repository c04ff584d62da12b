//! Cross-entropy.

use super::{on_host, row, some};
use crate::call::{Operator, Tensors, run};
use crate::function::function;
use crate::parameter::{Arguments, Parameter};
use pyo3::prelude::*;
use warpsmith::dsl::ArgumentError;
use warpsmith::kernels::cross_entropy::{self, Options, reference};
use warpsmith::runtime::{LaunchError, LaunchOutcome, Stream};

struct Forward {
    options: Options,
}

fn variant(options: &Options) -> u64 {
    u64::from(options.smoothing != 0.0) << 1 | u64::from(options.z_loss != 0.0)
}

impl Operator<7> for Forward {
    const PARAMETERS: [Parameter; 7] = [
        Parameter::input("x"),
        Parameter::input("target"),
        Parameter::input("weight").or_none(),
        Parameter::output("loss"),
        Parameter::output("lse").or_none(),
        Parameter::output("dx").or_none(),
        Parameter::input("target_logit").or_none(),
    ];
    const SCALARS: &'static [(&'static str, &'static str)] = &[("smoothing", "label_smoothing")];

    fn variant(&self) -> u64 {
        variant(&self.options)
    }

    fn launch(&self, tensors: Tensors<'_, 7>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        let [x, target, weight, loss, lse, dx, target_logit] = tensors;
        let call = cross_entropy::Forward {
            x: some("x", x)?,
            target: some("target", target)?,
            target_logit: target_logit.as_deref(),
            weight: weight.as_deref(),
            loss: some("loss", loss)?,
            lse,
            dx,
            options: self.options,
        };
        cross_entropy::cross_entropy(call, stream)
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 7>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let [x, target, weight, loss, lse, dx, logit] = tensors.map(|t| unsafe { on_host(&t) });
        let (Some(x), Some(target), Some(loss)) = (x, target, loss) else { return Ok(()) };
        let (rows, n) = (x.shape()[0], x.shape()[1]);
        let (x, targets, weight) = (x.read(), target.read_integers(), weight.map(|w| w.read()));
        // Of one logit a row, or of rows.
        let logit = logit.map(|t| (t.read(), t.shape().get(1).copied()));
        let (mut losses, mut lses, mut gradients) = (vec![], vec![], vec![]);
        for r in 0..rows {
            let x = row(&x, r, n);
            let classes = logit.as_ref().and_then(|l| l.1).unwrap_or(n);
            let (target, sum) = (reference::Target::new(targets[r], classes, &self.options), reference::lse(x));
            let logit = match (&logit, target) {
                (Some((values, None)), _) => values[r],
                (Some((values, Some(k))), reference::Target::Class(c)) => values[r * k + c],
                (None, reference::Target::Class(c)) => x[c],
                _ => 0.0,
            };
            losses.push(reference::loss(x, sum, target, logit, weight.as_deref(), &self.options));
            if dx.is_some() {
                gradients.extend(reference::gradient(x, sum, target, weight.as_deref(), &self.options));
            }
            lses.push(sum);
        }
        loss.write(&losses);
        for (out, values) in [(lse, lses), (dx, gradients)] {
            if let Some(out) = out {
                out.write(&values);
            }
        }
        Ok(())
    }
}

struct Backward {
    options: Options,
}

impl Operator<6> for Backward {
    const PARAMETERS: [Parameter; 6] = [
        Parameter::input("x"),
        Parameter::input("target"),
        Parameter::input("weight").or_none(),
        Parameter::input("dloss"),
        Parameter::input("lse"),
        Parameter::output("dx"),
    ];
    const SCALARS: &'static [(&'static str, &'static str)] = Forward::SCALARS;

    fn variant(&self) -> u64 {
        variant(&self.options)
    }

    fn launch(&self, tensors: Tensors<'_, 6>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        let [x, target, weight, dloss, lse, dx] = tensors;
        let call = cross_entropy::Backward {
            x: some("x", x)?,
            target: some("target", target)?,
            dloss: some("dloss", dloss)?,
            lse: some("lse", lse)?,
            weight: weight.as_deref(),
            dx: some("dx", dx)?,
            options: self.options,
        };
        cross_entropy::backward(call, stream)
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 6>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let [x, target, weight, dloss, lse, dx] = tensors.map(|t| unsafe { on_host(&t) });
        let (Some(x), Some(target), Some(dloss), Some(lse), Some(dx)) = (x, target, dloss, lse, dx) else {
            return Ok(());
        };
        let (rows, n) = (x.shape()[0], x.shape()[1]);
        let (x, targets, weight) = (x.read(), target.read_integers(), weight.map(|w| w.read()));
        let (dloss, lse) = (dloss.read(), lse.read());
        let mut gradients = Vec::with_capacity(x.len());
        for r in 0..rows {
            let target = reference::Target::new(targets[r], n, &self.options);
            let one = reference::gradient(row(&x, r, n), lse[r], target, weight.as_deref(), &self.options);
            // Of rows that do not count, whatever the loss's is.
            let scale = if target == reference::Target::Ignored { 1.0 } else { dloss[r] };
            gradients.extend(one.iter().map(|d| d * scale));
        }
        dx.write(&gradients);
        Ok(())
    }
}

/// The three options of a call, from parameter `at` on.
fn options<const N: usize>(a: &Arguments<'_, '_, N>, at: usize) -> PyResult<Options> {
    let default = Options::default();
    Ok(Options {
        ignore_index: a.integer(at, default.ignore_index)?,
        smoothing: a.float(at + 1, default.smoothing)?,
        z_loss: a.float(at + 2, default.z_loss)?,
    })
}

function! {
    /// Losses of rows of logits.
    fn cross_entropy_fwd(x, target, weight, loss, lse, dx, target_logit; ignore_index = "-100", label_smoothing = "0.0", z_loss = "0.0", stream = "None", device = "None")
    |py, a| run(py, &Forward { options: options(a, 7)? }, a.raw(0), a.handle(10)?, a.some(11))
}

function! {
    /// The logits' gradients.
    fn cross_entropy_bwd(x, target, weight, dloss, lse, dx; ignore_index = "-100", label_smoothing = "0.0", z_loss = "0.0", stream = "None", device = "None")
    |py, a| run(py, &Backward { options: options(a, 6)? }, a.raw(0), a.handle(9)?, a.some(10))
}
