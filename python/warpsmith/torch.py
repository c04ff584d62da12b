"""Warpsmith's operators for PyTorch, with gradients; they work under `torch.compile(fullgraph=True)` and in CUDA graphs.

```python
from warpsmith.torch import rms_norm
y = rms_norm(x, weight, eps=1e-6)
```

A tensor on a CUDA card is worked on by a kernel, on the current stream of PyTorch. One in the host's memory is worked on by a
slow reference, for tests. The same operators are `torch.ops.warpsmith.rms_norm` and so on (`rms_norm` itself has x, weight and
eps; `rms_norm_affine` has bias, weight_offset and out_dtype too). The functions here skip PyTorch's dispatcher where nothing is
compiled, traced or transformed, which saves some microseconds a call.

The first call for a combination of dtypes and a row length compiles its kernel (milliseconds; kept on disk): make it before
a CUDA graph is captured.
"""

from typing import Literal, Optional, Tuple, Union

import torch

from . import _launch, _library
from ._library import Norm, Softmax, is_unwatched, requires_grad

__all__ = ["RMSNorm", "cross_entropy", "layer_norm", "rms_norm", "softmax"]

Tensor = torch.Tensor
_ops = _library.ops
_is_compiling, _is_tracing, _is_rows_alone = torch.compiler.is_compiling, _library.is_tracing, _library.is_rows_alone
_rms_norm_rows, _softmax_rows = _launch.rms_norm_rows, _launch.softmax_rows


def _norm(kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, prenorm, constant):
    if residual is None and prenorm:
        raise ValueError("`prenorm` returns x + residual, but `residual` is None")
    if _is_compiling() or not is_unwatched(x):
        if residual is None:
            if kind == "rms" and bias is None and weight_offset == 0.0 and out_dtype is None:
                return _ops.rms_norm(x, weight, eps)
            operator = _ops.rms_norm_affine if kind == "rms" else _ops.layer_norm
            return operator(x, weight, bias, eps, weight_offset, out_dtype)
        operator = _ops.rms_norm_residual if kind == "rms" else _ops.layer_norm_residual
        both = operator(x, residual, weight, bias, eps, weight_offset, out_dtype, residual_dtype)
        return both if prenorm else both[0]
    if residual is not None and residual_dtype is None:
        residual_dtype = residual.dtype
    if requires_grad(x, weight, bias, residual):
        both = Norm.apply(kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype)
    else:
        both = _launch.norm_forward(
            kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, prenorm, False, constant
        )
    return (both[0], both[1]) if prenorm else both[0]


def rms_norm(
    x: Tensor,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    residual: Optional[Tensor] = None,
    *,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    out_dtype: Optional[torch.dtype] = None,
    residual_dtype: Optional[torch.dtype] = None,
    prenorm: bool = False,
    constant: bool = False,
) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    """With h = x + residual: `h / sqrt(mean(h²) + eps) · (weight + weight_offset) + bias` over the last dimension.

    Shapes: x and residual (…, dim), weight and bias (dim); or (…, heads, dim) and (heads, dim), a weight for each head.
    Dtypes: bf16, f16, f32, each tensor its own; the arithmetic is f32. The result has `out_dtype`, x's where it is not given.
    With `prenorm` returns (result, h), h of `residual_dtype`, the residual's where it is not given.

    `constant` promises that nothing queued before this call still writes weight or bias, as in inference: the launch may then
    begin while the one before it ends (programmatic dependent launch). It is for calls and graphs without gradients; compiled
    code does not use it.

    Raises `warpsmith.ArgumentError`, a `ValueError` that names the argument that is not right.
    """
    # Most calls, and the host's time is most of what short ones cost.
    plain = bias is None and residual is None and out_dtype is None and not prenorm
    if plain and not _is_compiling() and not _is_tracing() and _is_rows_alone(x, weight):
        return _rms_norm_rows(x, weight, eps, weight_offset, constant)
    return _norm("rms", x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, prenorm, constant)


def layer_norm(
    x: Tensor,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    residual: Optional[Tensor] = None,
    *,
    eps: float = 1e-5,
    weight_offset: float = 0.0,
    out_dtype: Optional[torch.dtype] = None,
    residual_dtype: Optional[torch.dtype] = None,
    prenorm: bool = False,
    constant: bool = False,
) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    """As `rms_norm`, with the mean of h taken off first: `torch.nn.functional.layer_norm` over the last dimension."""
    return _norm("layer", x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, prenorm, constant)


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension of (…, dim); bf16, f16 or f32, the arithmetic is f32."""
    if not _is_compiling() and not _is_tracing() and _is_rows_alone(x):
        return _softmax_rows(x)
    if _is_compiling() or not is_unwatched(x):
        return _ops.softmax(x)
    return Softmax.apply(x) if requires_grad(x) else _launch.softmax_forward(x)


def cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    reduction: Literal["none", "mean", "sum"] = "mean",
    inplace_backward: bool = False,
) -> Tensor:
    """The losses of logits (rows, classes), as `torch.nn.functional.cross_entropy`, plus `z_loss · lse²`; f32.

    target: (rows), i32 or i64; rows of `ignore_index` have loss and gradient 0. weight: (classes), f32. With
    `inplace_backward` the gradient overwrites the logits, which then must not be used again; a compiled graph decides itself.
    """
    losses = _losses(x, target, weight, None, ignore_index, label_smoothing, z_loss, inplace_backward)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise ValueError(f"`reduction` is {reduction!r}; expected 'none', 'mean' or 'sum'")
    counts = target != ignore_index
    if weight is not None:
        counts = counts * weight[target.clamp(min=0)]
    return losses.sum() / counts.sum()


def _losses(x, target, weight, lse_partial, ignore_index, label_smoothing, z_loss, inplace_backward):
    if _is_compiling() or not is_unwatched(x):
        return _ops.cross_entropy(x, target, weight, lse_partial, ignore_index, label_smoothing, z_loss)
    arguments = (x, target, weight, lse_partial, ignore_index, label_smoothing, z_loss)
    if requires_grad(x):
        return _library.CrossEntropy.apply(*arguments, inplace_backward)
    return _library.cross_entropy_losses(*arguments)


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm` over the last dimension, by `rms_norm`: a module to swap in, its parameters have the same names."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalises the last dimension of `x`."""
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        return rms_norm(x, self.weight, eps=eps)
