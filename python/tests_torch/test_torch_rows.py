"""Softmax and cross-entropy: results and gradients, eagerly and compiled."""

import pytest
import torch
import torch.nn.functional as F

import torch_references as references
from test_torch_norms import maybe_compiled
from warpsmith.torch import cross_entropy, softmax


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("shape", [(7, 300), (2, 3, 129)])
def test_softmax(shape, dtype, compiled, device):
    torch._dynamo.reset()
    (x,), (x64,) = references.leaves(torch.randn(shape, device=device, dtype=dtype))
    y, want = maybe_compiled(softmax, compiled, device)(x), torch.softmax(x64, -1)
    assert y.dtype == dtype and y.shape == x.shape
    references.close(y, want)
    dy = torch.randn_like(y)
    y.backward(dy)
    want.backward(dy.double())
    references.same_gradients((x,), (x64,))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_cross_entropy(label_smoothing, weighted, reduction, dtype, compiled, device):
    torch._dynamo.reset()
    (x,), (x64,) = references.leaves(torch.randn(9, 301, device=device, dtype=dtype))
    target = torch.randint(0, 301, (9,), device=device)
    target[4] = -100
    weight = torch.rand(301, device=device) + 0.1 if weighted else None
    options = {"reduction": reduction, "label_smoothing": label_smoothing}
    loss = maybe_compiled(lambda x: cross_entropy(x, target, weight, **options), compiled, device)(x)
    want = F.cross_entropy(x64, target, None if weight is None else weight.double(), **options)
    assert loss.dtype == torch.float32
    references.close(loss, want)
    upstream = torch.randn_like(loss)
    loss.backward(upstream)
    want.backward(upstream.double())
    references.same_gradients((x,), (x64,))


def test_cross_entropy_with_z_loss(device):
    (x,), (x64,) = references.leaves(torch.randn(5, 64, device=device))
    target = torch.randint(0, 64, (5,), device=device, dtype=torch.int32)
    loss = cross_entropy(x, target, z_loss=0.01)
    want = F.cross_entropy(x64, target.long()) + 0.01 * x64.logsumexp(-1).square().mean()
    references.close(loss, want)
    loss.backward()
    want.backward()
    references.same_gradients((x,), (x64,))


def test_gradient_in_place_of_the_logits(device):
    (x,), (x64,) = references.leaves(torch.randn(5, 64, device=device))
    target = torch.randint(0, 64, (5,), device=device)
    logits = x * 1
    cross_entropy(logits, target, reduction="sum", inplace_backward=True).backward()
    F.cross_entropy(x64, target, reduction="sum").backward()
    references.same_gradients((x,), (x64,))
    assert torch.equal(logits, x.grad)


def test_unknown_reduction(device):
    with pytest.raises(ValueError, match="reduction"):
        cross_entropy(torch.randn(2, 4, device=device), torch.zeros(2, dtype=torch.long, device=device), reduction="most")
