"""The start: how long an import takes, and the first call of an operator, each in a process of its own."""

import os
import subprocess
import sys
import tempfile

import timing

TIMES = 3
_CLOCK = "import time; t = time.perf_counter(); "
_TELL = "; print((time.perf_counter() - t) * 1e6)"
_TENSORS = "x = torch.randn(64, {dim}, device={device!r}, dtype=torch.bfloat16); w = torch.randn({dim}, device={device!r}); "
_WAIT = "torch.cuda.synchronize() if torch.cuda.is_available() else None; "
_CALLS = {
    "warpsmith": ("import warpsmith.torch as m; ", "m.rms_norm(x, w); "),
    "quack": ("from quack.rmsnorm import rmsnorm_fwd; ", "rmsnorm_fwd(x, w); "),
}


def _run(code, environment):
    """Microseconds that the code prints, or what went wrong."""
    # The driver's own cache would keep what either library assembles.
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1", **environment}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    lines = process.stdout.split()
    if process.returncode or not lines:
        return None, (process.stderr.strip().splitlines() or ["nothing was printed"])[-1][:160]
    return float(lines[-1]), None


def _imports():
    """Code by name; PyTorch is imported before the clock starts where the name says so."""
    yield "warpsmith import", _CLOCK + "import warpsmith" + _TELL
    yield "warpsmith.torch import, after torch", "import torch; " + _CLOCK + "import warpsmith.torch" + _TELL
    yield "torch import", _CLOCK + "import torch" + _TELL
    yield "quack import, after torch", "import torch; " + _CLOCK + "import quack" + _TELL


def _first_call(library, device, dim=4096):
    load, call = _CALLS[library]
    tensors = _TENSORS.format(dim=dim, device=device)
    # Another row length first would warm the compiler; what is timed is the very first call of the process.
    return f"import torch; {load}{tensors}{_WAIT}{_CLOCK}{call}{_WAIT}pass{_TELL}"


def first_calls(table, options):
    """Adds medians of `TIMES` processes each; a first call is that of RMS norm, synchronised."""
    wanted = set(options.candidates)
    codes = [(name, code, {}) for name, code in _imports() if name.split()[0].split(".")[0] in wanted]
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
        if "warpsmith" in wanted:
            code = _first_call("warpsmith", options.device)
            codes.append(("warpsmith first call, no disk cache", code, {"WARPSMITH_CACHE": "off"}))
            codes.append(("warpsmith first call, disk cache", code, {"WARPSMITH_CACHE": ours}))
        if "quack" in wanted:
            code = _first_call("quack", options.device)
            codes.append(("quack first call, no disk cache", code, {"QUACK_CACHE_ENABLED": "0"}))
            kept = {"QUACK_CACHE_ENABLED": "1", "QUACK_CACHE_DIR": theirs}
            codes.append(("quack first call, disk cache", code, kept))
        for name, code, environment in codes:
            # The first fills the disk cache, and the file system's.
            _, problem = _run(code, environment)
            times = []
            for _ in range(0 if problem else TIMES):
                us, problem = _run(code, environment)
                times += [us] if us is not None else []
            row = {"section": "first", "op": "process", "candidate": name, "rounds": len(times)}
            if times:
                low, middle, high = timing.quartiles(times)
                row |= {"us": middle, "us_q1": low, "us_q3": high}
            if problem:
                row["note"] = problem
            table.add(**row)
