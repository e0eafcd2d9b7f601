"""Actor: a heterophilous graph in tab-separated files, with ten splits."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import DataError
from .base import RawFiles
from .pyg import PyGDataset


class ActorDataset(PyGDataset):
    """Features and labels in one text file, edges in another, splits in .npz files."""

    def check_raw_file(self, path: Path, label: str) -> None:
        from ...io import safe_readers

        if path.suffix == ".npz":
            safe_readers.read_npz(path, "train_mask", "val_mask", "test_mask", label=label)
            return
        has_features = "feature" in path.name
        rows = safe_readers.read_tsv(path, label, num_columns=3 if has_features else 2)
        # PyG fills labels by node number and leaves the others as they were in memory.
        if has_features and set(rows.iloc[:, 0]) != set(map(str, range(len(rows)))):
            raise DataError(f"{label} is damaged: nodes are not numbered 0 to {len(rows) - 1}; get the file again")


ACTOR = ActorDataset(
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
            "raw/out1_node_feature_label.txt",
            "raw/out1_graph_edges.txt",
            *(f"raw/film_split_0.6_0.2_{i}.npz" for i in range(10)),
        ),
    ),
    loader="Actor",
)
