"""RMS norm and layer norm: results and gradients, eagerly and compiled."""

import pytest
import torch

import torch_references as references
import warpsmith
from warpsmith.torch import RMSNorm, layer_norm, rms_norm, softmax

OURS = {"rms": rms_norm, "layer": layer_norm}
THEIRS = {"rms": references.rms_norm, "layer": references.layer_norm}
BACKEND = {"cpu": "aot_eager", "cuda": "inductor"}


def maybe_compiled(function, compiled, device):
    return torch.compile(function, fullgraph=True, backend=BACKEND[device]) if compiled else function


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("weight_dtype", [torch.float32, torch.bfloat16, None])
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_gradients(kind, weight_dtype, dtype, compiled, device):
    torch._dynamo.reset()
    x = torch.randn(3, 5, 192, device=device, dtype=dtype)
    weight = None if weight_dtype is None else torch.randn(192, device=device, dtype=weight_dtype)
    bias = None if weight is None else torch.randn(192, device=device, dtype=weight_dtype)
    ours, theirs = references.leaves(x, weight, bias)
    y = maybe_compiled(OURS[kind], compiled, device)(*ours)
    want = THEIRS[kind](*theirs)[0]
    assert y.dtype == dtype and y.shape == x.shape
    references.close(y, want)
    dy = torch.randn_like(y)
    y.backward(dy)
    want.backward(dy.double())
    references.same_gradients(ours, theirs, scale=4)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("used", ["both", "result", "residual"])
@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize("residual_dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_residual(kind, residual_dtype, heads, used, compiled, device):
    torch._dynamo.reset()
    x = torch.randn(2, 7, 4, 64, device=device, dtype=torch.bfloat16)
    residual = torch.randn(x.shape, device=device, dtype=residual_dtype)
    weight, bias = (torch.randn((4, 64) if heads else (64,), device=device) for _ in range(2))
    ours, theirs = references.leaves(x, weight, bias, residual)
    function = maybe_compiled(lambda *a: OURS[kind](*a, prenorm=True), compiled, device)
    y, h = function(*ours)
    want, want_h = THEIRS[kind](*theirs)
    assert h.dtype == residual_dtype
    references.close(y, want)
    references.close(h, want_h)
    dy, dh = torch.randn_like(y), torch.randn_like(h)
    given = {"both": ((y, dy), (h, dh)), "result": ((y, dy),), "residual": ((h, dh),)}[used]
    wanted = {"both": ((want, dy), (want_h, dh)), "result": ((want, dy),), "residual": ((want_h, dh),)}[used]
    torch.autograd.backward([t for t, _ in given], [g for _, g in given])
    torch.autograd.backward([t for t, _ in wanted], [g.double() for _, g in wanted])
    references.same_gradients(ours, theirs, scale=4)


def test_residual_alone_returns_one_tensor(device):
    x, residual = (torch.randn(4, 64, device=device) for _ in range(2))
    weight = torch.randn(64, device=device)
    y = rms_norm(x, weight, residual=residual)
    references.close(y, references.rms_norm(x.double(), weight.double(), residual=residual.double())[0])
    assert torch.equal(y, rms_norm(x, weight, residual=residual, prenorm=True)[0])


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_options(kind, device):
    x, weight = torch.randn(4, 96, device=device, dtype=torch.bfloat16), torch.randn(96, device=device)
    y = OURS[kind](x, weight, eps=0.5, weight_offset=1.0, out_dtype=torch.float32)
    assert y.dtype == torch.float32
    references.close(y, THEIRS[kind](x.double(), weight.double(), eps=0.5, weight_offset=1.0)[0])


def views(x):
    return {
        "rows apart": torch.cat([x, x], -1)[:, : x.shape[1]],
        "columns apart": x.repeat_interleave(2, -1)[:, ::2],
        "transposed": x.t().contiguous().t(),
        "one row": x[:1].expand_as(x),
    }


@pytest.mark.parametrize("name", ["rows apart", "columns apart", "transposed", "one row"])
def test_strides(name, device):
    view = views(torch.randn(6, 64, device=device))[name]
    weight = torch.randn(64, device=device)
    (x, w), (x64, w64) = references.leaves(view, weight)
    y = rms_norm(view, weight)
    references.close(y, references.rms_norm(view.double(), weight.double())[0])
    assert torch.equal(y, rms_norm(view.contiguous(), weight))
    # The gradient of a sum has no memory of its own for each element.
    rms_norm(x, w).sum().backward()
    references.rms_norm(x64, w64)[0].sum().backward()
    references.same_gradients((x, w), (x64, w64), scale=4)


@pytest.mark.parametrize("shape", [(64,), (2, 3, 64), (1, 3, 64), (2, 1, 3, 64), (0, 3, 64), (3, 0, 2, 64)])
def test_any_rank(shape, device):
    x, residual = torch.randn(shape, device=device), torch.randn(shape, device=device)
    weight, bias = torch.randn(64, device=device), torch.randn(64, device=device)
    calls = {
        "rms_norm": lambda x, _: rms_norm(x, weight),
        "its operator": lambda x, _: torch.ops.warpsmith.rms_norm(x, weight),
        "layer_norm": lambda x, _: layer_norm(x, weight, bias),
        "softmax": lambda x, _: softmax(x),
        "softmax's operator": lambda x, _: torch.ops.warpsmith.softmax(x),
        "residual": lambda x, r: rms_norm(x, weight, residual=r),
        "sum": lambda x, r: layer_norm(x, weight, residual=r, prenorm=True)[1],
    }
    for name, call in calls.items():
        y, rows = call(x, residual), call(x.reshape(-1, 64), residual.reshape(-1, 64))
        assert y.shape == shape and torch.equal(y.reshape(-1, 64), rows), name
        if len(shape) > 2:
            # The first two the other way round lie as no rows do.
            y = call(x.transpose(0, 1).contiguous().transpose(0, 1), residual)
            torch.testing.assert_close(y.reshape(-1, 64), rows, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_heads_of_a_packed_projection_are_not_copied(function, device):
    packed = torch.randn(2, 5, 6, 64, device=device)
    x, weight = packed[..., 1:4, :], torch.randn(64, device=device)
    with torch.profiler.profile() as profile:
        y = function(x, weight)
    assert not {"aten::clone", "aten::copy_"} & {event.name for event in profile.events()}
    assert y.is_contiguous()
    torch.testing.assert_close(y, function(x.contiguous(), weight), atol=1e-5, rtol=1e-5)


def test_more_rows_side_by_side_than_a_launch_has_heads(device):
    x, weight = torch.randn(70_000, 2, 8, device=device), torch.randn(8, device=device)
    y = rms_norm(x.transpose(0, 1), weight)
    torch.testing.assert_close(y, rms_norm(x, weight).transpose(0, 1), atol=1e-5, rtol=1e-5)


def test_only_what_needs_a_gradient_gets_one(device):
    x, weight = torch.randn(4, 64, device=device), torch.randn(64, device=device, requires_grad=True)
    rms_norm(x, weight).sum().backward()
    assert weight.grad is not None and x.grad is None
    weight.grad = None
    with torch.no_grad():
        assert not rms_norm(x, weight).requires_grad
    x.requires_grad_()
    rms_norm(x, weight.detach()).sum().backward()
    assert x.grad is not None and weight.grad is None


def test_no_rows(device):
    x = torch.empty(0, 64, device=device, requires_grad=True)
    weight = torch.randn(64, device=device, requires_grad=True)
    y = rms_norm(x, weight)
    assert y.shape == x.shape
    y.sum().backward()
    assert x.grad.shape == x.shape and bool((weight.grad == 0).all())
    assert softmax(torch.empty(0, 1, device=device).expand(0, 64)).shape == (0, 64)


def test_module(device):
    ours, theirs = RMSNorm(64, device=device), torch.nn.RMSNorm(64, device=device)
    theirs.weight.data.normal_()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, 64, device=device)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)


def test_bad_arguments(device):
    x, weight = torch.randn(4, 64, device=device), torch.randn(65, device=device)
    with pytest.raises(warpsmith.ArgumentError, match="weight"):
        rms_norm(x, weight)
    with pytest.raises(warpsmith.ArgumentError, match=r"residual.*\(2, 3, 64\).*\(3, 2, 64\)"):
        rms_norm(torch.randn(2, 3, 64, device=device), residual=torch.randn(3, 2, 64, device=device))
    with pytest.raises(warpsmith.ArgumentError, match="`x`"):
        rms_norm(torch.tensor(1.0, device=device))
    with pytest.raises(ValueError, match="prenorm"):
        rms_norm(x, prenorm=True)
    with pytest.raises(ValueError, match="dtype|f64"):
        rms_norm(x.double())


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_a_weight_that_nothing_writes(function, device):
    x, residual = torch.randn(5, 64, device=device), torch.randn(5, 64, device=device)
    weight = torch.randn(64, device=device)
    for options in ({}, {"residual": residual, "prenorm": True}, {"bias": weight}):
        first = function(x, weight, **options)
        torch.testing.assert_close(function(x, weight, constant=True, **options), first, rtol=0, atol=0)
