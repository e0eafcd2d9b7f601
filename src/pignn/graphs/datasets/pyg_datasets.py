"""Datasets that PyG reads: its own loader classes, run on checked copies of the raw files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from .base import FIRST, OFFICIAL, RawFiles, Root
from .pyg_spec import PyGSpec

if TYPE_CHECKING:
    from torch_geometric.data import Data

_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_SPARSE_PARTS = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, kw_only=True)
class PyGDataset(PyGSpec):
    """A dataset that a class of `torch_geometric.datasets` downloads and reads."""

    def read(self, root: Root, **options: Any) -> Data:
        from .pyg_reader import read_with_pyg

        return read_with_pyg(self, root)


def check_planetoid_file(path: Path, label: str) -> None:
    """Planetoid's files are pickles of arrays and matrices, and a list of test nodes."""
    from ...io.safe_readers import read_integers, read_pickle

    if path.name.endswith(".test.index"):
        nodes = read_integers(path, label)
        features = path.with_name(path.name.replace(".test.index", ".tx"))
        num_rows = read_pickle(features, label.replace(".test.index", ".tx")).shape[0]
        if len(set(nodes.tolist())) != num_rows:
            sizes = f"{len(nodes):,} test nodes, but {num_rows:,} in {features.name}"
            raise DataError(f"{label} is damaged: {sizes}; get the file again")
        return
    content = read_pickle(path, label)
    if path.name.endswith(".graph"):
        if not isinstance(content, dict):
            raise DataError(f"{label} is damaged: it holds no adjacency lists; get the file again")
    elif hasattr(content, "check_format"):
        _check_csr_matrix(content, label)
    elif getattr(content, "ndim", 0) != 2:
        raise DataError(f"{label} is damaged: it holds no matrix; get the file again")


def check_sparse_npz(path: Path, label: str) -> None:
    """Adjacency `adj` and features `attr` as sparse matrices in one .npz file."""
    import scipy.sparse

    from ...io.safe_readers import damaged_file_error, read_npz

    keys = {matrix: [f"{matrix}_{part}" for part in _SPARSE_PARTS] for matrix in ("adj", "attr")}
    arrays = read_npz(path, *keys["adj"], *keys["attr"], "labels", label=label)
    for matrix_keys in keys.values():
        data, indices, indptr, shape = (arrays[key] for key in matrix_keys)
        try:
            matrix = scipy.sparse.csr_matrix((data, indices, indptr), tuple(shape))
        except Exception as error:
            raise damaged_file_error(label, error) from None
        _check_csr_matrix(matrix, label)


def _check_csr_matrix(matrix: Any, label: str) -> None:
    """SciPy trusts the indices of a sparse matrix when it makes a dense one, so they are checked here."""
    from ...io.safe_readers import damaged_file_error

    try:
        matrix.check_format(full_check=True)
    except Exception as error:
        raise damaged_file_error(label, error) from None


def check_actor_file(path: Path, label: str) -> None:
    """Features and labels in one text file, edges in another, splits in .npz files."""
    from ...io.safe_readers import read_npz, read_tsv

    if path.suffix == ".npz":
        read_npz(path, "train_mask", "val_mask", "test_mask", label=label)
        return
    has_features = "feature" in path.name
    rows = read_tsv(path, label, num_columns=3 if has_features else 2)
    # PyG fills labels by node number and leaves the others as they were in memory.
    if has_features and set(rows.iloc[:, 0]) != set(map(str, range(len(rows)))):
        raise DataError(f"{label} is damaged: nodes are not numbered 0 to {len(rows) - 1}; get the file again")


def check_json_file(path: Path, label: str) -> None:
    """Nothing to check: JSON runs no code, and a damaged file fails to parse."""


def _define_planetoid(folder: str, **facts: Any) -> PyGDataset:
    files = tuple(f"raw/ind.{folder.lower()}.{part}" for part in _PLANETOID_PARTS)
    return PyGDataset(
        name=folder.lower(),
        default_split=OFFICIAL,
        raw=RawFiles((folder,), files),
        check_raw_file=check_planetoid_file,
        loader="Planetoid",
        loader_options={"name": folder},
        subfolder=folder,
        kind="citation",
        note="public split",
        source="kimiyoung/planetoid",
        license="MIT",
        **facts,
    )


CORA = _define_planetoid(
    "Cora",
    num_nodes=2708,
    num_edges=10556,
    num_features=1433,
    num_classes=7,
    class_names=(
        *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
        *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
    ),
)
CITESEER = _define_planetoid("CiteSeer", num_nodes=3327, num_edges=9104, num_features=3703, num_classes=6)
PUBMED = _define_planetoid("PubMed", num_nodes=19717, num_edges=88648, num_features=500, num_classes=3)
PHOTO = PyGDataset(
    name="photo",
    num_nodes=7650,
    num_edges=238162,
    num_features=745,
    num_classes=8,
    kind="co-purchase",
    source="shchur/gnn-benchmark",
    license="MIT",
    raw=RawFiles(("Photo",), ("raw/amazon_electronics_photo.npz",)),
    check_raw_file=check_sparse_npz,
    loader="Amazon",
    loader_options={"name": "photo"},
    subfolder="Photo",
)
DBLP = PyGDataset(
    name="dblp",
    num_nodes=17716,
    num_edges=105734,
    num_features=1639,
    num_classes=4,
    kind="citation",
    source="EdisonLeeeee/GraphData",
    license="MIT",
    raw=RawFiles(("dblp",), ("raw/dblp.npz",)),
    check_raw_file=check_sparse_npz,
    loader="CitationFull",
    loader_options={"name": "dblp"},
    subfolder="dblp",
)
ACTOR = PyGDataset(
    name="actor",
    num_nodes=7600,
    num_edges=30019,
    num_features=932,
    num_classes=5,
    kind="co-occurrence",
    note="heterophilous, 10 splits",
    source="geom-gcn",
    raw=RawFiles(
        ("Actor", "film"),
        (
            *("raw/out1_node_feature_label.txt", "raw/out1_graph_edges.txt"),
            *(f"raw/film_split_0.6_0.2_{i}.npz" for i in range(10)),
        ),
    ),
    check_raw_file=check_actor_file,
    loader="Actor",
)
WIKICS = PyGDataset(
    name="wikics",
    num_nodes=11701,
    num_edges=431726,
    num_features=300,
    num_classes=10,
    kind="hyperlinks",
    note="20 splits",
    source="pmernyei/wiki-cs-dataset",
    license="MIT",
    default_split=FIRST,
    raw=RawFiles(("WikiCS", "wiki-cs"), ("raw/data.json",)),
    check_raw_file=check_json_file,
    loader="WikiCS",
    loader_options={"is_undirected": True},
)
