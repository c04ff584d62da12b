//! RMS and layer normalisation.

use super::{on_host, row, some};
use crate::call::{Operator, Tensors, run};
use crate::error::{Failure, unexpected};
use crate::function::function;
use crate::host::HostTensor;
use crate::operand::Operand;
use crate::parameter::Parameter;
use crate::place::Place;
use crate::rows;
use pyo3::prelude::*;
use warpsmith::dsl::{ArgumentError, TensorArg};
use warpsmith::kernels::norm::{self, Kind};
use warpsmith::kernels::{layer_norm, rms_norm};
use warpsmith::runtime::{LaunchError, LaunchOutcome, Stream};
use warpsmith::types::DType;

struct Forward {
    kind: Kind,
    eps: f32,
    weight_offset: f32,
    /// Whether nothing that is queued still writes weight and bias.
    constant: bool,
}

impl Operator<8> for Forward {
    const PARAMETERS: [Parameter; 8] = [
        Parameter::input("x"),
        Parameter::input("weight").or_none(),
        Parameter::input("bias").or_none(),
        Parameter::input("residual").or_none(),
        Parameter::output("out").in_kernel("y"),
        Parameter::output("residual_out").or_none(),
        Parameter::output("rstd").or_none(),
        Parameter::output("mean").or_none(),
    ];

    fn collapse(&self, [x, weight, bias, residual, out, residual_out, rstd, mean]: Tensors<'_, 8>) {
        if [weight, bias].iter().flatten().all(|vector| vector.shape.len() == 1) {
            let mut all = [(x, 1), (residual, 1), (out, 1), (residual_out, 1), (rstd, 0), (mean, 0)];
            rows::collapse(&mut all);
        }
    }

    fn variant(&self) -> u64 {
        let kind = u64::from(self.kind == Kind::Layer) << 1;
        u64::from(self.constant) << 2 | kind | u64::from(self.weight_offset != 0.0)
    }

    fn launch(&self, mut tensors: Tensors<'_, 8>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        tensors[1..3].iter_mut().flatten().for_each(|t| t.constant = self.constant);
        let plain = tensors.iter().skip(2).enumerate().all(|(i, t)| t.is_none() || i == 2);
        let [x, weight, bias, residual, out, residual_out, rstd, mean] = tensors;
        let (x, y) = (some("x", x)?, some("y", out)?);
        if plain && self.kind == Kind::Rms && self.weight_offset == 0.0 && x.shape.len() == 2 {
            return rms_norm::rms_norm(x, weight.as_deref(), y, self.eps, stream);
        }
        let call = norm::Forward {
            x,
            residual: residual.as_deref(),
            weight: weight.as_deref(),
            bias: bias.as_deref(),
            y,
            residual_out,
            rstd,
            mean,
            eps: self.eps,
            weight_offset: self.weight_offset,
        };
        match self.kind {
            Kind::Rms => rms_norm::forward(call, stream),
            Kind::Layer => layer_norm::layer_norm(call, stream),
        }
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 8>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let [x, weight, bias, residual, out, residual_out, rstd, mean] = tensors.map(|t| unsafe { on_host(&t) });
        let (Some(x), Some(out)) = (x, out) else { return Ok(()) };
        let (rows, heads, n) = rows_of(&x);
        let mut h = x.read();
        if let Some(residual) = &residual {
            h.iter_mut().zip(residual.read()).for_each(|(h, r)| *h += r);
        }
        let (weight, bias) = (weight.map(Vector::read), bias.map(Vector::read));
        let (eps, offset) = (f64::from(self.eps), f64::from(self.weight_offset));
        let (mut y, mut rstds, mut means) = (Vec::with_capacity(h.len()), vec![], vec![]);
        for r in 0..rows * heads {
            let x = row(&h, r, n);
            let w = weight.as_ref().map(|w| w.of(r % heads, n).iter().map(|w| w + offset).collect::<Vec<_>>());
            let b = bias.as_ref().map(|b| b.of(r % heads, n));
            let (mean, rstd) = match self.kind {
                Kind::Layer => layer_norm::reference::statistics(x, eps),
                Kind::Rms => (0.0, 1.0 / (x.iter().map(|v| v * v).sum::<f64>() / n as f64 + eps).sqrt()),
            };
            match self.kind {
                Kind::Layer => y.extend(layer_norm::reference::layer_norm(x, w.as_deref(), b, eps)),
                Kind::Rms => {
                    let scaled = rms_norm::reference::rms_norm(x, w.as_deref(), eps);
                    y.extend(scaled.iter().enumerate().map(|(i, v)| v + b.map_or(0.0, |b| b[i])));
                }
            }
            rstds.push(rstd);
            means.push(mean);
        }
        for (out, values) in [(Some(out), y), (residual_out, h), (rstd, rstds), (mean, means)] {
            if let Some(out) = out {
                out.write(&values);
            }
        }
        Ok(())
    }
}

/// Rows, heads and their length.
fn rows_of(x: &HostTensor) -> (usize, usize, usize) {
    match *x.shape() {
        [m, h, n] => (m, h, n),
        [m, n] => (m, 1, n),
        _ => (0, 1, 0),
    }
}

/// A vector for all heads, or one for each.
struct Vector {
    values: Vec<f64>,
    of_heads: bool,
}

impl Vector {
    fn read(t: HostTensor) -> Vector {
        Vector { values: t.read(), of_heads: t.shape().len() == 2 }
    }

    fn of(&self, head: usize, length: usize) -> &[f64] {
        row(&self.values, if self.of_heads { head } else { 0 }, length)
    }
}

struct Backward {
    kind: Kind,
    weight_offset: f32,
}

impl Operator<11> for Backward {
    const PARAMETERS: [Parameter; 11] = [
        Parameter::input("x"),
        Parameter::input("weight").or_none(),
        Parameter::input("dy"),
        Parameter::input("rstd"),
        Parameter::input("mean").or_none(),
        Parameter::input("dresidual_out").or_none(),
        Parameter::output("dx"),
        Parameter::output("dresidual").or_none(),
        Parameter::output("dweight").or_none(),
        Parameter::output("dbias").or_none(),
        Parameter::output("workspace").or_none(),
    ];

    fn collapse(&self, tensors: Tensors<'_, 11>) {
        let [x, weight, dy, rstd, mean, dresidual_out, dx, dresidual, dweight, dbias, workspace] = tensors;
        let one_for_all = [weight, dweight, dbias].iter().flatten().all(|vector| vector.shape.len() == 1);
        // Which may be of heads, each with sums of its own.
        if one_for_all && workspace.is_none_or(|w| w.shape.get(2) == Some(&1)) {
            let mut all = [(x, 1), (dy, 1), (rstd, 0), (mean, 0), (dresidual_out, 1), (dx, 1), (dresidual, 1)];
            rows::collapse(&mut all);
        }
    }

    fn variant(&self) -> u64 {
        u64::from(self.kind == Kind::Layer) << 1 | u64::from(self.weight_offset != 0.0)
    }

    fn launch(&self, tensors: Tensors<'_, 11>, stream: &Stream) -> Result<LaunchOutcome, LaunchError> {
        let [x, weight, dy, rstd, mean, dresidual_out, dx, dresidual, dweight, dbias, workspace] = tensors;
        let call = norm::Backward {
            x: some("x", x)?,
            dy: some("dy", dy)?,
            weight: weight.as_deref(),
            rstd: some("rstd", rstd)?,
            mean: mean.as_deref(),
            dresidual_out: dresidual_out.as_deref(),
            dx: some("dx", dx)?,
            dresidual,
            dweight,
            dbias,
            workspace,
            weight_offset: self.weight_offset,
        };
        let all = match self.kind {
            Kind::Rms => rms_norm::backward(call, stream),
            Kind::Layer => layer_norm::backward(call, stream),
        }?;
        // What an emulator found in any of them.
        let findings = all.into_iter().flat_map(|outcome| outcome.findings).collect();
        Ok(LaunchOutcome { findings, ..LaunchOutcome::default() })
    }

    unsafe fn reference(&self, tensors: Tensors<'_, 11>) -> Result<(), ArgumentError> {
        // SAFETY: as the caller promises.
        let tensors = tensors.map(|t| unsafe { on_host(&t) });
        let [x, weight, dy, rstd, mean, dresidual_out, dx, dresidual, dweight, dbias, _] = tensors;
        let (Some(x), Some(dy), Some(rstd), Some(dx)) = (x, dy, rstd, dx) else { return Ok(()) };
        let (rows, heads, n) = rows_of(&x);
        let (x, dy, rstd) = (x.read(), dy.read(), rstd.read());
        let (weight, mean, more) = (weight.map(Vector::read), mean.map(|t| t.read()), dresidual_out.map(|t| t.read()));
        let offset = f64::from(self.weight_offset);
        let (mut d, mut of_weight, mut of_bias) = (vec![], vec![0.0; heads * n], vec![0.0; heads * n]);
        for r in 0..rows * heads {
            let (x, dy, rstd, mean) = (row(&x, r, n), row(&dy, r, n), rstd[r], mean.as_ref().map(|m| m[r]));
            let w = weight.as_ref().map(|w| w.of(r % heads, n).iter().map(|w| w + offset).collect::<Vec<_>>());
            d.extend(layer_norm::reference::backward(x, dy, w.as_deref(), rstd, mean));
            for (i, (x, dy)) in x.iter().zip(dy).enumerate() {
                of_weight[r % heads * n + i] += dy * (x - mean.unwrap_or(0.0)) * rstd;
                of_bias[r % heads * n + i] += dy;
            }
        }
        if let Some(more) = more {
            d.iter_mut().zip(more).for_each(|(d, more)| *d += more);
        }
        for out in [Some(dx), dresidual].into_iter().flatten() {
            out.write(&d);
        }
        for (out, sums) in [(dweight, of_weight), (dbias, of_bias)] {
            let Some(out) = out else { continue };
            // One for all heads gets the sum over them.
            let of_all = |i| (0..heads).map(|h| sums[h * n + i]).sum();
            out.write(&if out.shape().len() == 1 { (0..n).map(of_all).collect() } else { sums });
        }
        Ok(())
    }
}

fn kind(name: &Bound<'_, PyAny>) -> Result<Kind, Failure> {
    match &name.str()?.to_string()[..] {
        "rms" => Ok(Kind::Rms),
        "layer" => Ok(Kind::Layer),
        other => Err(unexpected("kind", "\"rms\" or \"layer\"", other).into()),
    }
}

/// The shape of `workspace` for rows like `x`, of (rows, heads, dim) unless `heads` says that all others than the last are of
/// rows. It does not depend on how many rows there are.
#[pyfunction]
#[pyo3(signature = (x, heads = true))]
pub(crate) fn norm_workspace(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    heads: bool,
) -> PyResult<(usize, usize, usize, usize)> {
    let mut arg = TensorArg::new(0, Place::Host.id(), DType::F32, &[]);
    Operand::read(x, "x", None, &mut arg).map_err(|e| e.raise(py, &[]))?;
    if !heads {
        rows::collapse(&mut [(Some(&mut arg), 1)]);
    }
    if !matches!(arg.shape.len(), 2 | 3) {
        let (expected, modes) = (2, "rows, dim".into());
        let e = ArgumentError::Rank { name: "x", expected, modes, shape: arg.shape };
        return Err(Failure::from(e).raise(py, &[]));
    }
    Ok(norm::workspace(&arg).into())
}

function! {
    /// RMS normalisation over the last dimension.
    ///
    /// With h = x + residual: out = h / √(mean h² + eps) · (weight + weight_offset) + bias.
    fn rms_norm_fwd(x, weight, bias, residual, out, residual_out, rstd, eps; weight_offset = "0.0", stream = "None", device = "None", constant = "False")
    |py, a| {
        let [x, weight, bias, residual, out, residual_out, rstd] = a.raw(0);
        let tensors = [x, weight, bias, residual, out, residual_out, rstd, std::ptr::null_mut()];
        let (kind, constant) = (Kind::Rms, a.flag(11)?);
        let forward = Forward { kind, eps: a.float(7, 0.0)?, weight_offset: a.float(8, 0.0)?, constant };
        run(py, &forward, tensors, a.handle(9)?, a.some(10))
    }
}

function! {
    /// Layer normalisation over the last dimension.
    ///
    /// With h = x + residual: out = (h − mean h) / √(var h + eps) · (weight + weight_offset) + bias.
    fn layer_norm_fwd(x, weight, bias, residual, out, residual_out, rstd, mean, eps; weight_offset = "0.0", stream = "None", device = "None", constant = "False")
    |py, a| {
        let (kind, constant) = (Kind::Layer, a.flag(12)?);
        let forward = Forward { kind, eps: a.float(8, 0.0)?, weight_offset: a.float(9, 0.0)?, constant };
        run(py, &forward, a.raw(0), a.handle(10)?, a.some(11))
    }
}

function! {
    /// Gradients of a normalisation; kind is "rms" or "layer".
    fn norm_bwd(kind, x, weight, dy, rstd, mean, dresidual_out, dx, dresidual, dweight, dbias, workspace; weight_offset = "0.0", stream = "None", device = "None")
    |py, a| {
        let kind = match a.some(0) {
            Some(name) => kind(name),
            None => Err(unexpected("kind", "\"rms\" or \"layer\"", "None").into()),
        };
        let kind = kind.map_err(|e| e.raise(py, &[]))?;
        let backward = Backward { kind, weight_offset: a.float(12, 0.0)? };
        run(py, &backward, a.raw(1), a.handle(13)?, a.some(14))
    }
}
