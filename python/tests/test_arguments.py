"""What is wrong with a call is said in words that name the argument."""

import numpy as np
import pytest
import warpsmith
from warpsmith import _native

X = np.ones((2, 8), np.float32)


def refused(argument, *words):
    def check(call):
        with pytest.raises(warpsmith.ArgumentError) as error:
            call()
        assert error.value.argument == argument
        assert isinstance(error.value, ValueError)
        for word in (f"`{argument}`", *words):
            assert word in str(error.value)

    return check


@pytest.mark.parametrize("device", [None, "emulated"])
class TestBothDevicesRefuse:
    def test_shapes_that_differ(self, device):
        weight = np.ones(7, np.float32)
        refused("weight", "7", "8")(lambda: warpsmith.rms_norm(X, weight, device=device))
        out = np.empty((3, 8), np.float32)
        refused("out", "3", "2")(lambda: warpsmith.rms_norm(X, out=out, device=device))

    def test_dtypes(self, device):
        refused("x", "f64")(lambda: warpsmith.softmax(X.astype(np.float64), device=device))
        refused("target", "f32")(lambda: warpsmith.cross_entropy(X, np.ones(2, np.float32), device=device))

    def test_columns_apart(self, device):
        refused("x", "stride")(lambda: warpsmith.softmax(np.ones((2, 16), np.float32)[:, ::2], device=device))
        refused("x", "stride")(lambda: warpsmith.softmax(X[:, ::-1], device=device))

    def test_outputs_that_overlap_inputs(self, device):
        memory = np.ones(64, np.float32)
        x, out = memory[:16].reshape(2, 8), memory[8:24].reshape(2, 8)
        refused("out", "overlap")(lambda: warpsmith.softmax(x, out=out, device=device))

    def test_numbers(self, device):
        refused("eps", "-1")(lambda: warpsmith.rms_norm(X, eps=-1.0, device=device))
        target = np.zeros(2, np.int64)
        refused("label_smoothing", "2")(lambda: warpsmith.cross_entropy(X, target, label_smoothing=2.0, device=device))

    def test_memory_that_can_not_be_written(self, device):
        out = np.empty_like(X)
        out.flags.writeable = False
        refused("out", "only be read")(lambda: warpsmith.softmax(X, out=out, device=device))


def test_workspace_is_needed():
    dy, rstd, w = np.ones_like(X), np.ones(2, np.float32), np.ones(8, np.float32)
    call = ("rms", X, w, dy, rstd, None, None, np.empty_like(X), None, np.empty_like(w), None)
    refused("workspace")(lambda: _native.norm_bwd(*call, None))
    _native.norm_bwd(*call, np.empty(_native.norm_workspace(X), np.float32))


def test_two_places():
    there = warpsmith.Device("emulated").tensor(X)
    refused("out", "the host", "emulated:H200")(lambda: _native.softmax_fwd(X, there))
    other = warpsmith.Device("emulated:B200")
    refused("x", "emulated:B200", "emulated:H200")(lambda: _native.softmax_fwd(there, there, device=other))


def test_no_tensor():
    for wrong in [[1.0], None, "x", 3]:
        with pytest.raises(TypeError, match="`x`"):
            _native.softmax_fwd(wrong, X)
    with pytest.raises(TypeError, match="`x`.*list"):
        warpsmith.softmax([1.0])


def test_calls_as_python_has_them():
    _native.softmax_fwd(out=np.empty_like(X), x=X)
    with pytest.raises(TypeError, match="missing required argument 'out'"):
        _native.softmax_fwd(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        _native.softmax_fwd(X, y=X)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        _native.softmax_fwd(X, X, x=X)
    with pytest.raises(TypeError, match="at most 4 arguments, got 5"):
        _native.softmax_fwd(X, X, None, None, None)
    with pytest.raises(TypeError, match="`stream`"):
        _native.softmax_fwd(X, X, "main")
    with pytest.raises(TypeError, match="`device`"):
        _native.softmax_fwd(X, X, None, "emulated")
    with pytest.raises(TypeError, match="`eps`"):
        _native.rms_norm_fwd(X, None, None, None, X, None, None, None)


def test_devices_have_names():
    for name in ["tpu", "emulated:TPU", "cuda:x", ""]:
        refused("device", repr(name)[1:-1])(lambda: warpsmith.Device(name))
    assert warpsmith.Device("emulated") == warpsmith.Device("emulated:h200")
    assert warpsmith.Device("emulated") != warpsmith.Device("emulated:B200")
    device = warpsmith.Device("emulated:A100")
    assert (device.name, device.chip, device.target, device.is_emulated) == ("emulated:A100", "A100", "sm_80", True)
    if not warpsmith.devices():
        with pytest.raises(warpsmith.DeviceError):
            warpsmith.Device("cuda")
