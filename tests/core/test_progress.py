"""Every stage tells how far it is, and how long it will take: to a function here, to people on a terminal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pignn
from pignn import graphs, runs
from pignn.core.progress import progress_context, stage_context, track


def check_stages(calls):
    """Each stage begins at 0, does not go back, and ends at its total; the time left is known in between."""
    stages = {}
    for call in calls:
        stages.setdefault(call.stage, []).append(call)
    for name, of_stage in stages.items():
        done = [call.done for call in of_stage if call is not None]
        assert done[0] == 0, name
        assert of_stage[0].seconds_left is None
        assert of_stage[-1].done == of_stage[-1].total, name
        assert all(call.seconds_left >= 0 for call in of_stage if call.done)
    return list(stages)


def test_a_function_is_told_every_step():
    calls = []
    with progress_context(calls.append):
        assert list(track(range(3), "counting")) == [0, 1, 2]
        with stage_context("one step"), progress_context(False):
            list(track(range(3), "hidden"))
    assert [(call.stage, call.done, call.total) for call in calls] == [
        *(("counting", done, 3) for done in range(4)),
        *(("one step", done, 1) for done in range(2)),
    ]
    assert check_stages(calls) == ["counting", "one step"]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and what its conversion told."""
    monkeypatch.chdir(tmp_path)
    data = graphs.csbm(num_nodes=300, num_classes=3, num_features=8, seed=1)
    names = np.array([f"node {i}" for i in range(300)])
    pd.DataFrame(names[data.edge_index.T.numpy()], columns=["source", "target"]).to_csv("edges.csv", index=False)
    nodes = pd.DataFrame(data.x.numpy()).add_prefix("x").assign(id=names, topic=data.y.numpy())
    nodes.to_csv("nodes.csv", index=False)
    calls = []
    pignn.graphs.convert("store", edges="edges.csv", nodes="nodes.csv", label="topic", progress=calls.append)
    return calls


def test_conversions_audits_trainings_and_predictions_tell_their_stages(store):
    assert check_stages(store) == ["nodes", "ids of edges", "edges", "sorting", "features"]
    calls = []
    runs.audit("store", warn=False, memory=200_000, progress=calls.append, out="audit")
    stages = check_stages(calls)
    assert {"reading", "smoothing", "audit: views", "audit: views with noise", "audit: noise", "writing"} <= {*stages}
    calls = []
    settings = {"networks": "never"}
    run = runs.train("store", "auto", settings=settings, memory=200_000, assess=False, progress=calls.append)
    assert {"smoothed", "neighbors 1", "auto: methods tried", "predicting"} <= {*check_stages(calls)}
    calls = []
    runs.predict(run.model, "store", memory=200_000, progress=calls.append)
    assert "predicting" in check_stages(calls)
    calls = []
    runs.train("store", "GCN", settings={"epochs": 3, "selection": "last"}, assess=False, progress=calls.append)
    assert calls[-1][:3] == ("vanilla", 3, 3)
