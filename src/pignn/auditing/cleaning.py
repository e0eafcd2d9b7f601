"""Clean labels before training: drop suspects, relabel them, or give them less weight."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from ..core.errors import DataError, build_unknown_name_error

CLEANING_MODES = ("drop", "relabel", "weight")


def clean_labels(data: Data, issues: pd.DataFrame, how: str = "relabel", *, above: float | None = None) -> Data:
    """A copy of a graph with cleaned labels; trusted labels stay as they are.

    Args:
        data: the graph that was audited.
        issues: the table of `find_label_issues`.
        how: `drop` removes the label of a suspect (-1, and out of `train_mask`), `relabel` gives it the suggested
            class, `weight` multiplies `label_weight` by the probability that the label is right.
        above: treat labels with a higher `p_wrong` as suspects, instead of those that `issues` marks.
    """
    if how not in CLEANING_MODES:
        raise build_unknown_name_error("way to clean", how, CLEANING_MODES)
    if not isinstance(issues, pd.DataFrame):
        raise DataError(f"issues must be the table of an audit (audit.issues), not {type(issues).__name__}")
    nodes = issues["node"].to_numpy(copy=True)
    if len(nodes) and nodes.max() >= (data.num_nodes or 0):
        raise DataError(f"the issues name node {nodes.max()}, but the graph has {data.num_nodes} nodes")
    result = data.__copy__()
    if how == "weight":
        weight = data.get("label_weight")
        weight = torch.ones(data.num_nodes) if weight is None else weight.clone()
        p_right = torch.from_numpy(1 - issues["p_wrong"].to_numpy(dtype=np.float32))
        weight[torch.from_numpy(nodes)] *= p_right
        result.label_weight = weight
        return result
    suspects = issues[(issues["suspect"] if above is None else issues["p_wrong"] > above) & ~issues["trusted"]]
    suspect_nodes = torch.from_numpy(suspects["node"].to_numpy(copy=True))
    result.y = data.y.clone()
    if how == "relabel":
        result.y[suspect_nodes] = torch.from_numpy(suspects["suggested"].to_numpy(copy=True)).to(result.y)
        return result
    result.y[suspect_nodes] = -1
    for name in ("train_mask", "val_mask"):
        if data.get(name) is not None:
            result[name] = data[name].clone()
            result[name][suspect_nodes] = False
    return result
