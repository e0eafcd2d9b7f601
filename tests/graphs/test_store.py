"""Stores: what goes in comes out, whatever the chunks; what is wrong is one line; what is half is not there."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import pignn
from pignn.core.errors import ConfigError, DataError, OutputError, PignnWarning
from pignn.graphs import (
    compute_graph_statistics,
    convert,
    copy_checked_graph,
    has_csr_edges,
    open_graph_store,
    open_graph_store_with_masks,
    simplify_edges,
)

N = 12
EDGES = np.array([[0, 1], [1, 0], [1, 2], [1, 2], [3, 3], [5, 4], [11, 0]])


def edge_index(data):
    row = torch.repeat_interleave(torch.arange(len(data.crow) - 1), data.crow.diff())
    return torch.stack([row, data.col.long()])


def same_graph(data, edges, nodes, weight=None):
    """Exactly what `simplify_edges` makes of the list."""
    wanted = simplify_edges(torch.from_numpy(np.asarray(edges).reshape(-1, 2).T.copy()), nodes, weight)
    assert torch.equal(edge_index(data), wanted.edge_index)
    assert data.crow.dtype == torch.int64
    assert data.col.dtype == torch.int32
    if weight is None:
        assert "edge_weight" not in data
    else:
        assert torch.equal(data.edge_weight, wanted.edge_weight)
    return wanted.notes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where tests work: names in messages are short, and nothing is left unnoticed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def files(folder):
    """edges.csv, x.npy and y.npy of a small graph."""
    pd.DataFrame(EDGES, columns=["source", "target"]).to_csv("edges.csv", index=False)
    np.save("x.npy", np.arange(2.0 * N).reshape(N, 2))
    np.save("y.npy", np.arange(N) % 3 - 1)
    return folder


def fails(kind, *words, out="out", **arguments):
    before = sorted(os.listdir())
    with pytest.raises(kind) as caught:
        convert(out, **({"edges": "edges.csv", "features": "x.npy"} | arguments))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message
    assert sorted(os.listdir()) == before


# ---- the same graph, whatever the chunks ----


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=st.integers(1, 40),
    rows=st.integers(0, 120),
    weighted=st.booleans(),
    memory=st.sampled_from([1, 3000, 1 << 20]),
    seed=st.integers(0, 99),
    hub=st.booleans(),
)
def test_a_store_holds_what_simplify_edges_gives_whatever_the_memory(
    tmp_path_factory, nodes, rows, weighted, memory, seed, hub
):
    random = np.random.default_rng(seed)
    edges = random.integers(0, nodes, (rows, 2)) // (1 + (9 if hub else 0))
    place = tmp_path_factory.mktemp("round")
    weight = torch.from_numpy(random.random(rows).astype(np.float32)) if weighted else None
    source = [edges[: rows // 2], edges[rows // 2 :]]
    if weighted and rows:
        source = place / "edges.csv"
        table = pd.DataFrame(edges, columns=["source", "target"])
        table.assign(weight=weight.numpy().astype(float)).to_csv(source, index=False)
    done = convert(place / "out", edges=source, num_nodes=nodes, memory=memory)
    data = open_graph_store(place / "out")
    notes = same_graph(data, edges, nodes, weight if done.weighted else None)
    assert set(notes) <= set(done.notes)
    assert done.edges * 2 == len(data.col)
    assert done.rows_read == rows
    assert data.num_nodes == nodes


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_features_labels_and_masks_come_back(files, memory):
    nodes = pd.DataFrame(
        {
            "id": range(N),
            "age": np.arange(N) * 0.5,
            "label": ["dog", "cat", "", "-1", "bird", "cat"] * 2,
            "in_train": [1, 0] * 6,
            "in_test": [False, True] * 6,
            "old": [True, False] * 6,
        }
    )
    nodes.to_csv("nodes.csv", index=False)
    done = convert(
        "out", edges="edges.csv", nodes="nodes.csv", label="label", train="in_train", test="in_test", memory=memory
    )
    data = open_graph_store("out", verify=True)
    same_graph(data, EDGES, N)
    if memory > 1:  # with less, scales come from some of the rows
        assert torch.equal(data.x, pignn.read_graph("nodes.csv", "edges.csv", label="label", features=["age", "old"]).x)
    assert data.x.dtype == torch.float32
    assert data.class_names == ["bird", "cat", "dog"]
    assert data.y.tolist() == [2, 1, -1, -1, 0, 1] * 2
    assert data.train_mask.tolist() == [True, False] * 6
    assert data.test_mask.tolist() == [False, True] * 6
    assert "val_mask" not in data
    assert "edge_index" not in data
    assert (data.name, data.checked, data.num_nodes) == ("out", True, N)
    assert (done.nodes, done.edges, done.classes, done.labeled) == (N, 4, 3, 8)
    assert done.features == data.num_node_features
    assert done.notes == ["dropped 1 self-loop", "merged 1 duplicate edge", "made 3 one-way edges two-way"]
    assert done.bytes == sum(path.stat().st_size for path in (files / "out").iterdir() if path.suffix != ".json")
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv", "out", "x.npy", "y.npy"]


def test_arrays_and_npy_files_give_the_same_store(files):
    """.npy files, arrays, integers and floats as they come."""
    np.save("edges.npy", EDGES.T.astype(np.int32))
    mask = np.arange(N) < 6
    np.save("train.npy", mask)
    convert("a", edges="edges.npy", features="x.npy", labels="y.npy", train="train.npy")
    x, y = np.load("x.npy").astype(np.float16), np.load("y.npy")
    convert("b", edges=[EDGES], features=np.asfortranarray(x), labels=np.where(y < 0, np.nan, y), train=mask)
    a, b = open_graph_store("a"), open_graph_store("b")
    for key in ("x", "crow", "col", "y", "train_mask"):
        assert torch.equal(a[key], b[key]), key
    assert a.digest == b.digest
    assert a.y.tolist() == y.tolist()
    assert a.class_names == ["0", "1"]
    convert("c", edges=[EDGES], features=x + 1, labels=y)
    assert open_graph_store("c").digest != a.digest


def test_labels_as_names_in_an_array(files):
    convert("out", edges=[EDGES], labels=np.array(["b", "a", "", "b"] * 3))
    data = open_graph_store("out")
    assert (data.class_names, data.y.tolist()) == (["a", "b"], [1, 0, -1, 1] * 3)
    assert (data.get("x"), data.num_nodes) == (None, N)


def test_a_table_without_edges_gives_an_empty_store(files):
    (files / "edges.csv").write_text("source,target\n")
    convert("out", edges="edges.csv", features="x.npy")
    data = open_graph_store("out")
    assert data.crow.tolist() == [0] * (N + 1)
    assert len(data.col) == 0


# ---- text ----


TEXTS = {
    "plain.csv": ("0,1\n1,2\n", None),
    "header.csv": ("source,target\n0,1\n1,2\n", None),
    "other names.csv": ("when,to,from\n9,1,0\n9,2,1\n", "column 'when' is not used"),
    "blanks.csv": ("\n\nsource, target\n\n0, 1\n1, 2\n\n", None),
    "windows.csv": ("\ufeffsource,target\r\n0,1\r\n1,2\r\n", None),
    "mark.csv": ("\ufeff0,1\n1,2\n", None),
    "floats.csv": ("0.0,1.0\n1.0,2.0", None),
    "tabs.tsv": ("# from snap\n# a\tb\n0\t1\n1\t2\n", None),
    "quoted.csv": ('"a","b"\n"0","1"\n"1","2"\n', None),
    "semicolons.csv": ("a;b\n0;1\n1;2\n", "separated by semicolons, with a header"),
    "spaces.txt": ("0 1\n1  2\n", "separated by spaces, without a header"),
    "tabs.edges": ("0\t1\n1\t2\n", "separated by tabs, without a header"),
    "bars": ("0|1\n1|2", "separated by bars"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_files_of_every_layout_are_read(folder, name):
    content, note = TEXTS[name]
    (folder / name).write_text(content, encoding="utf-8", newline="")
    if note is None:
        done = convert("out", edges=name, num_nodes=3)
    else:
        with pytest.warns(PignnWarning, match=note):
            done = convert("out", edges=name, num_nodes=3)
    same_graph(open_graph_store("out"), [[0, 1], [1, 2]], 3)
    assert (done.rows_read, done.edges) == (2, 2)


def test_gzipped_text_is_read(folder):
    (folder / "edges.tsv.gz").write_bytes(gzip.compress(b"0\t1\n1\t2\n"))
    convert("out", edges="edges.tsv.gz", num_nodes=3)
    same_graph(open_graph_store("out"), [[0, 1], [1, 2]], 3)


@pytest.mark.parametrize(
    ("content", "options", "weight"),
    [
        ("0,1,0.5\n1,0,0.25\n1,2,3\n", {}, [0.5, 0.5, 3, 3]),
        ("0,1,0.5\n1,0,0.25\n1,2,3\n", {"weight": "none"}, None),
        ("0,1,9,0.5\n1,2,9,0.25\n", {"weight": "none"}, None),
        ("0,1,9,0.5\n1,2,9,0.25\n", {"weight": "3"}, [0.5, 0.5, 0.25, 0.25]),
        ("weight,source,target\n0.5,0,1\n1,0,1\n0,1,2\n", {}, [1.5, 1.5, 0, 0]),
        ("a,b,w\n0,1,2\n1,2,2\n", {"weight": "none"}, None),
        ("a,b,w\n1,0,2\n2,1,4\n", {"weight": "w", "source": "b", "target": "a"}, [2, 2, 4, 4]),
    ],
)
def test_weight_columns_are_chosen_by_name_or_position(folder, content, options, weight):
    (folder / "edges.csv").write_text(content)
    done = convert("out", edges="edges.csv", num_nodes=3, **options)
    data = open_graph_store("out")
    assert edge_index(data).tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert done.weighted is (weight is not None)
    assert (None if data.get("edge_weight") is None else data.edge_weight.tolist()) == weight


@pytest.mark.parametrize(("content", "name"), [("0,1,9,0.5\n1,2,9,0.25\n", "2"), ("a,b,w\n0,1,2\n1,2,2\n", "w")])
def test_a_column_that_might_be_weights_is_named(folder, content, name):
    (folder / "edges.csv").write_text(content)
    with pytest.warns(PignnWarning, match=f"edges.csv: column '{name}' is not used; .* --weight"):
        assert not convert("out", edges="edges.csv", num_nodes=3).weighted


def test_features_may_be_named_by_numbers(files):
    table = pd.DataFrame(np.load("x.npy")).assign(label="a")
    table.to_csv("nodes.csv")  # pandas numbers the rows in a column without a name
    convert("out", edges="edges.csv", nodes="nodes.csv", label="label")
    read = pignn.read_graph("nodes.csv", "edges.csv", label="label", features=["0", "1"])
    assert torch.equal(open_graph_store("out").x, read.x)


def test_columns_are_chosen_by_name_or_pattern(files):
    part = np.arange(N) / N
    table = pd.DataFrame({"name": "a", "x1": part, "x2": part**2, "y": part**3})
    table.to_csv("nodes.csv", index=False)
    convert("out", edges="edges.csv", nodes="nodes.csv", columns=["y", "x*"])
    assert np.allclose(open_graph_store("out").x, table[["y", "x1", "x2"]])
    columns = {"nodes": "nodes.csv", "features": None, "out": "new"}
    fails(ConfigError, "'z'", **columns | {"columns": ["z"]})
    fails(ConfigError, "column 'y' is the label, not a feature", **columns | {"columns": ["y"], "label": "y"})
    fails(ConfigError, "features are given twice", **columns | {"columns": ["y"], "features": "x.npy"})


def test_parquet(files):
    pytest.importorskip("pyarrow")
    weight = np.arange(1, len(EDGES) + 1, dtype=np.float32)
    pd.DataFrame(EDGES, columns=["source", "target"]).assign(weight=weight).to_parquet("edges.parquet")
    label = pd.Series(["b", "a", None] * 4, dtype="category")
    pd.DataFrame({"x": np.arange(N) / N, "label": label, "train": [True, False] * 6}).to_parquet("nodes.parquet")
    convert("out", edges="edges.parquet", nodes="nodes.parquet", label="label", train="train", memory=500)
    data = open_graph_store("out")
    same_graph(data, EDGES, N, torch.from_numpy(weight))
    assert data.y.tolist() == [1, 0, -1] * 4
    assert (data.x[:, 0].diff() > 0).all()
    assert data.train_mask.tolist() == [True, False] * 6
    (files / "cut.parquet").write_bytes((files / "edges.parquet").read_bytes()[:-9])
    fails(DataError, "cannot read cut.parquet", edges="cut.parquet", out="new")
    pd.DataFrame({"a": [0, 99], "b": [1, 1]}).to_parquet("bad.parquet")
    fails(DataError, "bad.parquet, row 2: node '99' is out of range", edges="bad.parquet", out="new")


def test_parquet_is_read_without_pyarrow(files, monkeypatch):
    pd.DataFrame(EDGES, columns=["source", "target"]).to_parquet("edges.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    convert("out", edges="edges.parquet", num_nodes=N)
    same_graph(open_graph_store("out"), EDGES, N)
    (files / "edges.parquet").write_bytes(b"")
    fails(DataError, "cannot read edges.parquet: ", edges="edges.parquet", out="new")


# ---- what is wrong is one line ----


BAD_EDGES = {
    "0,1\n1,12\n": "edges.csv, row 2: node '12' is out of range; nodes are numbered 0 to 11",
    "a,b\n0,1\n-1,1\n": "row 3: node '-1' is out of range",
    "0,99999999999999999999999\n": "row 1: node",
    "0,1\n1,x\n": "row 2: node 'x' is not a whole number",
    "0,x\n1,2\n": "row 1: node 'x' is not a whole number",
    "0,1\n1,1.5\n": "row 2: node '1.5' is not a whole number",
    "0,1\n1,\n": "row 2: node empty is not a whole number",
    "0,1\n1\n": "row 2: 1 column, but 2 in the first row; every row needs the same columns",
    "a,b\n0,1\n1\n": "row 3: 1 column, but 2 in the header; every row needs the same columns",
    "0,1\n1,2,3\n": "row 2: 3 columns, but 2 in the first row; every row needs the same columns",
    "a,b\n0,1\n1,2,3\n": "row 3: 3 columns, but 2 in the header; every row needs the same columns",
    "a,b\n0\n": "row 2: 1 column, but 2 in the header; every row needs the same columns",
    "a,b\n0\n0,1\n": "row 2: 1 column, but 2 in the header; every row needs the same columns",
    "a,b\n\n0,1,2\n0,1\n": "row 2: 3 columns, but 2 in the header; every row needs the same columns",
    "a,a\n0,1\n": "two columns named 'a'",
    "0,True\n": "row 1: node 'True' is not a whole number",
    "0,1,-2\n": "row 1: a weight must be finite and not negative, not '-2'",
    "0,1,2\n0,2,inf\n": "row 2: a weight",
    "0,1,2\n0,2,3e38\n": "row 2: a weight must be below 1e+18, not '3e+38'",
    "0,1,2\n0,2,\n": "row 2: a weight",
    "0\n1\n": "one column",
    "": "edges.csv is empty",
    "\n\n": "edges.csv is empty",
    "# nothing\n": "edges.csv is empty",
    '0,1\n"1,2\n': "cannot read edges.csv",
}


@pytest.mark.parametrize("content", BAD_EDGES)
def test_bad_edges(files, content):
    (files / "edges.csv").write_text(content)
    fails(DataError, BAD_EDGES[content])


def test_row_numbers_do_not_depend_on_chunks(files):
    (files / "edges.csv").write_text("0,1\n" * 500 + "0,77\n")
    fails(DataError, "row 501: node '77'", memory=1)


@pytest.mark.parametrize("name", ["edges.csv", "edges.csv.gz", "x.npy"])
def test_random_bytes_are_refused_in_one_line(files, name):
    (files / name).write_bytes(np.random.default_rng(0).bytes(4000))
    fails(DataError, f"cannot read {name}", edges=name if name.startswith("edges") else "edges.csv")


def test_a_truncated_gz_file_is_refused(files):
    packed = gzip.compress(np.random.default_rng(0).integers(0, 9, 9000).astype("S1").tobytes())
    (files / "edges.csv.gz").write_bytes(packed[:-2000])
    fails(DataError, "cannot read edges.csv.gz", edges="edges.csv.gz")


def table(**columns):
    return pd.DataFrame({"id": range(N), "x": 1.0} | columns)


BAD_NODES = {
    "from one": (table(id=range(1, N + 1)), {}, "3 of 7 edges name 1 node that nodes.csv, column 'id' does not have"),
    "twice": (table(id=[0, 0, *range(2, N)]), {}, "1 id given to several nodes: '0' (2)"),
    "no id": (table(id=["a", None, *"cdefghijkl"]), {}, "nodes.csv, column 'id': 1 row without an id, first row 3"),
    "no such id": (table(), {"id": "paper"}, "unknown column of nodes.csv 'paper'"),
    "mask": (table(train=[0, 2] * 6), {"train": "train"}, "column 'train': a mask is 0 or 1, not '2' (node 1)"),
    "no label": (table(label=-1), {"label": "label"}, "no label at all"),
    "nameless": (table(), {"label": "lable"}, "unknown column of nodes.csv 'lable'"),
    "number of nodes": (table(), {"num_nodes": 13}, "nodes.csv has 12 nodes, num_nodes has 13"),
    "number of labels": (table(), {"labels": np.zeros(7, int)}, "nodes.csv has 12 nodes, labels has 7"),
}


@pytest.mark.parametrize("name", BAD_NODES)
def test_bad_nodes(files, name):
    nodes, options, said = BAD_NODES[name]
    nodes.to_csv("nodes.csv", index=False)
    fails(pignn.PignnError, said, nodes="nodes.csv", features=None, **options)


def test_bad_node_files(files):
    for content, said in {"": "is empty", "1,2\n3,4\n": "needs a header", "a,b\n": "has no nodes"}.items():
        (files / "nodes.csv").write_text(content)
        fails(DataError, f"nodes.csv {said}", nodes="nodes.csv", features=None)
    pd.DataFrame({"label": [f"n{i}" for i in range(10_001)]}).to_csv("many.csv", index=False)
    fails(DataError, "is it the label?", nodes="many.csv", label="label")


X = np.ones((N, 3))
BAD_ARRAYS = {
    "NaN": ({"features": np.where(np.arange(3 * N).reshape(N, 3) == 22, np.nan, X)}, "node 7, column 1"),
    "flat": ({"features": np.ones(N)}, "[nodes, features]"),
    "empty": ({"features": np.ones((0, 3))}, "has no nodes"),
    "narrow": ({"features": np.ones((N, 0))}, "no columns"),
    "words": ({"features": np.full((N, 2), "a")}, "must be numbers"),
    "wide labels": ({"features": X, "labels": np.zeros((N, 2), int)}, "one label per node"),
    "short labels": ({"features": X, "labels": np.zeros(3, int)}, "features has 12 nodes, labels has 3"),
    "short mask": ({"features": X, "train": np.ones(3, bool)}, "features has 12 nodes, train has 3"),
    "odd mask": ({"features": X, "train": np.full(N, 3)}, "a mask is 0 or 1"),
    "wide edges": ({"features": X, "edges": [np.zeros((4, 3), int)]}, "[n, 2]"),
    "fractions": ({"features": X, "edges": [np.full((4, 2), 0.5)]}, "row 1: node '0.5' is not a whole number"),
    "pickled": ({"features": "pickled.npy"}, "pickled"),
    "text": ({"features": "edges.csv"}, "expected a .npy file"),
    "absent": ({"features": "absent.npy"}, "absent.npy"),
    "absent edges": ({"edges": "absent.csv"}, "absent.csv: no such file"),
    "absent nodes": ({"nodes": "absent.csv"}, "absent.csv: no such file"),
    "a folder": ({"edges": "."}, "it is a folder"),
    "nothing": ({"features": None}, "how many nodes are there?"),
    "twice": ({"labels": "y.npy", "label": "y", "nodes": "nodes.csv"}, "given twice"),
    "no node file": ({"label": "y"}, "label names a column of a node file"),
    "no memory": ({"memory": 0}, "memory must be"),
    "column": ({"source": "from"}, "unknown column of edges.csv 'from'"),
    "one column twice": ({"source": "target"}, "three columns"),
    "delimiter": ({"delimiter": "::"}, "one character"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arguments(files, name):
    np.save("pickled.npy", np.array([{}] * 3), allow_pickle=True)
    arguments, said = BAD_ARRAYS[name]
    fails(pignn.PignnError, said, **arguments)


# ---- places ----


def test_an_existing_folder_is_replaced_only_by_force(files):
    convert("out", edges="edges.csv", features="x.npy")
    fails(OutputError, "--force")
    convert("out", edges=[EDGES[:1]], features="x.npy", force=True)
    assert len(open_graph_store("out").col) == 2
    (files / "out" / "mine.txt").touch()
    fails(OutputError, "mine.txt", force=True)
    fails(OutputError, "a file of that name", out="x.npy", force=True)
    (files / "empty").mkdir()
    convert("empty", edges="edges.csv", features="x.npy")
    convert("new/below", edges="edges.csv", features="x.npy")
    assert len(open_graph_store("new/below").x) == N


@pytest.mark.parametrize("out", ["x.npy/below", "/proc/nowhere/store", "x" * 300])
def test_an_unwritable_folder_is_refused(files, out):
    fails(OutputError, f"cannot write {out}", out=out)


def test_a_failed_conversion_keeps_the_store_that_was_there(files):
    convert("out", edges="edges.csv", features="x.npy")
    before = {path.name: path.read_bytes() for path in (files / "out").iterdir()}
    fails(DataError, "out of range", edges=[np.array([[0, 99]])], force=True)
    assert {path.name: path.read_bytes() for path in (files / "out").iterdir()} == before


def test_a_full_disk_is_one_line(files):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    edges = np.random.default_rng(0).integers(0, 500, (2000, 2))
    x, y = np.ones((500, 1), np.float32), np.arange(500) % 2
    try:
        for size in (100, 3000, 4004, 10_000):  # too small for x, labels, crow, col
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            fails(OutputError, "cannot write out: File too large; make room", edges=[edges], features=x, labels=y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    convert("out", edges=[edges], features=x, labels=y)


KILLED = """
import sys, time
import numpy as np
from pignn.graphs import convert

def edges():
    for i in range(50):
        yield np.random.default_rng(i).integers(0, 1000, (1000, 2))
    print("halfway", flush=True)
    time.sleep(60)

convert("out", edges=edges(), features=np.ones((1000, 2)), force=True)
"""


def test_a_killed_conversion_leaves_nothing_that_opens(files):
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "halfway\n"
        (left,) = files.glob(".out.unfinished-*")
        convert("out", edges="edges.csv", features="x.npy")  # somebody who is alive is left alone
        assert left.is_dir()
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert (left / "x.f32").exists()
    with pytest.raises(DataError, match="not finished"):
        open_graph_store(left)
    assert len(open_graph_store("out").x) == N
    convert("out", edges="edges.csv", features="x.npy", force=True)
    assert sorted(os.listdir()) == ["edges.csv", "out", "x.npy", "y.npy"]


# ---- stores that are damaged ----


@pytest.fixture
def store(files):
    convert("out", edges="edges.csv", features="x.npy", labels="y.npy")
    return files / "out"


def refuses(*words, **options):
    with pytest.raises(DataError) as caught:
        open_graph_store("out", **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(("convert again", "make one with pignn convert"))
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("file", ["crow.i64", "col.i32", "x.f32", "y.i64"])
def test_a_file_that_is_damaged(store, file):
    content = (store / file).read_bytes()
    for other in (content[:-1], content + b"\0", b""):
        (store / file).write_bytes(other)
        refuses(f"store out is damaged: {file} has {len(other)} bytes, {len(content)} expected")
    (store / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refuses(f"the checksum of {file} differs")
    (store / file).unlink()
    refuses(f"{file} is missing")


def test_large_files_are_compared_on_demand(store, monkeypatch):
    monkeypatch.setattr("pignn.graphs.store.store.SMALL_FILE_BYTES", 100)
    content = bytearray((store / "crow.i64").read_bytes())
    content[8] ^= 1
    (store / "crow.i64").write_bytes(content)
    open_graph_store("out")
    refuses("the checksum of crow.i64 differs", verify=True)
    content[-8] ^= 1
    (store / "crow.i64").write_bytes(content)
    refuses("crow.i64 goes from 0 to 9, expected 0 to 8")


def test_another_version(store):
    header = json.loads((store / "store.json").read_text())
    (store / "store.json").write_text(json.dumps(header | {"format": 7}))
    refuses("store out has version 7, this pignn reads 1")


def changed(**changes):
    return lambda header: header | changes


@pytest.mark.parametrize(
    "change",
    [
        lambda header: [],
        lambda header: {},
        lambda header: {"format": 1},
        changed(nodes=13),
        changed(nodes=-1),
        changed(nodes="12"),
        changed(entries=None),
        changed(features=0),
        changed(weighted=True),
        changed(files={}),
        changed(files=[]),
        changed(class_names=[1, 2]),
        lambda header: header | {"files": header["files"] | {"../x.npy": {"bytes": 1, "crc32": 1}}},
    ],
)
def test_a_description_that_is_wrong(store, change):
    header = json.loads((store / "store.json").read_text())
    (store / "store.json").write_text(json.dumps(change(header)))
    refuses("store out is damaged")


def test_what_is_no_store(store):
    (store / "store.json").write_bytes(b"\xff{")
    refuses("store.json is not the description")
    (store / "store.json").unlink()
    refuses("out is not a store")
    with pytest.raises(DataError, match="no store at nowhere"):
        open_graph_store("nowhere")
    with pytest.raises(DataError, match=r"no store at x\.npy"):
        open_graph_store("x.npy")


def test_changes_stay_in_memory(store):
    before = (store / "x.f32").read_bytes()
    data = open_graph_store("out")
    data.x[3] = 77
    data.y[:] = 0
    assert (store / "x.f32").read_bytes() == before
    assert open_graph_store("out").x[3].tolist() == [6, 7]


def test_files_larger_than_memory_are_mapped(store):
    header = json.loads((store / "store.json").read_text())
    features = 20_000_000_000
    header["features"] = features
    header["files"]["x.f32"]["bytes"] = 4 * N * features
    (store / "store.json").write_text(json.dumps(header))
    try:
        os.truncate(store / "x.f32", 4 * N * features)  # a hole: it takes no room
    except OSError as error:
        pytest.skip(f"no file of a terabyte here: {error}")
    data = copy_checked_graph(open_graph_store_with_masks("out"))
    assert data.x.shape == (N, features)
    assert data.x[-1, -1] == 0


# ---- a graph like any other ----


def test_check_accepts_a_store_without_copying(store):
    data = open_graph_store_with_masks("out")
    assert has_csr_edges(data)
    again = copy_checked_graph(data)
    assert again.x.data_ptr() == data.x.data_ptr()
    assert again.col.data_ptr() == data.col.data_ptr()
    assert "edge_index" not in again
    data.y = data.y[:-1]
    with pytest.raises(DataError, match="y has shape"):
        copy_checked_graph(data)


def test_check_of_rows_that_come_from_elsewhere():
    x = torch.ones(3, 1)
    crow, col = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 1])
    assert copy_checked_graph(Data(x=x, crow=crow, col=col), needs_labels=False).col.tolist() == [1, 0, 2, 1]
    bad = [
        (crow[:-1], col, "crow has 3 entries"),
        (crow + 1, col, "from 0 to the number of entries"),
        (crow, col[:-1], "from 0 to the number of entries"),
        (torch.tensor([0, 3, 1, 4]), col, "must not decrease"),
        (crow, torch.tensor([1, 0, 3, 1]), "out of range"),
        (crow, torch.tensor([0, 0, 2, 1]), "self-loops"),
        (crow, torch.tensor([1, 2, 0, 1]), "ascend"),
        (crow, col + 0.5, "integers"),
    ]
    for rows, others, said in bad:
        with pytest.raises(DataError, match=said):
            copy_checked_graph(Data(x=x, crow=rows, col=others), needs_labels=False)
    nan = Data(x=x * torch.nan, crow=crow, col=col)
    with pytest.raises(DataError, match="NaN"):
        copy_checked_graph(nan, needs_labels=False)
    nan.checked = True
    copy_checked_graph(nan, needs_labels=False)


def large(**masks):
    random = np.random.default_rng(0)
    y = np.arange(300) % 3
    edges = random.integers(0, 300, (900, 2))
    return convert("out", edges=[edges], features=random.random((300, 4)), labels=y, **masks), edges


def test_masks_are_the_store_s_own_or_drawn(folder):
    large()
    drawn, again, other = (
        open_graph_store_with_masks("out"),
        open_graph_store_with_masks("out"),
        open_graph_store_with_masks("out", split_seed=1),
    )
    assert torch.equal(drawn.train_mask, again.train_mask)
    assert not torch.equal(drawn.train_mask, other.train_mask)
    assert drawn.train_mask.sum() == 60
    with pytest.raises(ConfigError, match="no split of its own"):
        open_graph_store_with_masks("out", split="own")
    with pytest.raises(ConfigError, match="unknown split"):
        open_graph_store_with_masks("out", split="owm")
    (folder / "out").rename("drawn")
    mask = np.arange(300) < 200
    large(train=mask)
    own = open_graph_store_with_masks("out")
    assert own.train_mask.sum() == 200
    assert not own.val_mask.any()
    assert torch.equal(open_graph_store_with_masks("out", split="random").train_mask, drawn.train_mask)


def test_describe_graph_agrees_with_the_graph_in_memory(folder):
    _, edges = large()
    data = open_graph_store_with_masks("out")
    memory = Data(x=data.x, y=data.y, edge_index=torch.from_numpy(edges.T.copy()))
    assert compute_graph_statistics(data) == compute_graph_statistics(memory)
    assert compute_graph_statistics(data)["edges"] == len(data.col) // 2
    convert("bare", edges=[EDGES], num_nodes=N)
    found = compute_graph_statistics(open_graph_store("bare"))
    assert (found["nodes"], found["edges"], found["features"], found["classes"]) == (N, 4, 0, {})
    assert (found["unlabeled"], found["homophily"], found["isolated"], found["components"]) == (N, None, 6, 8)


def test_noise_and_learning_as_on_the_same_graph_in_memory(folder):
    _, edges = large()
    data = pignn.corrupt(open_graph_store_with_masks("out"), "symmetric", 0.4, seed=1)
    simple = simplify_edges(torch.from_numpy(edges.T.copy()), 300).edge_index
    keys = ("x", "y", "y_true", "train_mask", "val_mask", "test_mask", "class_names")
    memory = Data(edge_index=simple, **{key: data[key] for key in keys})
    assert int((data.y >= 0).sum()) == 150
    models = [pignn.PIGNN(epochs=4, warmup=1, seed=0).fit(graph) for graph in (data, memory)]
    assert np.array_equal(models[0].predict_proba(data), models[1].predict_proba(memory))


# ---- memory ----


MEMORY = """
from pignn.graphs import convert, open_graph_store

def most():  # not ru_maxrss: that of the process which started this one counts there too
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

convert("small", edges="small.csv", num_nodes=3)  # everything is imported
start = most()
convert("out", edges="many.csv", features="many.npy", memory=64_000_000)
print(most() - start, len(open_graph_store("out").col))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_stays_within_bounds(folder):
    """Three million edges as text, 42 MB, and 256 MB of features."""
    digits = np.random.default_rng(0).integers(0, 10, (3_000_000, 2, 6), dtype=np.uint8)
    text = np.full((len(digits), 14), ord(","), np.uint8)
    text[:, :6], text[:, 7:13], text[:, 13] = digits[:, 0] + ord("0"), digits[:, 1] + ord("0"), ord("\n")
    (folder / "many.csv").write_bytes(text.tobytes())
    (folder / "small.csv").write_text("0,1\n1,2\n")
    np.save("many.npy", np.ones((1_000_000, 64), np.float32))
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, timeout=100)
    kilobytes, entries = map(int, done.stdout.split())
    low, high = np.sort(digits @ (10 ** np.arange(6)[::-1]), axis=1).T
    keys = np.sort((low * 1_000_000 + high)[low != high])
    assert entries == 2 * (1 + int((np.diff(keys) > 0).sum()))
    assert kilobytes < 200_000


def test_a_store_has_no_directions(files):
    rng = np.random.default_rng(0)
    convert("out", edges=[EDGES], features=rng.random((N, 3)), labels=np.arange(N) % 2)
    data = open_graph_store("out")
    data.train_mask = torch.ones(N, dtype=torch.bool)
    data.val_mask = data.test_mask = torch.zeros(N, dtype=torch.bool)
    with pytest.raises(ConfigError, match="keeps no edge directions"):
        pignn.make("vanilla", directed=True, epochs=2, selection="last").fit(data)
