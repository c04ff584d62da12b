"""Operators on PyTorch's tensors, eagerly: outputs are allocated, the kernel is queued on the current stream, no autograd.

Tensors may have any number of dimensions before the last; where a norm's weight is (heads, dim), the last two are those.
"""

import torch

from . import _native
from .errors import ArgumentError

if hasattr(torch.Tensor, "__dlpack_c_exchange_api__") or hasattr(torch.Tensor, "__c_dlpack_exchange_api__"):
    _rms_norm_fwd, _softmax_fwd = _native.rms_norm_fwd, _native.softmax_fwd

    def stream(x):
        """The stream to queue on; `None` where the extension asks PyTorch itself, which is quicker."""
        return None
else:

    def stream(x):
        """The stream to queue on: before PyTorch 2.10 the extension can not ask for it."""
        return torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else None

    def _rms_norm_fwd(x, *rest):
        _native.rms_norm_fwd(x, *rest, stream(x))

    def _softmax_fwd(x, out):
        _native.softmax_fwd(x, out, stream(x))


def _dense_rows(x):
    if x.stride(-1) == 1 or x.shape[-1] == 1:
        return x
    # Nothing is dense already, with whatever strides.
    return x.contiguous() if x.numel() else x.new_empty(x.shape)


def _like(x, dtype=None):
    """Dense, row-major, of the shape of `x`: what the fake implementations say."""
    if x.is_contiguous():
        return torch.empty_like(x, dtype=dtype)
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _flat(x, heads):
    """A view of (rows, dim), or of (rows, heads, dim); a copy where there is none."""
    rank = 3 if heads else 2
    if x.dim() != rank:
        x = x.reshape(-1, *x.shape[1 - rank :])
    return _dense_rows(x)


def _per_head(weight, bias):
    return (weight is not None and weight.dim() == 2) or (bias is not None and bias.dim() == 2)


# The longest dimension that is taken for heads where it may be rows: a launch has room for fewer heads than rows.
_MOST_HEADS = 256

_empty_like = torch.empty_like


def rms_norm_rows(x, weight, eps, weight_offset, constant=False):
    """RMS norm of dense (…, dim) with one weight or none, nothing else: the host's time is most of what it costs."""
    out = _empty_like(x)
    if constant:
        _native.rms_norm_fwd(x, weight, None, None, out, None, None, eps, weight_offset, stream(x), None, True)
    else:
        _rms_norm_fwd(x, weight, None, None, out, None, None, eps, weight_offset)
    return out


def softmax_rows(x):
    """Softmax of dense (…, dim), as quickly."""
    out = _empty_like(x)
    _softmax_fwd(x, out)
    return out


def norm_forward(
    kind,
    x,
    weight,
    bias,
    residual,
    eps,
    weight_offset,
    out_dtype,
    residual_dtype,
    keep_residual,
    statistics,
    constant=False,
):
    """(out, residual_out, rstd, mean); those that were not asked for are `None`.

    `keep_residual` asks for residual_out, x + residual. `statistics` asks for rstd, and of layer norm for mean. `constant`
    promises that nothing queued before still writes weight or bias.
    """
    heads = _per_head(weight, bias)
    shape = x.shape
    if residual is not None and residual.shape != shape:
        error = ArgumentError(f"`residual`: expected shape {tuple(shape)}, as `x`, got {tuple(residual.shape)}")
        error.argument = "residual"
        raise error
    # The extension takes what is dense as rows itself, and heads with gaps between them, as of a packed projection, as they lie.
    if heads or not x.is_contiguous() or not (residual is None or residual.is_contiguous()):
        heads = heads or (x.dim() > 2 and x.shape[-2] <= _MOST_HEADS)
        x = _flat(x, heads)
        residual = None if residual is None else _flat(residual, heads)
    out = _like(x, out_dtype)
    residual_out = _like(x, residual_dtype) if keep_residual else None
    rstd = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device) if statistics else None
    mean = torch.empty_like(rstd) if statistics and kind == "layer" else None
    rest = (eps, weight_offset, stream(x), None, constant)
    if kind == "rms":
        _native.rms_norm_fwd(x, weight, bias, residual, out, residual_out, rstd, *rest)
    else:
        _native.layer_norm_fwd(x, weight, bias, residual, out, residual_out, rstd, mean, *rest)
    if len(shape) != out.dim():
        out = out.view(shape)
        residual_out = residual_out.view(shape) if keep_residual else None
        rstd = rstd.view(shape[:-1]) if statistics else None
        mean = mean.view(shape[:-1]) if mean is not None else None
    return out, residual_out, rstd, mean


def norm_backward(
    kind, x, weight, dy, rstd, mean, dresidual_out, weight_offset, dx_dtype, dresidual_dtype, weight_like, bias_like
):
    """(dx, dresidual, dweight, dbias); those that were not asked for are `None`.

    `weight_like` and `bias_like` are (shape, dtype) of the gradients that are asked for. A norm without weight whose
    gradient of the bias is asked for takes the heads from its shape.
    """
    shape = x.shape
    heads = any(like is not None and len(like[0]) == 2 for like in (weight_like, bias_like)) or (
        weight is not None and weight.dim() == 2
    )
    given = [t for t in (x, dy, dresidual_out, rstd, mean) if t is not None]
    if heads or rstd.dim() != x.dim() - 1 or not all([t.is_contiguous() for t in given]):
        x, dy = _flat(x, heads), _flat(dy, heads)
        rows = x.shape[:-1]
        rstd = rstd.reshape(rows)
        mean = None if mean is None else mean.reshape(rows)
        dresidual_out = None if dresidual_out is None else _flat(dresidual_out, heads)
    dx = _like(x, dx_dtype)
    dresidual = None if dresidual_dtype is None else _like(x, dresidual_dtype)
    dweight = None if weight_like is None else torch.empty(weight_like[0], dtype=weight_like[1], device=x.device)
    dbias = None if bias_like is None else torch.empty(bias_like[0], dtype=bias_like[1], device=x.device)
    workspace = None
    if dweight is not None or dbias is not None:
        workspace = torch.empty(_native.norm_workspace(x, heads), dtype=torch.float32, device=x.device)
    _native.norm_bwd(
        kind, x, weight, dy, rstd, mean, dresidual_out, dx, dresidual, dweight, dbias, workspace, weight_offset, stream(x)
    )
    if len(shape) != dx.dim():
        dx, dresidual = dx.view(shape), None if dresidual is None else dresidual.view(shape)
    return dx, dresidual, dweight, dbias


def softmax_forward(x):
    """Softmax over the last dimension."""
    if x.is_contiguous():
        return softmax_rows(x)
    rows = _flat(x, False)
    out = _like(rows)
    _native.softmax_fwd(rows, out, stream(rows))
    return out if x.dim() == 2 else out.view(x.shape)


def softmax_backward(dy, y):
    """The gradient of softmax's input, of what softmax gave and its gradient."""
    if dy.is_contiguous() and y.is_contiguous():
        dx = _empty_like(dy)
        _native.softmax_bwd(dy, y, dx, stream(dy))
        return dx
    rows = _flat(dy, False)
    dx = _like(rows)
    _native.softmax_bwd(rows, _flat(y, False), dx, stream(rows))
    return dx.view(dy.shape)


def cross_entropy_forward(
    x, target, weight, target_logit, ignore_index, label_smoothing, z_loss, keep_lse, gradient, into=None
):
    """(loss, lse, dx) of logits (rows, classes); those that were not asked for are `None`. `into` gets dx, and may be x."""
    x = _dense_rows(x)
    loss = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    lse = torch.empty_like(loss) if keep_lse else None
    dx = (_like(x) if into is None else into) if gradient else None
    _native.cross_entropy_fwd(
        x, target, weight, loss, lse, dx, target_logit, ignore_index, label_smoothing, z_loss, stream(x)
    )
    return loss, lse, dx


def cross_entropy_backward(x, target, weight, dloss, lse, ignore_index, label_smoothing, z_loss, into=None):
    """The logits' gradient. `into` gets it, and may be x."""
    x = _dense_rows(x)
    dx = _like(x) if into is None else into
    _native.cross_entropy_bwd(
        x, target, weight, dloss, lse, dx, ignore_index, label_smoothing, z_loss, stream(x)
    )
    return dx
