"""What a call costs the host: `python python/tests_card/host_cost.py [--device cuda|idle]`.

Without a card, `idle` measures all but the driver's launch, on tensors of this package. Medians of batches; nothing waits
for the card within one. `no rows` is a call that has nothing to launch: the cost of reading and checking its arguments.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import warpsmith
from warpsmith import _native


def cost(call, synchronize, batch=100, batches=41):
    """Microseconds a call."""
    for _ in range(batch):
        call()
    synchronize()
    times = []
    for _ in range(batches):
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        times.append((time.perf_counter_ns() - start) / batch / 1000)
        synchronize()
    return statistics.median(times)


def line(name, microseconds):
    print(f"{name:44} {microseconds:8.2f} µs", flush=True)


def calls(x, w, residual, out, h, rstd, dw, workspace, empty_x, empty_out, allocating):
    yield "an empty Python function", lambda: None
    yield "_native.rms_norm_fwd, no rows", lambda: _native.rms_norm_fwd(
        empty_x, w, None, None, empty_out, None, None, 1e-6
    )
    yield "_native.rms_norm_fwd", lambda: _native.rms_norm_fwd(x, w, None, None, out, None, None, 1e-6)
    yield "_native.rms_norm_fwd, residual and rstd", lambda: _native.rms_norm_fwd(
        x, w, None, residual, out, h, rstd, 1e-6
    )
    yield "_native.norm_bwd", lambda: _native.norm_bwd("rms", x, w, residual, rstd, None, None, out, None, None, None, None)
    yield "_native.norm_bwd, weight's gradient", lambda: _native.norm_bwd(
        "rms", x, w, residual, rstd, None, None, out, None, dw, None, workspace
    )
    yield "_native.softmax_fwd", lambda: _native.softmax_fwd(x, out)
    yield "warpsmith.rms_norm(x, w, out=out)", lambda: warpsmith.rms_norm(x, w, out=out)
    if allocating:
        yield "warpsmith.rms_norm(x, w)", lambda: warpsmith.rms_norm(x, w)


def on_card():
    import torch

    def tensors(rows):
        return [torch.randn(rows, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(4)]

    x, residual, out, h = tensors(16)
    empty_x, _, empty_out, _ = tensors(0)
    w, rstd = torch.randn(4096, device="cuda", dtype=torch.bfloat16), torch.empty(16, device="cuda")
    dw, workspace = torch.empty_like(w), torch.empty(_native.norm_workspace(x), device="cuda")
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, rms_norm of bf16 (16, 4096)")
    for name, call in calls(x, w, residual, out, h, rstd, dw, workspace, empty_x, empty_out, True):
        line(name, cost(call, torch.cuda.synchronize))
    line("torch.empty_like(x)", cost(lambda: torch.empty_like(x), torch.cuda.synchronize))
    line("torch.neg(x, out=out), one launch", cost(lambda: torch.neg(x, out=out), torch.cuda.synchronize))
    line("F.rms_norm(x, …)", cost(lambda: torch.nn.functional.rms_norm(x, (4096,), w, 1e-6), torch.cuda.synchronize))


def on_idle():
    device = warpsmith.Device("idle")
    x, residual, out, h = (device.empty((16, 4096), "bf16") for _ in range(4))
    w, rstd = device.empty((4096,), "bf16"), device.empty((16,))
    dw, workspace = device.empty((4096,), "bf16"), device.empty(_native.norm_workspace(x))
    empty = device.empty((0, 4096), "bf16"), device.empty((0, 4096), "bf16")
    print("a device that runs nothing, rms_norm of bf16 (16, 4096)")
    for name, call in calls(x, w, residual, out, h, rstd, dw, workspace, *empty, False):
        line(name, cost(call, lambda: None))


FIRST = """
import time; start = time.perf_counter(); import warpsmith; imported = time.perf_counter()
device = warpsmith.Device({device!r}); x = device.empty((16, 4096), "bf16"); out = device.empty((16, 4096), "bf16")
ready = time.perf_counter(); warpsmith.softmax(x, out=out); done = time.perf_counter()
print((imported - start) * 1e6, (done - ready) * 1e6)
"""


def first_calls(device):
    with tempfile.TemporaryDirectory() as folder:
        for what in ["nothing compiled", "machine code on disk"]:
            environment = {**os.environ, "WARPSMITH_CACHE": folder}
            ran = subprocess.run(
                [sys.executable, "-c", FIRST.format(device=device)], env=environment, capture_output=True, text=True
            )
            if ran.returncode:
                sys.exit(ran.stderr)
            imported, called = map(float, ran.stdout.split())
            line(f"import warpsmith, {what}", imported)
            line(f"first call, {what}", called)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "idle"], default="cuda" if warpsmith.devices() else "idle")
    device = parser.parse_args().device
    first_calls(device)
    on_card() if device == "cuda" else on_idle()


main()
