"""The operators in `torch.library`: PyTorch's own check of them, transforms, modes and CUDA graphs."""

import warnings

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import warpsmith.torch as ws

ops = torch.ops.warpsmith


def examples(device):
    x, residual = (torch.randn(4, 3, 64, device=device) for _ in range(2))
    weight, bias = (torch.randn(64, device=device) for _ in range(2))
    flat, target = x.reshape(12, 64), torch.randint(0, 64, (12,), device=device)
    rstd = torch.rand(4, 3, device=device)
    loss = (flat, target, None, torch.randn(12, device=device), torch.randn(12, device=device))
    back = ("rms", x, weight, residual, rstd, None, None, 0.0, torch.float32)
    return {
        "rms_norm": (x, weight),
        "rms_norm_affine": (x, weight, bias),
        "rms_norm_residual": (x, residual, weight),
        "layer_norm": (x, weight, bias),
        "layer_norm_residual": (x, residual, weight, bias),
        "softmax": (x,),
        "cross_entropy": (flat, target),
        "norm_forward": ("layer", x, weight, bias, residual, 1e-5, 0.0, None, torch.bfloat16, True, True),
        "norm_backward": (*back, torch.bfloat16, True, [64], torch.float32),
        "softmax_backward": (x, residual),
        "cross_entropy_forward": (flat, target, None, None, -100, 0.0, 0.0, True),
        "cross_entropy_backward": (*loss, -100, 0.0, 0.0),
        "cross_entropy_gradient_": (flat, target, None, None, -100, 0.0, 0.0),
    }


DIFFERENTIABLE = (
    *("rms_norm", "rms_norm_affine", "rms_norm_residual", "layer_norm", "layer_norm_residual"),
    *("softmax", "cross_entropy"),
)


@pytest.mark.parametrize("name", list(examples("cpu")))
@pytest.mark.parametrize("gradients", [False, True])
def test_opcheck(name, gradients, device):
    if gradients and name not in DIFFERENTIABLE:
        pytest.skip("it is a part of one that has gradients")
    arguments = examples(device)[name]
    if gradients:
        arguments = tuple(a.requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments)
    torch.library.opcheck(getattr(ops, name).default, arguments)


@pytest.mark.parametrize("shape", [(4, 3, 64), (12, 64)])
def test_permuted_input_is_laid_out_as_the_fake_one_says(shape, device):
    x = torch.randn(shape[::-1], device=device).permute(*range(len(shape))[::-1])
    assert x.shape == shape
    real = ops.rms_norm(x)
    with torch._subclasses.FakeTensorMode() as mode:
        fake = ops.rms_norm(mode.from_tensor(x))
    assert fake.shape == real.shape and fake.stride() == real.stride() and fake.dtype == real.dtype


def test_operator_and_function_agree(device):
    x, weight = torch.randn(5, 64, device=device), torch.randn(64, device=device)
    assert torch.equal(ops.rms_norm(x, weight), ws.rms_norm(x, weight))
    assert torch.equal(ops.softmax(x), ws.softmax(x))


def test_a_dispatch_mode_sees_the_operator(device):
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    x = torch.randn(5, 64, device=device, requires_grad=True)
    with Watch():
        ws.softmax(x).sum().backward()
    assert any("warpsmith.softmax" in name for name in seen)
    assert any("warpsmith.softmax_backward" in name for name in seen)


def test_any_number_of_rows_is_one_graph(device):
    torch._dynamo.reset()
    compiled = []

    def backend(graph, _):
        compiled.append(graph)
        return graph.forward

    function = torch.compile(lambda x: ws.rms_norm(x) * 2, fullgraph=True, dynamic=True, backend=backend)
    for rows in (3, 4, 9):
        x = torch.randn(rows, 64, device=device)
        torch.testing.assert_close(function(x), ws.rms_norm(x) * 2)
    assert len(compiled) == 1


def test_checkpoint(device):
    x = torch.randn(5, 64, device=device, requires_grad=True)
    weight = torch.randn(64, device=device, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(ws.rms_norm, x, weight, use_reentrant=False)
    y.square().sum().backward()
    first, x.grad = x.grad, None
    ws.rms_norm(x, weight).square().sum().backward()
    assert torch.equal(first, x.grad)


def test_graph_of_a_layer_and_its_gradients(card):
    """A step is captured once, and replayed on other numbers."""
    x = torch.randn(64, 512, device=card, dtype=torch.bfloat16)
    weight = torch.randn(512, device=card, requires_grad=True)
    target = torch.randint(0, 512, (64,), device=card)

    def step():
        weight.grad = None
        loss = ws.cross_entropy(ws.rms_norm(x, weight), target)
        loss.backward()
        return loss.detach(), weight.grad, ws.softmax(x)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(2):
        x.normal_()
        graph.replay()
        got = [t.clone() for t in captured]
        for mine, other in zip(got, step()):
            torch.testing.assert_close(mine, other)


def test_side_stream(card):
    """What is queued before and after on a stream is in order with a kernel, while another stream is idle."""
    x = torch.randn(1 << 14, 2048, device=card)
    ws.softmax(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        y = ws.softmax(x * 0 + 1) * 2
    stream.synchronize()
    torch.testing.assert_close(y, torch.full_like(y, 2 / 2048))


def test_reduce_overhead(card):
    """Inductor's own CUDA graphs hold the operators."""
    torch._dynamo.reset()
    weight = torch.randn(256, device=card)
    function = torch.compile(lambda x: ws.rms_norm(x * 2, weight) + 1, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(32, 256, device=card)
        torch.testing.assert_close(function(x).clone(), ws.rms_norm(x * 2, weight) + 1, atol=1e-5, rtol=1e-5)


def test_two_devices_are_not_mixed(card):
    with pytest.raises(ValueError, match="weight"):
        ws.rms_norm(torch.randn(4, 64, device=card), torch.randn(64))


@pytest.mark.parametrize("through", [ws, ops])
def test_a_trace_holds_the_operator(through, device):
    x, weight = torch.randn(5, 64, device=device), torch.randn(64, device=device)
    traced = torch.jit.trace(lambda x: through.softmax(through.rms_norm(x, weight)), (x,))
    kinds = [node.kind() for node in traced.graph.nodes()]
    assert "warpsmith::rms_norm" in kinds and "warpsmith::softmax" in kinds
    assert torch.equal(traced(-x), ws.softmax(ws.rms_norm(-x, weight)))


def rows(device):
    return torch.randn(5, 64, device=device), torch.randn(64, device=device)


def test_a_profile_names_the_operator(device):
    x, weight = rows(device)
    with torch.profiler.profile() as profile:
        ops.softmax(ops.rms_norm(x, weight))
    names = {event.key for event in profile.key_averages()}
    assert {"warpsmith::rms_norm", "warpsmith::softmax"} <= names


def test_a_dispatch_mode_sees_a_call_without_gradients(device):
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x, weight = rows(device)
    with Watch():
        ops.softmax(ops.rms_norm(x, weight))
    assert seen == [ops.rms_norm.default, ops.softmax.default]


def test_a_function_mode_sees_the_operator(device):
    seen = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x, weight = rows(device)
    with Watch():
        ops.softmax(ops.rms_norm(x, weight))
    assert [str(function) for function in seen] == ["warpsmith.rms_norm", "warpsmith.softmax"]


@pytest.mark.parametrize("which", [0, 1])
def test_a_subclass_sees_the_operator(which, device):
    seen = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return super().__torch_function__(function, types, args, kwargs)

    tensors = list(rows(device))
    tensors[which] = tensors[which].as_subclass(Mine)
    assert type(ops.rms_norm(*tensors)) is Mine
    assert "warpsmith.rms_norm" in seen


def test_gradients_of_rows(device):
    x, weight = rows(device)
    weight.requires_grad_()
    y = ops.rms_norm(x, weight)
    assert y.requires_grad
    y.sum().backward()
    torch.testing.assert_close(weight.grad, ops.rms_norm(x).sum(0))
    with torch.no_grad():
        assert not ops.rms_norm(x, weight).requires_grad


def test_all_ways_to_give_the_options_agree(device):
    x, weight = rows(device)
    offset, eps = {"weight_offset": 1.0}, {"eps": 1e-2}
    want = ws.rms_norm(x, weight + 1.0, **eps)
    for got in (
        ops.rms_norm(x, weight + 1.0, 1e-2),
        ops.rms_norm(x, weight=weight + 1.0, **eps),
        ops.rms_norm_affine(x, weight, None, 1e-2, 1.0),
        ops.rms_norm_affine(x, weight, torch.zeros_like(weight), **eps, **offset, out_dtype=torch.float32),
        ws.rms_norm(x, weight, **eps, **offset),
        ws.rms_norm(x, weight, torch.zeros_like(weight), **eps, **offset, out_dtype=torch.float32),
    ):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("option", ["bias", "weight_offset", "out_dtype", "eps"])
def test_a_recorded_call_keeps_each_option(option, device):
    """The function chooses the operator by what is given."""
    x, weight = rows(device)
    given = {"bias": weight * 2, "weight_offset": 1.0, "out_dtype": torch.bfloat16, "eps": 0.5}[option]
    made = torch.fx.experimental.proxy_tensor.make_fx(lambda x: ws.rms_norm(x, weight, **{option: given}))(x)
    (target,) = (node.target for node in made.graph.nodes if node.op == "call_function")
    assert target == (ops.rms_norm if option == "eps" else ops.rms_norm_affine).default
    want = ws.rms_norm(x, weight, **{option: given})
    assert made(x).dtype == want.dtype
    torch.testing.assert_close(made(x), want)


@pytest.mark.parametrize("shape", [(5, 64), (2, 5, 64)])
def test_inference_mode(shape, device):
    """Tensors that never have gradients come to the kernel below autograd."""
    x, weight = torch.randn(shape, device=device), torch.randn(64, device=device)
    with torch.inference_mode():
        for given in (x, x.clone(), x.clone().transpose(0, -1).contiguous().transpose(0, -1)):
            assert torch.equal(ops.rms_norm(given, weight), ws.rms_norm(x, weight))
            assert torch.equal(ops.softmax(given), ws.softmax(x))


def test_an_override_of_the_operator_is_asked(device):
    """What a user registers for a key of the dispatcher is what a call comes to."""
    x, weight = rows(device)
    with torch.library._scoped_library("warpsmith", "IMPL") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("rms_norm", "softmax"):
            library.impl(name, lambda x, *_: torch.full_like(x, 7.0), f"Autograd{device.upper()}")
            assert torch.equal(getattr(ops, name)(x), torch.full_like(x, 7.0))
    assert not torch.equal(ops.rms_norm(x, weight), torch.full_like(x, 7.0))


def test_the_operators_compile(device):
    torch._dynamo.reset()
    x, weight = rows(device)

    def function(x):
        return ops.softmax(ops.rms_norm(x, weight, eps=1e-3)) * 2

    torch.testing.assert_close(torch.compile(function, fullgraph=True)(x), function(x))


def test_a_made_graph_holds_the_operators(device):
    x, weight = rows(device)
    made = torch.fx.experimental.proxy_tensor.make_fx(lambda x: ops.softmax(ops.rms_norm(x, weight)))(x)
    targets = [node.target for node in made.graph.nodes if node.op == "call_function"]
    assert targets == [ops.rms_norm.default, ops.softmax.default]


def test_a_scripted_function_calls_the_operator(device):
    x, _ = rows(device)
    scripted = torch.jit.script(scripted_softmax)
    assert torch.equal(scripted(x), ws.softmax(x))


def scripted_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.warpsmith.softmax(x)


def test_vectorized_map(device):
    x, _ = rows(device)
    both = torch.stack([x, -x])
    torch.testing.assert_close(torch.func.vmap(ops.softmax)(both), ops.softmax(both))


def test_what_has_the_other_sign_in_memory(device):
    x = torch.randn(3, 8, dtype=torch.complex64, device=device).conj().imag
    assert x.is_neg()
    for function in (ws.softmax, ops.softmax):
        torch.testing.assert_close(function(x), torch.softmax(x.resolve_neg(), -1))
    weight = torch.ones(8, device=device)
    for function in (ws.rms_norm, ops.rms_norm):
        torch.testing.assert_close(function(x, weight), ws.rms_norm(x.resolve_neg(), weight))
