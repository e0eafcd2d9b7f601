"""Small graphs that many tests share."""

from __future__ import annotations

import hypothesis
import pytest
from torch_geometric.data import Data

import pignn
from pignn import graphs

# The same examples every time: a test that fails does so for everybody.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")


@pytest.fixture
def noisy() -> Data:
    """A small easy graph with 30 % wrong labels."""
    clean = graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)
