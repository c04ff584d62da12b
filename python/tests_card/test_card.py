"""On a card: each library's arrays, where they lie, on its current stream; NumPy's by copies.

    WARPSMITH_DEVICE=cuda pytest python/tests_card

A long wait is queued before, where it can be, so that only the stream's order makes the results right.
"""

import numpy as np
import pytest
import warpsmith
from warpsmith import _native

# Odd, so that rows are not aligned, and large, so that the kernels take a while.
ROWS, DIM = 4099, 4096
WAIT = 200_000_000


def rms_norm(x, eps=1e-6):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


def test_there_is_a_card():
    assert warpsmith.devices()[0] == "cuda:0"
    card = warpsmith.Device("cuda")
    assert (card.name, card.is_emulated) == ("cuda:0", False)
    card.synchronize()


def test_numpy_by_copies():
    x, w = np.random.default_rng(0).standard_normal((2, 5, 64)).astype(np.float32)
    y = warpsmith.rms_norm(x, w[0], device="cuda")
    assert np.allclose(y, rms_norm(x) * w[0], atol=1e-5)
    part = np.repeat(x, 2, 1)[:, 32:96]
    assert warpsmith.softmax(part, out=part, device="cuda") is part
    assert np.allclose(part.sum(-1), 1, atol=1e-5)


def test_memory_of_this_package():
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    t = warpsmith.Device("cuda").tensor(x)
    assert t.__dlpack_device__() == (2, 0)
    assert np.allclose(warpsmith.rms_norm(t).numpy(), rms_norm(x), atol=1e-5)


@pytest.mark.parametrize("side", [True, False], ids=["side", "default"])
def test_torch_s_current_stream(torch, side):
    source = torch.randn(ROWS, DIM, device="cuda")
    expected = torch.nn.functional.rms_norm(source * 2, (DIM,), eps=1e-6) + 1
    x, y = torch.empty_like(source), torch.empty_like(source)
    torch.mul(source, 2, out=x)
    warpsmith.rms_norm(x, out=y)  # compiled here
    torch.add(y, 1, out=x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if side else torch.cuda.default_stream()
    with torch.cuda.stream(stream):
        assert _native.current_stream(x) == stream.cuda_stream
        torch.cuda._sleep(WAIT)
        torch.mul(source, 2, out=x)
        warpsmith.rms_norm(x, out=y)
        z = y.add_(1)
        busy = not stream.query()
    stream.synchronize()
    assert busy, "nothing waits for the card"
    torch.testing.assert_close(z, expected, atol=1e-5, rtol=1e-5)


def test_torch_s_stream_given(torch):
    stream = torch.cuda.Stream()
    x = torch.randn(8, 64, device="cuda")
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    _native.softmax_fwd(x, out, stream.cuda_stream)
    stream.synchronize()
    torch.testing.assert_close(out, torch.softmax(x, -1))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_all_operators_on_torch_s_tensors(torch, name):
    dtype = getattr(torch, name)
    close = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[name]

    def same(got, expected):
        torch.testing.assert_close(got.float(), expected.float(), atol=close, rtol=close)

    x, r, w, b, dy = (torch.randn(*s, device="cuda", dtype=dtype) for s in [(33, 1000), (33, 1000), 1000, 1000, (33, 1000)])
    y, h, rstd, mean = warpsmith.layer_norm(
        x, w, b, r, eps=1e-5, return_residual=True, return_rstd=True, return_mean=True
    )
    leaf = (x + r).float().requires_grad_()
    weight, bias = w.float().requires_grad_(), b.float().requires_grad_()
    expected = torch.nn.functional.layer_norm(leaf, (1000,), weight, bias, 1e-5)
    if name == "float32":
        same(y, expected)
    same(h, x + r)
    expected.backward(dy.float())
    for got, want in zip(warpsmith.layer_norm_backward(dy, h, rstd, mean, w, bias=True), (leaf, weight, bias)):
        scale = want.grad.abs().max()
        torch.testing.assert_close(got.float() / scale, want.grad / scale, atol=close, rtol=close)
    y = warpsmith.softmax(x)
    same(y, torch.softmax(x.float(), -1))
    want = torch._softmax_backward_data(dy.float(), y.float(), -1, torch.float32)
    same(warpsmith.softmax_backward(dy, y), want)
    target = torch.randint(0, 1000, (33,), device="cuda")
    loss, lse = warpsmith.cross_entropy(x, target, return_lse=True)
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(x.float(), target, reduction="none"))
    dx = warpsmith.cross_entropy_backward(torch.ones(1, device="cuda").expand(33), x, target, lse)
    one_hot = torch.nn.functional.one_hot(target, 1000)
    same(dx, torch.softmax(x.float(), -1) - one_hot)


def test_a_graph_of_torch_takes_and_replays_it(torch):
    x = torch.randn(ROWS, DIM, device="cuda")
    y = torch.empty_like(x)
    w = torch.randn(DIM, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        # The first launch of its kind is compiled within the capture.
        _native.rms_norm_fwd(x, w, None, None, y, None, None, 1e-6, 1.0)
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (DIM,), w.float() + 1, 1e-6), atol=1e-5, rtol=1e-5)


def test_parameters_and_gradients_are_tensors_too(torch):
    w = torch.nn.Parameter(torch.randn(64, device="cuda"))
    x = torch.randn(8, 64, device="cuda", requires_grad=True)
    y = warpsmith.rms_norm(x, w)
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (64,), w, 1e-6).detach(), atol=1e-5, rtol=1e-5)


def test_two_places_are_refused(torch):
    x = torch.ones(2, 8, device="cuda")
    with pytest.raises(warpsmith.ArgumentError, match="`out`.*cuda:0.*the host"):
        warpsmith.softmax(x, out=torch.ones(2, 8))
    if torch.cuda.device_count() > 1:
        far = torch.ones(2, 8, device="cuda:1")
        with pytest.raises(warpsmith.ArgumentError, match="`out`.*cuda:0.*cuda:1"):
            warpsmith.softmax(x, out=far)
        torch.testing.assert_close(warpsmith.softmax(far), far / 8)


def test_more_than_31_bits_of_elements(torch):
    if torch.cuda.get_device_properties(0).total_memory < 40 << 30:
        pytest.skip("the card has too little memory")
    x = torch.zeros((1 << 15) + 1, 1 << 16, device="cuda", dtype=torch.bfloat16)
    x[-1] = torch.arange(1 << 16, device="cuda") % 7
    y = warpsmith.softmax(x)
    torch.testing.assert_close(y[-1].float(), torch.softmax(x[-1].float(), -1), atol=1e-6, rtol=1e-2)


def test_cupy(cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.random.standard_normal((ROWS, DIM), dtype=cupy.float32)
        y = warpsmith.rms_norm(x * 2)
        assert isinstance(y, cupy.ndarray) and _native.current_stream(y) == stream.ptr
        z = y + 1
    stream.synchronize()
    assert np.allclose(cupy.asnumpy(z), rms_norm(cupy.asnumpy(x) * 2) + 1, atol=1e-4)


def test_jax():
    jax = pytest.importorskip("jax")
    if not any(d.platform == "gpu" for d in jax.devices()):
        pytest.skip("this JAX has no card")
    x = jax.random.normal(jax.random.key(0), (257, 1000))
    for dtype in ["float32", "bfloat16"]:
        y = warpsmith.rms_norm((x * 2).astype(dtype))
        assert isinstance(y, jax.Array) and y.dtype == dtype and y.devices() == x.devices()
        wrong = np.abs(np.asarray(y + 1, np.float64) - rms_norm(np.asarray((x * 2).astype(dtype), np.float64)) - 1)
        assert wrong.max() < (1e-4 if dtype == "float32" else 4e-2)


def test_a_wrong_stream_is_refused(torch):
    x = torch.ones(2, 8, device="cuda")
    with pytest.raises(TypeError, match="`stream`"):
        _native.softmax_fwd(x, x, -1)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-v"]))
