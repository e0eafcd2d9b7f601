"""Small raw files in the formats of the published ones, and a cache of the test's own."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from pignn.graphs.datasets import cache as store


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, and no PIGNN_DATA."""
    monkeypatch.setenv("PIGNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PIGNN_DATA", raising=False)
    store._dirs_warned_about.clear()
    return tmp_path / "cache"


def labels(nodes: int, classes: int) -> np.ndarray:
    return np.arange(nodes) % classes


def ring(nodes: int) -> np.ndarray:
    """The edges i -> i + 1 of a ring, [nodes, 2]."""
    return np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes], axis=1)


def planetoid(root: Path, name: str = "Cora", *, classes: int = 7, test: int = 10, shift: int = 0) -> Path:
    """ind.<name>.* with 20 training nodes a class, 500 for validation and `test` for testing."""
    train = 20 * classes
    known, nodes = train + 500, train + 500 + test
    one_hot = np.eye(classes, dtype=np.int32)[(labels(nodes, classes) + shift) % classes]
    features = sp.csr_matrix(np.eye(12, dtype=np.float32)[labels(nodes, 12)])
    graph = defaultdict(list, {int(a): [int(b), (int(a) - 1) % nodes] for a, b in ring(nodes)})
    parts = {
        "x": features[:train],
        "tx": features[known:],
        "allx": features[:known],
        "y": one_hot[:train],
        "ty": one_hot[known:],
        "ally": one_hot[:known],
        "graph": graph,
    }
    folder = root / name / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in parts.items():
        (folder / f"ind.{name.lower()}.{part}").write_bytes(pickle.dumps(content, protocol=2))
    (folder / f"ind.{name.lower()}.test.index").write_text("\n".join(map(str, range(known, nodes))) + "\n")
    return folder


def sparse_npz(path: Path, *, nodes: int = 60, classes: int = 4, **extra: np.ndarray) -> Path:
    """Adjacency and attributes as the Amazon and citation graphs have them; a one-way ring."""
    a, b = ring(nodes).T
    adj = sp.csr_matrix((np.ones(nodes, np.float32), (a, b)), shape=(nodes, nodes))
    attr = sp.csr_matrix(np.eye(9, dtype=np.float32)[labels(nodes, 9)])
    arrays = {"labels": labels(nodes, classes), **extra}
    for name, matrix in (("adj", adj), ("attr", attr)):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def actor(root: Path, *, nodes: int = 40) -> Path:
    folder = root / "Actor" / "raw"
    folder.mkdir(parents=True)
    rows = [f"{i}\t{i % 6},{6 + i % 3}\t{i % 5}" for i in range(nodes)]
    (folder / "out1_node_feature_label.txt").write_text("\n".join(["node_id\tfeature\tlabel", *rows, ""]))
    edges = [f"{a}\t{b}" for a, b in ring(nodes)]
    (folder / "out1_graph_edges.txt").write_text("\n".join(["node_id\tnode_id", *edges, ""]))
    part = np.arange(nodes) % 3
    for i in range(10):
        masks = {
            f"{name}_mask": ((part + i) % 3 == j).astype(np.uint8) for j, name in enumerate(("train", "val", "test"))
        }
        np.savez(folder / f"film_split_0.6_0.2_{i}.npz", **masks)
    return folder


def wikics(root: Path, *, nodes: int = 500) -> Path:
    part = (np.arange(nodes)[None] + np.arange(20)[:, None]) % 4
    content = {
        "features": np.eye(11)[labels(nodes, 11)].tolist(),
        "labels": labels(nodes, 10).tolist(),
        "links": [[int(b)] for _, b in ring(nodes)],
        "train_masks": (part == 0).tolist(),
        "val_masks": (part == 1).tolist(),
        "stopping_masks": (part == 2).tolist(),
        "test_mask": (np.arange(nodes) % 5 == 0).tolist(),
    }
    path = root / "WikiCS" / "raw" / "data.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    return path


def heterophilous(root: Path, name: str, *, nodes: int = 40, classes: int = 5, file: str = "") -> Path:
    part = (np.arange(nodes)[None] + np.arange(10)[:, None]) % 3
    path = root / name / f"{file or name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        node_features=np.eye(8, dtype=np.float32)[labels(nodes, 8)],
        node_labels=labels(nodes, classes),
        edges=ring(nodes),
        train_masks=part == 0,
        val_masks=part == 1,
        test_masks=part == 2,
    )
    return path


def chameleon(root: Path, *, nodes: int = 40, name: str = "chameleon") -> Path:
    return heterophilous(root, "chameleon", nodes=nodes, file=name)


def polblogs(root: Path, *, nodes: int = 12, name: str = "blog {}.org", source: str = "Blogarama") -> Path:
    """Blogs in a directed ring; every third one has two labelers, and one edge is there twice."""
    lines = ['Creator "nobody"', "graph [", "  directed 1"]
    for i in range(nodes):
        who = f"{source},LabeledManually" if i % 3 == 0 else source
        lines += ["  node [", f"    id {i + 1}", f'    label "{name.format(i)}"', f"    value {i % 2}"]
        lines += [f'    source "{who}"', "  ]"]
    for a, b in [*ring(nodes), (0, 1)]:
        lines += ["  edge [", f"    source {a + 1}", f"    target {b + 1}", "  ]"]
    path = root / "polblogs" / "polblogs.gml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, "]", ""]))
    return path


def csv_gz(path: Path, rows: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.atleast_2d(rows), delimiter=",", fmt="%.6g")


def ogb(root: Path, name: str = "ogbn-arxiv", *, nodes: int = 80) -> Path:
    folder = root / name.replace("-", "_")
    csv_gz(folder / "raw/edge.csv.gz", ring(nodes))
    csv_gz(folder / "raw/node-feat.csv.gz", np.eye(6)[labels(nodes, 6)] - 0.25)
    csv_gz(folder / "raw/node-label.csv.gz", labels(nodes, 8)[:, None])
    csv_gz(folder / "raw/num-node-list.csv.gz", np.array([[nodes]]))
    csv_gz(folder / "raw/num-edge-list.csv.gz", np.array([[nodes]]))
    split = "time" if name == "ogbn-arxiv" else "sales_ranking"
    for i, part in enumerate(("train", "valid", "test")):
        csv_gz(folder / f"split/{split}/{part}.csv.gz", np.arange(i, nodes, 3)[:, None])
    return folder


def arxiv_structure(root: Path, *, nodes: int = 80) -> Path:
    path = root / "ogbn-arxiv" / "arxiv_structure_labels_split.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    split = {part: np.arange(i, nodes, 3, dtype=np.int32) for i, part in enumerate(("train", "valid", "test"))}
    np.savez(
        path,
        edge_index=ring(nodes).T.astype(np.int32),
        y=labels(nodes, 8).astype(np.int16),
        year=np.full(nodes, 2015, np.int16),
        **split,
    )
    return path


class Write:
    """The writers, for tests."""

    planetoid = staticmethod(planetoid)
    sparse_npz = staticmethod(sparse_npz)
    actor = staticmethod(actor)
    wikics = staticmethod(wikics)
    heterophilous = staticmethod(heterophilous)
    chameleon = staticmethod(chameleon)
    polblogs = staticmethod(polblogs)
    ogb = staticmethod(ogb)
    csv_gz = staticmethod(csv_gz)
    arxiv_structure = staticmethod(arxiv_structure)


@pytest.fixture
def write() -> type[Write]:
    return Write
