"""Which nodes a prediction is scored on, and against which labels."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from ...core.errors import DataError
from ...core.settings import Choice
from ...graphs.checks import check_is_homogeneous_pyg_graph

SPLITS = ("train", "val", "test", "all")
LABEL_KINDS = ("truth", "given")


def select_scored_nodes_and_labels(
    data: Data, split: str, split_index: int | None = None, against: str = "truth"
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of a split and the labels to score them against.

    These are ``y_true`` if the graph has it, else ``y``; with ``against="given"`` always ``y``.
    """
    Choice(SPLITS).raise_unless_valid("split", split)
    Choice(LABEL_KINDS).raise_unless_valid("against", against)
    check_is_homogeneous_pyg_graph(data)
    labels = data.get("y_true") if against == "truth" else None
    labels = data.get("y") if labels is None else labels
    if labels is None:
        raise DataError("there is nothing to score against: the graph has neither y_true nor y")
    labels = torch.as_tensor(labels).reshape(-1).cpu().numpy()
    if len(labels) != data.num_nodes:
        raise DataError(f"there are {len(labels)} labels to score against, and {data.num_nodes} nodes")
    nodes = np.arange(len(labels)) if split == "all" else _find_split_nodes_or_raise(data, split, split_index)
    if not (labels[nodes] >= 0).any():
        raise DataError(f"there is nothing to score against: no node of split '{split}' has a label; choose another")
    return nodes, labels[nodes]


def _find_split_nodes_or_raise(data: Data, split: str, split_index: int | None) -> np.ndarray:
    mask = data.get(f"{split}_mask")
    if mask is None:
        raise DataError(f"the graph has no {split}_mask to score on; use split='all' or add it")
    mask = torch.as_tensor(mask).cpu()
    if mask.dim() == 2:
        count = mask.shape[1]
        if split_index is None and count > 1:
            raise DataError(f"{split}_mask has {count} splits; say which with split_index=")
        if not 0 <= (split_index or 0) < count:
            raise DataError(f"split_index {split_index} is out of range: {split}_mask has {count} splits")
        mask = mask[:, split_index or 0]
    if len(mask) != data.num_nodes:
        raise DataError(f"{split}_mask has {len(mask)} entries, and there are {data.num_nodes} nodes")
    return np.flatnonzero(mask.bool().numpy())
