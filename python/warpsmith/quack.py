"""QuACK's names and signatures over Warpsmith's operators: `from warpsmith.quack import rmsnorm, softmax, cross_entropy`.

For code that was written for `quack.rmsnorm`, `quack.softmax` and `quack.cross_entropy`, version 0.6.5. The results mean the
same, and what QuACK refuses is refused in its words; so everything here takes tensors on a CUDA card only. Launch
configurations describe QuACK's kernels: they are taken, and choose nothing here, where a table for each card does.
"""

import functools
from dataclasses import dataclass
from typing import Literal, Optional, Tuple

import torch

from . import _launch, _library, _native
from . import torch as _torch
from ._quack_reference import layernorm_mean_ref, layernorm_ref, layernorm_rstd_ref, rmsnorm_bwd_ref, rmsnorm_ref

__all__ = [
    *("QuackRMSNorm", "RmsNormBwdConfig", "RmsNormFwdConfig"),
    *("cross_entropy", "cross_entropy_bwd", "cross_entropy_fwd", "get_device_capacity"),
    *("layernorm_bwd", "layernorm_fwd", "layernorm_mean_ref", "layernorm_ref", "layernorm_rstd_ref"),
    *("rmsnorm", "rmsnorm_bwd", "rmsnorm_bwd_ref", "rmsnorm_bwd_tuned", "rmsnorm_fwd", "rmsnorm_fwd_tuned", "rmsnorm_ref"),
    *("softmax", "softmax_bwd", "softmax_fwd"),
]

Tensor = torch.Tensor
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_ops = _library.ops


def _check_place(x):
    if not x.is_cuda:
        raise ValueError(f"Mismatched mX.device_type, expected device_type=cuda, got {x.device.type}")


def _check_norm(x, weight=None, residual=None):
    assert x.dtype in _FLOATS, "Unsupported dtype"
    if weight is not None:
        assert weight.dtype in _FLOATS, "Weight must be float32, float16 or bfloat16"
        if weight.shape[-1] != x.shape[-1]:
            raise ValueError(f"Mismatched mW.shape[0], expected to be {x.shape[-1]}, got {weight.shape[-1]}")
    if residual is not None:
        assert residual.dtype in _FLOATS, "Residual must be float16, bfloat16, or float32"
    _check_place(x)


def get_device_capacity(device=None) -> Tuple[int, int]:
    """The compute capability of a device, of a tensor's, or of the current one."""
    return torch.cuda.get_device_capability(device.device if isinstance(device, Tensor) else device)


# RMS norm.


@dataclass(frozen=True)
class RmsNormFwdConfig:
    """How QuACK launches its forward kernel. Nothing here depends on it."""

    num_threads: int
    threads_per_row: int
    cluster_n: int
    reload_from: Optional[str]
    delay_w_load: bool = False


@dataclass(frozen=True)
class RmsNormBwdConfig:
    """How QuACK launches its backward kernel. Nothing here depends on it."""

    num_threads: int
    threads_per_row: int
    cluster_n: int
    reload_wdy: Optional[str]
    reload_x: Optional[str]
    use_tma: bool
    smem_stages: int = 2


@functools.lru_cache(maxsize=None)
def _compile_rmsnorm_fwd(
    dtype,
    out_dtype,
    res_dtype,
    weight_dtype,
    bias_dtype,
    res_out_dtype,
    N,
    has_rstd,
    has_mean,
    is_layernorm,
    per_head,
    weight_offset=0.0,
    config=None,
):
    """The call for tensors like these, as QuACK keeps one compiled kernel for each; the extension keeps the kernel itself."""
    launch = _native.layer_norm_fwd if is_layernorm else _native.rms_norm_fwd

    def call(x, weight, bias, residual, out, residual_out, rstd, mean, eps):
        means = (mean,) if is_layernorm else ()
        launch(
            x, weight, bias, residual, out, residual_out, rstd, *means, eps, weight_offset, _launch.stream(x)
        )

    return call


def _dtype(t):
    return None if t is None else t.dtype


def _forward(x, weight, bias, residual, out, residual_out, rstd, mean, eps, is_layernorm, weight_offset, config=None):
    if x.numel() == 0:
        return
    per_head = (weight is not None and weight.dim() == 2) or (bias is not None and bias.dim() == 2)
    call = _compile_rmsnorm_fwd(
        x.dtype,
        out.dtype,
        _dtype(residual),
        _dtype(weight),
        _dtype(bias),
        _dtype(residual_out),
        x.shape[-1],
        rstd is not None,
        mean is not None,
        is_layernorm,
        per_head,
        weight_offset,
        config,
    )
    call(x, weight, bias, residual, out, residual_out, rstd, mean, eps)


def rmsnorm_fwd(
    x: Tensor,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    residual: Optional[Tensor] = None,
    out_dtype: Optional[torch.dtype] = None,
    residual_dtype: Optional[torch.dtype] = None,
    eps: float = 1e-6,
    store_rstd: bool = False,
    weight_offset: float = 0.0,
) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
    """(out, residual_out, rstd) of x (M, N) or (M, H, N). residual_out is x itself where nothing was added or converted."""
    _check_norm(x, weight, residual)
    assert weight_offset == 0.0 or weight is not None, "weight_offset requires a weight"
    if residual is not None and residual_dtype is None:
        residual_dtype = residual.dtype
    keep = residual is not None or (residual_dtype is not None and residual_dtype != x.dtype)
    if torch.compiler.is_compiling():
        with torch.no_grad():
            out, residual_out, rstd, _ = _ops.norm_forward(
                "rms", x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, keep, store_rstd
            )
        return out, residual_out if keep else x, rstd if store_rstd else None
    out = torch.empty_like(x, dtype=out_dtype)
    residual_out = torch.empty_like(x, dtype=residual_dtype) if keep else None
    rstd = torch.empty(x.shape[:-1], device=x.device, dtype=torch.float32) if store_rstd else None
    _forward(x, weight, bias, residual, out, residual_out, rstd, None, eps, False, weight_offset)
    return out, residual_out if keep else x, rstd


def _backward(kind, x, weight, dout, rstd, mean, dresidual_out, has_bias, weight_offset):
    apart = dresidual_out is not None and dresidual_out.dtype != x.dtype
    if x.numel() == 0:
        dw = None if weight is None else torch.zeros_like(weight)
        return torch.empty_like(x), None, dw, torch.zeros_like(weight) if has_bias else None
    bias_shape = x.shape[1:] if weight is None else weight.shape
    bias_dtype = (torch.float32 if weight is None else weight.dtype) if has_bias else None
    first = (kind, x, weight, dout, rstd, mean, dresidual_out, weight_offset, x.dtype)
    dresidual_dtype = dresidual_out.dtype if apart else None
    if torch.compiler.is_compiling():
        with torch.no_grad():
            dx, dresidual, dw, db = _ops.norm_backward(
                *first, dresidual_dtype, weight is not None, list(bias_shape) if has_bias else [], bias_dtype
            )
        return dx, dresidual if apart else None, None if weight is None else dw, db if has_bias else None
    weight_like = None if weight is None else (weight.shape, weight.dtype)
    return _launch.norm_backward(*first, dresidual_dtype, weight_like, (bias_shape, bias_dtype) if has_bias else None)


def rmsnorm_bwd(
    x: Tensor,
    weight: Optional[Tensor],
    dout: Tensor,
    rstd: Tensor,
    dresidual_out: Optional[Tensor] = None,
    has_bias: bool = False,
    has_residual: bool = False,
    weight_offset: float = 0.0,
) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    """(dx, dw, db, dresidual). `x` is what forward normalised: residual_out where there was a residual."""
    _check_norm(x, weight)
    dx, dresidual, dw, db = _backward("rms", x, weight, dout, rstd, None, dresidual_out, has_bias, weight_offset)
    if has_residual and dresidual is None:
        dresidual = dx
    return dx, dw, db, dresidual


class _Tuned:
    """A function that QuACK tunes by trying launches. Here nothing has to be tried; `best_config` says that with zeros."""

    def __init__(self, fn, chosen):
        self.fn = fn
        self.best_config = None
        self._chosen = chosen
        functools.update_wrapper(self, fn)

    def __call__(self, *args, **kwargs):
        self.best_config = self._chosen
        return self.fn(*args, **{"config": self._chosen, **kwargs})


def _rmsnorm_fwd_tuned(
    x: Tensor,
    weight: Optional[Tensor],
    out: Tensor,
    bias: Optional[Tensor] = None,
    rstd: Optional[Tensor] = None,
    mean: Optional[Tensor] = None,
    residual: Optional[Tensor] = None,
    residual_out: Optional[Tensor] = None,
    eps: float = 1e-6,
    is_layernorm: bool = False,
    per_head: bool = False,
    weight_offset: float = 0.0,
    config: Optional[RmsNormFwdConfig] = None,
) -> None:
    """Forward into tensors that are given."""
    if config is None:
        raise RuntimeError("rmsnorm_fwd_tuned requires a config. Use rmsnorm_fwd for the path without.")
    _check_norm(x, weight, residual)
    _forward(x, weight, bias, residual, out, residual_out, rstd, mean, eps, is_layernorm, weight_offset, config)


def _rmsnorm_bwd_tuned(
    x: Tensor,
    weight: Optional[Tensor],
    dout: Tensor,
    rstd: Tensor,
    dx: Tensor,
    dw_partial: Optional[Tensor] = None,
    db_partial: Optional[Tensor] = None,
    dresidual_out: Optional[Tensor] = None,
    dresidual: Optional[Tensor] = None,
    sm_count: Optional[int] = None,
    per_head: bool = False,
    has_dw_partial: bool = False,
    has_db_partial: bool = False,
    mean: Optional[Tensor] = None,
    is_layernorm: bool = False,
    weight_offset: float = 0.0,
    config: Optional[RmsNormBwdConfig] = None,
) -> None:
    """Backward into tensors that are given. The first partial sums get all of the sum, the others zeros."""
    if config is None:
        raise RuntimeError("rmsnorm_bwd_tuned requires a config. Use rmsnorm_bwd for the path without.")
    _check_norm(x, weight)
    sums = []
    for partial in (dw_partial, db_partial):
        if partial is not None:
            partial[1:].zero_()
        sums.append(None if partial is None else partial[0])
    workspace = None
    if dw_partial is not None or db_partial is not None:
        workspace = torch.empty(_native.norm_workspace(x), dtype=torch.float32, device=x.device)
    kind = "layer" if is_layernorm else "rms"
    _native.norm_bwd(
        kind, x, weight, dout, rstd, mean, dresidual_out, dx, dresidual, *sums, workspace, weight_offset, _launch.stream(x)
    )


rmsnorm_fwd_tuned = _Tuned(_rmsnorm_fwd_tuned, RmsNormFwdConfig(0, 0, 0, None))
rmsnorm_bwd_tuned = _Tuned(_rmsnorm_bwd_tuned, RmsNormBwdConfig(0, 0, 0, None, None, False))


def rmsnorm(
    x: Tensor,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    residual: Optional[Tensor] = None,
    out_dtype: Optional[torch.dtype] = None,
    residual_dtype: Optional[torch.dtype] = None,
    eps: float = 1e-6,
    prenorm: bool = False,
    weight_offset: float = 0.0,
) -> Tensor:
    """RMS norm with gradients, of x (…, N), or (…, H, N) with a weight for each head; with `prenorm` (out, residual_out)."""
    _check_norm(x, weight, residual)
    options = {"eps": eps, "weight_offset": weight_offset, "out_dtype": out_dtype}
    if residual is not None:
        return _torch.rms_norm(x, weight, bias, residual, residual_dtype=residual_dtype, prenorm=prenorm, **options)
    out = _torch.rms_norm(x, weight, bias, **options)
    return (out, x if residual_dtype is None else x.to(residual_dtype)) if prenorm else out


class QuackRMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm` over the last dimension, by `rmsnorm`."""

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True, device=None, dtype=None):
        super().__init__(dim, eps, elementwise_affine, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Normalises the last dimension of `x`."""
        return rmsnorm(x, self.weight, eps=self.eps)


# Layer norm.


def layernorm_fwd(
    x: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    eps: float = 1e-6,
    return_rstd: bool = False,
    return_mean: bool = False,
):
    """Layer norm of x (M, N): out, then rstd and mean (M), those that are asked for."""
    assert x.dim() == 2, "Input must be 2D"
    assert weight.dim() == 1, "Weight must be 1D"
    assert x.dtype in _FLOATS, "Unsupported dtype"
    assert weight.dtype == torch.float32, "Weight must be float32"
    if bias is not None:
        assert bias.dim() == 1, "Bias must be 1D"
        assert bias.dtype == torch.float32, "Bias must be float32"
    _check_norm(x, weight)
    asked = (True, return_rstd, return_mean)
    if torch.compiler.is_compiling():
        with torch.no_grad():
            out, _, rstd, mean = _ops.norm_forward(
                "layer", x, weight, bias, None, eps, 0.0, None, None, False, return_rstd or return_mean
            )
    else:
        out = torch.empty_like(x)
        rstd, mean = (torch.empty(x.shape[:1], device=x.device) if wanted else None for wanted in asked[1:])
        _forward(x, weight, bias, None, out, None, rstd, mean, eps, True, 0.0)
    results = tuple(part for part, wanted in zip((out, rstd, mean), asked) if wanted)
    return results if len(results) > 1 else out


def layernorm_bwd(
    x: Tensor, weight: Tensor, dout: Tensor, rstd: Tensor, mean: Tensor, has_bias: bool = True
) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
    """(dx, dw, db) of layer norm; db is `None` without a bias."""
    assert x.dim() == 2, "Input must be 2D"
    assert weight.dim() == 1, "Weight must be 1D"
    _check_norm(x, weight)
    dx, _, dw, db = _backward("layer", x, weight, dout, rstd, mean, None, has_bias, 0.0)
    return dx, dw, db


# Softmax.


def _check_softmax(x):
    assert x.dim() == 2, "Input must be 2D"
    assert x.dtype in _FLOATS, "Unsupported dtype"
    _check_place(x)


def softmax_fwd(x: Tensor) -> Tensor:
    """Softmax of x (M, N), without gradients."""
    _check_softmax(x)
    with torch.no_grad():
        return _torch.softmax(x)


def softmax_bwd(dy: Tensor, y: Tensor) -> Tensor:
    """The gradient of softmax's input, of its output and that one's gradient."""
    _check_softmax(dy)
    if torch.compiler.is_compiling():
        with torch.no_grad():
            return _ops.softmax_backward(dy, y)
    return _launch.softmax_backward(dy, y)


def softmax(x: Tensor) -> Tensor:
    """Softmax of x (M, N), with gradients."""
    _check_softmax(x)
    return _torch.softmax(x)


# Cross-entropy.


def _check_logits(x, target):
    assert x.dim() == 2, "Input must be 2D"
    assert target.dim() == 1, "Target must be 1D"
    assert x.dtype in _FLOATS, "Unsupported input dtype"
    assert target.dtype in (torch.int32, torch.int64), "Target must be int32 or int64"
    _check_place(x)


def cross_entropy_fwd(
    x: Tensor,
    target: Tensor,
    target_logit: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    return_lse: bool = False,
    return_dx: bool = False,
    inplace_backward: bool = False,
):
    """The losses of logits (M, N), then lse and dx, those that are asked for. In place, dx is x, overwritten."""
    _check_logits(x, target)
    inplace = return_dx and inplace_backward
    if not torch.compiler.is_compiling():
        loss, lse, dx = _launch.cross_entropy_forward(
            x, target, weight, target_logit, ignore_index, 0.0, 0.0, return_lse, return_dx, x if inplace else None
        )
    else:
        with torch.no_grad():
            arguments = (x, target, weight, target_logit, ignore_index, 0.0, 0.0)
            if inplace:
                loss, lse = _ops.cross_entropy_gradient_(*arguments)
                dx = x
            else:
                loss, lse, dx = _ops.cross_entropy_forward(*arguments, return_dx)
    results = (loss, *((lse,) if return_lse else ()), *((dx,) if return_dx else ()))
    return results if len(results) > 1 else loss


def cross_entropy_bwd(
    x: Tensor,
    target: Tensor,
    dloss: Tensor,
    lse: Tensor,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    inplace_backward: bool = False,
) -> Tensor:
    """The gradient of the logits; in place, x is overwritten with it, except in a compiled graph."""
    _check_logits(x, target)
    if torch.compiler.is_compiling():
        with torch.no_grad():
            return _ops.cross_entropy_backward(x, target, weight, dloss, lse, ignore_index, 0.0, 0.0)
    into = x if inplace_backward else None
    return _launch.cross_entropy_backward(x, target, weight, dloss, lse, ignore_index, 0.0, 0.0, into)


def cross_entropy(
    x: Tensor,
    target: Tensor,
    lse_partial: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    reduction: Literal["none", "mean", "sum"] = "mean",
    inplace_backward: bool = False,
) -> Tensor:
    """Cross-entropy of logits (M, N) with gradients. `lse_partial`, (M, K): logarithms of sums of exponentials of parts of
    the rows, from which the loss is then made without reading the logits again."""
    _check_logits(x, target)
    loss = _torch._losses(x, target, weight, lse_partial, ignore_index, 0.0, 0.0, inplace_backward)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction != "mean":
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', or 'sum'")
    valid = target != ignore_index
    if weight is None:
        return loss.sum() / valid.sum().float()
    return loss.sum() / (weight[target.clamp(min=0)] * valid).sum()
