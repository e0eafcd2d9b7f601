"""How much a decision on a label is expected to change what the error model says of all undecided labels.

The error model is a logistic regression with Gaussian priors on its weights, so its score f has the covariance

    k(i, j) = A²·e_i·e_j + B²·[g_i = g_j]·e_i·e_j + [g_i = g_j] + [s_i = s_j] + 1/offset + l_i·l_j/slope

(g given, s suggested class, l the logit of the audit's p). With W = p·(1 − p) of the decided labels D, what is left of
it after them is C(i, j) = k(i, j) − k(i, D)·(k(D, D) + W⁻¹)⁻¹·k(D, j) (Laplace). One step of Newton's method with the
answer y of label i moves the scores by C(j, i)·(y − p_i)/(1 + w_i·C(i, i)), and p_j by w_j times that. The mean of
|y − p_i| is 2·p_i·(1 − p_i).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..noise.kinds import Floats, Ints
from .error_model import ErrorModel

MAX_CANDIDATES = 20_000  # labels that the models are least sure of; the others change little
NUM_WITNESSES, MAX_DECIDED = 300, 400  # undecided labels whose change is summed, decided ones that are known: at random
CANDIDATES_AT_ONCE = 4_000


def compute_expected_changes(errors: ErrorModel, p_wrong: Floats, decided: Ints, undecided: Ints) -> Floats:
    """The expected sum of |change of P(wrong)| over all undecided labels, per label of the project; 0 for the rest.

    Args:
        errors: the model.
        p_wrong: what it says of every label, the decided ones included.
        decided: positions of the labels that it has learned from.
        undecided: positions of the labels that may be decided.
    """
    result, variance = np.zeros(len(p_wrong)), p_wrong * (1 - p_wrong)
    if not len(undecided):
        return result
    rng = np.random.default_rng(0)
    known = decided if len(decided) <= MAX_DECIDED else rng.choice(decided, MAX_DECIDED, replace=False)
    size = min(NUM_WITNESSES, len(undecided))
    witnesses = rng.choice(undecided, size, replace=False)
    candidates = undecided[np.argsort(-variance[undecided], kind="stable")[:MAX_CANDIDATES]]
    inverse = _CovarianceLeft(errors, known, variance[known])
    of_witnesses = inverse.prepare(witnesses)
    for start in range(0, len(candidates), CANDIDATES_AT_ONCE):
        part = candidates[start : start + CANDIDATES_AT_ONCE]
        shared, own = inverse.compute(witnesses, of_witnesses, part)
        moved = variance[witnesses] @ np.abs(shared)
        result[part] = 2 * variance[part] * moved / (1 + variance[part] * own) * (len(undecided) / size)
    return result


class _CovarianceLeft:
    """The covariance of scores that is left after some decisions."""

    def __init__(self, errors: ErrorModel, known: Ints, variance: Floats) -> None:
        self.errors, self.known = errors, known
        matrix = errors.compute_covariance(known, known)
        matrix[np.diag_indices(len(known))] += 1 / np.maximum(variance, 1e-4)
        self.factor = cho_factor(matrix) if len(known) else None

    def prepare(self, rows: Ints) -> Floats:
        """(k(D, D) + W⁻¹)⁻¹·k(D, rows)"""
        if self.factor is None:
            return np.zeros((0, len(rows)))
        return cho_solve(self.factor, self.errors.compute_covariance(self.known, rows))

    def compute(self, rows: Ints, prepared: Floats, columns: Ints) -> tuple[Floats, Floats]:
        """C(rows, columns), and the diagonal C(columns, columns)."""
        between = self.errors.compute_covariance(self.known, columns)
        shared = self.errors.compute_covariance(rows, columns) - prepared.T @ between
        own = self.errors.compute_variances(columns)
        own = own - (0 if self.factor is None else np.einsum("ij,ij->j", between, cho_solve(self.factor, between)))
        return shared, np.maximum(own, 0)
