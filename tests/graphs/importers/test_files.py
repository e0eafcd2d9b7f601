"""Files that hold a whole graph, and objects; nothing in a file is run."""

from __future__ import annotations

import io
import os
import pickle
import sys
import types
import warnings
import zipfile

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import ToSparseTensor, ToUndirected

import pignn
from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.graphs import from_networkx, from_scipy, read_graph

ENDS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
X = np.arange(10, dtype=np.float32).reshape(5, 2)
Y = np.array([0, 1, -1, 1, 0])
PAIRS = {(0, 1), (1, 2), (2, 3), (3, 4)}


def pairs(data):
    return {tuple(sorted(pair)) for pair in data.edge_index.t().tolist()}


def as_expected(data, names=("0", "1")):
    assert pairs(data) == PAIRS
    assert data.y.tolist() == Y.tolist()
    assert data.x.tolist() == X.tolist()
    assert data.class_names == list(names)
    assert data.train_mask.tolist() == (Y >= 0).tolist()


def adjacency():
    return sp.csr_matrix((np.ones(4), ENDS), shape=(5, 5))


def test_npz_files_are_read(tmp_path):
    np.savez(tmp_path / "g.npz", x=X, y=Y, edge_index=ENDS, class_names=np.array(["u", "v"]))
    as_expected(read_graph(tmp_path / "g.npz"), ("u", "v"))
    np.savez(tmp_path / "g.npz", features=X, labels=Y, edges=ENDS.T)
    as_expected(read_graph(tmp_path / "g.npz"))


def test_npz_with_sparse_matrices(tmp_path):
    adj, attr = adjacency(), sp.csr_matrix(X)
    parts = {f"{name}_{part}": getattr(matrix, part) for name, matrix in (("adj", adj), ("attr", attr))
             for part in ("data", "indices", "indptr", "shape")}  # fmt: skip
    np.savez(tmp_path / "g.npz", labels=Y, **parts)
    as_expected(read_graph(tmp_path / "g.npz"))


def test_npz_of_scipy_and_a_file_of_features(tmp_path):
    sp.save_npz(tmp_path / "adj.npz", adjacency())
    data = read_graph(tmp_path / "adj.npz")
    assert pairs(data) == PAIRS
    assert data.encoder.feature_names[0] == "(structure) degree"
    sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(X))
    assert read_graph(tmp_path / "adj.npz", features=tmp_path / "x.npz").x.tolist() == X.tolist()
    np.save(tmp_path / "x.npy", X)
    assert read_graph(tmp_path / "adj.npz", features=str(tmp_path / "x.npy")).x.tolist() == X.tolist()


def test_masks_and_truth_of_a_file_are_kept(tmp_path):
    train, test = Y >= 0, np.array([0, 0, 1, 0, 0]).astype(bool)
    np.savez(tmp_path / "g.npz", x=X, y=Y, edge_index=ENDS, train_mask=train, test_mask=test, y_true=np.arange(5) % 2)
    data = read_graph(tmp_path / "g.npz")
    assert data.test_mask.tolist() == test.tolist()
    assert data.y_true.tolist() == [0, 1, 0, 1, 0]


def test_weights_and_trust_of_a_file_are_kept(tmp_path):
    weight, trusted = np.array([1, 2, 0, 0.5, 1]), np.array([1, 0, 0, 0, 0])
    np.savez(tmp_path / "g.npz", x=X, y=Y, edge_index=ENDS, label_weight=weight, trusted_mask=trusted)
    data = read_graph(tmp_path / "g.npz")
    assert data.label_weight.tolist() == weight.tolist()
    assert data.trusted_mask.tolist() == trusted.astype(bool).tolist()
    assert data.x.tolist() == X.tolist()
    np.savez(tmp_path / "bare.npz", y=Y, edge_index=ENDS, label_weight=weight, trusted_mask=trusted)
    names = read_graph(tmp_path / "bare.npz").encoder.feature_names
    assert all("structure" in name for name in names), names  # neither is a feature


def test_true_labels_are_of_the_same_classes(tmp_path):
    """Given labels need not begin at 0."""
    y = np.where(Y >= 0, Y + 3, -1)
    np.savez(tmp_path / "g.npz", x=X, y=y, edge_index=ENDS, y_true=np.array([4, 3, 4, -1, 3]))
    data = read_graph(tmp_path / "g.npz")
    assert data.class_names == ["3", "4"]
    assert data.y_true.tolist() == [1, 0, 1, -1, 0]
    np.savez(tmp_path / "g.npz", x=X, y=y, edge_index=ENDS, y_true=np.array([4, 3, 4, 0, 3]))
    with pytest.raises(DataError, match="'y_true' has class 0, which no given label has; save class_names"):
        read_graph(tmp_path / "g.npz")


def test_trust_of_a_file_goes_with_its_labels(tmp_path):
    other, age = np.array(list("ababa")), np.arange(5.0)
    np.savez(tmp_path / "g.npz", y=Y, edge_index=ENDS, trusted_mask=np.eye(5, dtype=bool)[0], other=other, age=age)
    for label in (None, "y"):
        data = read_graph(tmp_path / "g.npz", label=label, features=["age"])
        assert data.trusted_mask.tolist() == [True, False, False, False, False]
    data = read_graph(tmp_path / "g.npz", label="other")
    assert "trusted_mask" not in data
    assert not any("trusted" in name for name in data.encoder.feature_names)


@pytest.mark.parametrize("kind", [str, bool])
def test_given_and_true_labels_are_numbered_alike(tmp_path, kind):
    """Texts are numbered by class_names, where the file has them."""
    truth, names = np.array([0, 1, 0, 1, 1]), np.array(["v", "u", "w"])
    if kind is bool:
        np.savez(tmp_path / "g.npz", x=X, y=truth.astype(bool), edge_index=ENDS, y_true=truth.astype(bool))
    else:
        np.savez(tmp_path / "g.npz", x=X, y=names[truth], edge_index=ENDS, y_true=truth, class_names=names)
    data = read_graph(tmp_path / "g.npz")
    assert data.y.tolist() == data.y_true.tolist() == truth.tolist()
    assert data.class_names == (["0", "1"] if kind is bool else ["v", "u", "w"])


def test_true_labels_beside_labels_of_another_column(tmp_path):
    names, other = np.array(["v", "u"]), np.array(["z", "u", "z", "u", "v"])
    np.savez(tmp_path / "g.npz", x=X, y=Y, edge_index=ENDS, y_true=Y, class_names=names, other=other)
    data = read_graph(tmp_path / "g.npz", label="other")
    assert data.class_names == ["u", "v", "z"]
    assert [data.class_names[i] if i >= 0 else "" for i in data.y_true] == [names[i] if i >= 0 else "" for i in Y]


ODD = {
    "short": ("train_mask", np.ones(4, bool), r"'train_mask' has shape \[4\], but there are 5 nodes"),
    "numbers": ("train_mask", np.arange(5), "must be true or false for each node; from node numbers make one with"),
    "floats": ("val_mask", np.ones(5), "'val_mask' must be true or false"),
    "texts": ("test_mask", np.array(list("abcde")), "'test_mask' must be true or false"),
    "turned": ("test_mask", np.ones((3, 5), bool), r"'test_mask' has shape \[3, 5\]"),
    "no split": ("train_mask", np.ones((5, 0), bool), r"'train_mask' has shape \[5, 0\]"),
    "one": ("train_mask", np.array(True), r"'train_mask' has shape \[\]"),
    "weight": ("label_weight", np.ones(4), r"'label_weight' has shape \[4\]"),
    "weight of texts": ("label_weight", np.array(list("abcde")), "'label_weight' must be numbers"),
    "trust": ("trusted_mask", np.full(5, 2), "'trusted_mask' must be true or false for each node$"),
    "truth": ("y_true", np.array([0, 1, 0, np.nan, 1]), "'y_true': labels not integers"),
    "short truth": ("y_true", np.zeros(4, int), r"'y_true' has shape \[4\]"),
    "half": ("y", np.arange(5) + 0.5, "'y': labels not integers"),
    "infinite": ("y", np.array([0, 1, np.inf, 1, 0]), "'y': labels not integers"),
    "complex": ("y", np.array([0, 1, 1j, 1, 0]), "'y': labels not integers"),
    "negative": ("y", np.array([0, 1, -5, 1, 0]), "'y': labels not integers"),
}


@pytest.mark.parametrize("kind", ODD)
def test_arrays_that_do_not_fit_their_name_are_refused(tmp_path, kind):
    name, value, message = ODD[kind]
    np.savez(tmp_path / "g.npz", **{"x": X, "y": Y, "edge_index": ENDS, name: value})
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("kind", ["data", "dict", "tuple"])
def test_pt_files_are_read(tmp_path, kind):
    data = Data(x=torch.from_numpy(X), y=torch.from_numpy(Y), edge_index=torch.from_numpy(ENDS), class_names=["u", "v"])
    data.node_id = ["a", "b", "c", "d", "e"]
    content = {"data": data, "dict": data.to_dict(), "tuple": (data, None)}[kind]
    torch.save(content, tmp_path / "g.pt")
    read = read_graph(tmp_path / "g.pt")
    as_expected(read, ("u", "v"))
    assert read.node_id.tolist() == list("abcde")


def pyg(**others):
    return Data(x=torch.from_numpy(X), y=torch.from_numpy(Y), edge_index=torch.from_numpy(ENDS), **others)


@pytest.mark.parametrize("names", [["u", "v"], ["v", "u"], ["1", "0"]])
def test_labels_of_named_classes_for_a_trained_model(tmp_path, names):
    """They are positions in the names of the file, whatever the order of the model's."""
    torch.save(pyg(class_names=names, y_true=torch.tensor([0, 1, 1, 1, 0])), tmp_path / "g.pt")
    same = read_graph(tmp_path / "g.pt", class_names=names)
    assert (same.y.tolist(), same.class_names) == (Y.tolist(), names)
    other = read_graph(tmp_path / "g.pt", class_names=["w", names[1], names[0]])
    assert other.y.tolist() == [2, 1, -1, 1, 2]
    assert other.y_true.tolist() == [2, 1, 1, 1, 2]
    torch.save(pyg(class_names=[*names, "not used"]), tmp_path / "g.pt")
    with pytest.warns(PignnWarning, match=f"'y': the model has no class '{names[1]}'; taken for no label"):
        one = read_graph(tmp_path / "g.pt", class_names=[names[0]])
    assert one.y.tolist() == [0, -1, -1, -1, 0]


def test_class_names_of_a_file_are_doubted(tmp_path):
    torch.save(pyg(class_names=["Sport", " sport"]), tmp_path / "g.pt")
    with pytest.warns(PignnWarning, match="the classes 'Sport', ' sport' differ in case or blanks only"):
        read_graph(tmp_path / "g.pt")


class Attribute:
    """Saved as getattr(kind, name), as enums are by Python before 3.11.4."""

    def __init__(self, kind, name):
        self.asks = getattr, (kind, name)

    def __reduce__(self):
        return self.asks


def test_of_getattr_only_what_pyg_keeps_is_read(tmp_path):
    from torch_geometric.data.storage import AttrType

    for kind, name, read in ((AttrType, "NODE", True), (Data, "__init__", False), (AttrType, "__class__", False)):
        data = pyg()
        data.node_attrs()
        data._store.__dict__["_cached_attr"] = {Attribute(kind, name): {"x"}}
        torch.save(data, tmp_path / "g.pt")
        if read:
            as_expected(read_graph(tmp_path / "g.pt"))
        else:
            with pytest.raises(DataError, match=r"g\.pt"):
                read_graph(tmp_path / "g.pt")


def test_pt_after_transforms(tmp_path):
    """PyG keeps which attributes are of nodes, or has the edges in a matrix."""
    asked = pyg()
    asked.node_attrs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's, of sparse tensors
        changed = [asked, ToUndirected()(pyg()), pyg(), ToSparseTensor()(pyg())]
        changed += [ToSparseTensor(layout=torch.sparse_coo)(pyg()), ToSparseTensor()(pyg())]
        changed[-1].adj_t = changed[-1].adj_t.to_sparse_csc()
    changed[2].edge_index = EdgeIndex(changed[2].edge_index)
    safe = set(torch.serialization.get_safe_globals())
    for data in changed:
        torch.save(data, tmp_path / "g.pt")
        as_expected(read_graph(tmp_path / "g.pt"))
    assert set(torch.serialization.get_safe_globals()) == safe
    directed = read_graph(tmp_path / "g.pt", directed=True)
    assert set(zip(*directed.edge_index.tolist(), strict=True)) == PAIRS


def test_pt_with_sparse_features(tmp_path):
    data = pyg()
    data.x = data.x.to_sparse()
    torch.save(data, tmp_path / "g.pt")
    as_expected(read_graph(tmp_path / "g.pt"))


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_an_unused_edge_attr_is_warned_about(tmp_path, shape):
    torch.save(pyg(edge_attr=torch.rand(shape)), tmp_path / "g.pt")
    with pytest.warns(PignnWarning, match="'edge_attr' is not used; if it holds the weights of the edges, save it as"):
        as_expected(read_graph(tmp_path / "g.pt"))
    torch.save(pyg(edge_attr=torch.rand(shape), edge_weight=torch.ones(4)), tmp_path / "g.pt")
    as_expected(read_graph(tmp_path / "g.pt"))
    torch.save(pyg(edge_attr=torch.rand(4, 3)), tmp_path / "g.pt")
    as_expected(read_graph(tmp_path / "g.pt"))


def test_graphs_of_several_kinds(tmp_path):
    data = HeteroData()
    data["paper"].x = torch.from_numpy(X)
    data["paper", "cites", "paper"].edge_index = torch.from_numpy(ENDS)
    torch.save(data, tmp_path / "g.pt")
    with pytest.raises(DataError, match=r"g\.pt is refused: heterogeneous graphs are not supported; save one kind"):
        read_graph(tmp_path / "g.pt")


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_networkx_files(tmp_path, suffix):
    graph = nx.Graph()
    for i, name in enumerate("abcde"):
        graph.add_node(name, age=float(i), topic=["cat", "dog", "", "dog", "cat"][i])
    graph.add_edges_from([("abcde"[a], "abcde"[b]) for a, b in ENDS.T])
    getattr(nx, f"write_{suffix}")(graph, tmp_path / f"g.{suffix}")
    data = read_graph(tmp_path / f"g.{suffix}", label="topic", features="age")
    assert pairs(data) == PAIRS
    assert data.class_names == ["cat", "dog"]
    assert data.y.tolist() == Y.tolist()
    assert data.node_id.tolist() == (list("abcde") if suffix == "graphml" else [0, 1, 2, 3, 4])
    named = read_graph(tmp_path / f"g.{suffix}", label="topic", features="age", id="label") if suffix == "gml" else data
    assert named.node_id.tolist() == list("abcde")


@pytest.mark.parametrize("suffix", ["gml", "graphml"])
def test_names_of_nodes_are_kept(tmp_path, suffix):
    graph = nx.Graph()
    for i, name in enumerate(["Ann", "Bob", "Cem", "Dee"]):
        graph.add_node(i, name=name, kind="uv"[i % 2])
    graph.add_edges_from([(0, 1), (2, 3)])
    getattr(nx, f"write_{suffix}")(graph, tmp_path / f"g.{suffix}")
    data = read_graph(tmp_path / f"g.{suffix}", label="kind")
    assert data.node_name.tolist() == ["Ann", "Bob", "Cem", "Dee"]
    if suffix == "gml":
        named = read_graph(tmp_path / f"g.{suffix}", label="kind", name="label")  # GML's own names
        assert named.node_name.tolist() == ["0", "1", "2", "3"]


def test_networkx_graphs_are_read():
    graph = nx.DiGraph()
    graph.add_node(("a", 1), kind="u", x=[1.0, 2.0])
    graph.add_node("b", kind="v", x=[3.0, 4.0])
    graph.add_node(3, x=[0.0, 0.5])
    graph.add_edge(("a", 1), "b", weight=2.0)
    graph.add_edge("b", 3)
    data = from_networkx(graph, label="kind")
    assert data.node_id.tolist() == ["('a', 1)", "b", "3"]
    assert data.y.tolist() == [0, 1, -1]
    assert data.edge_weight.tolist() == [2.0, 2.0, 1.0, 1.0]
    assert data.encoder.feature_names == ["x[0]", "x[1]"]
    with pytest.raises(ConfigError, match="unexpected keyword argument 'lable'"):
        from_networkx(graph, lable="kind")
    with pytest.raises(DataError, match=r"networkx\.Graph"):
        from_networkx(3)


def test_scipy_matrices_are_read():
    as_expected(from_scipy(adjacency(), Y, X))
    as_expected(from_scipy(adjacency(), Y, sp.csr_matrix(X)))
    names = np.array(["u", "v", None, "v", "u"], dtype=object)
    data = from_scipy(adjacency(), names, ids=list("abcde"), trusted=[1, 0, 0, 0, 0])
    assert data.y.tolist() == Y.tolist()
    assert data.node_id.tolist() == list("abcde")
    assert data.trusted_mask.tolist() == [True, False, False, False, False]
    assert data.x.shape == (5, 9)
    frame = pd.DataFrame({"age": [1, 5, 2, 9, 4], "city": ["A", "B", "A", "A", "B"]})
    assert from_scipy(adjacency(), Y, frame).encoder.feature_names == ["age", "city = A", "city = B"]
    with pytest.raises(DataError, match="labels has 4 values"):
        from_scipy(adjacency(), Y[:4])


def test_what_was_read_can_be_learnt_from(tmp_path):
    graph = pignn.load("csbm", num_nodes=150)
    np.savez(tmp_path / "g.npz", x=graph.x, y=graph.y, edge_index=graph.edge_index)
    data = read_graph(tmp_path / "g.npz", val=0.2)
    model = pignn.PIGNN(epochs=30, warmup=5).fit(data)
    assert (model.predict(data) == graph.y.numpy()).mean() > 0.8


# ---- hostile ----


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/pignn-was-here",)


@pytest.fixture
def unharmed():
    yield
    assert not os.path.exists("/tmp/pignn-was-here")


def test_a_pickle_in_npz(tmp_path, unharmed):
    np.savez(tmp_path / "g.npz", x=X, edge_index=ENDS, y=np.array([Evil()] * 5, dtype=object))
    with pytest.raises(DataError, match="'y' holds pickled Python objects, which are refused"):
        read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("wrap", [lambda evil: evil, lambda evil: {"x": evil}, lambda evil: Data(x=evil)])
def test_a_pickle_in_pt(tmp_path, unharmed, wrap):
    torch.save(wrap(Evil()), tmp_path / "g.pt")
    with pytest.raises(DataError, match=r"g\.pt is refused: it asks for posix\.mkdir"):
        read_graph(tmp_path / "g.pt")


def test_a_bare_pickle_named_pt(tmp_path, unharmed):
    (tmp_path / "g.pt").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DataError, match=r"g\.pt"):
        read_graph(tmp_path / "g.pt")


def test_a_pickle_in_npy(tmp_path, unharmed):
    np.savez(tmp_path / "g.npz", y=Y, edge_index=ENDS)
    np.save(tmp_path / "x.npy", np.array([Evil()] * 5, dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="pickled"):
        read_graph(tmp_path / "g.npz", features=tmp_path / "x.npy")


def test_an_npz_file_that_unpacks_to_terabytes_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "g.npz", "w", zipfile.ZIP_DEFLATED) as file:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 20, 1 << 20)}
        )
        file.writestr("x.npy", head.getvalue() + bytes(1 << 20))
    with pytest.raises(DataError, match=r"g\.npz is damaged"):
        read_graph(tmp_path / "g.npz")


def test_a_tensor_that_claims_more_than_it_holds_is_refused(tmp_path):
    torch.save({"x": torch.zeros(1, 1).expand(1 << 40, 4), "edge_index": torch.from_numpy(ENDS)}, tmp_path / "g.pt")
    with pytest.raises(DataError, match="'x' claims 4,398,046,511,104 values and holds fewer"):
        read_graph(tmp_path / "g.pt")


def test_a_sparse_tensor_that_points_outside(tmp_path):
    crow, col = torch.tensor([0, 1, 2, 2, 2, 2]), torch.tensor([1, 99])
    damaged = torch.sparse_csr_tensor(crow, col, torch.ones(2), (5, 5), check_invariants=False)
    torch.save({"x": torch.from_numpy(X), "adj": damaged}, tmp_path / "g.pt")
    with pytest.raises(DataError, match=r"g\.pt, 'adj': ValueError: indices must be < 5"):
        read_graph(tmp_path / "g.pt")


def test_a_class_of_torch_sparse(tmp_path, monkeypatch):
    module = types.ModuleType("torch_sparse.tensor")
    module.SparseTensor = type("SparseTensor", (), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, "torch_sparse", types.ModuleType("torch_sparse"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    torch.save(Data(x=torch.from_numpy(X), adj_t=module.SparseTensor()), tmp_path / "g.pt")
    with pytest.raises(DataError, match="a SparseTensor of torch_sparse, which is not read; save edge_index instead"):
        read_graph(tmp_path / "g.pt")


def test_entities_in_graphml(tmp_path):
    (tmp_path / "g.graphml").write_text('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><graphml>&b;</graphml>')
    with pytest.raises(DataError, match="declares no entities"):
        read_graph(tmp_path / "g.graphml")


BAD = {
    "no edges": ({"x": X}, "holds no edges"),
    "edges out of range": ({"x": X, "edge_index": ENDS + 3}, "edges go to node 7"),
    "edges below range": ({"x": X, "edge_index": ENDS - 4}, "edges go to node -4"),
    "edges not whole": ({"x": X, "edge_index": ENDS + 0.5}, "whole numbers"),
    "lengths differ": ({"x": X, "y": Y[:4], "edge_index": ENDS}, "numbers of nodes differ: features 5, y 4"),
    "multi-label": ({"x": X, "y": np.eye(5), "edge_index": ENDS}, "multi-label"),
    "how many": ({"edge_index": ENDS}, "how many nodes?"),
    "words as features": ({"x": np.array([["a"]]), "edge_index": ENDS}, "must be numbers"),
    "names too few": ({"x": X, "y": Y, "edge_index": ENDS, "class_names": np.array(["u"])}, "1 class names"),
    "masks of other splits": (
        {"x": X, "y": Y, "edge_index": ENDS, "train_mask": np.ones((5, 3), bool), "val_mask": np.zeros((5, 2), bool)},
        "train_mask has 3 splits and val_mask has 2 splits",
    ),
    "NaN weights": ({"x": X, "y": Y, "edge_index": ENDS, "edge_weight": np.ones(3)}, "one for each of 4 edges"),
    "bad matrix": (
        {f"adj_{part}": np.array(values) for part, values in
         {"data": [1.0, 1.0], "indices": [0, 99], "indptr": [0, 2], "shape": [1, 1]}.items()},
        "sparse matrix is damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_arrays_that_are_no_graph(tmp_path, name):
    arrays, said = BAD[name]
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(DataError) as caught:
        read_graph(tmp_path / "g.npz")
    assert said in str(caught.value)


@pytest.mark.parametrize("suffix", ["npz", "pt", "graphml", "gml"])
@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\0" * 100, b"graph [ node [ id 0 ] edge [ ", b"<graphml>"])
def test_files_that_are_something_else(tmp_path, suffix, content):
    (tmp_path / f"g.{suffix}").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_graph(tmp_path / f"g.{suffix}")
    assert f"g.{suffix}" in str(caught.value)
    assert "\n" not in str(caught.value)
