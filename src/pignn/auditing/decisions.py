"""Decisions of a review as trusted labels of a graph."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from ..core.errors import DataError
from ..graphs.checks import node_ids


def mark_trusted(data: Data, decisions: pd.DataFrame) -> Data:
    """A copy of a graph in which decided nodes have the decided label, and are trusted; `y_before` keeps the given one.

    `decisions` as `read_decisions` gives them. Nodes go by `data.node_id` where there is one, else by number; classes
    by name. `unsure` changes nothing. Where they say what was looked at, a graph with another label there (and not the
    decided one) is refused.
    """
    ids = node_ids(data)
    known = {str(name): node for node, name in enumerate(range(data.num_nodes) if ids is None else ids)}
    names = [str(name) for name in data.get("class_names") or range(int(data.y.max()) + 1)]
    number = {name: c for c, name in enumerate(names)}
    settled = decisions[decisions["decision"].isin(["relabel", "keep"])]
    result = data.__copy__()
    result.y = data.y.clone()
    mask = data.get("trusted_mask")
    trusted = torch.zeros(data.num_nodes, dtype=torch.bool) if mask is None else mask.clone()
    nodes = [known.get(str(node), -1) for node in settled["node"]]
    if -1 in nodes:
        raise DataError(f"the graph has no node '{str(settled['node'].iloc[nodes.index(-1)])[:40]}', which was decided")
    relabel = (settled["decision"] == "relabel").to_numpy(dtype=bool)
    labels = [number.get(str(label).strip(), -1) for label in settled["label"][relabel]]
    if -1 in labels:
        wrong = str(settled["label"][relabel].iloc[labels.index(-1)])[:40]
        raise DataError(f"'{wrong}' was decided, but is no class; classes are {', '.join(names[:12])}")
    at = np.array(nodes, dtype=np.int64)
    unlabelled = at[~relabel][result.y.numpy()[at[~relabel]] < 0]
    if len(unlabelled):
        raise DataError(f"node {unlabelled[0]} was decided to keep its label, but has none")
    _check_reviewed(settled, data.y.numpy()[at], names)
    result.y[torch.from_numpy(at[relabel])] = torch.tensor(labels, dtype=result.y.dtype)
    trusted[torch.from_numpy(at)] = True
    result.trusted_mask = trusted
    known_before = data.get("y_before")
    result.y_before = torch.full_like(data.y, -1) if known_before is None else known_before.clone()
    result.y_before[torch.from_numpy(at)] = data.y[torch.from_numpy(at)]
    return result


def get_reviewed_labels(settled: pd.DataFrame) -> pd.Series[str]:
    """The label that each decided node had when it was looked at: `given`, else that of a `keep`; empty if unknown."""
    if "given" in settled:
        return settled["given"].astype(str).str.strip()
    return settled["label"].astype(str).str.strip().where(settled["decision"] == "keep", "")


def _check_reviewed(settled: pd.DataFrame, y: np.ndarray, names: list[str]) -> None:
    """Whether the labels are still those that were looked at."""
    now = np.array([names[c] if c >= 0 else "" for c in y], dtype=object)
    had = get_reviewed_labels(settled).to_numpy()
    decided = settled["label"].astype(str).str.strip().to_numpy()
    stale = np.flatnonzero((had != "") & (now != had) & (now != decided))
    if len(stale):
        node, first = str(settled["node"].iloc[stale[0]])[:40], stale[0]
        raise DataError(
            f"the graph has other labels than were reviewed, at {len(stale)} of {len(had)} decided nodes: '{node}' has "
            f"'{now[first][:40]}', reviewed was '{had[first][:40]}'; audit it without these decisions"
        )
