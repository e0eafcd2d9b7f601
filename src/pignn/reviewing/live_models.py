"""The small models of a review, refitted while people decide. The embedding stays as it is.

Two models learn from the decisions, and from each other. The *error model* says which labels are wrong. The *class
model*, cross-fitted on the embedding, says what is right: decided labels are certain to it, and any other label is as
doubtful as the error model says. Its probabilities and those of the audit, which has more views of a node, are
averaged. A class that was not there is learned once a few labels of it are decided.
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
from .expected_change import compute_expected_changes
from .project import ProjectState
from .verdicts import KEEP, RELABEL, UNDECIDED

MIN_PROB = 1e-6
MIN_NEW_LABELS = 3  # of a class that was not there, before the class model learns it
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
    expected_change: Floats  # of P(wrong), summed over all undecided labels, if this one is decided


class LiveModels:
    """Fits rankings. One thread at a time fits."""

    def __init__(self, state: ProjectState, num_sources: int) -> None:
        self.state, self.num_classes, self.num_sources = state, state.probs.shape[1], num_sources
        self.errors = ErrorModel(state.embedding, state.given, state.suggested, self.num_classes, state.p_wrong)
        num_labels = len(state.given)
        self._sample = np.arange(num_labels)
        if num_labels > MAX_LEARNED:  # a logistic regression needs no more, and people wait for it
            self._sample = np.sort(np.random.default_rng(0).choice(num_labels, MAX_LEARNED, replace=False))
        self._weights: list[Floats | None] = []
        self._num_weighted_classes, self._has_class_model = -1, False
        self._lock = threading.Lock()

    def make_ranking_from_audit(self) -> Ranking:
        """What the audit says."""
        state = self.state
        none, undecided = np.empty(0, dtype=np.int64), np.flatnonzero(~state.trusted)
        changes = compute_expected_changes(self.errors, state.p_wrong, none, undecided)
        rates = self._compute_source_error_rates(state.p_wrong)
        return Ranking(0, 0, 0.0, state.p_wrong, state.suggested, state.probs, rates, changes)

    def refit_and_build_ranking(self, status: Ints, label: Ints, number: int) -> Ranking:
        """Learn from the decisions: status of every label, and class of those that were relabeled.

        Numbers behind those of the project's classes are new classes.
        """
        with self._lock:
            start, state = time.perf_counter(), self.state
            decided, is_wrong = list_decided_positions_and_outcomes(status)
            if not self._has_class_model:
                self.errors.hear_class_model(self._fit_class_probs(status, label, self.fit_p_wrong(status)))
            learned = self.errors.refit_and_predict_p_wrong(decided, is_wrong)
            undecided = np.flatnonzero((status == UNDECIDED) & ~state.trusted)
            changes = compute_expected_changes(self.errors, learned, decided, undecided)
            p_wrong = self._replace_what_is_known(learned, decided, is_wrong)
            probs = self._fit_class_probs(status, label, p_wrong)
            self.errors.hear_class_model(probs)  # at the next refit
            self._has_class_model = True
            others = probs.copy()
            others[np.arange(len(others)), state.given] = -1
            suggested = others.argmax(axis=1)
            rates = self._compute_source_error_rates(p_wrong)
            seconds = time.perf_counter() - start
            return Ranking(number, len(decided), seconds, p_wrong, suggested, probs, rates, changes)

    def fit_p_wrong(self, status: Ints) -> Floats:
        """P(wrong) of every label by the error model; of a decided one, what was decided."""
        decided, is_wrong = list_decided_positions_and_outcomes(status)
        return self._replace_what_is_known(self.errors.refit_and_predict_p_wrong(decided, is_wrong), decided, is_wrong)

    def _replace_what_is_known(self, p_wrong: Floats, decided: Ints, is_wrong: Floats) -> Floats:
        p_wrong = np.where(self.state.trusted, 0.0, p_wrong)
        p_wrong[decided] = is_wrong
        return p_wrong

    def _fit_class_probs(self, status: Ints, label: Ints, p_wrong: Floats) -> Floats:
        """[labels, classes], the new ones behind; those with too few labels to be learned have probability 0."""
        state, rows, size = self.state, np.arange(len(status)), max(self.num_classes, int(label.max()) + 1)
        is_relabeled = (status == RELABEL) & (label >= 0)
        num_relabeled = np.bincount(label[is_relabeled], minlength=size)
        new = np.flatnonzero((np.arange(size) >= self.num_classes) & (num_relabeled >= MIN_NEW_LABELS))
        likelihood = np.zeros((len(rows), size))
        likelihood[:, : self.num_classes] = state.probs + MIN_PROB
        likelihood[rows, state.given] = 0
        likelihood = normalize_rows(likelihood) * p_wrong[:, None]
        likelihood[rows, state.given] = 1 - p_wrong
        for c in new:  # nodes of a new class were given what those that were found had been given
            counts = np.bincount(state.given[is_relabeled & (label == c)], minlength=self.num_classes)
            likelihood[:, c] = ((counts + 1 / self.num_classes) / (counts.sum() + 1))[state.given]
        decided = np.flatnonzero((status == KEEP) | is_relabeled)
        likelihood[decided] = np.eye(size)[np.where(is_relabeled, label, state.given)[decided]]
        likelihood[is_relabeled & ~np.isin(label, [*range(self.num_classes), *new])] = 1.0  # nothing is learned
        fitted = self._cross_fit_class_probs(np.union1d(self._sample, np.flatnonzero(status != UNDECIDED)), likelihood)
        fitted[:, np.setdiff1d(np.arange(self.num_classes, size), new)] = 0
        return self._average_with_probs_of_audit(normalize_rows(fitted)).astype(np.float32)

    def _average_with_probs_of_audit(self, fitted: Floats) -> Floats:
        """The geometric mean, within the share of the classes that the audit knows."""
        known = fitted[:, : self.num_classes]
        mixed = np.log(np.maximum(known, MIN_PROB)) + np.log(np.maximum(self.state.probs, MIN_PROB))
        share = known.sum(axis=1, keepdims=True)
        return np.concatenate([share * normalize_rows(np.exp(mixed / 2)), fitted[:, self.num_classes :]], axis=1)

    def _cross_fit_class_probs(self, chosen: Ints, likelihood: Floats) -> Floats:
        """Class probabilities of all labels, learned from the chosen ones. Each fit starts where the last one ended."""
        state, size = self.state, likelihood.shape[1]
        classifier = CrossFitLogistic(
            state.embedding[chosen], state.given[chosen], state.fold[chosen], size, state.trusted[chosen]
        )
        if size == self._num_weighted_classes:
            classifier.weights = self._weights
        fitted = classifier.fit_predict_proba_through_likelihood(likelihood[chosen])
        self._weights, self._num_weighted_classes = classifier.weights, size
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


def list_decided_positions_and_outcomes(status: Ints) -> tuple[Ints, Floats]:
    """Positions of the labels that are decided, and 1 for each that is wrong."""
    decided = np.flatnonzero((status == RELABEL) | (status == KEEP))
    return decided, (status[decided] == RELABEL).astype(float)
