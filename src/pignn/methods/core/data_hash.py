"""A hash of what a training reads of a graph, to tell whether two graphs are the same to it."""

from __future__ import annotations

from torch_geometric.data import Data

from ...graphs.summary import compute_graph_digest

TRAINING_KEYS = (
    *("x", "edge_index", "crow", "col", "edge_weight"),
    *("y", "train_mask", "val_mask", "label_weight", "trusted_mask"),
)


def hash_training_data(data: Data, *, include_truth: bool = False) -> str:
    """16 hexadecimal digits; true labels count only if the training reads them."""
    return compute_graph_digest(data, (*TRAINING_KEYS, "y_true") if include_truth else TRAINING_KEYS)
