"""Normalisations, against the same in NumPy's float64; on the host and on emulated chips."""

import numpy as np
import pytest
import warpsmith
from support import DTYPES, compare


def f64(x):
    return np.asarray(x).astype(np.float64)


def norm(kind, h, weight, bias, eps, offset):
    mean = h.mean(-1, keepdims=True) if kind == "layer" else 0.0
    rstd = 1 / np.sqrt(((h - mean) ** 2).mean(-1, keepdims=True) + eps)
    y = (h - mean) * rstd
    y = y * (f64(weight) + offset) if weight is not None else y
    return (y + f64(bias) if bias is not None else y), rstd[..., 0], mean


@pytest.mark.parametrize("dim", [8, 257])
def test_rms_norm(random, dtype, device, dim):
    x, w = random(dtype, 5, dim), random("f32", dim)
    compare(warpsmith.rms_norm(x, w, eps=1e-5, device=device), norm("rms", f64(x), w, None, 1e-5, 0)[0], dtype)


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_all_that_goes_with_it(random, dtype, device, kind):
    x, residual, w, b = (random(dtype, *s) for s in [(3, 2, 64), (3, 2, 64), (2, 64), (2, 64)])
    function = getattr(warpsmith, f"{kind}_norm")
    y, h, rstd = function(
        x, w, b, residual, eps=1e-3, weight_offset=1.0, return_residual=True, return_rstd=True, device=device
    )
    expected, rstds, _ = norm(kind, f64(x) + f64(residual), w, b, 1e-3, 1.0)
    compare(y, expected, dtype)
    compare(h, f64(x) + f64(residual), dtype)
    compare(rstd, rstds, "f32")
    assert (y.dtype, h.dtype, rstd.dtype) == (x.dtype, x.dtype, np.float32)


def test_means(random, device):
    x = random("f32", 4, 33) + 3
    _, mean = warpsmith.layer_norm(x, return_mean=True, device=device)
    compare(mean, f64(x).mean(-1), "f32")


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_gradients_are_difference_quotients(random, device, kind):
    x, dy, w = random("f32", 3, 16), random("f32", 3, 16), random("f32", 16)
    args, extra = {"eps": 1e-3}, {"return_mean": True} if kind == "layer" else {}
    forward = getattr(warpsmith, f"{kind}_norm")(x, w, return_rstd=True, **args, **extra)
    backward = getattr(warpsmith, f"{kind}_norm_backward")
    dx, dw, db = backward(dy, x, *forward[1:], w, bias=True, device=device)
    loss = lambda x, w: (norm(kind, x, w, None, 1e-3, 0)[0] * f64(dy)).sum()
    for got, at in [(dx, 0), (dw, 1)]:
        for i in np.ndindex(got.shape):
            up, down = [f64(x), f64(w)], [f64(x), f64(w)]
            up[at][i] += 1e-6
            down[at][i] -= 1e-6
            assert abs((loss(*up) - loss(*down)) / 2e-6 - got[i]) < 1e-4
    compare(db, f64(dy).sum(0), "f32")


def test_gradients_on_the_emulator_are_the_reference_s(random, dtype):
    x, dy, more, w = random(dtype, 37, 2, 40), random(dtype, 37, 2, 40), random(dtype, 37, 2, 40), random(dtype, 40)
    _, rstd, mean = warpsmith.layer_norm(x, w, return_rstd=True, return_mean=True)
    args = {"dresidual_out": more, "bias": True, "weight_offset": 1.0}
    here = warpsmith.layer_norm_backward(dy, x, rstd, mean, w, **args)
    there = warpsmith.layer_norm_backward(dy, x, rstd, mean, w, device="emulated", **args)
    for a, b in zip(here, there):
        assert a.dtype == x.dtype
        compare(b, f64(a), dtype)


def test_rows_apart_and_in_place(random, device):
    x = random("f32", 6, 64)
    expected = norm("rms", f64(x)[::2, 16:48], None, None, 1e-6, 0)[0]
    whole = x.copy()
    part = whole[::2, 16:48]
    assert warpsmith.rms_norm(part, out=part, device=device) is part
    compare(part, expected, "f32")
    untouched = np.ones(x.shape, bool)
    untouched[::2, 16:48] = False
    assert np.array_equal(whole[untouched], x[untouched])


def test_any_rank(random, device):
    x = random("f32", 2, 3, 1, 5, 24)
    y, rstd = warpsmith.rms_norm(x, return_rstd=True, device=device)
    assert (y.shape, rstd.shape) == (x.shape, x.shape[:-1])
    compare(y, norm("rms", f64(x), None, None, 1e-6, 0)[0], "f32")
    compare(warpsmith.rms_norm(x[0, 0, 0, 0], device=device), f64(y)[0, 0, 0, 0], "f32")


def test_three_dimensions_however_they_lie(random, device):
    x, weight = random("f32", 4, 6, 24), random("f32", 24)
    expected = warpsmith.rms_norm(x, weight, device=device)
    assert np.array_equal(expected.reshape(24, 24), warpsmith.rms_norm(x.reshape(24, 24), weight, device=device))
    for part in (slice(None), (slice(None), slice(None, None, 2)), slice(None, None, 2), (slice(None), slice(0, 1))):
        assert np.array_equal(warpsmith.rms_norm(x[part], weight, device=device), expected[part])
    turned = warpsmith.rms_norm(x.transpose(1, 0, 2), weight, device=device)
    assert np.array_equal(turned, expected.transpose(1, 0, 2))


def test_no_rows(device):
    assert warpsmith.rms_norm(np.ones((0, 8), np.float32), device=device).shape == (0, 8)


def test_another_dtype_of_the_result(random, device):
    y = warpsmith.rms_norm(random("bf16", 2, 8), dtype="f32", device=device)
    assert y.dtype == np.float32


def test_bf16_as_bits(random, device):
    x = random("bf16", 3, 16)
    y = warpsmith.rms_norm(warpsmith.view(x.view(np.uint16), "bf16"), device=device)
    assert (y.dtype, y.shape) == ("bf16", (3, 16))
    assert np.array_equal(y.numpy(), warpsmith.rms_norm(x, device=device))
    assert y.numpy().dtype == DTYPES["bf16"]
