"""Where the tests run: on the host, by the references, and on a card where there is one."""

import pytest
import torch

torch.manual_seed(0)

DEVICES = ["cpu", "cuda"]


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA card")
    return request.param


@pytest.fixture
def card():
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA card")
    return "cuda"
