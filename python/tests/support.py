"""What the tests share."""

import numpy as np
import pytest

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
#: How far a result may be from one in float64, relative to 1 + |it|: roundings of the output, and of f32 inside.
TOLERANCE = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}


def compare(got, expected, dtype):
    got = np.asarray(got).astype(np.float64)
    assert got.shape == expected.shape
    same = np.isnan(got) & np.isnan(expected)
    error = np.where(same, 0, np.abs(got - expected) / (1 + np.abs(expected)))
    assert np.all(error <= TOLERANCE[dtype]), error.max()
