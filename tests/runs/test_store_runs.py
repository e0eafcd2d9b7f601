"""Audits, models and predictions are the same from a graph store as from the tables that it was made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pignn
from pignn import graphs, runs


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = graphs.csbm(num_nodes=300, num_classes=3, num_features=8, seed=1)
    names = np.array([f"node {i}" for i in np.random.default_rng(0).permutation(300)])
    given = pignn.corrupt(data, "symmetric", 0.2, splits=("all",)).y.numpy()
    nodes = pd.DataFrame(data.x.numpy()).add_prefix("x").assign(paper=names, topic=np.array(["a", "b", "c"])[given])
    nodes.loc[::5, "topic"] = None
    nodes.to_csv("nodes.csv", index=False)
    pd.DataFrame(names[data.edge_index.T.numpy()], columns=["source", "target"]).to_csv("edges.csv", index=False)
    options = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "topic", "id": "paper"}
    graphs.convert("store", **options)
    return options


def test_an_audit_finds_the_same(tables):
    runs.audit("store", warn=False, out="from-store")
    runs.audit(warn=False, out="from-tables", **tables)
    stored, read = (pd.read_csv(f"{name}/suspects.csv") for name in ("from-store", "from-tables"))
    pd.testing.assert_frame_equal(stored, read, rtol=0, atol=0)
    assert stored["node"].str.startswith("node ").all()


@pytest.mark.parametrize("method", ["pi-gnn", None])
def test_a_model_learns_and_predicts_the_same(tables, method):
    settings = {"epochs": 5, "warmup": 1, "selection": "last"} if method else {}
    runs.train("store", method, settings=settings, out="from-store", assess=False)
    runs.train(method=method, settings=settings, out="from-tables", assess=False, **tables)
    stored = runs.predict("from-store", "store", out="stored.csv")
    read = runs.predict("from-tables", out="read.csv", **tables)
    pd.testing.assert_frame_equal(pd.read_csv("stored.csv"), pd.read_csv("read.csv"))
    assert stored.table["node"][0] == str(read.data.node_id[0])
    assert (stored.summary.edges, stored.summary.agreement) == (read.summary.edges, read.summary.agreement)
