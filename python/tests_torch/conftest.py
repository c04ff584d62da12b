"""Where the tests run: on the host, by the references, and on a card where there is one."""

import os
import random

import pytest
import torch

torch.manual_seed(0)

DEVICES = ["cpu", "cuda"]
# Of the random row lengths: another one each run. The processes of `pytest -n` inherit it.
SEED = os.environ.setdefault("WARPSMITH_LENGTHS_SEED", str(random.SystemRandom().randrange(1 << 32)))


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


def pytest_terminal_summary(terminalreporter):
    reports = [report for group in terminalreporter.stats.values() for report in group]
    if any("test_random_lengths" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.write_line(f"random row lengths: WARPSMITH_LENGTHS_SEED={SEED} repeats them")
