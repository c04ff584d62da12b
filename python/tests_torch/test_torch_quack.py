"""What QuACK's names do here that its own tests do not ask; those run by `scripts/quack_tests`."""

import inspect

import pytest
import torch

import warpsmith.quack as quack

SIGNATURES = {
    "rmsnorm": "x weight bias residual out_dtype residual_dtype eps prenorm weight_offset",
    "rmsnorm_fwd": "x weight bias residual out_dtype residual_dtype eps store_rstd weight_offset",
    "rmsnorm_bwd": "x weight dout rstd dresidual_out has_bias has_residual weight_offset",
    "layernorm_fwd": "x weight bias eps return_rstd return_mean",
    "layernorm_bwd": "x weight dout rstd mean has_bias",
    "softmax_fwd": "x",
    "softmax_bwd": "dy y",
    "cross_entropy": "x target lse_partial weight ignore_index reduction inplace_backward",
    "cross_entropy_fwd": "x target target_logit weight ignore_index return_lse return_dx inplace_backward",
    "cross_entropy_bwd": "x target dloss lse weight ignore_index inplace_backward",
}


@pytest.mark.parametrize("name", list(SIGNATURES))
def test_signature(name):
    assert list(inspect.signature(getattr(quack, name)).parameters) == SIGNATURES[name].split()


@pytest.mark.parametrize("call", [quack.rmsnorm, quack.rmsnorm_fwd, quack.softmax])
def test_the_host_is_refused(call):
    with pytest.raises(ValueError, match="expected device_type=cuda"):
        call(torch.randn(4, 64))


def test_residual_out_is_x_or_converted(card):
    x = torch.randn(4, 64, device=card, dtype=torch.bfloat16)
    out, same, rstd = quack.rmsnorm_fwd(x)
    assert same is x and rstd is None
    converted = quack.rmsnorm_fwd(x, residual_dtype=torch.float32)[1]
    assert torch.equal(converted, x.float())
    assert torch.equal(quack.rmsnorm(x, prenorm=True)[0], out)


def test_module(card):
    ours, theirs = quack.QuackRMSNorm(64, device=card), torch.nn.RMSNorm(64, eps=1e-6, device=card)
    x = torch.randn(3, 64, device=card)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)
