"""The shapes that are compared, and how many bytes an operator has to move at each."""

import torch

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
# 4 GiB of bf16 elements at most, 32,768 rows where that allows it: the grid that QuACK's own benchmark draws.
GRID = [(32768, 1 << k) for k in range(8, 16)] + [(16384, 65536), (8192, 131072), (4096, 262144)]
BACKWARD = [(32768, 1024), (32768, 4096), (32768, 16384), (8192, 65536), (8192, 131072)]
RESIDUAL = sorted({*BACKWARD, *(cell for cell in GRID if cell[1] <= 32768)}, key=lambda cell: cell[1])
DECODE = [(rows, dim) for dim in (2048, 4096, 7168) for rows in (1, 4, 16, 64, 256)]


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def edges():
    """Around each shape of the grid: rows 8 shorter and longer, and of the nearest primes, where vectors do not fit."""
    for rows, dim in GRID:
        below = next(n for n in range(dim - 1, 1, -1) if is_prime(n))
        above = next(n for n in range(dim + 1, 2 * dim) if is_prime(n))
        for n in (below, dim - 8, dim, dim + 8, above):
            yield rows, n


def moved_bytes(op, rows, dim, size):
    """Each input read once, each output written once; `size` is that of an element of x."""
    elements = rows * dim * size
    vector = 4 * dim
    return {
        "rms_norm": 2 * elements + vector,
        "layer_norm": 2 * elements + 2 * vector,
        "rms_norm_residual": 4 * elements + vector,
        "rms_norm_backward": 3 * elements + 4 * rows + 2 * vector,
        "softmax": 2 * elements,
        "softmax_backward": 3 * elements,
        "cross_entropy": elements + 12 * rows,
    }[op]
