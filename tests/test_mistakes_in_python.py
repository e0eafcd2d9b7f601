"""Mistakes in Python: each is one of our errors, in one line, with what to do."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Batch, Data, HeteroData

import pignn
from pignn.core.errors import PignnError
from pignn.runs import write_hub_folder
from pignn.training.callbacks import CSVLogger


@pytest.fixture(scope="module")
def graph() -> Data:
    return pignn.load("csbm", num_nodes=60)


def change(graph: Data, **values: object) -> Data:
    copy = graph.clone()
    for name, value in values.items():
        copy[name] = value
    return copy


def fit(data: object, **settings: object) -> object:
    return pignn.make("label-propagation", **settings).fit(data)


FRAME = pd.DataFrame({"id": ["a", "b", "c"], "x": [1, 2, 3], "y": ["p", "q", "p"]})
EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
MISTAKES = {
    "unknown dataset": (lambda g: pignn.load("corra"), "cora"),
    "unknown option": (lambda g: pignn.load("csbm", nodes=5), "num_nodes"),
    "unknown split": (lambda g: pignn.load("csbm", split="mine"), "default"),
    "unknown method": (lambda g: pignn.make("pi-gn"), "pi-gnn"),
    "unknown setting": (lambda g: pignn.make("pi-gnn", epoch=3), "epochs"),
    "two backbones": (lambda g: pignn.make("GCN", backbone="gat"), "give one"),
    "wrong setting": (lambda g: pignn.PIGNN(epochs=0).fit(g), "at least 1"),
    "unknown backbone": (lambda g: pignn.Vanilla(backbone="gnc").fit(g), "gcn"),
    "unknown noise": (lambda g: pignn.corrupt(g, "symetric", 0.1), "symmetric"),
    "noise without rate": (lambda g: pignn.corrupt(g, "pair"), "rate"),
    "rate in percent": (lambda g: pignn.corrupt(g, "pair", 40), "between 0 and 1"),
    "names as labels": (lambda g: fit(change(g, y=np.array(["a", "b"])[g.y.numpy() % 2])), "numpy.unique"),
    "list of graphs": (lambda g: fit([g, g]), "dataset[0]"),
    "batch": (lambda g: fit(Batch.from_data_list([g, g])), "batch.class_names[0]"),
    "heterogeneous": (lambda g: fit(HeteroData()), "to_homogeneous"),
    "no features": (lambda g: fit(Data(edge_index=g.edge_index, y=g.y)), "x"),
    "NaN": (lambda g: fit(change(g, x=g.x * float("nan"))), "x"),
    "too few features": (lambda g: fit(change(g, x=g.x[:5])), "x"),
    "edges out of range": (lambda g: fit(change(g, edge_index=g.edge_index + 1000)), "edge_index"),
    "edges as floats": (lambda g: fit(change(g, edge_index=g.edge_index.float())), "edge_index"),
    "no labels": (lambda g: fit(change(g, y=torch.full_like(g.y, -1))), "label"),
    "no label and no mask": (
        lambda g: fit(Data(x=g.x, edge_index=g.edge_index, y=torch.full_like(g.y, -1))),
        "labels",
    ),
    "mask of another size": (lambda g: fit(change(g, train_mask=g.train_mask[:3])), "train_mask"),
    "no graph": (lambda g: pignn.train(), "nodes="),
    "options beside a graph": (lambda g: pignn.train(g, label="y"), "leave it out"),
    "unknown cleaning": (lambda g: pignn.train(g, clean="remove"), "drop"),
    "audit that is not there": (lambda g: pignn.train(g, audit="nowhere"), "pignn audit"),
    "NetworkX graph": (lambda g: pignn.audit(nx.path_graph(3)), "from_networkx"),
    "table in place of a graph": (lambda g: pignn.train(FRAME, label="y"), "nodes="),
    "name of a dataset": (lambda g: fit("cora"), "pignn.load"),
    "array to audit": (lambda g: pignn.find_label_issues(np.ones(3)), "edge_index="),
    "labels below zero": (lambda g: fit(change(g, y=g.y - 9, class_names=None)), "labels are 0, 1, 2"),
    "setting beside a graph": (lambda g: pignn.train(g, "GCN", epochs=3), "settings="),
    "class as a method": (lambda g: pignn.train(g, pignn.PIGNN), "the class PIGNN"),
    "no name": (lambda g: pignn.make(None), "NoneType"),
    "class to compare": (lambda g: pignn.compare(g, [pignn.PIGNN]), "pignn.make"),
    "one name to compare": (lambda g: pignn.compare(g, "GCN"), "list"),
    "function as a callback": (lambda g: pignn.Vanilla(epochs=1).fit(g, callbacks=[print]), "CSVLogger"),
    "class as a callback": (lambda g: pignn.Vanilla(epochs=1).fit(g, callbacks=[CSVLogger]), "CSVLogger('"),
    "export before fit": (lambda g: pignn.export_network(pignn.PIGNN(), "network.pt2"), "not fitted"),
    "run in place of a model": (lambda g: pignn.predict(pignn.train(g, "prototypes", assess=False), g), "run.save()"),
    "model in place of a run": (lambda g: write_hub_folder(fit(g), "hub"), "pignn.train"),
    "no model": (lambda g: pignn.load_model("nowhere"), "nowhere"),
    "known without tables": (lambda g: pignn.predict(fit(g), g, known=FRAME), "tables"),
    "unknown column": (lambda g: pignn.read_graph(FRAME, EDGES, label="z"), "known"),
    "frame without edges": (lambda g: pignn.read_graph(FRAME, label="y"), "edges"),
    "unknown node": (lambda g: pignn.read_graph(FRAME, EDGES.replace("c", "d"), label="y"), "drop_unknown"),
    "unknown metric": (lambda g: fit(g).score(g, metric="acuracy"), "accuracy"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_advice(graph, name):
    make, word = MISTAKES[name]
    with pytest.raises(PignnError) as caught:
        make(graph)
    assert "\n" not in str(caught.value)
    assert word in str(caught.value)


def test_not_fitted_is_also_the_error_of_scikit_learn(graph):
    with pytest.raises(NotFittedError, match="call fit"):
        pignn.make("vanilla").predict(graph)


@pytest.mark.parametrize("name", ["auto", "label-propagation", "low-density", "vanilla"])
def test_every_method_takes_progress(graph, name):
    settings = {"epochs": 2} if name == "vanilla" else {}
    assert pignn.make(name, **settings).fit(graph, progress=False).predict(graph).shape == (60,)


def test_labels_may_be_booleans(graph):
    model = fit(change(graph, y=graph.y == 0, y_true=None, class_names=None))
    assert model.class_names_ == ["0", "1"]


def test_a_model_is_printed_alike_before_and_after_saving(graph, tmp_path):
    model = pignn.Vanilla(epochs=1).fit(graph)
    model.save(tmp_path / "model")
    assert repr(pignn.load_model(tmp_path / "model")) == repr(model)
