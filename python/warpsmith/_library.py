"""The operators in `torch.library`, namespace `warpsmith`: schemas, fake implementations and gradients.

Each differentiable operator (`rms_norm`, `softmax`, …) has one kernel on the autograd key, which does nothing that is not
needed: PyTorch's own `register_autograd` and `custom_op` cost several times as long as a launch. `norm_forward` and the
others below are what those become in a compiled graph.
"""

import torch
from torch.library import Library

from . import _launch

_library = Library("warpsmith", "DEF")
ops = torch.ops.warpsmith
Tensor = torch.Tensor
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_rms_norm_rows, _softmax_rows = _launch.rms_norm_rows, _launch.softmax_rows
_grad = torch.is_grad_enabled
_dispatch_modes = torch._C._len_torch_dispatch_stack
_transform = torch._C._functorch.peek_interpreter_stack
is_tracing = torch._C._is_tracing


def is_plain(x):
    """Whether this is a tensor whose memory is what it says, and no mode or transform is to see what is done with it.

    The imaginary part of a conjugate has the other sign in memory: the dispatcher resolves that.
    What a kernel asks. The dispatcher has seen to traces by then: it records the operator, and none are on in its kernel.
    """
    return type(x) in _PLAIN and not x.is_neg() and not _dispatch_modes() and _transform() is None


def is_unwatched(x):
    """The same outside of the dispatcher's kernels, where a trace may be on."""
    return is_plain(x) and not is_tracing()


def is_rows_alone(x, weight=None):
    """Whether these are plain, x dense, the weight one for all rows, and no gradient is wanted.

    What most calls are: asked in one expression, as each function called costs as much as what it asks.
    """
    return (
        type(x) in _PLAIN
        and (weight is None or (type(weight) in _PLAIN and weight.dim() == 1))
        and not ((x.requires_grad or (weight is not None and weight.requires_grad)) and _grad())
        and x.is_contiguous()
        and not (x.is_neg() or (weight is not None and weight.is_neg()))
        and not _dispatch_modes()
        and _transform() is None
    )


def _define(schema, implementation, fake):
    name = schema.split("(", 1)[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _library.impl(name, implementation, key)
    torch.library.register_fake(f"warpsmith::{name}", fake, lib=_library)


def _none(x):
    """A returned tensor can not be `None`; an empty one stands for it."""
    return x.new_empty(0)


def _given(x):
    return x if x.numel() else None


# Norms, forward and backward.


def _norm_forward(
    kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, keep_residual, statistics
):
    parts = _launch.norm_forward(
        kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, keep_residual, statistics
    )
    return tuple(_none(x) if part is None else part for part in parts)


def _norm_forward_fake(
    kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, keep_residual, statistics
):
    statistic = x.new_empty(x.shape[:-1], dtype=torch.float32)
    return (
        x.new_empty(x.shape, dtype=out_dtype or x.dtype),
        x.new_empty(x.shape, dtype=residual_dtype or x.dtype) if keep_residual else _none(x),
        statistic if statistics else _none(x),
        torch.empty_like(statistic) if statistics and kind == "layer" else _none(x),
    )


_define(
    "norm_forward(str kind, Tensor x, Tensor? weight, Tensor? bias, Tensor? residual, float eps, float weight_offset, "
    "ScalarType? out_dtype, ScalarType? residual_dtype, bool keep_residual, bool statistics) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
    _norm_forward,
    _norm_forward_fake,
)


def _norm_backward(
    kind, x, weight, dy, rstd, mean, dresidual_out, weight_offset, dx_dtype, dresidual_dtype, dweight, bias_shape, dbias
):
    parts = _launch.norm_backward(
        kind,
        x,
        weight,
        dy,
        rstd,
        mean,
        dresidual_out,
        weight_offset,
        dx_dtype,
        dresidual_dtype,
        (weight.shape, weight.dtype) if dweight else None,
        None if dbias is None else (bias_shape, dbias),
    )
    return tuple(_none(x) if part is None else part for part in parts)


def _norm_backward_fake(
    kind, x, weight, dy, rstd, mean, dresidual_out, weight_offset, dx_dtype, dresidual_dtype, dweight, bias_shape, dbias
):
    return (
        x.new_empty(x.shape, dtype=dx_dtype),
        _none(x) if dresidual_dtype is None else x.new_empty(x.shape, dtype=dresidual_dtype),
        weight.new_empty(weight.shape) if dweight else _none(x),
        _none(x) if dbias is None else x.new_empty(bias_shape, dtype=dbias),
    )


_define(
    "norm_backward(str kind, Tensor x, Tensor? weight, Tensor dy, Tensor rstd, Tensor? mean, Tensor? dresidual_out, "
    "float weight_offset, ScalarType dx_dtype, ScalarType? dresidual_dtype, bool dweight, SymInt[] bias_shape, "
    "ScalarType? dbias) -> (Tensor, Tensor, Tensor, Tensor)",
    _norm_backward,
    _norm_backward_fake,
)


class Norm(torch.autograd.Function):
    """RMS norm and layer norm with their gradients: (out, residual_out), the second `None` without a residual."""

    @staticmethod
    def forward(ctx, kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype):
        keep = residual is not None or (residual_dtype is not None and residual_dtype != x.dtype)
        run = _launch.norm_forward if is_plain(x) else ops.norm_forward
        out, residual_out, rstd, mean = run(
            kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype, keep, True
        )
        ctx.save_for_backward(residual_out if keep else x, weight, rstd, mean if kind == "layer" else None)
        ctx.kind, ctx.weight_offset, ctx.keep = kind, weight_offset, keep
        ctx.x_dtype = x.dtype
        ctx.residual_dtype = None if residual is None else residual.dtype
        ctx.bias_like = None if bias is None else (bias.shape, bias.dtype)
        ctx.set_materialize_grads(False)
        return out, residual_out if keep else None

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dresidual_out):
        h, weight, rstd, mean = ctx.saved_tensors
        _, wants_x, wants_weight, wants_bias, wants_residual = ctx.needs_input_grad[:5]
        if dy is None:
            dy = torch.zeros_like(h) if dresidual_out is not None else None
        if dy is None:
            return (None,) * 9
        wants_weight = wants_weight and weight is not None
        bias = ctx.bias_like if wants_bias else None
        # One gradient serves both where their dtypes agree.
        apart = wants_residual and ctx.residual_dtype != ctx.x_dtype
        first = (ctx.kind, h, weight, dy, rstd, mean, dresidual_out, ctx.weight_offset, ctx.x_dtype)
        dresidual_dtype = ctx.residual_dtype if apart else None
        if is_unwatched(dy):
            like = (weight.shape, weight.dtype) if wants_weight else None
            dx, dresidual, dweight, dbias = _launch.norm_backward(*first, dresidual_dtype, like, bias)
        else:
            shape, dtype = ([], None) if bias is None else bias
            dx, dresidual, dweight, dbias = ops.norm_backward(*first, dresidual_dtype, wants_weight, shape, dtype)
        return (
            None,
            dx if wants_x else None,
            dweight if wants_weight else None,
            dbias if wants_bias else None,
            (dresidual if apart else dx) if wants_residual else None,
            *([None] * 4),
        )


def requires_grad(*tensors):
    """Whether a gradient of any of them is wanted."""
    if _grad():
        for t in tensors:
            if t is not None and t.requires_grad:
                return True
    return False


def _norm_operators(kind, name, residual_name, eps):
    options = f"float eps={eps}, float weight_offset=0.0, ScalarType? out_dtype=None"

    def plain(x, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None):
        return _launch.norm_forward(kind, x, weight, bias, None, eps, weight_offset, out_dtype, None, False, False)[0]

    def plain_fake(x, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None):
        return x.new_empty(x.shape, dtype=out_dtype or x.dtype)

    def plain_autograd(x, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None):
        if requires_grad(x, weight, bias):
            return Norm.apply(kind, x, weight, bias, None, eps, weight_offset, out_dtype, None)[0]
        if is_plain(x):
            return plain(x, weight, bias, eps, weight_offset, out_dtype)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(x, weight, bias, eps, weight_offset, out_dtype)

    def residual_(
        x, residual, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None, residual_dtype=None
    ):
        return _launch.norm_forward(
            kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype or residual.dtype, True, False
        )[:2]

    def residual_fake(
        x, residual, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None, residual_dtype=None
    ):
        return (
            x.new_empty(x.shape, dtype=out_dtype or x.dtype),
            x.new_empty(x.shape, dtype=residual_dtype or residual.dtype),
        )

    def residual_autograd(
        x, residual, weight=None, bias=None, eps=eps, weight_offset=0.0, out_dtype=None, residual_dtype=None
    ):
        residual_dtype = residual_dtype or residual.dtype
        if requires_grad(x, residual, weight, bias):
            return Norm.apply(kind, x, weight, bias, residual, eps, weight_offset, out_dtype, residual_dtype)
        if is_plain(x):
            return residual_(x, residual, weight, bias, eps, weight_offset, out_dtype, residual_dtype)
        with torch._C._AutoDispatchBelowAutograd():
            return operator_residual(x, residual, weight, bias, eps, weight_offset, out_dtype, residual_dtype)

    _define(f"{name}(Tensor x, Tensor? weight=None, Tensor? bias=None, {options}) -> Tensor", plain, plain_fake)
    _define(
        f"{residual_name}(Tensor x, Tensor residual, Tensor? weight=None, Tensor? bias=None, {options}, "
        "ScalarType? residual_dtype=None) -> (Tensor, Tensor)",
        residual_,
        residual_fake,
    )
    _library.impl(name, plain_autograd, "Autograd")
    _library.impl(residual_name, residual_autograd, "Autograd")
    operator = getattr(ops, name).default
    operator_residual = getattr(ops, residual_name).default


_norm_operators("rms", "rms_norm_affine", "rms_norm_residual", 1e-6)
_norm_operators("layer", "layer_norm", "layer_norm_residual", 1e-5)


# RMS norm with a weight alone, which most are: each argument of a schema, given or not, takes the dispatcher some 0.1 µs.


def _rms_norm(x, weight=None, eps=1e-6):
    if x.is_contiguous() and (weight is None or weight.dim() == 1):
        return _rms_norm_rows(x, weight, eps, 0.0)
    return _launch.norm_forward("rms", x, weight, None, None, eps, 0.0, None, None, False, False)[0]


def _rms_norm_autograd(x, weight=None, eps=1e-6):
    if is_rows_alone(x, weight):
        return _rms_norm_rows(x, weight, eps, 0.0)
    if requires_grad(x, weight):
        return Norm.apply("rms", x, weight, None, None, eps, 0.0, None, None)[0]
    if is_plain(x):
        return _rms_norm(x, weight, eps)
    with torch._C._AutoDispatchBelowAutograd():
        return ops.rms_norm.default(x, weight, eps)


_define(
    "rms_norm(Tensor x, Tensor? weight=None, float eps=1e-6) -> Tensor",
    _rms_norm,
    lambda x, weight=None, eps=1e-6: x.new_empty(x.shape),
)
_library.impl("rms_norm", _rms_norm_autograd, "Autograd")


# Softmax.


class Softmax(torch.autograd.Function):
    """Softmax with its gradient."""

    @staticmethod
    def forward(ctx, x):
        if is_plain(x):
            y = _launch.softmax_forward(x)
        else:
            with torch._C._AutoDispatchBelowAutograd():
                y = ops.softmax(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return (_launch.softmax_backward if is_unwatched(dy) else ops.softmax_backward)(dy, y)


def _softmax_autograd(x):
    if is_rows_alone(x):
        return _softmax_rows(x)
    if requires_grad(x):
        return Softmax.apply(x)
    if is_plain(x):
        return _launch.softmax_forward(x)
    with torch._C._AutoDispatchBelowAutograd():
        return ops.softmax.default(x)


_define("softmax(Tensor x) -> Tensor", _launch.softmax_forward, lambda x: x.new_empty(x.shape))
_define(
    "softmax_backward(Tensor dy, Tensor y) -> Tensor", _launch.softmax_backward, lambda dy, y: dy.new_empty(dy.shape)
)
_library.impl("softmax", _softmax_autograd, "Autograd")


# Cross-entropy.


def _cross_entropy_forward(x, target, weight, target_logit, ignore_index, label_smoothing, z_loss, gradient):
    loss, lse, dx = _launch.cross_entropy_forward(
        x, target, weight, target_logit, ignore_index, label_smoothing, z_loss, True, gradient
    )
    return loss, lse, dx if gradient else _none(x)


def _cross_entropy_forward_fake(x, target, weight, target_logit, ignore_index, label_smoothing, z_loss, gradient):
    loss = x.new_empty(x.shape[:1], dtype=torch.float32)
    return loss, torch.empty_like(loss), x.new_empty(x.shape) if gradient else _none(x)


_define(
    "cross_entropy_forward(Tensor x, Tensor target, Tensor? weight, Tensor? target_logit, int ignore_index, "
    "float label_smoothing, float z_loss, bool gradient) -> (Tensor, Tensor, Tensor)",
    _cross_entropy_forward,
    _cross_entropy_forward_fake,
)


def _cross_entropy_gradient_(x, target, weight, target_logit, ignore_index, label_smoothing, z_loss):
    return _launch.cross_entropy_forward(
        x, target, weight, target_logit, ignore_index, label_smoothing, z_loss, True, True, into=x
    )[:2]


def _cross_entropy_gradient_fake(x, target, weight, target_logit, ignore_index, label_smoothing, z_loss):
    loss = x.new_empty(x.shape[:1], dtype=torch.float32)
    return loss, torch.empty_like(loss)


_define(
    "cross_entropy_gradient_(Tensor(a!) x, Tensor target, Tensor? weight, Tensor? target_logit, int ignore_index, "
    "float label_smoothing, float z_loss) -> (Tensor, Tensor)",
    _cross_entropy_gradient_,
    _cross_entropy_gradient_fake,
)
_define(
    "cross_entropy_backward(Tensor x, Tensor target, Tensor? weight, Tensor dloss, Tensor lse, int ignore_index, "
    "float label_smoothing, float z_loss) -> Tensor",
    _launch.cross_entropy_backward,
    lambda x, target, weight, dloss, lse, ignore_index, label_smoothing, z_loss: x.new_empty(x.shape),
)


class CrossEntropy(torch.autograd.Function):
    """Cross-entropy with the logits' gradient, which is made in `x` itself where `inplace` says so."""

    @staticmethod
    def forward(ctx, x, target, weight, lse_partial, ignore_index, label_smoothing, z_loss, inplace):
        logits, target_logit = (x, None) if lse_partial is None else (lse_partial, x)
        options = (ignore_index, label_smoothing, z_loss)
        if is_plain(x):
            loss, lse, _ = _launch.cross_entropy_forward(
                logits, target, weight, target_logit, *options, True, False
            )
        else:
            loss, lse, _ = ops.cross_entropy_forward(logits, target, weight, target_logit, *options, False)
        ctx.save_for_backward(x, target, weight, lse)
        ctx.options, ctx.inplace = options, inplace
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dloss):
        x, target, weight, lse = ctx.saved_tensors
        if is_unwatched(dloss):
            into = x if ctx.inplace else None
            dx = _launch.cross_entropy_backward(x, target, weight, dloss, lse, *ctx.options, into=into)
        else:
            dx = ops.cross_entropy_backward(x, target, weight, dloss, lse, *ctx.options)
        return dx, *([None] * 7)


def cross_entropy_losses(
    x, target, weight=None, lse_partial=None, ignore_index=-100, label_smoothing=0.0, z_loss=0.0
):
    logits, target_logit = (x, None) if lse_partial is None else (lse_partial, x)
    return _launch.cross_entropy_forward(
        logits, target, weight, target_logit, ignore_index, label_smoothing, z_loss, False, False
    )[0]


def _cross_entropy_autograd(
    x, target, weight=None, lse_partial=None, ignore_index=-100, label_smoothing=0.0, z_loss=0.0
):
    arguments = (x, target, weight, lse_partial, ignore_index, label_smoothing, z_loss)
    if requires_grad(x):
        return CrossEntropy.apply(*arguments, False)
    if is_plain(x):
        return cross_entropy_losses(*arguments)
    with torch._C._AutoDispatchBelowAutograd():
        return ops.cross_entropy.default(*arguments)


_define(
    "cross_entropy(Tensor x, Tensor target, Tensor? weight=None, Tensor? lse_partial=None, int ignore_index=-100, "
    "float label_smoothing=0.0, float z_loss=0.0) -> Tensor",
    cross_entropy_losses,
    lambda x, *_, **__: x.new_empty(x.shape[:1], dtype=torch.float32),
)
_library.impl("cross_entropy", _cross_entropy_autograd, "Autograd")
