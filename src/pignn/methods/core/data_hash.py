"""A hash of what a training reads of a graph, to tell whether two graphs are the same to it."""

from __future__ import annotations

import hashlib

from torch_geometric.data import Data

TRAINING_KEYS = (
    *("x", "edge_index", "crow", "col", "edge_weight"),
    *("y", "train_mask", "val_mask", "label_weight", "trusted_mask"),
)


def hash_training_data(data: Data, *, include_truth: bool = False) -> str:
    """16 hexadecimal digits; true labels count only if the training reads them."""
    total = hashlib.sha256()
    digest = data.get("digest") if data.get("checked") else None  # a graph store has its own
    total.update(str(digest).encode())
    for key in (*TRAINING_KEYS, "y_true") if include_truth else TRAINING_KEYS:
        value = data.get(key)
        if value is not None and not (digest and key in ("x", "crow", "col", "edge_weight")):
            total.update(f"{key}{tuple(value.shape)}".encode())
            total.update(value.detach().cpu().contiguous().numpy().data)
    return total.hexdigest()[:16]
