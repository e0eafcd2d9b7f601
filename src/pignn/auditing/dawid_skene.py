"""A second opinion on how many labels are wrong: three views of a node that vote on its class.

The views are the given label, a classifier of the node's own features, and one of the features of its neighbours. If,
given the true class, each errs independently of the others, how often they agree tells how often each is wrong (Dawid
and Skene 1979): P(label, features, neighbours) = Σ_k π_k · A[k, label] · B[k, features] · C[k, neighbours]. Nothing is
supposed about confidence, so errors that follow features or a region, which the model of `noise.model` puts down
to the classifier, are counted. The price: a node that is hard to tell misleads features and neighbours alike, and
its label, though right, is outvoted. So it errs upwards where classes overlap.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .crossfit import Bools

ROUNDS = 100
PSEUDO = 0.1  # of a vote, on the diagonal; a tenth of that elsewhere


def compute_p_wrong(votes: Ints, classes: int, trusted: Bools) -> Floats:
    """P(the given label is wrong) of every node. The first row of `votes` are the given labels; -1 is no vote."""
    nodes = votes.shape[1]
    hot = [np.where((view >= 0)[:, None], np.eye(classes)[view], 0.0) for view in votes]
    known = np.eye(classes)[votes[0]]
    posterior = normalize_rows(np.sum(hot, axis=0) + 1e-3)
    for _ in range(ROUNDS):
        before = posterior
        posterior = np.where(trusted[:, None], known, posterior)
        logs = np.tile(np.log(normalize_rows(posterior.sum(axis=0)[None] + 1.0)), (nodes, 1))
        for number, view in enumerate(hot):
            # A trusted label is right because somebody looked: it says nothing about how labels are given.
            learnt = view * ~trusted[:, None] if number == 0 else view
            errors = normalize_rows(posterior.T @ learnt + PSEUDO * (0.1 + 0.9 * np.eye(classes)))
            logs += view @ np.log(errors).T
        posterior = softmax(logs, axis=-1)
        if np.abs(posterior - before).max() < 1e-4:
            break
    wrong: Floats = 1 - posterior[np.arange(nodes), votes[0]]
    return np.where(trusted, 0.0, wrong)
