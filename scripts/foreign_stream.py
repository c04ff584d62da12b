#!/usr/bin/env python3
"""Runs a kernel of ours on streams and memory of PyTorch, and of CuPy where it is installed. It takes a card.

    cargo build -p warpsmith --example foreign
    python3 scripts/foreign_stream.py target/debug/examples/libforeign.so

The library knows nothing of Python: streams and memory go in as numbers. Nothing is synchronised between PyTorch's work
and ours, and a long wait is queued first, so that only the stream's order makes the results right. Prints what was
checked; ends with 1 when something was not as it should be.
"""

import ctypes
import sys

import torch

# Odd, so that the last vector is partial; large, so that the kernels take a while.
COUNT = (1 << 24) + 3
# Cycles of the card that the stream is kept busy before.
WAIT = 200_000_000

failed = False


def check(what, right):
    global failed
    failed |= not right
    print(f"{'ok    ' if right else 'WRONG '} {what}", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    library = ctypes.CDLL(sys.argv[1])
    library.scale.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_float]
    library.scale.restype = ctypes.c_int32

    def scale(stream, x, factor, count=None):
        return library.scale(stream, x.data_ptr(), x.numel() if count is None else count, factor)

    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    source = torch.arange(COUNT, device="cuda", dtype=torch.float32) % 1024
    torch.cuda.synchronize()

    # The first call of anything loads its code, and may wait for the card meanwhile: of ours, and of PyTorch's.
    scratch = torch.empty_like(source)
    torch.mul(source, 2, out=scratch)
    torch.add(scratch, 1, out=scratch)
    torch.cuda._sleep(1)
    check("a kernel is compiled", scale(torch.cuda.default_stream().cuda_stream, source.clone(), 1.0) == 0)
    torch.cuda.synchronize()

    side = torch.cuda.Stream()
    for name, stream in [("a side stream", side), ("the default stream", torch.cuda.default_stream())]:
        # PyTorch may wait for the card where it takes memory for a stream.
        with torch.cuda.stream(stream):
            x, y = torch.empty_like(source), torch.empty_like(source)
            torch.cuda.synchronize()
            torch.cuda._sleep(WAIT)
            torch.mul(source, 2, out=x)
            codes = [scale(stream.cuda_stream, x, 3.0), scale(stream.cuda_stream, x, 0.5)]
            torch.add(x, 1, out=y)
            busy = not stream.query()
        stream.synchronize()
        check(f"{name}: our two kernels are queued", codes == [0, 0])
        check(f"{name}: nothing has waited", busy)
        check(f"{name}: between PyTorch's work before and after, {COUNT} floats", torch.equal(y, source * 3 + 1))

    with torch.cuda.stream(side):
        x = source.clone()
        view = x[1:-1]
        code = scale(side.cuda_stream, view, 4.0)
    side.synchronize()
    ends = torch.equal(x[[0, -1]], source[[0, -1]])
    check("a view that is aligned to 4 bytes, and its neighbours", code == 0 and ends and torch.equal(view, source[1:-1] * 4))

    x = source.clone()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        x.add_(1)
        code = scale(side.cuda_stream, x, 2.0)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    check("PyTorch's graph takes our launch, and replays it", code == 0 and torch.equal(x, source * 8 + 14))

    host = torch.ones(16)
    check("memory of the host is refused", scale(side.cuda_stream, host, 2.0) == 1 and torch.equal(host, torch.ones(16)))
    check("page-locked memory is refused", scale(side.cuda_stream, torch.ones(16).pin_memory(), 2.0) == 1)
    check("more than there is is refused", scale(side.cuda_stream, source, 2.0, count=1 << 40) == 1)
    if torch.cuda.device_count() > 1:
        far = torch.ones(16, device="cuda:1")
        check("memory of another card is refused", scale(side.cuda_stream, far, 2.0) == 1)
        stream = torch.cuda.Stream(device="cuda:1")
        check("a stream of another card is refused", scale(stream.cuda_stream, source, 2.0) == 1)
        with torch.cuda.device(1), torch.cuda.stream(stream):
            x = torch.full((COUNT,), 2.0, device="cuda:1")
            code = scale(stream.cuda_stream, x, 5.0)
        stream.synchronize()
        check("the second card, by its current context", code == 0 and bool((x == 10).all()))
    else:
        print("skip   a second card: there is one")
    torch.cuda.synchronize()
    check("PyTorch works as before", bool((torch.ones(4, device="cuda") + 1 == 2).all()))

    try:
        import cupy
    except ImportError:
        print("skip   CuPy: it is not installed")
    else:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = cupy.arange(COUNT, dtype=cupy.float32) % 1024
            code = library.scale(stream.ptr, x.data.ptr, COUNT, 2.0)
            y = x + 1
        stream.synchronize()
        right = bool((y == (cupy.arange(COUNT, dtype=cupy.float32) % 1024) * 2 + 1).all())
        check("CuPy's stream and memory", code == 0 and right)

    print("FAILED" if failed else "all as it should be")
    sys.exit(failed)


main()
