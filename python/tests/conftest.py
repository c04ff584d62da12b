import numpy as np
import pytest
from support import DTYPES


@pytest.fixture(params=list(DTYPES))
def dtype(request):
    return request.param


@pytest.fixture(params=[None, "emulated", "emulated:B200"], ids=["host", "H200", "B200"])
def device(request):
    return request.param


@pytest.fixture
def random():
    generator = np.random.default_rng(7)

    def make(dtype, *shape):
        return generator.standard_normal(shape).astype(DTYPES[dtype])

    return make
