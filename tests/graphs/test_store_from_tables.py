"""A store from tables with ids of any kind holds the same graph as the one that is read into memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import pignn
from pignn.core.errors import DataError
from pignn.graphs import convert, open_graph_store
from pignn.graphs.store import node_table
from pignn.graphs.stored_ids import StoredIds

N = 400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_tables(kind: str = "text", seed: int = 0):
    rng = np.random.default_rng(seed)
    ids = {
        "text": [f"paper {i * 7 % N:03d} ü" for i in range(N)],
        "integer": [10**12 + i * 7 % N for i in range(N)],
        "number": list(range(N)),
    }[kind]
    topic = rng.integers(0, 3, N)
    nodes = pd.DataFrame(
        {
            "paper": ids,
            "year": 1990 + rng.integers(0, 30, N),
            "pages": np.where(rng.random(N) < 0.1, np.nan, rng.lognormal(2, 1, N)),
            "journal": rng.choice(["A", "B", "C"], N),
            "x": topic + rng.standard_normal(N),
            "topic": np.where(rng.random(N) < 0.2, None, np.array(["graphs", "text", "vision"])[topic]),
        }
    )
    a, b = rng.integers(0, N, (2, 2500))
    alike = np.where(rng.random(2500) < 0.8, topic[a] == topic[b], True)
    edges = pd.DataFrame({"from": np.array(ids)[a[alike]], "to": np.array(ids)[b[alike]]})
    return nodes, edges


WRITERS = {
    "csv": lambda frame, name: frame.to_csv(f"{name}.csv", index=False),
    "tsv": lambda frame, name: frame.to_csv(f"{name}.tsv", index=False, sep="\t"),
    "csv.gz": lambda frame, name: frame.to_csv(f"{name}.csv.gz", index=False),
    "jsonl": lambda frame, name: frame.to_json(f"{name}.jsonl", orient="records", lines=True),
    "parquet": lambda frame, name: frame.to_parquet(f"{name}.parquet", index=False),
}


def check_same_graph(store, data):
    pairs = torch.stack([torch.repeat_interleave(torch.arange(N), store.crow.diff()), store.col.long()])
    assert torch.equal(pairs, data.edge_index)
    assert torch.equal(store.x, data.x)
    assert torch.equal(store.y, data.y)
    assert store.class_names == data.class_names
    ids = store.get("node_id")
    assert list(range(N) if ids is None else ids) == [str(i) if ids is not None else i for i in data.node_id.tolist()]


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("kind", ["text", "integer", "number"])
def test_the_same_graph_as_in_memory(folder, suffix, kind):
    nodes, edges = make_tables(kind)
    WRITERS[suffix](nodes, "nodes")
    WRITERS[suffix](edges, "edges")
    files = {"nodes": f"nodes.{suffix}", "edges": f"edges.{suffix}", "label": "topic", "id": "paper"}
    convert("store", **files)
    check_same_graph(open_graph_store("store", verify=True), pignn.read_graph(**files))


def test_many_files_are_one_table(folder):
    nodes, edges = make_tables()
    for name, frame in (("nodes", nodes), ("edges", edges)):
        (folder / name).mkdir()
        for i, start in enumerate(range(0, len(frame), 150)):
            frame.iloc[start : start + 150].to_csv(f"{name}/part-{i:02d}.csv.gz", index=False)
    whole = pignn.read_graph(nodes, edges, label="topic", id="paper")
    options = {"nodes": "nodes", "edges": "edges/part-*.csv.gz", "label": "topic", "id": "paper"}
    convert("store", **options)
    check_same_graph(open_graph_store("store"), whole)
    assert torch.equal(pignn.read_graph(**options).x, whole.x)
    edges.rename(columns={"to": "cited"}).to_csv("edges/part-99.csv.gz", index=False)
    with pytest.raises(DataError, match=r"part-99.csv.gz and .*different columns \(first difference: 'cited'\)"):
        convert("other", **options)
    edges.to_csv("nodes/odd.tsv", index=False)
    with pytest.raises(DataError, match=r"cannot read nodes: it is a folder of several kinds: odd.tsv, part-02.csv.gz"):
        convert("other", **options)


def test_weights_and_little_memory(folder, monkeypatch):
    monkeypatch.setattr(node_table, "MIN_KEPT_ROWS", 30)
    nodes, edges = make_tables()
    edges["weight"] = np.random.default_rng(1).random(len(edges)).round(3)
    edges = pd.concat([edges, edges.iloc[:300], edges.iloc[:200]])
    nodes.to_csv("nodes.csv", index=False)
    edges.to_csv("edges.csv", index=False)
    options = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "topic", "id": "paper"}
    data = pignn.read_graph(**options)
    for memory in (1 << 30, 20_000):
        done = convert("store", **options, memory=memory, force=True)
        store = open_graph_store("store")
        assert torch.allclose(store.edge_weight, data.edge_weight, atol=1e-6)
        assert torch.equal(store.y, data.y)
        assert ("(all)" in done.column_notes) == (memory < 1 << 30)
    assert (store.x - data.x).abs().mean() < 0.2  # scales from some of the rows


def test_unknown_nodes(folder):
    nodes, edges = make_tables()
    nodes.to_csv("nodes.csv", index=False)
    pd.concat([edges, pd.DataFrame({"from": ["x", "x", nodes.paper[0]], "to": ["y", "x", None]})]).to_csv(
        "edges.csv", index=False
    )
    options = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "topic", "id": "paper"}
    with pytest.raises(DataError) as caught:
        convert("store", **options)
    with pytest.raises(DataError) as in_memory:
        pignn.read_graph(**options)
    assert str(caught.value).partition(";")[0] == str(in_memory.value).partition(";")[0]
    assert "--drop-unknown" in str(caught.value)
    done = convert("store", **options, drop_unknown=True)
    assert done.notes[0] == "left out 3 edges to unknown nodes"
    check_same_graph(open_graph_store("store"), pignn.read_graph(**options, drop_unknown=True))


def test_a_header_of_two_known_nodes_is_an_edge(folder):
    nodes, edges = make_tables()
    nodes.to_csv("nodes.csv", index=False)
    edges.to_csv("edges.csv", index=False, header=False)
    options = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "topic", "id": "paper"}
    assert convert("store", **options).rows_read == len(edges)
    check_same_graph(open_graph_store("store"), pignn.read_graph(**options))


def test_a_table_without_features_gets_those_of_the_structure(folder):
    nodes, edges = make_tables()
    options = {"label": "topic", "id": "paper", "edges": "edges.csv", "nodes": "nodes.csv"}
    nodes[["paper", "topic"]].to_csv("nodes.csv", index=False)
    edges.to_csv("edges.csv", index=False)
    convert("store", **options)
    check_same_graph(open_graph_store("store"), pignn.read_graph(**options))


def test_stored_ids():
    texts = ["a", "", "ü€", "long " * 20]
    offsets = np.cumsum([0, *(len(text.encode()) for text in texts)])
    ids = StoredIds(offsets, np.frombuffer("".join(texts).encode(), np.uint8))
    assert (len(ids), list(ids), [ids[i] for i in range(4)]) == (4, texts, texts)
    assert list(StoredIds(np.array([5, -3]))) == ["5", "-3"]
