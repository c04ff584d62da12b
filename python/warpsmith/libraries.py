"""How each array library makes arrays like one that it was given: what the plain functions allocate their results by.

PyTorch, CuPy, NumPy and this package's own tensors take results that the kernel writes to; JAX's arrays can not be written
to, so results are made here and handed over.
"""

from __future__ import annotations

import sys

from . import _native


class NumPy:
    """NumPy, and what else has its interface."""

    name = "numpy"

    @classmethod
    def module(cls):
        return sys.modules[cls.name]

    @classmethod
    def dtype(cls, name):
        """Its dtype for a name of ours."""
        if name == "bf16":
            import ml_dtypes

            return ml_dtypes.bfloat16
        return getattr(cls.module(), {"f16": "float16", "f32": "float32"}[name])

    @classmethod
    def empty(cls, like, shape, dtype=None):
        return cls.module().empty(shape, like.dtype if dtype is None else cls.dtype(dtype))

    @classmethod
    def like(cls, array):
        """A dense one of its shape and dtype, undefined."""
        return cls.empty(array, array.shape)

    @staticmethod
    def reshape(array, shape):
        return array.reshape(shape)

    @staticmethod
    def finish(array, shape):
        """The result that the caller gets."""
        return array if tuple(array.shape) == shape else array.reshape(shape)


class CuPy(NumPy):
    name = "cupy"

    @classmethod
    def empty(cls, like, shape, dtype=None):
        with like.device:
            return super().empty(like, shape, dtype)


class Torch(NumPy):
    """PyTorch, without its autograd: `warpsmith.torch` has that."""

    name = "torch"

    @classmethod
    def dtype(cls, name):
        return getattr(cls.module(), {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[name])

    @classmethod
    def empty(cls, like, shape, dtype=None):
        dtype = like.dtype if dtype is None else cls.dtype(dtype)
        return cls.module().empty(shape, dtype=dtype, device=like.device)

    @classmethod
    def like(cls, array):
        torch = cls.module()
        return torch.empty_like(array, memory_format=torch.contiguous_format)


class Own(NumPy):
    """Tensors of this package."""

    name = "warpsmith"

    @staticmethod
    def empty(like, shape, dtype=None):
        dtype = like.dtype if dtype is None else dtype
        if like.device == "cpu":
            return _native.empty(shape, dtype)
        return _native.Device(like.device).empty(shape, dtype)


class Other(NumPy):
    """JAX, and any other library with DLPack."""

    name = "jax"

    @staticmethod
    def empty(like, shape, dtype=None):
        place, _, own, _, _ = _native.describe(like)
        dtype = own if dtype is None else dtype
        if place == "the host":
            return _native.empty(shape, dtype)
        return _native.Device(place).empty(shape, dtype)

    @classmethod
    def like(cls, array):
        # What is made here is not yet what the caller gets.
        return None

    @staticmethod
    def finish(array, shape):
        if "jax" in sys.modules:
            import jax.dlpack  # type: ignore[import-not-found]

            array = jax.dlpack.from_dlpack(array)
        return array if tuple(array.shape) == shape else array.reshape(shape)


_ROOTS = {"numpy": NumPy, "cupy": CuPy, "torch": Torch, "warpsmith": Own}
#: The libraries of types that were seen before.
KNOWN: dict[type, type[NumPy]] = {}


def of(array):
    """The library of an array."""
    kind = type(array)
    library = KNOWN.get(kind)
    if library is None:
        for parent in kind.__mro__:
            library = _ROOTS.get(parent.__module__.partition(".")[0])
            if library is not None:
                break
        else:
            library = NumPy if hasattr(array, "__array_interface__") and "numpy" in sys.modules else Other
        KNOWN[kind] = library
    return library
