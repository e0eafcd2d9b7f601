"""Learning from what an audit found: leave suspects out, give them another label, or count them less."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from ..core.errors import DataError, unknown

HOW = ("drop", "relabel", "weight")


def clean_labels(data: Data, issues: pd.DataFrame, how: str = "relabel", *, above: float | None = None) -> Data:
    """A copy of a graph with its labels cleaned; trusted labels stay.

    Args:
        data: the graph that was audited.
        issues: the table of `find_label_issues`.
        how: `drop` takes the label of a suspect away (-1, and out of `train_mask`), `relabel` gives it the suggested
            one, `weight` multiplies `label_weight` by the probability that the label is right.
        above: take the labels with a higher `p_wrong` for suspects, in place of those that `issues` calls so.
    """
    if how not in HOW:
        raise unknown("way to clean", how, HOW)
    if not isinstance(issues, pd.DataFrame):
        raise DataError(f"issues must be the table of an audit (audit.issues), not {type(issues).__name__}")
    nodes = issues["node"].to_numpy(copy=True)
    if len(nodes) and nodes.max() >= (data.num_nodes or 0):
        raise DataError(f"the issues name node {nodes.max()}, but the graph has {data.num_nodes} nodes")
    result = data.__copy__()
    if how == "weight":
        weight = data.get("label_weight")
        weight = torch.ones(data.num_nodes) if weight is None else weight.clone()
        right = torch.from_numpy(1 - issues["p_wrong"].to_numpy(dtype=np.float32))
        weight[torch.from_numpy(nodes)] *= right
        result.label_weight = weight
        return result
    suspects = issues[(issues["suspect"] if above is None else issues["p_wrong"] > above) & ~issues["trusted"]]
    at = torch.from_numpy(suspects["node"].to_numpy(copy=True))
    result.y = data.y.clone()
    if how == "relabel":
        result.y[at] = torch.from_numpy(suspects["suggested"].to_numpy(copy=True)).to(result.y)
        return result
    result.y[at] = -1
    for name in ("train_mask", "val_mask"):
        if data.get(name) is not None:
            result[name] = data[name].clone()
            result[name][at] = False
    return result
