#!/usr/bin/env python3
"""Compiles kernels with Triton and with CuTe-DSL (QuACK's) to PTX, for the emulator to run. No GPU is needed.

    python3 -m venv VENV
    VENV/bin/pip install numpy torch triton==3.9.0 nvidia-cutlass-dsl==4.7.0 quack-kernels==0.6.5 \\
        apache-tvm-ffi einops cuda-python torch-c-dlpack-ext
    VENV/bin/python scripts/foreign_ptx.py DIR
    WARPSMITH_FOREIGN=DIR cargo test -p warpsmith-emulator --test foreign

DIR gets, for each case, its PTX, its inputs, and what NumPy computes, each as a file, and `NAME.case` that says how to
launch it:

    entry NAME | grid X Y Z | block X Y Z | cluster X Y Z | shared BYTES
    buffer NAME BYTES [FILE]           memory, uninitialised without a file
    pointer NAME | i32 N | i64 N | f32 X | align N     the parameters, in order
    expect NAME TYPE FILE ABSOLUTE RELATIVE            what must be in a buffer, and how nearly
    finding TEXT                       what the emulator may object to

The kernels of Triton are ours; those of QuACK are compiled from the package and not kept.
"""

import math
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
os.environ.setdefault("QUACK_ARCH", "sm_90")
os.environ.setdefault("QUACK_CACHE_ENABLED", "0")
os.environ.setdefault("CUTE_DSL_KEEP", "ptx")
os.environ.setdefault("CUTE_DSL_DUMP_DIR", tempfile.mkdtemp())

import numpy as np


def to_bf16(x):
    """The bits of the nearest bf16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FFF, rounded).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Case:
    """One launch and what must come of it."""

    def __init__(self, folder, name, ptx, entry=None):
        entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
        self.folder, self.name, self.files = folder, name, 0
        self.lines = [f"entry {entry or entries[0]}"]
        (folder / f"{name}.ptx").write_text(ptx)

    def say(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def file(self, array):
        self.files += 1
        name = f"{self.name}.{self.files}.bin"
        (self.folder / name).write_bytes(np.ascontiguousarray(array).tobytes())
        return name

    def input(self, name, array):
        self.say("buffer", name, array.nbytes, self.file(array))

    def output(self, name, bytes):
        self.say("buffer", name, bytes)

    def expect(self, name, kind, array, absolute=0.0, relative=0.0):
        self.say("expect", name, kind, self.file(array), absolute, relative)

    def close(self):
        (self.folder / f"{self.name}.case").write_text("\n".join(self.lines) + "\n")
        print(self.name, flush=True)


KINDS = {"f4": ("f32", "fp32"), "f2": ("f16", "fp16"), "u2": ("bf16", "bf16"), "i4": ("i32", "i32"), "u4": ("u32", "u32"),
         "i1": ("i8", "i8")}


def triton_cases(folder):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    random = np.random.default_rng(1)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)

    def run(kernel, grid, arguments, expected, constants=None, warps=4, stages=2, name=None):
        """Arguments: arrays, ("out", dtype, count) for outputs, numbers. Expected: argument, array, tolerances."""
        constants = constants or {}
        signature, attributes = {}, {}
        for place, key in enumerate(kernel.arg_names):
            value = constants.get(key, arguments.get(key))
            if key in constants:
                signature[key] = "constexpr"
            elif isinstance(value, (np.ndarray, tuple)):
                dtype = value.dtype.str[1:] if isinstance(value, np.ndarray) else value[1]
                signature[key] = "*" + KINDS[dtype][1]
                attributes[(place,)] = [["tt.divisibility", 16]]
            else:
                signature[key] = "fp32" if isinstance(value, float) else "i32"
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32),
                                  options={"num_warps": warps, "num_stages": stages})
        case = Case(folder, "triton_" + (name or kernel.fn.__name__), compiled.asm["ptx"], compiled.metadata.name)
        case.say("grid", *grid, *[1] * (3 - len(grid)))
        case.say("block", 32 * warps, 1, 1)
        case.say("shared", compiled.metadata.shared)
        for key, value in arguments.items():
            if isinstance(value, np.ndarray):
                case.input(key, value)
            elif isinstance(value, tuple):
                case.output(key, np.dtype(value[1]).itemsize * value[2])
        for key, value in arguments.items():
            if isinstance(value, (np.ndarray, tuple)):
                case.say("pointer", key)
            else:
                case.say("f32" if isinstance(value, float) else "i32", value)
        # Scratch memory of the compiler, which none of these kernels asks for.
        ptx = compiled.asm["ptx"]
        parameters = len(re.findall(r"\.param ", ptx[ptx.index(".entry"):ptx.index(")", ptx.index(".entry"))]))
        for _ in range(parameters - len(arguments)):
            case.say("i64", 0)
        for key, kind, array, *tolerance in expected:
            case.expect(key, kind, array, *tolerance)
        case.close()

    @triton.jit
    def vector_add(x, y, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    n = 1000
    x, y = normal(n), normal(n)
    run(vector_add, [4], dict(x=x, y=y, out=("out", "f4", n), n=n), [("out", "f32", x + y)], dict(B=256))

    @triton.jit
    def softmax(x, out, n, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(out + row * n + i, e / tl.sum(e, axis=0), mask=i < n)

    def softmax_of(x):
        e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    x = 3 * normal(3, 700)
    run(softmax, [3], dict(x=x, out=("out", "f4", x.size), n=700),
        [("out", "f32", softmax_of(x).astype(np.float32), 1e-9, 1e-5)], dict(B=1024))

    @triton.jit
    def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        rm = tl.program_id(0) * BM + tl.arange(0, BM)
        rn = tl.program_id(1) * BN + tl.arange(0, BN)
        rk = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(0, k, BK):
            ta = tl.load(a + rm[:, None] * k + (i + rk)[None, :], mask=(rm[:, None] < m) & (i + rk[None, :] < k), other=0.0)
            tb = tl.load(b + (i + rk)[:, None] * n + rn[None, :], mask=(i + rk[:, None] < k) & (rn[None, :] < n), other=0.0)
            acc = tl.dot(ta, tb, acc)
        tl.store(c + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n))

    for name, m, n, k, stages, kind in [("f16", 128, 128, 96, 3, "f16"), ("ragged", 80, 72, 56, 2, "f16"),
                                         ("bf16", 64, 128, 64, 3, "bf16"), ("tf32", 64, 64, 64, 2, "f32")]:
        a, b = normal(m, k), normal(k, n)
        if kind == "f16":
            a, b = a.astype(np.float16), b.astype(np.float16)
            wide = [v.astype(np.float64) for v in (a, b)]
        elif kind == "bf16":
            a, b = to_bf16(a), to_bf16(b)
            wide = [from_bf16(v).astype(np.float64) for v in (a, b)]
        else:
            a, b = np.round(4 * a) / 4, np.round(4 * b) / 4
            wide = [v.astype(np.float64) for v in (a, b)]
        run(matmul, [math.ceil(m / 64), math.ceil(n / 64)],
            dict(a=a, b=b, c=("out", "f4", m * n), m=m, n=n, k=k),
            [("c", "f32", (wide[0] @ wide[1]).astype(np.float32), 1e-4, 1e-5)], dict(BM=64, BN=64, BK=32), 4, stages,
            "matmul_" + name)

    @triton.jit
    def layer_norm(x, w, b, out, n, eps, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0)
        mean = tl.sum(v, axis=0) / n
        d = tl.where(i < n, v - mean, 0.0)
        rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
        y = d * rstd * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n)
        tl.store(out + row * n + i, y, mask=i < n)

    x, w, b = normal(4, 300), normal(300), normal(300)
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    run(layer_norm, [4], dict(x=x, w=w, b=b, out=("out", "f4", x.size), n=300, eps=1e-5),
        [("out", "f32", want.astype(np.float32), 1e-5, 1e-5)], dict(B=512))

    @triton.jit
    def rms_norm(x, w, out, n, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
        y = v * tl.rsqrt(tl.sum(v * v, axis=0) / n + 1e-6) * tl.load(w + i, mask=i < n)
        tl.store(out + row * n + i, y.to(tl.bfloat16), mask=i < n)

    x, w = to_bf16(normal(3, 500)), normal(500)
    wide = from_bf16(x).astype(np.float64)
    want = wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6) * w
    run(rms_norm, [3], dict(x=x, w=w, out=("out", "u2", x.size), n=500),
        [("out", "bf16", to_bf16(want), 1e-6, 2 ** -7)], dict(B=512))

    @triton.jit
    def dropout(x, out, n, p, seed, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        keep = tl.rand(seed, i) > p
        tl.store(out + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)

    def philox(counter, key):
        c = [counter.astype(np.uint64)] + [np.zeros_like(counter, np.uint64)] * 3
        k, low = [key, 0], np.uint64(0xFFFFFFFF)
        for _ in range(10):
            a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
            c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & low]
            k = [(k[0] + 0x9E3779B9) % 2 ** 32, (k[1] + 0xBB67AE85) % 2 ** 32]
        return c[0].astype(np.uint32)

    n, p, seed = 900, 0.25, 1234
    x = normal(n)
    word = philox(np.arange(n), seed).view(np.int32).astype(np.int64)
    uniform = np.where(word < 0, -word - 1, word).astype(np.float32) * np.float32(4.6566127342e-10)
    want = np.where(uniform > np.float32(p), x / np.float32(1 - p), 0).astype(np.float32)
    run(dropout, [4], dict(x=x, out=("out", "f4", n), n=n, p=p, seed=seed), [("out", "f32", want, 0, 1e-6)], dict(B=256))

    @triton.jit
    def gelu(x, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n)
        tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)

    n = 500
    x = 2 * normal(n)
    want = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(np.float64)]
    run(gelu, [2], dict(x=x, out=("out", "f4", n), n=n), [("out", "f32", np.float32(want), 2e-6, 1e-6)], dict(B=256))

    @triton.jit
    def silu_mul(x, y, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v, u = tl.load(x + i, mask=i < n).to(tl.float32), tl.load(y + i, mask=i < n).to(tl.float32)
        tl.store(out + i, (v * tl.sigmoid(v) * u).to(tl.float16), mask=i < n)

    x, y = normal(700).astype(np.float16), normal(700).astype(np.float16)
    wide = x.astype(np.float64)
    want = (wide / (1 + np.exp(-wide)) * y).astype(np.float16)
    run(silu_mul, [3], dict(x=x, y=y, out=("out", "f2", 700), n=700), [("out", "f16", want, 1e-6, 1e-3)], dict(B=256))

    @triton.jit
    def reductions(x, total, most, where, n, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=-1000)
        tl.store(total + row, tl.sum(tl.where(i < n, v, 0), axis=0))
        tl.store(most + row, tl.max(v, axis=0))
        tl.store(where + row, tl.argmax(v, axis=0))

    x = random.integers(-500, 500, (5, 900)).astype(np.int32)
    run(reductions, [5], dict(x=x, total=("out", "i4", 5), most=("out", "i4", 5), where=("out", "i4", 5), n=900),
        [("total", "i32", x.sum(1).astype(np.int32)), ("most", "i32", x.max(1)),
         ("where", "i32", x.argmax(1).astype(np.int32))], dict(B=1024))

    @triton.jit
    def cumulative(x, out, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        tl.store(out + row * B + i, tl.cumsum(tl.load(x + row * B + i), axis=0))

    x = random.integers(-500, 500, (3, 512)).astype(np.int32)
    run(cumulative, [3], dict(x=x, out=("out", "i4", x.size)),
        [("out", "i32", x.cumsum(1).astype(np.int32))], dict(B=512))

    @triton.jit
    def histogram(x, out, B: tl.constexpr, BINS: tl.constexpr):
        v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
        tl.atomic_add(out + tl.arange(0, BINS), tl.histogram(v, BINS))

    x = random.integers(0, 64, 2048).astype(np.int32)
    run(histogram, [4], dict(x=x, out=np.zeros(64, np.int32)),
        [("out", "i32", np.bincount(x, minlength=64).astype(np.int32))], dict(B=512, BINS=64))

    @triton.jit
    def atomics(x, out, B: tl.constexpr):
        v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
        tl.atomic_add(out + v % 7, v)
        tl.atomic_max(out + 7 + v % 5, v)

    x = random.integers(0, 1000, 1024).astype(np.int32)
    want = np.zeros(12, np.int32)
    np.add.at(want, x % 7, x)
    np.maximum.at(want, 7 + x % 5, x)
    run(atomics, [4], dict(x=x, out=np.zeros(12, np.int32)), [("out", "i32", want)], dict(B=256))

    @triton.jit
    def transpose(x, out, m, n, B: tl.constexpr):
        r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
        v = tl.load(x + r[:, None] * n + c[None, :], mask=(r[:, None] < m) & (c[None, :] < n))
        tl.store(out + c[:, None] * m + r[None, :], tl.trans(v), mask=(c[:, None] < n) & (r[None, :] < m))

    x = normal(70, 100)
    run(transpose, [3, 4], dict(x=x, out=("out", "f4", x.size), m=70, n=100), [("out", "f32", x.T)], dict(B=32))

    @triton.jit
    def sort(x, out, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        tl.store(out + row * B + i, tl.sort(tl.load(x + row * B + i)))

    x = normal(2, 256)
    run(sort, [2], dict(x=x, out=("out", "f4", x.size)), [("out", "f32", np.sort(x, 1))], dict(B=256))

    @triton.jit
    def cross_entropy(x, target, loss, n, B: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        top = tl.max(v, axis=0)
        lse = top + tl.log(tl.sum(tl.exp(v - top), axis=0))
        tl.store(loss + row, lse - tl.load(x + row * n + tl.load(target + row)))

    x, target = 3 * normal(6, 400), random.integers(0, 400, 6).astype(np.int32)
    wide = x.astype(np.float64)
    want = np.log(np.exp(wide).sum(1)) - wide[np.arange(6), target]
    run(cross_entropy, [6], dict(x=x, target=target, loss=("out", "f4", 6), n=400),
        [("loss", "f32", want.astype(np.float32), 1e-5, 1e-5)], dict(B=512))

    @triton.jit
    def attention(q, k, v, out, n, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
        head = tl.program_id(1) * n * D
        rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
        tq = tl.load(q + head + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
        top = tl.full((BM,), -float("inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        for start in range(0, n, BN):
            rn = start + tl.arange(0, BN)
            tk = tl.load(k + head + rn[:, None] * D + rd[None, :], mask=rn[:, None] < n, other=0.0)
            tv = tl.load(v + head + rn[:, None] * D + rd[None, :], mask=rn[:, None] < n, other=0.0)
            s = tl.dot(tq, tl.trans(tk)) * scale
            seen = rn[None, :] < n
            if CAUSAL:
                seen = seen & (rn[None, :] <= rm[:, None])
            s = tl.where(seen, s, -1e30)
            new = tl.maximum(top, tl.max(s, 1))
            e = tl.exp(s - new[:, None])
            shrink = tl.exp(top - new)
            total = total * shrink + tl.sum(e, 1)
            acc = tl.dot(e.to(tl.float16), tv, acc * shrink[:, None])
            top = new
        tl.store(out + head + rm[:, None] * D + rd[None, :], acc / total[:, None], mask=rm[:, None] < n)

    for causal in (False, True):
        heads, n, d = 2, 150, 64
        q, k, v = (normal(heads, n, d).astype(np.float16) for _ in range(3))
        s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
        if causal:
            s = np.where(np.tri(n, dtype=bool), s, -np.inf)
        want = softmax_of(s) @ v.astype(np.float64)
        run(attention, [3, heads], dict(q=q, k=k, v=v, out=("out", "f4", q.size), n=n, scale=0.125),
            [("out", "f32", want.astype(np.float32), 3e-3, 3e-3)], dict(CAUSAL=causal, BM=64, BN=64, D=d), 4, 2,
            "attention_causal" if causal else "attention")


def quack_cases(folder):
    import torch  # noqa: F401, which QuACK needs first
    import cutlass.cute  # noqa: F401
    from cutlass import BFloat16, Float32, Int64
    from quack.cross_entropy import CrossEntropy
    from quack.rmsnorm import _compile_rmsnorm_fwd
    from quack.softmax import Softmax

    random = np.random.default_rng(2)
    plain = lambda f: getattr(f, "__wrapped__", f)

    def launch(name, compiled, m, n, bytes):
        """As QuACK configures a forward kernel of rows of n elements of so many bytes."""
        case = Case(folder, name, compiled.__ptx__)
        ladder = lambda *steps: next(value for most, value in steps if n <= most)
        lanes = ladder((64, 8), (128, 16), (3072, 32), (6144, 64), (16384, 128), (math.inf, 256))
        threads = 128 if n <= 16384 else 256
        scale = 2 if bytes == 4 else 1
        cluster = ladder(*((size * 1024 * scale, count) for size, count in [(16, 1), (32, 2), (64, 4), (128, 8)]), (math.inf, 16))
        case.say("grid", math.ceil(m / (threads // lanes)), cluster, 1)
        case.say("block", threads, 1, 1)
        case.say("cluster", 1, cluster, 1)
        case.say("shared", 160 * 1024)
        if m % (threads // lanes) != 0:
            # Rows past the last are read from shared memory all the same; nothing comes of it.
            case.say("finding", "reads uninitialised shared memory")
        return case

    def matrix(case, name, m, n):
        for line in (("align", 8), ("pointer", name), ("i32", m), ("align", 8), ("i64", n)):
            case.say(*line)

    def vector(case, name, m):
        for line in (("align", 8), ("pointer", name), ("i32", m), ("align", 8)):
            case.say(*line)

    def logits(m, n, dtype):
        x = 3 * random.standard_normal((m, n)).astype(np.float32)
        stored = to_bf16(x) if dtype is BFloat16 else x
        return stored, (from_bf16(stored) if dtype is BFloat16 else x).astype(np.float64)

    def store(dtype, x):
        return ("bf16", to_bf16(x)) if dtype is BFloat16 else ("f32", x.astype(np.float32))

    for dtype, m, n in [(BFloat16, 5, 256), (BFloat16, 8, 512), (BFloat16, 4, 4096), (BFloat16, 2, 32768), (BFloat16, 1, 128256),
                        (BFloat16, 2, 151936), (Float32, 4, 1024), (Float32, 2, 40960)]:
        bytes = dtype.width // 8
        case = launch(f"quack_softmax_{dtype.__name__.lower()}_{n}", plain(Softmax.compile)(dtype, dtype, n), m, n, bytes)
        x, wide = logits(m, n, dtype)
        e = np.exp(wide - wide.max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
        if (dtype, n) == (BFloat16, 151936):
            # A warp of the last cluster's blocks has no element of the row, its maximum is minus infinity, and
            # (-inf) - (-inf) spreads: the H200 gives NaN in every element, and so must the emulator.
            want[:] = np.nan
        case.input("x", x)
        case.output("out", m * n * bytes)
        matrix(case, "x", m, n)
        matrix(case, "out", m, n)
        case.expect("out", *store(dtype, want), 1e-9, 2 ** -7 if dtype is BFloat16 else 1e-5)
        case.close()

    for dtype, m, n in [(BFloat16, 4, 1024), (BFloat16, 4, 4096), (BFloat16, 2, 32768), (Float32, 4, 760)]:
        bytes = dtype.width // 8
        compiled = plain(_compile_rmsnorm_fwd)(dtype, dtype, None, dtype, None, None, n, True, False, False, False)
        case = launch(f"quack_rms_norm_{dtype.__name__.lower()}_{n}", compiled, m, n, bytes)
        (x, wide), (w, weight) = logits(m, n, dtype), logits(1, n, dtype)
        rstd = 1 / np.sqrt((wide * wide).mean(1) + 1e-6)
        case.input("x", x)
        case.input("weight", w)
        if n == 760:
            # Columns past the last are multiplied by weights that nobody loaded, and not stored.
            case.say("finding", "reads an uninitialised register")
        case.output("out", m * n * bytes)
        case.output("rstd", 4 * m)
        matrix(case, "x", m, n)
        case.say("pointer", "weight")
        matrix(case, "out", m, n)
        vector(case, "rstd", m)
        case.say("f32", 1e-6)
        case.expect("out", *store(dtype, wide * rstd[:, None] * weight), 1e-6, 2 ** -7 if dtype is BFloat16 else 1e-5)
        case.expect("rstd", "f32", rstd.astype(np.float32), 0, 1e-5)
        case.close()

    for dtype, m, n in [(BFloat16, 4, 1024), (BFloat16, 4, 4096), (BFloat16, 2, 32000), (Float32, 4, 1128)]:
        compiled = plain(CrossEntropy.compile)(dtype, Int64, None, n, True, False, None, None)
        case = launch(f"quack_cross_entropy_{dtype.__name__.lower()}_{n}", compiled, m, n, dtype.width // 8)
        x, wide = logits(m, n, dtype)
        target = random.integers(0, n, m)
        target[0] = -100
        lse = np.log(np.exp(wide).sum(1))
        loss = np.where(target == -100, 0, lse - wide[np.arange(m), target])
        case.input("x", x)
        case.input("target", target.astype(np.int64))
        case.output("loss", 4 * m)
        case.output("lse", 4 * m)
        matrix(case, "x", m, n)
        vector(case, "target", m)
        matrix(case, "x", m, n)
        vector(case, "loss", m)
        vector(case, "lse", m)
        case.say("i32", -100)
        case.expect("loss", "f32", loss.astype(np.float32), 1e-5, 1e-5)
        case.expect("lse", "f32", lse.astype(np.float32), 1e-5, 1e-5)
        case.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    triton_cases(folder)
    quack_cases(folder)


if __name__ == "__main__":
    main()
