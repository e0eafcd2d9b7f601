"""Blocks of columns on a Ray cluster: what is said where something is missing."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError, DataError
from pignn.propagation import BlockWork, blocks, ray_blocks

N, FEATURES = 20_000, 48
NODES = np.arange(0, N, 3)


@pytest.fixture
def store(tmp_path):
    data = graphs.csbm(num_nodes=N, num_classes=3, num_features=FEATURES, seed=2)
    graphs.convert(tmp_path / "store", edges=[data.edge_index.T.numpy()], features=data.x.numpy())
    return tmp_path / "store"


def make_work(store, name, ray=None):
    return BlockWork(store, store.parent / name, 2 * (24 * N + 12 * N * 4), ray)  # blocks of four columns


def test_a_missing_ray_is_one_line_with_a_remedy(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'pignn\[ray\]'"):
        make_work(store, "blocks", "auto").smooth_rows(NODES, 0.1)


def test_a_machine_without_the_store_or_with_another_version_is_one_line(store):
    digest = blocks.StoredGraph(store).digest
    task = blocks.BlockTask(str(store), digest, blocks.Block(0, 2), 0.1, 2)
    with pytest.raises(DataError, match=r"has pignn .*, the driver has 0.0; install the same version everywhere"):
        ray_blocks._compute_on_machine(task, NODES, "0.0", 1)
    shutil.move(store, store.with_name("elsewhere"))
    with pytest.raises(DataError, match=r"has no store at .*; put it on a shared file system"):
        ray_blocks._compute_on_machine(task, NODES, pignn.__version__, 1)
