"""The operators as plain functions of arrays: NumPy, CuPy, JAX, PyTorch, and this package's own tensors.

Where the arrays are decides what runs: on a CUDA card a kernel, on the library's current stream; in the host's memory a
reference in float64; with `device="emulated"` the kernel on the emulator, checked, on copies. Results are allocated by the
library that `x` is of, unless they are given. `x` is of any rank; its last dimension must be dense.

PyTorch's autograd and `torch.compile` know nothing of these: `warpsmith.torch` has functions that they do.
"""

from __future__ import annotations

from math import prod

from . import _native, libraries
from .errors import ArgumentError

# Type checkers take it for true; importing `typing` would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional, TypeVar, Union

    Array = TypeVar("Array")
    Float = Literal["bf16", "f16", "f32"]
    Where = Optional[Union[str, _native.Device]]

__all__ = [
    "cross_entropy",
    "cross_entropy_backward",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
    "softmax",
    "softmax_backward",
]


def _device(device):
    return _native.Device(device) if isinstance(device, str) else device


def _unexpected(name, expected, got):
    error = ArgumentError(f"`{name}`: expected {expected}, got {got}")
    error.argument = name
    return error


class _Call:
    """One call: its library, the shape of its rows, and the same as the kernels have them."""

    __slots__ = ("flat", "lead", "library", "shape", "x")

    def __init__(self, name, x, ranks):
        shape = getattr(x, "shape", None)
        if shape is None:
            raise TypeError(f"`{name}`: expected an array, got {type(x).__qualname__}")
        self.shape = shape = tuple(shape)
        if not shape:
            raise _unexpected(name, "an array of at least one dimension", "a scalar")
        self.library = libraries.of(x)
        self.flat = shape if len(shape) in ranks else (prod(shape[:-1]), shape[-1])
        self.lead = self.flat[:-1]
        self.x = self.rows(name, x)

    def _view(self, name, array, full, flat):
        if array is None or flat == full:
            return array
        shape = tuple(array.shape)
        if shape != full:
            raise _unexpected(name, f"an array of shape {full}", f"shape {shape}")
        return self.library.reshape(array, flat)

    def rows(self, name, array):
        """An input of the shape of x."""
        return self._view(name, array, self.shape, self.flat)

    def of_rows(self, name, array):
        """An input of one element for each row."""
        return self._view(name, array, self.shape[:-1], self.lead)

    def output(self, name, array, wanted=True, per_row=False, dtype=None):
        """An output: the one that was given, or a new one where it is wanted."""
        full, flat = (self.shape[:-1], self.lead) if per_row else (self.shape, self.flat)
        if array is None:
            return self.library.empty(self.x, flat, dtype) if wanted else None
        view = self._view(name, array, full, flat)
        if view is not array and _native.describe(view)[1] != _native.describe(array)[1]:
            raise _unexpected(name, "an array whose rows can be seen as one dimension", "gaps between them")
        return view

    def result(self, array, given=None, per_row=False):
        if array is None or given is not None:
            return given
        return self.library.finish(array, self.shape[:-1] if per_row else self.shape)


def _plain(x, ranks, out, dtype):
    """The output of a call that needs no more than one, of arrays as the kernels have them; None for all others.

    Small calls are mostly such, and the rest of this file would cost them more than their launch does.
    """
    library = libraries.KNOWN.get(type(x))
    if library is None or dtype is not None or len(x.shape) not in ranks:
        return None
    return library.like(x) if out is None else out


def _norm(kind, x, weight, bias, residual, eps, weight_offset, out, residual_out, dtype, returns, stream, device):
    if not any(returns) and (y := _plain(x, (2, 3), out, dtype)) is not None:
        device = _device(device)
        if kind == "rms":
            _native.rms_norm_fwd(x, weight, bias, residual, y, None, None, eps, weight_offset, stream, device)
        else:
            _native.layer_norm_fwd(x, weight, bias, residual, y, None, None, None, eps, weight_offset, stream, device)
        return y
    call = _Call("x", x, (2, 3))
    with_residual, with_rstd, with_mean = returns
    y = call.output("out", out, dtype=dtype)
    h = call.output("residual_out", residual_out, with_residual)
    rstd = call.output("rstd", None, with_rstd, per_row=True, dtype="f32")
    residual = call.rows("residual", residual)
    rest = (eps, weight_offset, stream, _device(device))
    if kind == "rms":
        mean = None
        _native.rms_norm_fwd(call.x, weight, bias, residual, y, h, rstd, *rest)
    else:
        mean = call.output("mean", None, with_mean, per_row=True, dtype="f32")
        _native.layer_norm_fwd(call.x, weight, bias, residual, y, h, rstd, mean, *rest)
    results = [call.result(y, out)]
    if with_residual:
        results.append(call.result(h, residual_out))
    if with_rstd:
        results.append(call.result(rstd, per_row=True))
    if with_mean:
        results.append(call.result(mean, per_row=True))
    return results[0] if len(results) == 1 else tuple(results)


def rms_norm(
    x: Array,
    weight: Optional[Array] = None,
    bias: Optional[Array] = None,
    residual: Optional[Array] = None,
    *,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    out: Optional[Array] = None,
    residual_out: Optional[Array] = None,
    dtype: Optional[Float] = None,
    return_residual: bool = False,
    return_rstd: bool = False,
    stream: Optional[int] = None,
    device: Where = None,
) -> Any:
    """RMS normalisation over the last dimension: with h = x + residual,
    `h / √(mean h² + eps) · (weight + weight_offset) + bias`.

    `weight` and `bias` are (dim), or (heads, dim) for x of (rows, heads, dim). `out` and `residual_out` get the result and
    h; `dtype` ("bf16", "f16", "f32") is that of a result which is allocated, else x's. Returns the result; with
    `return_residual` also h, and with `return_rstd` also what rows were scaled by, f32.

    >>> import numpy as np
    >>> import warpsmith
    >>> warpsmith.rms_norm(np.array([[3.0, 4.0]], np.float32), eps=0.0).round(4)
    array([[0.8485, 1.1314]], dtype=float32)
    """
    returns = (return_residual or residual_out is not None, return_rstd, False)
    return _norm(
        "rms", x, weight, bias, residual, eps, weight_offset, out, residual_out, dtype, returns, stream, device
    )


def layer_norm(
    x: Array,
    weight: Optional[Array] = None,
    bias: Optional[Array] = None,
    residual: Optional[Array] = None,
    *,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    out: Optional[Array] = None,
    residual_out: Optional[Array] = None,
    dtype: Optional[Float] = None,
    return_residual: bool = False,
    return_rstd: bool = False,
    return_mean: bool = False,
    stream: Optional[int] = None,
    device: Where = None,
) -> Any:
    """Layer normalisation over the last dimension: with h = x + residual,
    `(h − mean h) / √(var h + eps) · (weight + weight_offset) + bias`. As `rms_norm`; with `return_mean` also the means.
    """
    returns = (return_residual or residual_out is not None, return_rstd, return_mean)
    return _norm(
        "layer", x, weight, bias, residual, eps, weight_offset, out, residual_out, dtype, returns, stream, device
    )


def _norm_backward(kind, dy, x, rstd, mean, weight, dresidual_out, bias, weight_offset, stream, device):
    call = _Call("x", x, (2, 3))
    library = call.library
    dx = call.output("dx", None)
    dweight = None if weight is None else library.empty(weight, tuple(weight.shape))
    dbias = library.empty(call.x, call.shape[-1:] if weight is None else tuple(weight.shape)) if bias else None
    workspace = None
    if dweight is not None or dbias is not None:
        workspace = library.empty(call.x, _native.norm_workspace(call.x), "f32")
    _native.norm_bwd(
        kind,
        call.x,
        weight,
        call.rows("dy", dy),
        call.of_rows("rstd", rstd),
        call.of_rows("mean", mean),
        call.rows("dresidual_out", dresidual_out),
        dx,
        None,
        dweight,
        dbias,
        workspace,
        weight_offset,
        stream,
        _device(device),
    )
    sums = [None if t is None else library.finish(t, tuple(t.shape)) for t in (dweight, dbias)]
    return call.result(dx), *sums


def rms_norm_backward(
    dy: Array,
    x: Array,
    rstd: Array,
    weight: Optional[Array] = None,
    *,
    dresidual_out: Optional[Array] = None,
    bias: bool = False,
    weight_offset: float = 0.0,
    stream: Optional[int] = None,
    device: Where = None,
) -> tuple[Array, Optional[Array], Optional[Array]]:
    """Gradients of `rms_norm`: `(dx, dweight, dbias)`, None where there is none.

    `x` is h of forward, which is x plus the residual; `rstd` is what forward returned. `dresidual_out`, the gradient of
    residual_out, is added to dx. `bias` says whether dbias is wanted.
    """
    return _norm_backward("rms", dy, x, rstd, None, weight, dresidual_out, bias, weight_offset, stream, device)


def layer_norm_backward(
    dy: Array,
    x: Array,
    rstd: Array,
    mean: Array,
    weight: Optional[Array] = None,
    *,
    dresidual_out: Optional[Array] = None,
    bias: bool = False,
    weight_offset: float = 0.0,
    stream: Optional[int] = None,
    device: Where = None,
) -> tuple[Array, Optional[Array], Optional[Array]]:
    """Gradients of `layer_norm`, as `rms_norm_backward`; `mean` is what forward returned."""
    return _norm_backward("layer", dy, x, rstd, mean, weight, dresidual_out, bias, weight_offset, stream, device)


def softmax(
    x: Array,
    *,
    out: Optional[Array] = None,
    dtype: Optional[Float] = None,
    stream: Optional[int] = None,
    device: Where = None,
) -> Array:
    """Softmax over the last dimension. `out` may be x."""
    if (y := _plain(x, (2,), out, dtype)) is not None:
        _native.softmax_fwd(x, y, stream, _device(device))
        return y
    call = _Call("x", x, (2,))
    y = call.output("out", out, dtype=dtype)
    _native.softmax_fwd(call.x, y, stream, _device(device))
    return call.result(y, out)


def softmax_backward(
    dy: Array,
    y: Array,
    *,
    out: Optional[Array] = None,
    stream: Optional[int] = None,
    device: Where = None,
) -> Array:
    """The gradient of softmax from its output: `y · (dy − Σ dy · y)`. `out` may be dy or y."""
    call = _Call("y", y, (2,))
    dx = call.output("out", out)
    _native.softmax_bwd(call.rows("dy", dy), call.x, dx, stream, _device(device))
    return call.result(dx, out)


def cross_entropy(
    x: Array,
    target: Array,
    *,
    weight: Optional[Array] = None,
    target_logit: Optional[Array] = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    return_lse: bool = False,
    return_dx: bool = False,
    stream: Optional[int] = None,
    device: Where = None,
) -> Any:
    """Losses of rows of logits, f32, as `torch.nn.functional.cross_entropy` with `reduction="none"`, plus `z_loss · lse²`.

    `target` has a class number for each row, int32 or int64; `weight` one for each class. `target_logit` has the targets'
    logits, or rows to take them of, where they are not x's. With `return_lse` also the logarithms of the sums of
    exponentials, with `return_dx` also the logits' gradients where the losses' are 1.
    """
    call = _Call("x", x, (2,))
    loss = call.output("loss", None, per_row=True, dtype="f32")
    lse = call.output("lse", None, return_lse, per_row=True, dtype="f32")
    dx = call.output("dx", None, return_dx)
    target = call.of_rows("target", target)
    _native.cross_entropy_fwd(
        call.x,
        target,
        weight,
        loss,
        lse,
        dx,
        target_logit,
        ignore_index,
        label_smoothing,
        z_loss,
        stream,
        _device(device),
    )
    results = [call.result(loss, per_row=True)]
    if return_lse:
        results.append(call.result(lse, per_row=True))
    if return_dx:
        results.append(call.result(dx))
    return results[0] if len(results) == 1 else tuple(results)


def cross_entropy_backward(
    dloss: Array,
    x: Array,
    target: Array,
    lse: Array,
    *,
    weight: Optional[Array] = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    out: Optional[Array] = None,
    stream: Optional[int] = None,
    device: Where = None,
) -> Array:
    """The logits' gradients from the losses', f32, and what `cross_entropy` returned as lse. `out` may be x."""
    call = _Call("x", x, (2,))
    dx = call.output("out", out)
    dloss, target, lse = (
        call.of_rows(name, t) for name, t in (("dloss", dloss), ("target", target), ("lse", lse))
    )
    _native.cross_entropy_bwd(
        call.x, target, weight, dloss, lse, dx, ignore_index, label_smoothing, z_loss, stream, _device(device)
    )
    return call.result(dx, out)
