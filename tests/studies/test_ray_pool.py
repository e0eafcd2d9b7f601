"""Studies on a Ray cluster of several nodes, all on this machine; skipped where Ray is not installed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pignn.core.errors import ConfigError
from pignn.studies import StudyRow, collect_results, open_results, run_study

from .conftest import GRAPH, make

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    ray = None

SETTINGS = {"epochs": 30, "hidden_channels": 4}
needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed")


def test_a_missing_ray_is_one_line_with_a_remedy(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'pignn\[ray\]'"):
        run_study(make(), tmp_path, workers=1, ray="auto")


@needs_ray
def test_a_lost_machine_of_the_cluster_loses_no_run(tmp_path):
    """Two nodes; one is killed while runs are on it. All planned rows come, none twice, with the usual numbers."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        doomed = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        study = make(rows=(StudyRow("GCN", "vanilla"),), settings=SETTINGS, seeds=tuple(range(5)))
        killer = threading.Thread(target=_kill_when_busy, args=(tmp_path / "out", cluster, doomed))
        killer.start()
        summary = run_study(study, tmp_path / "out", workers=0, ray=cluster.address)
        killer.join()
        assert len(cluster.list_all_nodes()) == 1
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert (summary.computed, summary.failed) == (len(study), 0)
    with open_results(tmp_path / "out") as store:
        assert len(store) == len(study)
        there = collect_results(study, store)
    assert there.num_done == len(study)

    import pignn
    from pignn import graphs

    noisy = pignn.corrupt(graphs.load("csbm", **GRAPH.options), "flip", 0.4, seed=1)
    model = pignn.make("vanilla", preset="paper", **SETTINGS, selection="clean-val", seed=1).fit(noisy)
    assert there.get_values_by_seed(GRAPH, study.noises[1], "GCN")[1] == pytest.approx(model.score(noisy), abs=1e-6)


def _kill_when_busy(folder: Path, cluster, node) -> None:
    from pignn.core.errors import PignnError

    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with open_results(folder, create=False) as store:
                if len(store) >= 2:
                    break
        except PignnError:
            pass
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)
