"""Blocks of columns on a Ray cluster of several nodes, all on this machine; skipped where Ray is not installed."""

from __future__ import annotations

import shutil
import sys
import threading
import time

import numpy as np
import pytest

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError, DataError
from pignn.propagation import BlockWork, blocks, ray_blocks

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    ray = None

N, FEATURES = 20_000, 48
needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed")
NODES = np.arange(0, N, 3)


@pytest.fixture
def store(tmp_path):
    data = graphs.csbm(num_nodes=N, num_classes=3, num_features=FEATURES, seed=2)
    graphs.convert(tmp_path / "store", edges=[data.edge_index.T.numpy()], features=data.x.numpy())
    return tmp_path / "store"


def make_work(store, name, ray=None):
    return BlockWork(store, store.parent / name, 2 * (24 * N + 12 * N * 4), ray)  # blocks of four columns


@needs_ray
def test_a_lost_machine_costs_its_blocks_only(store, monkeypatch):
    """Three nodes, of which one is killed; then a driver that goes on from what is finished."""
    monkeypatch.setenv("RAY_worker_niceness", "0")  # workers that start at once also on a busy machine
    here = make_work(store, "here").smooth_rows_and_save_blocks(NODES, 0.1)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        doomed, _ = (cluster.add_node(num_cpus=1) for _ in range(2))
        cluster.wait_for_nodes()
        work = make_work(store, "there", cluster.address)
        killer = threading.Thread(target=_kill_when_busy, args=(work.folder, cluster, doomed))
        killer.start()
        there = work.smooth_rows_and_save_blocks(NODES, 0.1)
        killer.join()
        assert len(cluster.list_all_nodes()) == 2
        assert work.computed == FEATURES // 4
        assert 1 <= work.repeated <= 2  # those on the lost machine
        for path in sorted(work.folder.iterdir())[:5]:
            path.unlink()
        resumed = make_work(store, "there", cluster.address)
        again = resumed.smooth_rows_and_save_blocks(NODES, 0.1)
        assert (resumed.computed, resumed.reused) == (5, FEATURES // 4 - 5)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert np.allclose(there, here, atol=1e-5)
    assert np.allclose(again, here, atol=1e-5)


def _kill_when_busy(folder, cluster, node):
    until = time.monotonic() + 120
    while time.monotonic() < until and not (folder.is_dir() and any(folder.glob("*.npy"))):
        time.sleep(0.02)
    cluster.remove_node(node, allow_graceful=False)


def test_a_missing_ray_is_one_line_with_a_remedy(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'pignn\[ray\]'"):
        make_work(store, "blocks", "auto").smooth_rows_and_save_blocks(NODES, 0.1)


def test_a_machine_without_the_store_or_with_another_version_is_one_line(store):
    digest = blocks.StoredGraph(store).digest
    task = blocks.BlockTask(str(store), digest, blocks.Block(0, 2), 0.1, 2)
    with pytest.raises(DataError, match=r"has pignn .*, the driver has 0.0; install the same version everywhere"):
        ray_blocks._check_machine_and_compute_rows(task, NODES, "0.0", 1)
    shutil.move(store, store.with_name("elsewhere"))
    with pytest.raises(DataError, match=r"has no store at .*; put it on a shared file system"):
        ray_blocks._check_machine_and_compute_rows(task, NODES, pignn.__version__, 1)
