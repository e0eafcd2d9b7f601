"""Training and prediction on a graph store within memory give what they give without a limit."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import pignn
from pignn import graphs, runs
from pignn.core.errors import ConfigError
from pignn.propagation import block_views, blocks, views

N = 300


def make_memory(columns):
    """So much that a block has so many columns."""
    return 2 * (24 * N + 12 * N * columns)


def make_store(num_features=20, share_unlabeled=0.25, weighted=False):
    data = graphs.csbm(num_nodes=N, num_classes=3, num_features=num_features, seed=2)
    y = pignn.corrupt(data, "symmetric", 0.2, splits=("all",), seed=0).y.numpy().copy()
    y[np.random.default_rng(0).random(N) < share_unlabeled] = -1
    edges = pd.DataFrame(data.edge_index.T.numpy(), columns=["source", "target"])
    if weighted:
        edges["weight"] = np.random.default_rng(0).random(len(edges)).round(3)
    edges.to_parquet("edges.parquet")
    graphs.convert("store", edges="edges.parquet", features=data.x.numpy(), labels=y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(blocks, "CHUNK_ENTRIES", 499)
    monkeypatch.setattr(blocks, "CHUNK_VALUES", 1500)
    monkeypatch.setattr(block_views, "CHUNK_VALUES", 1500)
    return tmp_path


@pytest.mark.parametrize("case", ["narrow", "wide", "weighted", "many labels", "many labels and wide"])
def test_training_within_memory_gives_the_same(folder, monkeypatch, case):
    if case.startswith("many"):
        monkeypatch.setattr("pignn.methods.auto.Auto.min_holdout_labels", 100)
    monkeypatch.setattr("pignn.methods.auto.DIMENSIONS", 12)
    monkeypatch.setattr("pignn.methods.auto.MANY_LABELS_DIMENSIONS", 12)
    make_store(num_features=40 if "wide" in case else 10, weighted=case == "weighted")
    options = {"method": "auto", "settings": {"networks": "never"}, "assess": case == "narrow"}
    whole = runs.train("store", **options)
    bounded = runs.train("store", out="bounded", memory=make_memory(9), **options)
    assert bounded.model.chosen_ == whole.model.chosen_
    np.testing.assert_allclose(bounded.predictions.probs, whole.predictions.probs, atol=1e-5)
    if whole.assessment is not None:
        assert bounded.assessment.accuracy == pytest.approx(whole.assessment.accuracy, abs=2e-3)
    assert not (folder / "bounded.blocks").exists()
    monkeypatch.setattr("pignn.report.predictions.ROWS_PER_PIECE", 7)
    one, other = (runs.predict("bounded", "store", out=f"{m}.csv", memory=m or None) for m in (0, make_memory(9)))
    np.testing.assert_allclose(one.probs, other.probs, atol=1e-5)
    assert not (folder / f"{make_memory(9)}.csv.blocks").exists()
    rows = pd.read_csv(f"{make_memory(9)}.csv")
    np.testing.assert_allclose(rows[["p_0", "p_1", "p_2"]], other.probs, atol=1e-6)


def test_large_graphs_keep_few_rows(folder, monkeypatch):
    """Where only some unlabeled nodes are read, they are the same ones with and without a limit."""
    make_store()
    # The importing module first: imported later, it would take the patched number for its own.
    for module in ("auto_fits", "prototypes"):
        monkeypatch.setattr(f"pignn.methods.{module}.MAX_UNLABELED", 50)
    for module in ("auto_fits", "low_density"):
        monkeypatch.setattr(f"pignn.methods.{module}.MAX_NODES", 50)
    monkeypatch.setattr(views, "MAX_STRUCTURE_NODES", 100)
    options = {"method": "auto", "settings": {"networks": "never"}}
    whole = runs.train("store", assess=False, **options)
    bounded = runs.train("store", memory=make_memory(9), assess=False, **options)
    assert len(bounded.model._kept_nodes) < N
    np.testing.assert_allclose(bounded.predictions.probs, whole.predictions.probs, atol=1e-5)


def test_a_stopped_run_goes_on(folder, monkeypatch):
    make_store()
    compute, count = blocks.SmoothedBlock.compute, [0]

    def compute_some(task, nodes):
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        return compute(task, nodes)

    monkeypatch.setattr(blocks.SmoothedBlock, "compute", compute_some)
    options = {"method": "auto", "settings": {"networks": "never"}, "memory": make_memory(9), "out": "run"}
    with pytest.raises(KeyboardInterrupt):
        runs.train("store", assess=False, **options)
    assert len(list((folder / "run.blocks").iterdir())) == 3
    resumed = runs.train("store", assess=False, resume=True, **options)
    after = count[0]
    count[0] = 100
    fresh = runs.train("store", assess=False, **options | {"out": "fresh"})
    assert count[0] - 100 == after - 4 + 3  # all blocks; the resumed run spared those three
    np.testing.assert_array_equal(resumed.predictions.probs, fresh.predictions.probs)
    assert json.loads((folder / "run" / "run.json").read_text())["method"] == "auto"


def test_mistakes_are_one_line(folder):
    make_store()
    with pytest.raises(ConfigError, match="are for the method 'auto', not 'pi-gnn'"):
        runs.train("store", "pi-gnn", memory=10**9)
    with pytest.raises(ConfigError, match="are for graph stores; make one with pignn convert"):
        runs.train("csbm", noise="symmetric", rate=0.2, ray="auto")
    with pytest.raises(ConfigError, match="one column of 300 nodes needs"):
        runs.train("store", memory=1000)
    model = runs.train("store", "pi-gnn", settings={"epochs": 1, "warmup": 0, "selection": "last"}, assess=False).model
    with pytest.raises(ConfigError, match="are for the method 'auto', not 'pi-gnn'"):
        runs.predict(model, "store", memory=10**9)
    with pytest.raises(ConfigError, match="--resume goes on with"):
        runs.predict(model, "store", resume=True)
