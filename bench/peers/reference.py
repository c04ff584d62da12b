"""Whether a candidate's results are right, against PyTorch in float64, some rows at a time."""

import torch

# Elements in float64 at once.
AT_ONCE = 1 << 26
# What a result may be off, relative to 1 + |reference|: two roundings of its dtype, and f32 sums of long rows.
TOLERANCE = {torch.bfloat16: 2**-7, torch.float16: 2**-10, torch.float32: 2e-5}


def _rows(x):
    step = max(1, AT_ONCE // x.shape[1])
    for start in range(0, x.shape[0], step):
        yield slice(start, start + step)


def _off(got, want):
    """The largest difference, relative to 1 + |want|; infinite where something is not finite."""
    off = (got.double() - want).abs() / (1 + want.abs())
    return torch.where(off.isfinite(), off, float("inf")).max().item() if off.numel() else 0.0


def _scaled(got, want):
    """The same relative to the largest element: for probabilities and sums over rows, where 1 says nothing."""
    return _off(got, want) if not want.numel() else ((got.double() - want).abs().max() / want.abs().max()).item()


def rms_norm(x, weight, eps, outputs, residual=None):
    out = outputs[0]
    worst = 0.0
    for rows in _rows(x):
        h = x[rows].double()
        if residual is not None:
            h = h + residual[rows].double()
            worst = max(worst, _off(outputs[1][rows], h))
        h = h * (h.square().mean(-1, keepdim=True) + eps).rsqrt() * weight.double()
        worst = max(worst, _off(out[rows], h))
    return worst


def layer_norm(x, weight, bias, eps, outputs):
    return max(
        _off(outputs[0][rows], torch.nn.functional.layer_norm(x[rows].double(), weight.shape, weight.double(), bias.double(), eps))
        for rows in _rows(x)
    )


def rms_norm_backward(x, weight, dy, rstd, outputs):
    dx, dw = outputs
    worst = 0.0
    total = torch.zeros(x.shape[1], dtype=torch.float64, device=x.device)
    for rows in _rows(x):
        r = rstd[rows].double().unsqueeze(1)
        g = dy[rows].double()
        hat = x[rows].double() * r
        total += (g * hat).sum(0)
        g = g * weight.double()
        want = (g - hat * (g * hat).mean(-1, keepdim=True)) * r
        worst = max(worst, _off(dx[rows], want))
    return max(worst, _scaled(dw, total))


def softmax(x, outputs):
    return max(_relative(outputs[0][rows], torch.softmax(x[rows].double(), -1)) for rows in _rows(x))


def _relative(got, want):
    """Relative to the reference's elements, but none below the least normal number of f32: smaller ones are flushed."""
    off = (got.double() - want).abs() / want.abs().clamp(min=2**-100)
    return torch.where(off.isfinite(), off, float("inf")).max().item()


def softmax_backward(dy, y, outputs):
    worst = 0.0
    for rows in _rows(y):
        p, g = y[rows].double(), dy[rows].double()
        worst = max(worst, _scaled(outputs[0][rows], p * (g - (g * p).sum(-1, keepdim=True))))
    return worst


def cross_entropy(x, target, outputs):
    worst = 0.0
    for rows in _rows(x):
        want = torch.nn.functional.cross_entropy(x[rows].double(), target[rows], reduction="none")
        worst = max(worst, _off(outputs[0][rows], want))
    return worst
