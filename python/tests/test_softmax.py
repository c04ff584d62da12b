"""Softmax and cross-entropy, against the same in NumPy's float64."""

import numpy as np
import pytest
import warpsmith
from support import compare


def f64(x):
    return np.asarray(x).astype(np.float64)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def losses(x, target, weight=None, smoothing=0.0, z=0.0, ignore=-100):
    lse = np.log(np.exp(x).sum(-1))
    n, w = x.shape[1], np.ones(x.shape[1]) if weight is None else weight
    at = np.where(target == ignore, 0, target)
    one = w[at] * (lse - np.take_along_axis(x, at[:, None], 1)[:, 0])
    every = (w * (lse[:, None] - x)).sum(-1)
    loss = (1 - smoothing) * one + smoothing / n * every + z * lse**2
    return np.where(target == ignore, 0.0, loss), lse


@pytest.mark.parametrize("dim", [1, 8, 1001])
def test_softmax(random, dtype, device, dim):
    x = random(dtype, 3, dim)
    compare(warpsmith.softmax(x, device=device), softmax(f64(x)), dtype)


def test_softmax_gradient(random, dtype, device):
    y, dy = warpsmith.softmax(random(dtype, 4, 40)), random(dtype, 4, 40)
    y64, dy64 = f64(y), f64(dy)
    expected = y64 * (dy64 - (dy64 * y64).sum(-1, keepdims=True))
    compare(warpsmith.softmax_backward(dy, y, device=device), expected, dtype)
    assert warpsmith.softmax_backward(dy, y, out=dy, device=device) is dy
    compare(dy, expected, dtype)


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_cross_entropy(random, dtype, device, integer):
    x, target = random(dtype, 5, 33), np.array([0, 32, 7, -100, 3], integer)
    loss, lse, dx = warpsmith.cross_entropy(x, target, return_lse=True, return_dx=True, device=device)
    expected, sums = losses(f64(x), target)
    # The gradient is of the logits' dtype, losses are f32 of what was read exactly.
    compare(loss, expected, "f32")
    compare(lse, sums, "f32")
    one_hot = (np.arange(33) == target[:, None]) * 1.0
    gradient = np.where(target[:, None] == -100, 0, softmax(f64(x)) - one_hot)
    compare(dx, gradient, dtype)
    dloss = random("f32", 5)
    again = warpsmith.cross_entropy_backward(dloss, x, target, lse, device=device)
    compare(again, gradient * f64(dloss)[:, None], dtype)


def test_options_of_cross_entropy(random, device):
    x, weight, target = random("f32", 4, 20), np.abs(random("f32", 20)), np.array([3, 9, 5, 19])
    options = {"weight": weight, "label_smoothing": 0.25, "z_loss": 0.5, "ignore_index": 5}
    loss, lse, dx = warpsmith.cross_entropy(x, target, return_lse=True, return_dx=True, device=device, **options)
    expect = lambda x: losses(x, target, f64(weight), 0.25, 0.5, 5)[0]
    compare(loss, expect(f64(x)), "f32")
    for c in range(20):
        up, down = f64(x), f64(x)
        up[:, c] += 1e-6
        down[:, c] -= 1e-6
        assert np.allclose((expect(up) - expect(down)) / 2e-6, dx[:, c], atol=1e-4)
    ones = np.ones(4, np.float32)
    assert np.allclose(warpsmith.cross_entropy_backward(ones, x, target, lse, device=device, **options), dx, atol=1e-6)


def test_logits_from_elsewhere(random, device):
    x, target = random("f32", 3, 6), np.array([9, 0, 2])
    rows, values = random("f32", 3, 11), random("f32", 3)
    lse = np.log(np.exp(f64(x)).sum(-1))
    got = warpsmith.cross_entropy(x, target, target_logit=rows, device=device)
    compare(got, lse - f64(rows)[np.arange(3), target], "f32")
    got = warpsmith.cross_entropy(x, target % 6, target_logit=values, device=device)
    compare(got, lse - f64(values), "f32")


def test_a_target_that_is_no_class(random, device):
    loss, dx = warpsmith.cross_entropy(random("f32", 2, 8), np.array([8, 1]), return_dx=True, device=device)
    assert np.isnan(loss[0]) and np.isnan(dx[0]).all()
    assert np.isfinite(loss[1]) and np.isfinite(dx[1]).all()
