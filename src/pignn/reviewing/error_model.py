"""Which labels are wrong, learned from the decisions: logistic regression around what the audit says.

    logit P(label i is wrong) = (1 + s)·logit p_i + d·(logit q_i − logit p_i) + b + b_given(i) + c_suggested(i)
                                + (A·w + B·w_given(i)) · e_i

p_i is the audit's probability, e_i the node's embedding, and q_i what the class model, which learns from the decisions,
leaves to classes other than the given one. All parameters are penalized, so without decisions the audit is believed.
The weights of a given class let errors of one class in one region, as rules and language models make them, be learned
from a handful of decisions; nothing here depends on how the noise came about.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from ..auditing.crossfit import Singles
from ..noise.kinds import Floats, Ints

MAX_LOGIT = 6.0  # of the audit's probabilities: surer than that it is not taken for
SHARED_SCALE, CLASS_SCALE = 2.0, 3.0  # A, B: how far regions matter, over all classes and within a given one
SLOPE_PENALTY, OFFSET_PENALTY, CLASS_MODEL_PENALTY = 4.0, 0.1, 1.0
MAX_ITERATIONS = 80


class ErrorModel:
    """The model over all labels of a project.

    `refit_and_predict_p_wrong` learns from the decided ones and returns P(wrong) of all.
    """

    def __init__(self, embedding: Singles, given: Ints, suggested: Ints, num_classes: int, p_wrong: Floats) -> None:
        centered = embedding - embedding.mean(axis=0)
        size = np.sqrt(max(float(np.square(centered).sum(axis=1).mean()), 1e-12))
        self.embedding = np.ascontiguousarray(centered / size, dtype=np.float32)
        self.given, self.suggested, self.num_classes = given, suggested, num_classes
        self.prior = _compute_bounded_logit(p_wrong)
        self.class_model_excess = np.zeros(len(given))  # logit q_i − logit p_i

    def hear_class_model(self, class_probs: Floats) -> None:
        """Take over what the class model says of every label without having seen that one."""
        of_given = class_probs[np.arange(len(self.given)), self.given]
        self.class_model_excess = _compute_bounded_logit(1.0 - of_given.astype(float)) - self.prior

    def refit_and_predict_p_wrong(self, decided: Ints, is_wrong: Floats) -> Floats:
        """P(wrong) of every label, from the positions of decided ones."""
        if not len(decided):
            return expit(self.prior)
        rows = self._select_rows(decided)

        def compute_loss(weights: Floats) -> tuple[float, Floats]:
            parts = self._split_weights(weights)
            score = rows.compute_scores(*parts)
            loss = float(np.logaddexp(0, score).sum() - is_wrong @ score)
            slope = rows.compute_gradient(expit(score) - is_wrong, self.num_classes)
            penalties = self._build_weight_penalties()
            return loss + 0.5 * float(penalties @ weights**2), slope + penalties * weights

        start = np.zeros(len(self._build_weight_penalties()))
        best = minimize(compute_loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITERATIONS}).x
        everything = self._select_rows(np.arange(len(self.given)))
        return expit(everything.compute_scores(*self._split_weights(best)))

    def _select_rows(self, positions: Ints) -> _Rows:
        return _Rows(
            self.embedding[positions], self.given[positions], self.suggested[positions], self.prior[positions],
            self.class_model_excess[positions],
        )  # fmt: skip

    def compute_covariance(self, rows: Ints, columns: Ints) -> Floats:
        """The covariance of the scores of two groups of labels before anything is decided."""
        is_given_shared = self.given[rows][:, None] == self.given[columns]
        product = (self.embedding[rows] @ self.embedding[columns].T).astype(np.float64)
        product *= SHARED_SCALE**2 + CLASS_SCALE**2 * is_given_shared
        product += is_given_shared
        product += self.suggested[rows][:, None] == self.suggested[columns]
        product += np.outer(self.prior[rows], self.prior[columns]) / SLOPE_PENALTY + 1 / OFFSET_PENALTY
        heard = self.class_model_excess
        return product + np.outer(heard[rows], heard[columns]) / CLASS_MODEL_PENALTY

    def compute_variances(self, rows: Ints) -> Floats:
        """The diagonal of that."""
        size = np.square(self.embedding[rows]).sum(axis=1, dtype=np.float64)
        offset = 2 + 1 / OFFSET_PENALTY + self.class_model_excess[rows] ** 2 / CLASS_MODEL_PENALTY
        return (SHARED_SCALE**2 + CLASS_SCALE**2) * size + offset + self.prior[rows] ** 2 / SLOPE_PENALTY

    def _build_weight_penalties(self) -> Floats:
        width, classes = self.embedding.shape[1], self.num_classes
        last = [OFFSET_PENALTY, SLOPE_PENALTY, CLASS_MODEL_PENALTY]
        return np.concatenate([np.ones(width * (1 + classes) + 2 * classes), last])

    def _split_weights(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        width, classes = self.embedding.shape[1], self.num_classes
        ends = np.cumsum([width, width * classes, classes, classes])
        shared, by_class, given, suggested, last = np.split(weights, ends)
        return shared, by_class.reshape(classes, width), given, suggested, last


class _Rows:
    """Some labels, with the score of each and the slope of a loss."""

    def __init__(self, embedding: Singles, given: Ints, suggested: Ints, prior: Floats, heard: Floats) -> None:
        self.embedding, self.given, self.suggested, self.prior, self.heard = embedding, given, suggested, prior, heard
        self.groups = [np.flatnonzero(given == c) for c in np.unique(given)]

    def compute_scores(
        self, shared: Floats, by_class: Floats, of_given: Floats, of_suggested: Floats, last: Floats
    ) -> Floats:
        score = (1 + last[1]) * self.prior + last[2] * self.heard + last[0]
        score += of_given[self.given] + of_suggested[self.suggested]
        score += SHARED_SCALE * (self.embedding @ shared.astype(self.embedding.dtype))
        for rows in self.groups:
            weights = by_class[self.given[rows[0]]].astype(self.embedding.dtype)
            score[rows] += CLASS_SCALE * (self.embedding[rows] @ weights)
        return score

    def compute_gradient(self, error: Floats, num_classes: int) -> Floats:
        by_class = np.zeros((num_classes, self.embedding.shape[1]))
        for rows in self.groups:
            by_class[self.given[rows[0]]] = CLASS_SCALE * (error[rows] @ self.embedding[rows])
        return np.concatenate([
            SHARED_SCALE * (error @ self.embedding),
            by_class.ravel(),
            np.bincount(self.given, weights=error, minlength=num_classes),
            np.bincount(self.suggested, weights=error, minlength=num_classes),
            [error.sum(), error @ self.prior, error @ self.heard],
        ])  # fmt: skip


def _compute_bounded_logit(probs: Floats) -> Floats:
    return np.clip(logit(np.clip(probs, 1e-9, 1 - 1e-9)), -MAX_LOGIT, MAX_LOGIT)
