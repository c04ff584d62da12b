"""The operators by PyTorch's own, in float64, with gradients."""

import torch

# What a result may be off, absolutely and relatively: some roundings of its dtype, and sums of f32.
TOLERANCE = {torch.bfloat16: 4e-2, torch.float16: 5e-3, torch.float32: 5e-5}


def rms_norm(x, weight=None, bias=None, residual=None, eps=1e-6, weight_offset=0.0):
    """(result, x + residual)."""
    h = x if residual is None else x + residual
    y = h * (h.square().mean(-1, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * (weight + weight_offset)
    return (y if bias is None else y + bias), h


def layer_norm(x, weight=None, bias=None, residual=None, eps=1e-5, weight_offset=0.0):
    """(result, x + residual)."""
    h = x if residual is None else x + residual
    y = h - h.mean(-1, keepdim=True)
    y = y * (y.square().mean(-1, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * (weight + weight_offset)
    return (y if bias is None else y + bias), h


def leaves(*tensors):
    """Copies that gradients gather in, and the same in float64."""
    first = [None if t is None else t.detach().clone().requires_grad_() for t in tensors]
    return first, [None if t is None else t.detach().double().requires_grad_() for t in tensors]


def close(got, want, scale=1.0, made_of=()):
    """Whether a tensor is its reference's, within what its dtype allows, and those of what it was made of."""
    tolerance = max(TOLERANCE[dtype] for dtype in (got.dtype, *made_of)) * scale
    torch.testing.assert_close(got.double(), want.detach(), atol=tolerance, rtol=tolerance)


def same_gradients(ours, theirs, scale=1.0):
    """Whether the gradients of all leaves are those of the reference's, and of the leaves' dtypes."""
    made_of = [mine.dtype for mine in ours if mine is not None]
    for mine, other in zip(ours, theirs):
        if mine is not None and other.grad is not None:
            assert mine.grad.dtype == mine.dtype and mine.grad.shape == mine.shape
            close(mine.grad, other.grad, scale, made_of)
