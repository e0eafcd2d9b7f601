"""A quick estimate of the label noise before a network is trained."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from ... import noise, propagation
from .learner import Task

NUM_FOLDS = 5
MAX_LABELS = 50_000  # of more, as many are drawn at random
DIMENSIONS = 64


def estimate_noise(task: Task, seed: int) -> noise.NoiseEstimate:
    """Noise of the training labels, by :func:`pignn.noise.estimate` on out-of-sample probabilities.

    They come from a logistic regression on propagated features, which takes a second. No label is judged by a model
    that was trained on it. Trusted labels are left out of the estimate: they are right.
    """
    nodes = task.nodes.cpu().numpy()
    rng = np.random.default_rng(seed)
    if len(nodes) > MAX_LABELS:
        nodes = np.sort(rng.choice(nodes, MAX_LABELS, replace=False))
    inputs = task.inputs.with_scaling(None)  # the embedding scales by itself
    x = propagation.Embedding(DIMENSIONS, seed=seed).fit_transform(inputs)[nodes].cpu().numpy()
    y = task.y.cpu().numpy()[nodes]
    probs = cross_val_probs(x, y, task.num_classes, seed)
    doubtful = ~task.trusted.cpu().numpy()[nodes]
    return noise.estimate(y[doubtful], probs[doubtful])


def cross_val_probs(x: np.ndarray, y: np.ndarray, num_classes: int, seed: int) -> np.ndarray:
    """Class probabilities of each row by a logistic regression on the other folds, [rows, classes]."""
    probs = np.full((len(y), num_classes), 1 / num_classes)
    smallest_class = np.bincount(y)[np.unique(y)].min()
    if len(y) < NUM_FOLDS:
        return probs
    splitter = StratifiedKFold if smallest_class >= NUM_FOLDS else KFold
    for train, held_out in splitter(NUM_FOLDS, shuffle=True, random_state=seed % 2**32).split(x, y):
        if len(np.unique(y[train])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=10.0, max_iter=200).fit(x[train], y[train])
        # A class that the other folds lack keeps a small share.
        probs[held_out] = 1e-3 / num_classes
        probs[np.ix_(held_out, model.classes_)] += (1 - 1e-3) * model.predict_proba(x[held_out])
    return probs
