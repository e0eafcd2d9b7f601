"""Cora, CiteSeer and PubMed of the Planetoid collection: pickled matrices, read by an unpickler for data only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import DataError
from .base import OFFICIAL, RawFiles
from .pyg import PyGDataset
from .sparse_npz import check_csr_matrix

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


class PlanetoidDataset(PyGDataset):
    """A graph of the Planetoid collection with its public split."""

    @classmethod
    def create(cls, folder: str, **facts: Any) -> PlanetoidDataset:
        """The dataset whose raw files are in `folder`."""
        files = tuple(f"raw/ind.{folder.lower()}.{part}" for part in _PARTS)
        return cls(
            name=folder.lower(),
            kind="citation",
            note="public split",
            source="kimiyoung/planetoid",
            license="MIT",
            default_split=OFFICIAL,
            raw=RawFiles((folder,), files),
            loader="Planetoid",
            loader_options={"name": folder},
            subfolder=folder,
            **facts,
        )

    def check_raw_file(self, path: Path, label: str) -> None:
        from ...io import safe_readers

        if path.name.endswith(".test.index"):
            self._check_test_index(path, label)
            return
        content = safe_readers.read_pickle(path, label)
        if path.name.endswith(".graph"):
            if not isinstance(content, dict):
                raise DataError(f"{label} is damaged: it holds no adjacency lists; get the file again")
        elif hasattr(content, "check_format"):
            check_csr_matrix(content, label)
        elif getattr(content, "ndim", 0) != 2:
            raise DataError(f"{label} is damaged: it holds no matrix; get the file again")

    def _check_test_index(self, path: Path, label: str) -> None:
        from ...io import safe_readers

        nodes = safe_readers.read_integers(path, label)
        features = path.with_name(path.name.replace(".test.index", ".tx"))
        num_rows = safe_readers.read_pickle(features, label.replace(".test.index", ".tx")).shape[0]
        if len(set(nodes.tolist())) != num_rows:
            sizes = f"{len(nodes):,} test nodes, but {num_rows:,} in {features.name}"
            raise DataError(f"{label} is damaged: {sizes}; get the file again")


CORA = PlanetoidDataset.create(
    "Cora",
    num_nodes=2708,
    num_edges=10556,
    num_features=1433,
    num_classes=7,
    class_names=(
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    ),
)
CITESEER = PlanetoidDataset.create("CiteSeer", num_nodes=3327, num_edges=9104, num_features=3703, num_classes=6)
PUBMED = PlanetoidDataset.create("PubMed", num_nodes=19717, num_edges=88648, num_features=500, num_classes=3)
