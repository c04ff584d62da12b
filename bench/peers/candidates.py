"""Who is compared: how each library is called for an operator. What is not installed, or takes no such shape, is left out."""

import importlib
import importlib.metadata
import sys

import torch

import reference

EPS = 1e-6
# Liger's kernels hold a row in one block.
LIGER_LONGEST = 65536
# Rows of the sums that a read is made of: the shortest to which PyTorch gives a block of 512 threads each.
READ_ROW = 8192


def _module(name):
    """A module; without it, `None`, and on stderr what is missing: results do not show who was left out."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name} takes no part: {error}", file=sys.stderr)
        return None


class Libraries:
    """The modules of every library, `None` where one is not installed or not wanted."""

    def __init__(self, wanted):
        def get(library, name):
            return _module(name) if library in wanted else None

        self.launch = get("warpsmith", "warpsmith._launch")
        self.native = get("warpsmith", "warpsmith._native")
        self.torch_ops = get("warpsmith", "warpsmith.torch")
        self.quack_norm = get("quack", "quack.rmsnorm")
        self.quack_softmax = get("quack", "quack.softmax")
        self.quack_loss = get("quack", "quack.cross_entropy")
        self.liger_norm = get("liger", "liger_kernel.ops.rms_norm")
        self.liger_softmax = get("liger", "liger_kernel.ops.softmax")
        self.torch = torch if "torch" in wanted else None


def versions():
    """Versions of all that takes part, as `name version`."""
    names = ["torch", "triton", "quack-kernels", "nvidia-cutlass-dsl", "liger-kernel"]
    found = []
    try:
        from warpsmith import __version__

        found.append(f"warpsmith {__version__}")
    except ImportError:
        pass
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def driver():
    """The version of NVIDIA's driver, if there is one."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return next((word for word in file.readline().split() if word.count(".") >= 1 and word[0].isdigit()), "")
    except OSError:
        return ""


def copy_of(total, device):
    """A copy that moves `total` bytes, half of them read and half written."""
    source = torch.empty(max(1, total // 2), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def reads_of(total, device):
    """Reads of `total` bytes, rounded up to whole rows, by name: PyTorch's sums, which have the least arithmetic.

    A thread loads four elements at once, so f64 has 32 bytes on their way where f32 has 16. The sum of everything needs a
    second step over all blocks, sums of rows write more. Which one is the fastest is for the card to say.
    """
    rows = -(-total // (READ_ROW * 8))
    single = torch.empty(2 * rows * READ_ROW, device=device).normal_()
    double = single.view(torch.float64)
    calls = {}
    for name, buffer in (("f32", single), ("f64", double)):
        table = buffer.view(-1, READ_ROW)
        calls[f"the sum of {name}"] = lambda buffer=buffer: buffer.sum()
        calls[f"sums of rows of {READ_ROW} {name}"] = lambda table=table: table.sum(-1)
    return calls


def make(op, libraries, dtype, rows, dim, device):
    """(candidates, check): calls by name, and what says how far the results of a call are off."""
    return globals()[f"_{op}"](libraries, dtype, rows, dim, device)


def _normal(rows, dim, dtype, device):
    return torch.randn(rows, dim, device=device, dtype=dtype)


def _rms_norm(lib, dtype, rows, dim, device):
    x = _normal(rows, dim, dtype, device)
    # QuACK's benchmark has an f32 weight, and so have the two here; PyTorch and Liger take it in x's dtype.
    weight = torch.randn(dim, device=device)
    same = weight.to(dtype)
    calls = {}
    if lib.torch_ops:
        calls["warpsmith"] = lambda: lib.torch_ops.rms_norm(x, weight, eps=EPS)
    if lib.quack_norm:
        calls["quack"] = lambda: lib.quack_norm.rmsnorm_fwd(x, weight, eps=EPS)
    if lib.liger_norm and dim <= LIGER_LONGEST:
        function = lib.liger_norm.LigerRMSNormFunction
        calls["liger"] = lambda: function.apply(x, same, EPS, 0.0, "llama", False, None)
    if lib.torch:
        calls["torch"] = lambda: torch.nn.functional.rms_norm(x, (dim,), same, EPS)
    narrow = {"liger", "torch"}
    return calls, lambda name, out: reference.rms_norm(x, same if name in narrow else weight, EPS, out)


def _layer_norm(lib, dtype, rows, dim, device):
    x = _normal(rows, dim, dtype, device)
    # QuACK takes them in f32 only, PyTorch in x's dtype.
    weight, bias = torch.randn(dim, device=device), torch.randn(dim, device=device)
    same = weight.to(dtype), bias.to(dtype)
    calls = {}
    if lib.torch_ops:
        calls["warpsmith"] = lambda: lib.torch_ops.layer_norm(x, weight, bias, eps=EPS)
    if lib.quack_norm:
        calls["quack"] = lambda: lib.quack_norm.layernorm_fwd(x, weight, bias, eps=EPS)
    if lib.torch:
        calls["torch"] = lambda: torch.nn.functional.layer_norm(x, (dim,), *same, EPS)
    vectors = lambda name: same if name == "torch" else (weight, bias)
    return calls, lambda name, out: reference.layer_norm(x, *vectors(name), EPS, out)


def _rms_norm_residual(lib, dtype, rows, dim, device):
    x, residual = _normal(rows, dim, dtype, device), _normal(rows, dim, dtype, device)
    weight = torch.randn(dim, device=device)
    calls = {}
    if lib.torch_ops:
        calls["warpsmith"] = lambda: lib.torch_ops.rms_norm(x, weight, residual=residual, eps=EPS, prenorm=True)
    if lib.quack_norm:
        calls["quack"] = lambda: lib.quack_norm.rmsnorm_fwd(x, weight, residual=residual, eps=EPS)
    return calls, lambda name, out: reference.rms_norm(x, weight, EPS, out, residual)


def _rms_norm_backward(lib, dtype, rows, dim, device):
    x, dy = _normal(rows, dim, dtype, device), _normal(rows, dim, dtype, device)
    weight = torch.randn(dim, device=device)
    rstd = torch.cat([part.float().square().mean(-1).add(EPS).rsqrt() for part in x.split(max(1, (1 << 26) // dim))])
    calls = {}
    if lib.launch:
        like = (weight.shape, weight.dtype)
        rest = (None, None, 0.0, dtype, None, like, None)
        calls["warpsmith"] = lambda: lib.launch.norm_backward("rms", x, weight, dy, rstd, *rest)
    if lib.quack_norm:
        calls["quack"] = lambda: lib.quack_norm.rmsnorm_bwd(x, weight, dy, rstd)
    # Ours gives (dx, dresidual, dweight, dbias), QuACK's (dx, dweight, dbias, dresidual).
    place = {"warpsmith": 2, "quack": 1}
    return calls, lambda name, out: reference.rms_norm_backward(x, weight, dy, rstd, (out[0], out[place[name]]))


def _softmax(lib, dtype, rows, dim, device):
    x = _normal(rows, dim, dtype, device)
    calls = {}
    if lib.torch_ops:
        calls["warpsmith"] = lambda: lib.torch_ops.softmax(x)
    if lib.quack_softmax:
        calls["quack"] = lambda: lib.quack_softmax.softmax_fwd(x)
    if lib.liger_softmax and dim <= LIGER_LONGEST:
        calls["liger"] = lambda: lib.liger_softmax.LigerSoftmaxFunction.apply(x)
    if lib.torch:
        calls["torch"] = lambda: torch.softmax(x, -1)
    return calls, lambda name, out: reference.softmax(x, out)


def _softmax_backward(lib, dtype, rows, dim, device):
    y = torch.softmax(_normal(rows, dim, dtype, device), -1)
    dy = _normal(rows, dim, dtype, device)
    calls = {}
    if lib.launch:
        calls["warpsmith"] = lambda: lib.launch.softmax_backward(dy, y)
    if lib.quack_softmax:
        calls["quack"] = lambda: lib.quack_softmax.softmax_bwd(dy, y)
    if lib.torch:
        calls["torch"] = lambda: torch.ops.aten._softmax_backward_data(dy, y, -1, dtype)
    return calls, lambda name, out: reference.softmax_backward(dy, y, out)


def _cross_entropy(lib, dtype, rows, dim, device):
    x = _normal(rows, dim, dtype, device)
    target = torch.randint(0, dim, (rows,), device=device)
    calls = {}
    if lib.torch_ops:
        calls["warpsmith"] = lambda: lib.torch_ops.cross_entropy(x, target, reduction="none")
    if lib.quack_loss:
        calls["quack"] = lambda: lib.quack_loss.cross_entropy_fwd(x, target)
    if lib.torch:
        calls["torch"] = lambda: torch.nn.functional.cross_entropy(x, target, reduction="none")
    return calls, lambda name, out: reference.cross_entropy(x, target, out)
