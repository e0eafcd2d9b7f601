"""How noisy are the labels that a network is about to learn from? A quick answer, before it does."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from ... import noise, propagation
from .learner import Task

FOLDS = 5
MOST = 50_000  # labelled nodes that are looked at


def estimate_noise(task: Task, seed: int) -> noise.NoiseEstimate:
    """Noise of the training labels, by :func:`pignn.noise.estimate` on out-of-sample probabilities.

    They come from a logistic regression on propagated features, which takes a second and judges no node by a model that
    has seen its label. Trusted labels are left out of the estimate: they are right.
    """
    nodes = task.nodes.cpu().numpy()
    rng = np.random.default_rng(seed)
    if len(nodes) > MOST:
        nodes = np.sort(rng.choice(nodes, MOST, replace=False))
    x = propagation.Embedding(64, seed=seed).fit_transform(task.inputs)[nodes].cpu().numpy()
    y = task.y.cpu().numpy()[nodes]
    probs = out_of_sample(x, y, task.num_classes, seed)
    doubtful = ~task.trusted.cpu().numpy()[nodes]
    return noise.estimate(y[doubtful], probs[doubtful])


def out_of_sample(x: np.ndarray, y: np.ndarray, classes: int, seed: int) -> np.ndarray:
    """Class probabilities of each row by a logistic regression on the other folds; [rows, classes]."""
    probs = np.full((len(y), classes), 1 / classes)
    smallest = np.bincount(y)[np.unique(y)].min()
    if len(y) < FOLDS:
        return probs
    split = (StratifiedKFold if smallest >= FOLDS else KFold)(FOLDS, shuffle=True, random_state=seed % 2**32)
    for fit, judged in split.split(x, y):
        if len(np.unique(y[fit])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=10.0, max_iter=200).fit(x[fit], y[fit])
        # A class that the other folds lack keeps a small share.
        probs[judged] = 1e-3 / classes
        probs[np.ix_(judged, model.classes_)] += (1 - 1e-3) * model.predict_proba(x[judged])
    return probs
