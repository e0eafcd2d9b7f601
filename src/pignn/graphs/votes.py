"""Votes as a graph holds them (`data.votes`), checked. Every error is one line: what, where, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import DataError
from ..core.text import format_count
from .checks import check_is_homogeneous_pyg_graph, num_classes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Votes:
    """One entry per vote: who said which class of which node, and how sure they were."""

    node: Ints
    annotator: Ints
    label: Ints
    confidence: Floats
    num_nodes: int
    num_annotators: int
    num_classes: int

    def __len__(self) -> int:
        return len(self.node)

    def sum_confidence_per_node_and_class(self) -> Floats:
        """[nodes, classes]: how often each class was voted for, weighted by confidence."""
        shape = self.num_nodes, self.num_classes
        return sum_weights_by_cell(self.node * self.num_classes + self.label, self.confidence, shape)

    def count_per_node(self) -> Ints:
        return np.bincount(self.node, minlength=self.num_nodes)

    def count_per_annotator(self) -> Ints:
        return np.bincount(self.annotator, minlength=self.num_annotators)

    def choose_plurality_classes(self) -> Ints:
        """The class with the most votes of each node, -1 without any. Of equal ones, that of the earlier annotator."""
        counts = self.sum_confidence_per_node_and_class()
        is_top = counts[self.node, self.label] >= counts.max(axis=1)[self.node] - 1e-9
        chosen = np.full(self.num_nodes, -1, dtype=np.int64)
        order = np.flatnonzero(is_top)
        order = order[np.argsort(-self.annotator[order], kind="stable")]
        chosen[self.node[order]] = self.label[order]  # of several, the last one stays: the first annotator's
        return chosen

    def find_tied_node_indices(self) -> Ints:
        """Nodes of which two or more classes have the most votes."""
        counts = self.sum_confidence_per_node_and_class()
        top = counts.max(axis=1, keepdims=True)
        return np.flatnonzero(((counts >= top - 1e-9) & (top > 0)).sum(axis=1) > 1)


def convert_label_rows_to_votes(labels: Any) -> Tensor:
    """`data.votes` from one row of labels per annotator, [annotators, nodes], -1 where an annotator gave none."""
    try:
        rows = torch.stack([torch.as_tensor(row) for row in labels]).long()
    except (TypeError, ValueError, RuntimeError):
        raise DataError("labels of annotators must be rows of equal length, with one class number per node") from None
    if rows.dim() != 2:
        raise DataError(f"labels of annotators must have the shape [annotators, nodes], not {list(rows.shape)}")
    annotator, node = (rows >= 0).nonzero(as_tuple=True)
    return torch.stack([node, annotator, rows[annotator, node]], dim=1)


def parse_votes_annotators_and_classes(data: Data, num_nodes: int | None = None) -> tuple[Votes, list[str], list[str]]:
    """The votes of a graph, and the names of annotators and classes."""
    check_is_homogeneous_pyg_graph(data)
    if data.get("votes") is None:
        raise DataError("votes are missing; give them as integers of shape [votes, 3]: node, annotator, class")
    table = _parse_integers(data.votes, "votes")
    if table.ndim != 2 or table.shape[1] != 3:
        raise DataError(f"votes must have the shape [votes, 3] (node, annotator, class), not {list(table.shape)}")
    num_nodes = int(data.num_nodes or 0) if num_nodes is None else num_nodes
    if not len(table):
        raise DataError("there is no vote at all")
    node, annotator, label = table.T
    annotators = _list_annotator_names_or_numbers(data.get("annotators"), annotator)
    class_names = _list_class_names_or_numbers(data, label)
    limits = (("node", node, num_nodes), ("annotator", annotator, len(annotators)))
    for name, values, limit in (*limits, ("class", label, len(class_names))):
        bad = np.flatnonzero((values < 0) | (values >= limit))
        if len(bad):
            raise DataError(
                f"votes name {format_count(len(bad), name)} out of range, first {values[bad[0]]} at vote {bad[0]}; "
                f"there are {limit:,}, numbered from 0"
            )
    _check_votes_are_unique(node, annotator, annotators)
    if len(np.unique(label)) < 2:
        raise DataError(f"all votes are for one class ({class_names[int(label[0])][:40]}); at least two are needed")
    confidence = _parse_confidence_or_ones(data.get("vote_confidence"), len(node))
    votes = Votes(node, annotator, label, confidence, num_nodes, len(annotators), len(class_names))
    return votes, annotators, class_names


def check_and_get_trusted_classes(data: Data, votes: Votes) -> Ints:
    """Classes that somebody verified, -1 elsewhere. A label without votes that nobody verified is refused."""
    known = np.full(votes.num_nodes, -1, dtype=np.int64)
    if data.get("y") is None:
        return known
    y = torch.as_tensor(data.y).reshape(-1).cpu().numpy()
    if len(y) != votes.num_nodes:
        raise DataError(f"y has {len(y):,} entries, but the graph has {votes.num_nodes:,} nodes")
    trusted = data.get("trusted_mask")
    is_trusted = np.zeros(len(y), dtype=bool) if trusted is None else trusted.cpu().numpy().astype(bool)
    known[is_trusted] = y[is_trusted]
    alone = np.flatnonzero((y >= 0) & ~is_trusted & (votes.count_per_node() == 0))
    if len(alone):
        raise DataError(
            f"{format_count(len(alone), 'node')} with a label in y but without a vote, first {alone[0]}; "
            "add it to the votes, or set y to -1 there"
        )
    return known


def _parse_integers(value: Any, name: str) -> Ints:
    try:
        array = torch.as_tensor(value).cpu().numpy()
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"{name} must be integers of shape [votes, 3], not {type(value).__name__}") from None
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and bool((array == np.trunc(array)).all())):
        raise DataError(f"{name} must be integers, not {array.dtype}")
    return array.astype(np.int64)


def _list_annotator_names_or_numbers(names: Sequence[Any] | None, annotator: Ints) -> list[str]:
    if names is None:
        return [str(number) for number in range(max(int(annotator.max()) + 1, 1))]
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise DataError("annotators has a name twice; every annotator needs a name of its own")
    return texts


def _list_class_names_or_numbers(data: Data, voted_classes: Ints) -> list[str]:
    if data.get("class_names") is not None:
        num_classes(data)  # checks the names
        return [str(name) for name in data.class_names]
    count = max(num_classes(data), int(voted_classes.max()) + 1)
    if count > max(1000, len(voted_classes)):
        raise DataError(f"the largest class in votes is {count - 1}; number the classes 0, 1, 2, ...")
    return [str(c) for c in range(count)]


def _check_votes_are_unique(node: Ints, annotator: Ints, annotators: list[str]) -> None:
    key = node * len(annotators) + annotator
    order = np.argsort(key, kind="stable")
    repeated = order[1:][np.diff(key[order]) == 0]
    if len(repeated):
        first = repeated.min()
        raise DataError(
            f"{format_count(len(repeated), 'vote')} given twice, first by annotator "
            f"'{annotators[annotator[first]][:40]}' of node {node[first]}; keep one vote per node and annotator"
        )


def _parse_confidence_or_ones(value: Any, num_votes: int) -> Floats:
    if value is None:
        return np.ones(num_votes)
    confidence = torch.as_tensor(value).double().reshape(-1).cpu().numpy()
    if len(confidence) != num_votes:
        raise DataError(f"vote_confidence has {len(confidence):,} entries for {format_count(num_votes, 'vote')}")
    bad = np.flatnonzero(~((confidence > 0) & (confidence <= 1)))
    if len(bad):
        raise DataError(
            f"vote_confidence must be above 0 and at most 1, but is {confidence[bad[0]]:g} at vote {bad[0]}"
        )
    return confidence


def sum_weights_by_cell(flat_index: Ints, weights: Floats | None, shape: tuple[int, int]) -> Floats:
    """[rows, columns]: the sum of weights (or the number) of the entries at each row · columns + column."""
    return np.bincount(flat_index, weights=weights, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
