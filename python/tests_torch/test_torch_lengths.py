"""Softmax, RMS norm and cross-entropy at row lengths that nobody chose, and at those of vocabularies; bf16, with gradients.

    pytest -n 8 python/tests_torch/test_torch_lengths.py

Each run has lengths of its own; a test prints their seed, and `WARPSMITH_LENGTHS_SEED` repeats them. So that a missed or a
doubled element shows, each row has one that outweighs the others: the last, the first, and one anywhere.
"""

import os
import random

import pytest
import torch
import torch.nn.functional as F

import torch_references as references
from warpsmith.torch import cross_entropy, rms_norm, softmax

SEED = int(os.environ["WARPSMITH_LENGTHS_SEED"])
ROWS = 3
BATCH = 10
# How many random lengths, and the longest: fewer and shorter ones where the references compute.
RANDOM = {"cpu": (12, 5_000), "cuda": (300, 300_000)}
VOCABULARIES = (50257, 65544, 70000, 100352, 131584, 151936, 152064, 200064, 201088, 202048, 262208)
BATCHES = [(device, batch) for device, (count, _) in RANDOM.items() for batch in range(-(-count // BATCH))]


def lengths(device):
    """All random lengths of a device: every other one has a random magnitude, or short ones would hardly be among them."""
    count, longest = RANDOM[device]
    chance = random.Random(SEED)
    return [chance.randint(1, longest) if i % 2 else int(longest ** chance.random()) for i in range(count)]


def normal(n, device):
    """Three rows of n, and which element of each is to outweigh the others."""
    heavy = torch.tensor([n - 1, 0, int(torch.randint(0, n, ()))], device=device)
    return torch.randn(ROWS, n, device=device), heavy.unsqueeze(1)


def close_beside(got, want, size):
    """Whether a tensor is its reference's, both measured in `size`: absolute tolerances say nothing of probabilities."""
    references.close((got.double() / size).float(), want / size, made_of=(got.dtype,))


def check_softmax(n, device):
    x, heavy = normal(n, device)
    x.scatter_(1, heavy, 14.0)
    (x,), (x64,) = references.leaves(x.bfloat16())
    y, want = softmax(x), torch.softmax(x64, -1)
    size = want.detach()
    close_beside(y, want, size)
    dy = torch.randn_like(y)
    y.backward(dy)
    want.backward(dy.double())
    close_beside(x.grad, x64.grad, size)


def check_rms_norm(n, device):
    x, heavy = normal(n, device)
    dy = torch.randn_like(x)
    # As much as all others together, in the mean of squares and in that of x and its gradient.
    for rows in (x, dy):
        rows.scatter_(1, heavy, n**0.5)
    ours, theirs = references.leaves(x.bfloat16(), torch.rand(n, device=device) + 0.5)
    y, want = rms_norm(*ours, eps=1e-6), references.rms_norm(*theirs)[0]
    references.close(y, want)
    dy = dy.bfloat16()
    y.backward(dy)
    want.backward(dy.double())
    references.same_gradients(ours, theirs, scale=4)


def check_cross_entropy(n, device):
    x, heavy = normal(n, device)
    x.scatter_(1, heavy, 14.0)
    (x,), (x64,) = references.leaves(x.bfloat16())
    target = torch.tensor([0, int(torch.randint(0, n, ())), n - 1], device=device)
    want = F.cross_entropy(x64, target, reduction="none")
    references.close(cross_entropy(x.detach(), target, reduction="none"), want)
    size = torch.softmax(x64.detach(), -1) + F.one_hot(target, n)
    for gradient in (False, True):
        arguments = (x.detach(), target, None, None, -100, 0.0, 0.0, gradient)
        loss, lse, dx = torch.ops.warpsmith.cross_entropy_forward(*arguments)
        references.close(loss, want)
        references.close(lse, x64.logsumexp(-1))
    close_beside(dx, size - 2 * F.one_hot(target, n), size)
    loss = cross_entropy(x, target, reduction="none")
    references.close(loss, want)
    upstream = torch.randn_like(loss)
    loss.backward(upstream)
    want.backward(upstream.double())
    close_beside(x.grad, x64.grad, size * upstream.double().abs().unsqueeze(1))


CHECKS = {"softmax": check_softmax, "rms_norm": check_rms_norm, "cross_entropy": check_cross_entropy}


def check(operator, n, device):
    torch.manual_seed(SEED + n)
    try:
        CHECKS[operator](n, device)
    except Exception as error:
        raise AssertionError(f"{operator} of rows of {n}, WARPSMITH_LENGTHS_SEED={SEED}: {error}") from error


@pytest.mark.parametrize("operator", list(CHECKS))
@pytest.mark.parametrize("device, batch", BATCHES, indirect=["device"])
def test_random_lengths(operator, batch, device):
    chosen = lengths(device)[batch * BATCH :][:BATCH]
    print(f"seed {SEED}: {chosen}")
    for n in chosen:
        check(operator, n, device)


@pytest.mark.parametrize("operator", list(CHECKS))
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_vocabularies(operator, vocabulary, device):
    check(operator, vocabulary, device)
