import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Without a card these are skipped, unless one was asked for: then they fail."""
    if os.environ.get("WARPSMITH_DEVICE", "").startswith("cuda"):
        return
    for item in items:
        if HERE in pathlib.Path(str(item.fspath)).parents:
            item.add_marker(pytest.mark.skip(reason="takes a CUDA card: set WARPSMITH_DEVICE=cuda"))
