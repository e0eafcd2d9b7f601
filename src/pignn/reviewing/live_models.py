"""The small models of a review, refitted while people decide. The embedding stays as it is.

Two models learn from the decisions. The *error model* says which labels are wrong. The *class model*, cross-fitted on
the embedding, says what is right: decided labels are certain to it, and any other label is as doubtful as the error
model says. Its probabilities and those of the audit, which has more views of a node, are averaged.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np

from ..auditing.crossfit import CrossFitLogistic
from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .error_model import ErrorModel
from .project import ProjectState
from .verdicts import KEEP, RELABEL, UNDECIDED

MIN_PROB = 1e-6
MAX_LEARNED = 20_000  # labels that the class model learns from, beside the decided ones


@dataclass(frozen=True, eq=False)
class Ranking:
    """What the models say of every label. `number` counts the fits; `num_decided` labels were known to this one."""

    number: int
    num_decided: int
    seconds: float
    p_wrong: Floats
    suggested: Ints
    probs: Floats  # of each class, without the own label
    source_error_rates: Floats


class LiveModels:
    """Fits rankings. One thread at a time fits."""

    def __init__(self, state: ProjectState, num_sources: int) -> None:
        self.state, self.num_classes, self.num_sources = state, state.probs.shape[1], num_sources
        self.errors = ErrorModel(state.embedding, state.given, self.num_classes, state.p_wrong)
        num_labels = len(state.given)
        self._sample = np.arange(num_labels)
        if num_labels > MAX_LEARNED:  # a logistic regression needs no more, and people wait for it
            self._sample = np.sort(np.random.default_rng(0).choice(num_labels, MAX_LEARNED, replace=False))
        self._weights: list[Floats | None] = [None] * (int(state.fold.max()) + 1)
        self._lock = threading.Lock()

    def make_ranking_from_audit(self) -> Ranking:
        """What the audit says."""
        state = self.state
        return Ranking(
            0, 0, 0.0, state.p_wrong, state.suggested, state.probs, self._compute_source_error_rates(state.p_wrong)
        )

    def refit_and_build_ranking(self, status: Ints, label: Ints, number: int) -> Ranking:
        """Learn from the decisions: status of every label, and class of those that were relabeled (-1: a new one)."""
        with self._lock:
            start, state = time.perf_counter(), self.state
            p_wrong = self.fit_p_wrong(status)
            probs = self._fit_class_probs(status, label, p_wrong)
            others = probs.copy()
            others[np.arange(len(others)), state.given] = -1
            suggested = others.argmax(axis=1)
            rates = self._compute_source_error_rates(p_wrong)
            seconds = time.perf_counter() - start
            num_decided = int(((status == RELABEL) | (status == KEEP)).sum())
            return Ranking(number, num_decided, seconds, p_wrong, suggested, probs, rates)

    def fit_p_wrong(self, status: Ints) -> Floats:
        """P(wrong) of every label by the error model; of a decided one, what was decided."""
        settled = np.flatnonzero((status == RELABEL) | (status == KEEP))
        is_wrong = (status[settled] == RELABEL).astype(float)
        p_wrong = np.where(
            self.state.trusted, 0.0, self.errors.refit_and_predict_p_wrong(settled, is_wrong, self.state.suggested)
        )
        p_wrong[settled] = is_wrong
        return p_wrong

    def _fit_class_probs(self, status: Ints, label: Ints, p_wrong: Floats) -> Floats:
        state, rows = self.state, np.arange(len(status))
        likelihood = state.probs.astype(float) + MIN_PROB
        likelihood[rows, state.given] = 0
        likelihood = normalize_rows(likelihood) * p_wrong[:, None]
        likelihood[rows, state.given] = 1 - p_wrong
        relabeled = np.flatnonzero((status == RELABEL) & (label >= 0))
        likelihood[relabeled] = np.eye(self.num_classes)[label[relabeled]]
        likelihood[(status == RELABEL) & (label < 0)] = (
            1.0  # of a class that the models do not know: nothing is learned
        )
        fitted = self._cross_fit_class_probs(np.union1d(self._sample, np.flatnonzero(status != UNDECIDED)), likelihood)
        mixed = np.log(np.maximum(fitted, MIN_PROB)) + np.log(np.maximum(state.probs, MIN_PROB))
        return normalize_rows(np.exp(mixed / 2)).astype(np.float32)

    def _cross_fit_class_probs(self, chosen: Ints, likelihood: Floats) -> Floats:
        """Class probabilities of all labels, learned from the chosen ones. Each fit starts where the last one ended."""
        state = self.state
        classifier = CrossFitLogistic(
            state.embedding[chosen], state.given[chosen], state.fold[chosen], self.num_classes, state.trusted[chosen]
        )
        classifier.weights = self._weights
        fitted = classifier.fit_predict_proba_through_likelihood(likelihood[chosen])
        self._weights = classifier.weights
        return (
            fitted
            if len(chosen) == len(state.given)
            else classifier.predict_proba_by_held_out_fold(state.embedding, state.fold)
        )

    def _compute_source_error_rates(self, p_wrong: Floats) -> Floats:
        known = self.state.sources >= 0
        counts = np.bincount(self.state.sources[known], minlength=self.num_sources)
        sums = np.bincount(self.state.sources[known], weights=p_wrong[known], minlength=self.num_sources)
        return sums / np.maximum(counts, 1)
