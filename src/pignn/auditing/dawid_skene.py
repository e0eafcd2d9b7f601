"""A second estimate of how many labels are wrong, by the model of Dawid and Skene (1979).

Three votes on the class of a node are the given label, a classifier of the node's own features, and one of its
neighbors' features. If each errs independently given the true class, how often they agree reveals how often each is
wrong: P(label, features, neighbors) = Σ_k π_k · A[k, label] · B[k, features] · C[k, neighbors]. Nothing is assumed
about confidence. So errors that follow features or a region are counted, which `noise.model` attributes to the
classifier. The price: a node that is hard to classify misleads features and neighbors alike, and its label is outvoted
although it is right. The estimate is therefore too high where classes overlap.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .crossfit import Bools

MAX_ROUNDS = 100
PSEUDO_VOTES = 0.1  # on the diagonal; a tenth of that elsewhere


def compute_p_wrong(votes: Ints, num_classes: int, trusted: Bools) -> Floats:
    """P(the given label is wrong) for every node. The first row of `votes` are the given labels; -1 is no vote."""
    # Nodes with equal votes are alike: there are few kinds of them.
    keys = np.ravel_multi_index(tuple(votes + 1), (num_classes + 1,) * len(votes)) * 2 + trusted
    _, one_of_kind, kind, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return _compute_p_wrong_of_kinds(votes[:, one_of_kind], counts, num_classes, trusted[one_of_kind])[kind]


def _compute_p_wrong_of_kinds(votes: Ints, counts: Ints, num_classes: int, trusted: Bools) -> Floats:
    """The same, where each column of votes is there so many times."""
    one_hot = [np.where((voter >= 0)[:, None], np.eye(num_classes)[voter], 0.0) for voter in votes]
    given = np.eye(num_classes)[votes[0]]
    posterior = normalize_rows(np.sum(one_hot, axis=0) + 1e-3)
    for _ in range(MAX_ROUNDS):
        before = posterior
        posterior = np.where(trusted[:, None], given, posterior)
        logs = np.tile(np.log(normalize_rows((counts @ posterior)[None] + 1.0)), (len(counts), 1))
        for number, voter in enumerate(one_hot):
            # A trusted label is right because somebody verified it: it says nothing about how labels are given.
            counted = voter * (counts * ~trusted if number == 0 else counts)[:, None]
            errors = normalize_rows(posterior.T @ counted + PSEUDO_VOTES * (0.1 + 0.9 * np.eye(num_classes)))
            logs += voter @ np.log(errors).T
        posterior = softmax(logs, axis=-1)
        if np.abs(posterior - before).max() < 1e-4:
            break
    p_wrong: Floats = 1 - posterior[np.arange(len(counts)), votes[0]]
    return np.where(trusted, 0.0, p_wrong)
