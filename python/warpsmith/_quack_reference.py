"""QuACK's references: its operators by PyTorch's in f32."""

import torch

Tensor = torch.Tensor


def rmsnorm_ref(x, w=None, bias=None, residual=None, eps=1e-6, weight_offset=0.0):
    """`rmsnorm` by PyTorch's operators in f32; with a residual (out, residual_out)."""
    h = x.float() if residual is None else x.float() + residual.float()
    out = h / torch.sqrt(h.square().mean(dim=-1, keepdim=True) + eps)
    if w is not None:
        out = out * (w.float() + weight_offset)
    if bias is not None:
        out = out + bias.float()
    out = out.to(x.dtype)
    return out if residual is None else (out, h.to(residual.dtype))


def rmsnorm_bwd_ref(x, w, dout, rstd, eps=1e-6, weight_offset=0.0):
    """(dx, dw) by PyTorch's operators in f32."""
    hat = x.float() * rstd.unsqueeze(1)
    scaled = dout if w is None else dout * (w.float() + weight_offset)
    dx = (scaled - hat * (hat * scaled).mean(dim=-1, keepdim=True)) * rstd.unsqueeze(1)
    return dx.to(x.dtype), None if w is None else (dout * hat).sum(dim=0).to(w.dtype)


def layernorm_ref(x: Tensor, w: Tensor, eps: float = 1e-6) -> Tensor:
    """`layernorm_fwd` by PyTorch in f32."""
    return torch.nn.functional.layer_norm(x.float(), w.shape, w, None, eps).to(x.dtype)


def layernorm_rstd_ref(x: Tensor, eps: float = 1e-6) -> Tensor:
    """1 / sqrt(variance + eps) of each row, f32."""
    # In two passes: `var` takes one on a card, and loses digits where the mean is large.
    centred = x.float() - x.float().mean(dim=-1, keepdim=True)
    return (centred.square().mean(dim=-1) + eps).sqrt().reciprocal()


def layernorm_mean_ref(x: Tensor) -> Tensor:
    """The mean of each row, f32."""
    return x.float().mean(dim=-1)
