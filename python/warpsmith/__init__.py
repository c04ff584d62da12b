"""LLM kernels for CUDA cards, compiled in milliseconds; the same kernels on an emulator that checks them.

>>> import numpy as np
>>> import warpsmith
>>> x = np.ones((2, 8), np.float32)
>>> warpsmith.rms_norm(x, device="emulated").shape
(2, 8)

| name | what |
|---|---|
| `rms_norm`, `layer_norm`, `softmax`, `cross_entropy`, `…_backward` | plain functions of arrays |
| `Device`, `Tensor`, `view`, `devices` | cards and emulated chips, and memory there |
| `warpsmith.torch` | the same for PyTorch: autograd, `torch.compile`, CUDA graphs |
| `warpsmith.quack` | QuACK's names |
| `warpsmith.errors` | what can go wrong |
"""

from . import errors
from ._native import Device, Tensor, __version__, devices, view
from .errors import ArgumentError, CompileError, DeviceError, SanitizerError, SanitizerWarning, WarpsmithError
from .functions import (
    cross_entropy,
    cross_entropy_backward,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
    softmax,
    softmax_backward,
)

#: The package's version.
version = __version__

__all__ = [
    "ArgumentError",
    "CompileError",
    "Device",
    "DeviceError",
    "SanitizerError",
    "SanitizerWarning",
    "Tensor",
    "WarpsmithError",
    "__version__",
    "cross_entropy",
    "cross_entropy_backward",
    "devices",
    "errors",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
    "softmax",
    "softmax_backward",
    "version",
    "view",
]
