"""The splits and noisy labels of the NoisyGL benchmark (Wang et al., NeurIPS 2024), drawn as its program draws them.

Its generator is NumPy's older one. Labels are drawn for all nodes, in the order of their numbers, from the generator of
the run's seed. The split of a dataset that has no official one is drawn where the previous dataset left the generator:
at the seed of its last run. It is the same for all runs.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..graphs.datasets import get_dataset
from ..graphs.splits import Masks, build_masks_from_indices
from ..noise import build_transition_matrix

TRAIN_SHARES = {"dblp": 0.01, "blogcatalog": 0.05}  # of all nodes, where the benchmark splits by shares
VAL_SHARE = 0.15
TRAIN_PER_CLASS, NUM_VAL, NUM_TEST = 20, 500, 1000  # on other graphs
DRAWN_KINDS = ("symmetric", "pair-previous", "random")  # what it calls uniform, pair and random


def draw_masks_or_none(name: str, y: Tensor, seed: int) -> Masks | None:
    """The split of a dataset, or ``None`` where it has an official one.

    1 % + 15 % of the nodes on DBLP, 5 % + 15 % on BlogCatalog, and on the others 20 nodes per class, 500 for validation
    and 1,000 for testing, or a third and two thirds of the others where there are not as many.
    """
    if get_dataset(name).has_official_split:
        return None
    draw = np.random.RandomState(seed)
    labels = y.numpy()
    nodes = np.flatnonzero(labels >= 0)
    if share := TRAIN_SHARES.get(name):
        train = draw.choice(nodes, int(share * len(nodes)), replace=False)
        num_val, num_test = int(VAL_SHARE * len(nodes)), None
    else:
        members = [np.flatnonzero(labels == each) for each in range(int(labels.max()) + 1)]
        train = np.concatenate(
            [draw.choice(one, min(TRAIN_PER_CLASS, len(one) // 3), replace=False) for one in members]
        )
        third, others = (len(nodes) - len(train)) // 3, len(nodes) - len(train)
        num_val, num_test = min(NUM_VAL, third), min(NUM_TEST, others - third)
    rest = np.setdiff1d(nodes, train)
    val = draw.choice(rest, num_val, replace=False)
    rest = np.setdiff1d(rest, val)
    test = rest if num_test is None else draw.choice(rest, num_test, replace=False)
    return build_masks_from_indices(len(y), *(torch.from_numpy(part) for part in (train, val, test)))


def draw_noisy_labels(y: Tensor, kind: str, rate: float, num_classes: int, seed: int) -> Tensor:
    """Noisy labels of all nodes, for one of ``DRAWN_KINDS``; −1 where there is no label.

    The loop over nodes is part of the draw: every node's label takes from the generator what the ones before it left.
    """
    matrix = _draw_random_matrix(rate, num_classes, seed) if kind == "random" else None
    if matrix is None:
        matrix = build_transition_matrix(kind, rate, num_classes)
    draw = np.random.RandomState(seed)
    given = y.clone()
    for node in (y >= 0).nonzero().view(-1).tolist():
        given[node] = int(draw.multinomial(1, matrix[int(y[node])]).argmax())
    return given


def _draw_random_matrix(rate: float, num_classes: int, seed: int) -> NDArray[np.float64]:
    """1 − ε on the diagonal; uniform numbers elsewhere, scaled to ε in each row."""
    matrix = np.random.RandomState(seed).random_sample((num_classes, num_classes))
    np.fill_diagonal(matrix, 0.0)
    matrix *= rate / matrix.sum(axis=1, keepdims=True)
    return matrix + (1.0 - rate) * np.eye(num_classes)
