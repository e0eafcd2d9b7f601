"""The very labels that the program of PI-GNN's authors makes wrong with the same seed."""

from __future__ import annotations

import numpy as np

from ..core.errors import ConfigError
from .kinds import Ints, LabelsToCorrupt
from .matrix_kinds import build_transition_matrix

NOISE_DRAWS = ("ours", "released")
RELEASED_KINDS = ("none", "symmetric", "flip")


def check_noise_kind_was_released(name: str) -> None:
    if name not in RELEASED_KINDS:
        raise ConfigError(
            f"the authors' program has no noise '{name}'; use {', '.join(RELEASED_KINDS)}, or a study with another "
            "protocol, such as paper"
        )


def draw_labels_as_released(labels_to_corrupt: LabelsToCorrupt) -> Ints:
    """Labels of the nodes in order, one number each from NumPy's older generator.

    For ``flip``, the class that each class goes to is drawn first.
    """
    kind, rate, truth = labels_to_corrupt.kind_name, labels_to_corrupt.rate, labels_to_corrupt.true_labels
    if kind == "none":
        return truth
    draw = np.random.RandomState(labels_to_corrupt.seed)
    classes = np.arange(labels_to_corrupt.num_classes)
    matrix = build_transition_matrix("symmetric", rate, len(classes))
    if kind == "flip":
        matrix = np.eye(len(classes)) * (1 - rate)
        for each in classes:
            matrix[each, draw.choice(classes[classes != each])] = rate
    total = matrix.cumsum(axis=1)
    total /= total[:, -1:]
    # What RandomState.choice(n, p=row) does for one node after the other.
    given: Ints = (total[truth] <= draw.random_sample(len(truth))[:, None]).sum(axis=1).astype(np.int64)
    return given
