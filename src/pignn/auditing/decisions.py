"""Turn the decisions of a review into trusted labels of a graph."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from .. import graphs
from ..core.errors import DataError
from ..graphs.checks import parse_node_ids_or_none
from .tables import get_labels_shown_in_review


def apply_decisions_to_graph(data: Data, decisions: pd.DataFrame, *, new_class: bool = False) -> Data:
    """A copy of a graph in which decided nodes have the decided label and are trusted; `y_before` keeps the given one.

    `decisions` is a table of `read_decisions`. Nodes are named by `data.node_id`, else by number, classes by name.
    `unsure` changes nothing. A class that the graph does not have is refused, for it may be misspelled, unless
    `new_class` is set. A graph is refused if a label changed since the review to something else than was decided.
    """
    ids = parse_node_ids_or_none(data)
    node_numbers = {str(name): node for node, name in enumerate(range(data.num_nodes) if ids is None else ids)}
    names = [str(name) for name in data.get("class_names") or range(int(data.y.max()) + 1)]
    decided_rows = decisions[decisions["decision"].isin(["relabel", "keep"])]
    relabel = (decided_rows["decision"] == "relabel").to_numpy(dtype=bool)
    decided_names = [str(label).strip() for label in decided_rows["label"][relabel]]
    if new_class:
        names = list(dict.fromkeys([*names, *decided_names]))
    class_numbers = {name: c for c, name in enumerate(names)}
    result = data.__copy__()
    result.y = data.y.clone()
    mask = data.get("trusted_mask")
    trusted = torch.zeros(data.num_nodes, dtype=torch.bool) if mask is None else mask.clone()
    nodes = [node_numbers.get(str(node), -1) for node in decided_rows["node"]]
    if -1 in nodes:
        node = str(decided_rows["node"].iloc[nodes.index(-1)])[:40]
        raise DataError(f"the graph has no node '{node}', which was decided on; is it the graph that was audited?")
    labels = [class_numbers.get(name, -1) for name in decided_names]
    if -1 in labels:
        wrong = decided_names[labels.index(-1)][:40]
        raise DataError(f"'{wrong}' was decided on, but is no class; the classes are {', '.join(names[:12])}")
    decided = np.array(nodes, dtype=np.int64)
    unlabeled = decided[~relabel][result.y.numpy()[decided[~relabel]] < 0]
    if len(unlabeled):
        raise DataError(f"node {unlabeled[0]} was decided to keep its label, but has none; mend the decisions")
    _check_labels_unchanged_since_review(decided_rows, data.y.numpy()[decided], names)
    result.y[torch.from_numpy(decided[relabel])] = torch.tensor(labels, dtype=result.y.dtype)
    trusted[torch.from_numpy(decided)] = True
    result.trusted_mask = trusted
    if len(names) > graphs.num_classes(data):
        result.class_names = names
    before = data.get("y_before")
    result.y_before = torch.full_like(data.y, -1) if before is None else before.clone()
    result.y_before[torch.from_numpy(decided)] = data.y[torch.from_numpy(decided)]
    return result


def _check_labels_unchanged_since_review(
    decided_rows: pd.DataFrame, labels: np.ndarray, class_names: list[str]
) -> None:
    """Refuse a graph whose labels are not those that were reviewed."""
    current = np.array([class_names[c] if c >= 0 else "" for c in labels], dtype=object)
    reviewed = get_labels_shown_in_review(decided_rows).to_numpy()
    decided = decided_rows["label"].astype(str).str.strip().to_numpy()
    stale = np.flatnonzero((reviewed != "") & (current != reviewed) & (current != decided))
    if len(stale):
        node, first = str(decided_rows["node"].iloc[stale[0]])[:40], stale[0]
        raise DataError(
            f"the labels differ from those reviewed at {len(stale)} of {len(reviewed)} decided nodes: '{node}' has "
            f"'{current[first][:40]}', reviewed was '{reviewed[first][:40]}'; audit it without these decisions"
        )
