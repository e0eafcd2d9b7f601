"""A model of given labels: what the truth probably is, and how it becomes the label that was given.

    P(given = j | x) = Σ_k P(true = k | x) · T[k, j],    P(true = k | x) ∝ q_k(x)^a · exp(b_k),

where q are the class probabilities of a classifier that has not seen the label. Without further assumption T cannot
be told from classes that overlap: T = I with blurred probabilities and T ≠ I with sharp ones give the same labels. What
tells them apart is how disagreement depends on confidence. A classifier's own mistakes become rare where it is
sure; wrong labels do not. The sharpness a, the shift b and T are therefore fitted together, by maximum likelihood, and
T gets a weak prior that favours its diagonal: what the data leave open is put down to the classifier.

A full T has n(n − 1) free numbers and takes up part of the classifier's own confusions. It is used where it raises the
log-likelihood by more than it has numbers (Akaike's criterion); else all wrong labels are equally likely, one number.
Where some class has hardly a label (it may be a misspelt one), that few labels are wrong there would speak against all
noise: then wrong labels may also be as frequent as the given ones of their class. One without a label has none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from .kinds import Floats, Ints

Bools = NDArray[np.bool_]
FLOOR = 1e-6  # least probability: a classifier that says 0 means "hardly"
RARE = 0.1  # of the mean number of labels of a class: with one wrong label in ten, all equally likely, none has fewer
FULL, EQUAL, BY_CLASS = "full", "equal", "by class"  # kinds of T: all numbers free; wrong labels alike; as given ones


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Sharpness a, shift b and T, and how well they explain the given labels."""

    sharpness: float
    shift: Floats  # [classes]
    transition: Floats  # [classes, classes]
    evidence: float = 0.0  # log-likelihood less the number of free numbers in T
    kind: str = EQUAL  # of T

    def truth(self, logs: Floats) -> Floats:
        """P(true = k | x), [nodes, classes], from the logarithms of class probabilities."""
        return softmax(self.sharpness * logs + self.shift)

    def posterior(self, given: Ints, logs: Floats) -> Floats:
        """P(true = k | x, given); of nodes without a label (-1), P(true = k | x)."""
        p = self.truth(logs)
        known = given >= 0
        p[known] = normalize_rows(p[known] * self.transition.T[given[known]])
        return p


def fit_noise_model(
    given: Ints,
    logs: Floats,
    trusted: Bools | None = None,
    before: Ints | None = None,
    *,
    start: NoiseModel | None = None,
) -> NoiseModel:
    """The noise model of given labels (none is -1); where `trusted`, the given label is the true one.

    `before` is the label that a trusted node had before somebody verified it, -1 where that is not known: it tells how
    truth becomes a given label. That top suspects are reviewed first does no harm: given x and the label before, it
    does not depend on the truth who is looked at.

    With a `start` only its kind of T is fitted, in few steps: for the bootstrap.
    """
    n = logs.shape[1]
    if not len(given) or n < 2:
        return NoiseModel(1.0, np.zeros(n), np.eye(n))
    likelihood = _Likelihood(given, logs, trusted, before)
    if start is not None:
        return likelihood.maximize(start.kind, start)
    return max((likelihood.maximize(kind) for kind in likelihood.kinds), key=lambda found: found.evidence)


class _Likelihood:
    """Minus the logarithm of the likelihood and priors, with its gradient, over (a, b, numbers of T)."""

    def __init__(self, given: Ints, logs: Floats, trusted: Bools | None, before: Ints | None = None) -> None:
        self.logs = logs
        self.n = logs.shape[1]
        self.truth = self.untold = None  # [nodes, classes]: what is known of the truth; [nodes, 1]: T has no part
        if trusted is not None and trusted.any():
            told = np.zeros(len(given), dtype=bool) if before is None else trusted & (before >= 0)
            self.truth = np.where(trusted[:, None], np.eye(self.n)[given] + 1e-12, 1.0)
            self.untold = (trusted & ~told)[:, None]
            given = given if before is None else np.where(told, before, given)
        self.given = given
        self.hot = np.eye(self.n)[given]
        # A tenth of a label off the diagonal keeps T inside; one label and a hundredth of the class on it.
        self.pseudo = np.full((self.n, self.n), 0.1 / self.n)
        labels = np.bincount(given, minlength=self.n)
        self.pseudo += np.diag(1.0 + 0.01 * labels)
        present = int((labels > 0).sum())
        self.others = {
            EQUAL: _off_diagonal(np.where(labels > 0, 1.0, FLOOR)),
            BY_CLASS: _off_diagonal(np.maximum(labels / len(given), FLOOR)),
        }
        self.kinds = {EQUAL: 1, FULL: present * (present - 1)}  # and how many free numbers each has
        if labels[labels > 0].min() < RARE * len(given) / present:
            self.kinds[BY_CLASS] = 1

    def maximize(self, kind: str, start: NoiseModel | None = None) -> NoiseModel:
        n, full = self.n, kind == FULL
        matrix = np.full((n, n), 0.1 / (n - 1)) if start is None else start.transition.copy()
        if start is None:
            np.fill_diagonal(matrix, 0.9)
        numbers = np.log(matrix).ravel() if full else [np.log((1 - matrix[0, 0]) / matrix[0, 0])]
        a, b = (1.5, np.zeros(n)) if start is None else (start.sharpness, start.shift)
        found = minimize(
            self.loss,
            np.concatenate([[a], b, numbers]),
            args=(kind,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.05, 20.0), *[(-20.0, 20.0)] * n, *[(None, None)] * len(numbers)],
            options={"maxiter": 100 if start is None else 30},
        ).x
        a, b, matrix = self.parts(found, kind)
        matrix = normalize_rows(matrix)
        total = np.maximum((softmax(a * self.logs + b) * self.likely(matrix)).sum(axis=1), 1e-300)
        return NoiseModel(float(a), b, matrix, float(np.log(total).sum()) - self.kinds.get(kind, 0), kind)

    def parts(self, numbers: Floats, kind: str) -> tuple[float, Floats, Floats]:
        a, b, rest = numbers[0], numbers[1 : 1 + self.n], numbers[1 + self.n :]
        if kind == FULL:
            # A step of the search may go far; T stays above what a logarithm can bear.
            return a, b, softmax(np.clip(rest, -500, 500).reshape(self.n, self.n)) + 1e-12
        rate = 1 / (1 + np.exp(-np.clip(rest[0], -30, 30)))
        return a, b, (1 - rate) * np.eye(self.n) + rate * self.others[kind]

    def likely(self, matrix: Floats) -> Floats:
        """P(given label of a node | true = k), [nodes, classes]."""
        likely = matrix.T[self.given]
        if self.truth is None or self.untold is None:
            return likely
        return np.where(self.untold, 1.0, likely) * self.truth

    def loss(self, numbers: Floats, kind: str) -> tuple[float, Floats]:
        a, b, matrix = self.parts(numbers, kind)
        p = softmax(a * self.logs + b)
        joint = p * self.likely(matrix)
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        posterior = joint / total
        noisy = posterior if self.untold is None else posterior * ~self.untold
        counts = noisy.T @ self.hot + self.pseudo
        value = -np.log(total).sum() - (self.pseudo * np.log(matrix)).sum() + 0.5 * (b**2).sum() + (a - 1) ** 2
        if kind == FULL:
            slope = -(counts - matrix * counts.sum(axis=1, keepdims=True)).ravel()
        else:
            kept = np.trace(counts)
            slope = np.array([kept - matrix[0, 0] * counts.sum()])
        difference = posterior - p
        gradient = [[-(difference * self.logs).sum() + 2 * (a - 1)], b - difference.sum(axis=0), slope]
        return float(value), np.concatenate(gradient)


def _off_diagonal(weights: Floats) -> Floats:
    """How wrong labels are spread over the other classes: rows sum to 1, the diagonal is 0."""
    return normalize_rows(weights * (1 - np.eye(len(weights))))


def log_probs(probability: Floats) -> Floats:
    return np.log(np.maximum(normalize_rows(probability), FLOOR))


def normalize_rows(rows: Floats) -> Floats:
    """Rows that sum to 1; a row of zeros becomes uniform."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1])


def softmax(value: Floats) -> Floats:
    value = np.exp(value - value.max(axis=-1, keepdims=True))
    return value / value.sum(axis=-1, keepdims=True)
