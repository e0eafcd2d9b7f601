"""Small graphs that many tests share."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

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


@pytest.fixture
def install_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Make a module ``other_package`` and its entry points known, as ``pip install`` would."""

    def install(source: str, entry_points: str) -> None:
        folder = tmp_path / "site-packages"
        about = folder / "other_package-1.0.dist-info"
        about.mkdir(parents=True)
        (folder / "other_package.py").write_text(textwrap.dedent(source))
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other_package\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(textwrap.dedent(entry_points))
        monkeypatch.syspath_prepend(folder)

    yield install
    sys.modules.pop("other_package", None)
