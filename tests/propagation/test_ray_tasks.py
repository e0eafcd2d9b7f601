"""Blocks and candidates on a Ray cluster of three nodes, all on this machine; skipped where Ray is not installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pignn
from pignn import graphs, runs
from pignn.core.errors import ConfigError, DataError, PignnError, PignnWarning
from pignn.propagation import BlockWork, blocks, ray_tasks

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    ray = None

N, FEATURES = 150_000, 48  # so many that tasks are busy when they are killed, also on an idle machine
needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed")
NODES = np.arange(0, N, 3)


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of one CPU each, with object stores of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_worker_niceness", "0")  # workers that start at once also on a busy machine
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        patch.undo()


@pytest.fixture
def store(tmp_path):
    data = graphs.csbm(num_nodes=N, num_classes=3, num_features=FEATURES, seed=2)
    graphs.convert(tmp_path / "store", edges=[data.edge_index.T.numpy()], features=data.x.numpy())
    return tmp_path / "store"


def make_work(store, name, ray=None):
    return BlockWork(store, store.parent / name, 2 * (24 * N + 12 * N * 4), ray)  # blocks of four columns


@needs_ray
def test_training_and_prediction_are_those_of_one_process(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pignn.methods.auto.Auto.min_holdout_labels", 100)
    data = graphs.csbm(num_nodes=300, num_classes=3, num_features=10, seed=2)
    given = pignn.corrupt(data, "symmetric", 0.2, splits=("all",), seed=0).y.numpy()
    graphs.convert("store", edges=[data.edge_index.T.numpy()], features=data.x.numpy(), labels=given)
    options = {"method": "auto", "settings": {"networks": "never"}, "memory": 2 * (24 * 300 + 12 * 300 * 4)}
    here = runs.train("store", **options)
    there = runs.train("store", ray=cluster.address, out="run", **options)
    assert there.model.weights_.keys() == here.model.weights_.keys()
    np.testing.assert_allclose(there.predictions.probs, here.predictions.probs, atol=1e-5)
    assert there.assessment.accuracy == pytest.approx(here.assessment.accuracy, abs=1e-4)
    predicted = runs.predict("run", "store", ray=cluster.address, out="predictions.csv")
    np.testing.assert_allclose(predicted.probs, here.predictions.probs, atol=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predictions.csv", "run", "store"]


@needs_ray
def test_what_is_lost_is_computed_again_and_no_more(cluster, store):
    """A worker is killed, then a node, then the driver, after which another one goes on from what is finished."""
    here = make_work(store, "here").smooth_rows_and_save_blocks(NODES, 0.1)
    doomed = sorted(cluster.list_all_nodes(), key=lambda node: node.head)[:1][0]
    kills = {"worker": lambda: kill_a_worker(cluster), "node": lambda: cluster.remove_node(doomed, False)}
    for name, kill in kills.items():
        work = make_work(store, name, cluster.address)
        killer = threading.Thread(target=_call_when_busy, args=(work.folder, kill))
        killer.start()
        with pytest.warns(PignnWarning, match=r"a task on the cluster was lost \(\w+\); it is computed again"):
            there = work.smooth_rows_and_save_blocks(NODES, 0.1)
        killer.join()
        work.close()
        assert work.computed == FEATURES // 4
        assert 1 <= work.repeated <= 3  # those on the lost worker, or on the lost machine
        assert np.allclose(there, here, atol=1e-5)
    assert len(cluster.list_all_nodes()) == 2
    again, resumed, kept = smooth_after_killed_driver(cluster, store)
    assert 1 <= kept < FEATURES // 4
    assert (resumed.computed, resumed.reused) == (FEATURES // 4 - kept, kept)
    assert np.allclose(again, here, atol=1e-5)


DRIVER = """
import sys, numpy as np
from pathlib import Path
from pignn.propagation import BlockWork
store, folder, memory, address, n = sys.argv[1:]
work = BlockWork(Path(store), Path(folder), int(memory), address)
work.smooth_rows_and_save_blocks(np.arange(0, int(n), 3), 0.1)
"""


def smooth_after_killed_driver(cluster, store):
    """The rows that a second driver finds, its work, and how many blocks the first one had finished."""
    work = make_work(store, "driver", cluster.address)
    command = [sys.executable, "-c", DRIVER, store, work.folder, work.memory, cluster.address, N]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as process:
        _call_when_busy(work.folder, lambda: os.kill(process.pid, signal.SIGKILL))
    kept = len(list(work.folder.glob("*.npy")))
    rows = work.smooth_rows_and_save_blocks(NODES, 0.1)
    work.close()
    return rows, work, kept


def _call_when_busy(folder, function):
    until = time.monotonic() + 120
    while time.monotonic() < until and not (folder.is_dir() and any(folder.glob("*.npy"))):
        time.sleep(0.02)
    function()


def kill_a_worker(cluster):
    """Kill one process of the cluster that computes a task."""
    raylets = {each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes["raylet"]}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets and b"_check_version_and_compute" in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    return
            except (OSError, ValueError):
                continue
    raise AssertionError("no worker was busy")


def test_a_missing_ray_is_one_line_with_a_remedy(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'pignn\[ray\]'"):
        make_work(store, "blocks", "auto").smooth_rows_and_save_blocks(NODES, 0.1)


def test_a_machine_without_the_store_or_with_another_version_is_one_line(store):
    digest = blocks.StoredGraph(store).digest
    task = blocks.SmoothedBlock(str(store), digest, blocks.Block(0, 2), 2, 0.1)
    with pytest.raises(DataError, match=r"has pignn .*, the driver has 0.0; install the same version everywhere"):
        ray_tasks._check_version_and_compute(task, NODES, "0.0", 1)
    shutil.move(store, store.with_name("elsewhere"))
    with pytest.raises(DataError, match=r"has no store at .*; put it on a shared file system"):
        ray_tasks._check_version_and_compute(task, NODES, pignn.__version__, 1)


@needs_ray
def test_errors_of_tasks_reach_the_driver_in_one_line(cluster, store, monkeypatch):
    """Another version, a store that only the driver has, and a store that was changed; finished blocks stay."""
    work = make_work(store, "blocks", cluster.address)
    monkeypatch.setattr(ray_tasks, "__version__", "0.0")
    with pytest.raises(DataError, match=r"has pignn .*, the driver has 0.0; install the same version everywhere"):
        work.smooth_rows_and_save_blocks(NODES, 0.1)
    monkeypatch.undo()
    shutil.move(store, store.with_name("elsewhere"))
    with pytest.raises(DataError, match=r"has no store at .*; put it on a shared file system, or copy it there"):
        work.smooth_rows_and_save_blocks(NODES, 0.1)
    shutil.move(store.with_name("elsewhere"), store)
    header = (store / "store.json").read_text()
    (store / "store.json").write_text(header.replace('"crc32": ', '"crc32": 1', 1))
    with pytest.raises(DataError, match=r"was changed while it was read; start again|damaged"):
        work.smooth_rows_and_save_blocks(NODES, 0.1)
    (store / "store.json").write_text(header)
    work.smooth_rows_and_save_blocks(NODES, 0.1)
    assert work.computed == FEATURES // 4
    work.close()


@needs_ray
def test_a_task_that_is_lost_again_and_again_ends_the_run(cluster, store, monkeypatch):
    class Deadly:
        def compute(self, shared):
            os.kill(os.getpid(), signal.SIGKILL)

    tasks = ray_tasks.RayTasks(cluster.address)
    monkeypatch.setattr(ray_tasks, "MAX_ATTEMPTS", 2)
    message = r"a task was lost 2 times \(\w+\), perhaps for lack of memory; give each"
    with pytest.warns(PignnWarning, match="was lost"), pytest.raises(PignnError, match=message):
        list(tasks.iter_results({"only": (Deadly(), None)}))

    class Hungry:
        def compute(self, shared):
            raise MemoryError

    with pytest.raises(PignnError, match=r"^out of memory; give each task less with --memory"):
        list(tasks.iter_results({"only": (Hungry(), None)}))
    tasks.close()
