"""Tensors of this package, DLPack both ways, and what the emulator finds."""

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
import warpsmith
from support import DTYPES
from warpsmith import _native

X = np.arange(24, dtype=np.float32).reshape(2, 12)


def test_memory_of_a_device():
    device = warpsmith.Device("emulated")
    for name, dtype in {**DTYPES, "i64": np.int64, "u8": np.uint8}.items():
        x = X.astype(dtype)
        t = device.tensor(x)
        assert (t.shape, t.strides, t.dtype, t.device) == ((2, 12), (12, 1), name, "emulated:H200")
        assert np.array_equal(t.numpy(), x) and t.numpy().dtype == x.dtype
        assert t.tobytes() == x.tobytes()
    assert np.array_equal(device.tensor(X[:, ::3]).numpy(), X[:, ::3])
    assert np.array_equal(device.tensor(X.T).numpy(), X.T)


def test_operators_on_it():
    device = warpsmith.Device("emulated")
    x = device.tensor(X)
    y = warpsmith.softmax(x)
    assert (type(y), y.device, y.shape) == (warpsmith.Tensor, "emulated:H200", (2, 12))
    assert np.allclose(y.numpy(), warpsmith.softmax(X), atol=1e-6)
    out = device.empty((2, 12))
    assert warpsmith.softmax(x, out=out) is out
    assert out.tobytes() == y.tobytes()


def test_the_emulator_finds_what_was_never_written():
    device = warpsmith.Device("emulated")
    x = device.empty((2, 12))
    with pytest.raises(warpsmith.SanitizerError, match="reads uninitialised global memory") as error:
        warpsmith.softmax(x)
    assert error.value.findings and all("`x[row 0, column 0]`" in f for f in error.value.findings)


def test_nothing_is_run_on_an_idle_device():
    device = warpsmith.Device("idle")
    out = device.tensor(X)
    warpsmith.softmax(device.tensor(X), out=out)
    assert np.array_equal(out.numpy(), X)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_shares_memory_of_the_host(version):
    t = _native.empty((3, 4), "f32")
    assert t.data_ptr % 64 == 0
    assert t.__dlpack_device__() == (1, 0)
    t.__dlpack__(max_version=version)  # dropped without being taken over
    a = np.from_dlpack(t)
    a[...] = 7
    assert (a.shape, np.unique(t.numpy())) == ((3, 4), [7])
    del t
    gc.collect()
    assert a.sum() == 84


def test_dlpack_copies_memory_of_an_emulated_device():
    t = warpsmith.Device("emulated").tensor(X)
    assert np.array_equal(np.from_dlpack(t), X)
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)


def test_a_view_keeps_what_it_is_of():
    class Array(np.ndarray):
        pass

    x = X.copy().view(Array)
    gone = weakref.ref(x)
    t = warpsmith.view(x, "u32")
    assert t.data_ptr == x.ctypes.data
    del x
    gc.collect()
    assert gone() is not None and t.numpy()[0, 1] == 0x3F800000
    del t
    gc.collect()
    assert gone() is None
    with pytest.raises(warpsmith.ArgumentError, match="`dtype`"):
        warpsmith.view(X, "bf16")


class Capsules:
    """A library that has only DLPack."""

    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.old and "max_version" in options:
            raise TypeError("max_version")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("old", [False, True])
def test_any_library_with_dlpack(old):
    x, out = X.copy(), np.empty_like(X)
    before = sys.getrefcount(x), sys.getrefcount(out)
    _native.softmax_fwd(Capsules(x, old), Capsules(out, old))
    assert np.allclose(out, warpsmith.softmax(X))
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before


@pytest.mark.parametrize("device", [None, "emulated"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_s_arrays_come_back_as_such(device, dtype):
    jax = pytest.importorskip("jax")
    if jax.devices()[0].platform != "cpu":
        pytest.skip("this JAX has its arrays on a card")
    x = jax.random.normal(jax.random.key(0), (2, 3, 1, 64)).astype(dtype)
    y, rstd = warpsmith.rms_norm(x, return_rstd=True, device=device)
    assert isinstance(y, jax.Array) and (y.shape, y.dtype, rstd.shape) == (x.shape, x.dtype, x.shape[:-1])
    assert np.array_equal(np.asarray(y), warpsmith.rms_norm(np.asarray(x), device=device))


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("kind", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Api(ctypes.Structure):
    """`DLPackExchangeAPI`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("read", READ),
        ("stream", STREAM),
    ]


def capsule(api):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(api), b"dlpack_exchange_api", None)


@READ
def read(tensor, to):
    array = tensor.array
    to[0] = DLTensor(array.ctypes.data, tensor.kind, 0, array.ndim, 2, 32, 1, tensor.shape, tensor.strides, 0)
    return 0


@STREAM
def stream(kind, number, to):
    ASKED.append((kind, number))
    to[0] = 0x1234
    return 0


ASKED = []
API = Api(1, 3, None, None, None, None, read, stream)
#: Of a version that is not known here, with one behind it that is.
NEWER = Api(2, 0, ctypes.addressof(API), None, None, None, READ(), STREAM())


class Exchanged:
    """A library with the C exchange API, as PyTorch has it; its memory is NumPy's, or claims to be a card's."""

    __dlpack_c_exchange_api__ = capsule(NEWER)

    def __init__(self, array, kind=1):
        self.array, self.kind = array, kind
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*[s // array.itemsize for s in array.strides])


class Numbered(Exchanged):
    """As before DLPack 1.3."""

    __dlpack_c_exchange_api__ = None
    __c_dlpack_exchange_api__ = ctypes.addressof(API)


@pytest.mark.parametrize("kind", [Exchanged, Numbered])
def test_the_exchange_api(kind):
    x, out = np.repeat(X, 2, 0)[::2], np.empty_like(X)
    _native.softmax_fwd(kind(x), kind(out))
    assert np.allclose(out, warpsmith.softmax(X))
    assert _native.describe(kind(x)) == ("the host", x.ctypes.data, "f32", (2, 12), (24, 1))
    card = kind(x, kind=2)
    ASKED.clear()
    assert _native.current_stream(card) == 0x1234
    assert ASKED == [(2, 0)]
    with pytest.raises(warpsmith.ArgumentError, match="`out`.*cuda:0.*the host"):
        _native.softmax_fwd(card, out)
    if not warpsmith.devices():
        with pytest.raises(warpsmith.DeviceError):
            _native.softmax_fwd(card, card)


def test_many_types_with_it():
    """More than are remembered; what is forgotten is let go."""
    kinds = [type(f"Exchanged{i}", (Exchanged,), {}) for i in range(20)]
    for kind in kinds * 2:
        assert _native.describe(kind(X))[:2] == ("the host", X.ctypes.data)
    counts = [sys.getrefcount(kind) for kind in kinds]
    # The last ones alone are kept.
    assert len(set(counts[:16])) == 1 and counts[0] < counts[-1]
