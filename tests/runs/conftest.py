"""Graphs as a user brings them: an object, files, and a count of inferences."""

from __future__ import annotations

import networkx
import numpy as np
import pandas as pd
import pytest
from torch_geometric.data import Data

import pignn
from pignn.methods import Method


def make_tables(num_nodes=120, seed=0):
    """Papers with two numeric features that tell the topic; every tenth label is wrong, some are missing."""
    rng = np.random.default_rng(seed)
    topic = np.arange(num_nodes) % 3
    given = np.where(rng.random(num_nodes) < 0.1, (topic + 1) % 3, topic)
    names = np.array(["sport", "politics", "science"], dtype=object)
    nodes = pd.DataFrame(
        {
            "paper": [f"p{i}" for i in range(num_nodes)],
            "a": topic + 0.3 * rng.standard_normal(num_nodes),
            "b": (topic == 1) + 0.3 * rng.standard_normal(num_nodes),
            "topic": np.where(rng.random(num_nodes) < 0.1, None, names[given]),
        }
    )
    steps = [(i, (i + step) % num_nodes) for i in range(num_nodes) for step in (3, 6)]
    edges = pd.DataFrame({"source": [f"p{i}" for i, _ in steps], "target": [f"p{j}" for _, j in steps]})
    return nodes, edges


@pytest.fixture
def files(tmp_path, monkeypatch):
    """papers.csv and citations.csv in the working folder, as arguments of the functions of ``pignn.runs``."""
    monkeypatch.chdir(tmp_path)
    nodes, edges = make_tables()
    nodes.to_csv("papers.csv", index=False)
    edges.to_csv("citations.csv", index=False)
    return {"nodes": "papers.csv", "edges": "citations.csv", "id": "paper", "label": "topic"}


@pytest.fixture
def networkx_data() -> Data:
    """The same papers as a NetworkX graph, imported."""
    nodes, edges = make_tables()
    graph = networkx.from_pandas_edgelist(edges)
    networkx.set_node_attributes(graph, nodes.set_index("paper").to_dict("index"))
    return pignn.graphs.from_networkx(graph, label="topic")


@pytest.fixture
def inferences(monkeypatch):
    """The graphs that a fitted method was asked to answer about."""
    answered = []
    predict_logits = Method._check_and_compute_logits

    def count(self, data, nodes=None):
        answered.append(data)
        return predict_logits(self, data, nodes)

    monkeypatch.setattr(Method, "_check_and_compute_logits", count)
    return answered
