"""Repeated cross-validation on given labels, for whatever compares methods or settings.

No true label, no label of a test node and no held-out label is in any graph that a method gets to see. Every node keeps
its role: of the labels that are not held out, those of training nodes are learned from, and those of validation nodes
choose epochs, as in a training on all labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch_geometric.data import Data

from .. import auditing, graphs
from ..auditing.crossfit import Bools, assign_stratified_or_source_folds
from ..core.errors import DataError, PignnError, PignnWarning
from ..core.progress import progress_context
from ..core.threads import threads_context
from ..io.digests import compute_digest_of_parts
from ..methods import Method
from ..methods.core.data_hash import hash_training_data
from ..noise.kinds import Ints
from .assessment import MIN_LABELS


@dataclass(frozen=True)
class FoldResult:
    """What a method predicted for the labels of one fold, or why it could not."""

    predicted: list[int]
    seconds: float
    error: str | None = None


@dataclass(frozen=True, eq=False)
class RepeatedFolds:
    """Given labels, dealt into folds several times. Classes and trusted labels are spread over the folds."""

    data: Data  # with these labels only
    nodes: Ints
    given: Ints
    trusted: Bools
    fold: Ints  # [repeats, labels]
    seed: int

    @classmethod
    def draw(cls, data: Data, folds: int, repeats: int, seed: int) -> RepeatedFolds:
        """The given labels of training and validation nodes; of the consensus, where several annotators gave some."""
        if data.get("votes") is not None:
            data = auditing.combine_votes(data, seed=seed).copy_with_weighted_consensus_labels(data)
        data = copy_without_test_and_true_labels(graphs.copy_checked_graph(data))
        nodes = np.flatnonzero(data.y.numpy() >= 0)
        given = data.y.numpy()[nodes]
        if len(nodes) < MIN_LABELS or len(np.unique(given)) < 2:
            raise DataError(f"{len(nodes)} labels are too few to hold some of them out; {MIN_LABELS} are needed")
        trusted = np.zeros(len(nodes), dtype=bool)
        if data.get("trusted_mask") is not None:
            trusted = data.trusted_mask.numpy().astype(bool)[nodes]
        fold = [
            assign_stratified_or_source_folds(2 * given + trusted, folds, seed + repeat) for repeat in range(repeats)
        ]
        return cls(data, nodes, given, trusted, np.stack(fold), seed)

    @property
    def repeats(self) -> int:
        return len(self.fold)

    @property
    def folds(self) -> int:
        return int(self.fold.max()) + 1

    def digest(self) -> str:
        """Equal where the same methods would give the same results."""
        return compute_digest_of_parts(hash_training_data(self.data), self.fold[:1], str(self.seed), length=16)

    def iter_repeats_and_folds(self) -> Iterator[tuple[int, int]]:
        """Repeat and fold of every fit of a method."""
        return ((repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds))

    def find_held_out_positions(self, repeat: int, fold: int) -> Ints:
        """The positions of the labels that are held out there."""
        return np.flatnonzero(self.fold[repeat] == fold)

    def fit_copy_and_predict_held_out(self, method: Method, repeat: int, fold: int, **fit_options: Any) -> FoldResult:
        """What a copy of a method predicts for labels that it did not learn from. It chooses, if it does, anew."""
        held_out = self.find_held_out_positions(repeat, fold)
        graph = copy_without_labels(self.data, self.nodes[held_out])
        copy = clone(method).set_params(seed=int(method.get_params()["seed"]) + repeat)
        start = time.perf_counter()
        with warnings.catch_warnings(), progress_context(False), threads_context(graph.x.numel()):
            warnings.simplefilter("ignore", PignnWarning)
            try:
                predicted = copy.fit(graph, progress=False, **fit_options).predict(graph)[self.nodes[held_out]]
            except PignnError as error:
                return FoldResult([], time.perf_counter() - start, str(error))
        return FoldResult(predicted.tolist(), round(time.perf_counter() - start, 4))


def copy_without_test_and_true_labels(data: Data) -> Data:
    """A copy without true labels and without labels of nodes that are neither for training nor for validation."""
    data = data.__copy__()
    data.y = torch.where(data.train_mask | data.val_mask, data.y, -1)
    data.test_mask = torch.zeros_like(data.train_mask)
    if data.get("class_names") is None:  # a fold may lack the last class
        data.class_names = [str(number) for number in range(graphs.num_classes(data))]
    for name in ("y_true", "votes"):
        data[name] = None
    return data


def copy_without_labels(data: Data, nodes: Ints) -> Data:
    """A copy in which these nodes have no label and no part in training or validation."""
    data = data.__copy__()
    keep = torch.ones(len(data.y), dtype=torch.bool)
    keep[torch.from_numpy(nodes)] = False
    data.y = torch.where(keep, data.y, -1)
    for name in ("train_mask", "val_mask", "trusted_mask"):
        if data.get(name) is not None:
            data[name] = data[name].bool() & keep
    for name in ("label_source", "y_before"):
        data[name] = None
    return data
