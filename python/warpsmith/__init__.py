"""LLM kernels for CUDA cards, compiled in milliseconds; the same kernels on an emulator that checks them."""

from ._native import Device, Tensor, __version__
from .errors import ArgumentError, CompileError, DeviceError, SanitizerError, SanitizerWarning, WarpsmithError

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
]
