"""What a model is worth where nobody knows the true labels: cross-validation on given labels, under their noise."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from ..auditing.crossfit import VAL_SHARE, Bools, assign_stratified_or_source_folds, iter_positions_and_probs_per_fold
from ..auditing.evidence import build_checked_evidence
from ..auditing.judging import judge_labels
from ..core.errors import DataError, PignnWarning
from ..core.notebook import CardTable, render_card_html
from ..core.threads import threads_context
from ..graphs import num_classes
from ..methods import Method
from ..methods.core.base import get_class_names_or_numbers
from ..noise.kinds import Floats, Ints
from ..report.predictions import build_prediction_table
from .accuracy import AccuracyEstimate, HeldOutLabels, estimate_accuracy

MAX_SHOWN_CLASSES = 12  # in a notebook
MIN_LABELS = 40  # with fewer, the interval would say nothing
NUM_FOLDS = 5
MIN_SECONDS, SECONDS_PER_FIT = 60.0, 3.0


@dataclass(frozen=True, eq=False, repr=False)
class Assessment:
    """How good a model is. Held-out given labels were compared with predictions that had not seen them.

    ``accuracy`` is what the agreement implies under the estimated noise. ``true_accuracy`` is there where true labels
    are known; they serve for nothing else.
    """

    method: str
    num_labels: int  # that were held out in some fold
    num_folds: int
    agreement: float  # with given labels, some of which are wrong
    estimate: AccuracyEstimate
    classes: pd.DataFrame  # one row per class: labels, agreement, accuracy and its interval
    disagreements: pd.DataFrame  # nodes whose held-out prediction is not the given label, surest first
    seconds: float
    true_accuracy: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        return self.estimate.accuracy

    @property
    def interval(self) -> tuple[float, float]:
        return self.estimate.interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        estimate, classes = self.estimate, self.classes.astype(object)
        return {
            "labels": self.num_labels,
            "folds": self.num_folds,
            "agreement": self.agreement,
            "noise_rate": estimate.noise_rate,
            "noise_rate_interval": list(estimate.noise_rate_interval),
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "true_accuracy": self.true_accuracy,
            "classes": classes.where(self.classes.notna(), None).to_dict("records"),
            "disagreements": len(self.disagreements),
            "seconds": round(self.seconds, 2),
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Assessment(accuracy {self.accuracy:.1%}, between {low:.1%} and {high:.1%})"

    def __str__(self) -> str:
        low, high = self.interval
        estimate = self.estimate
        lines = [
            f"worth: right for about {self.accuracy:.1%} of nodes like these (between {low:.1%} and {high:.1%}): it "
            f"agrees with {self.agreement:.1%} of {self.num_labels:,} labels that it had not seen, and about "
            f"{estimate.noise_rate:.1%} of the labels are wrong",
            *(f"note: {note}" for note in self.notes),
        ]
        if self.true_accuracy is not None:
            lines.insert(1, f"by true labels: {self.true_accuracy:.1%}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return render_card_html(
            "What the model is worth", self.build_facts(), [self.build_class_card_table()], self.notes
        )

    def build_facts(self) -> dict[str, Any]:
        """The headline numbers in words."""
        low, high = self.interval
        return {
            "right for about": f"{self.accuracy:.1%} (between {low:.1%} and {high:.1%})",
            "by true labels": None if self.true_accuracy is None else f"{self.true_accuracy:.1%}",
            "agrees with": f"{self.agreement:.1%} of {self.num_labels:,} held-out labels",
            "labels wrong": f"about {self.estimate.noise_rate:.1%}",
        }

    def build_class_card_table(self) -> CardTable:
        """Agreement and accuracy by class."""
        rows = self.classes.astype(object).where(self.classes.notna(), None)
        return CardTable("By class", rows.head(MAX_SHOWN_CLASSES).to_dict("records"))


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The labels that can be held out, and what the audit's views say of them. Several methods can share it."""

    data: Data  # with given labels to learn from; no true labels
    nodes: Ints
    given: Ints
    log_probs: Floats
    trusted: Bools

    @classmethod
    def from_audit(
        cls, data: Data, nodes: Ints, given: Ints, seed: int, training_data: Data | None = None
    ) -> LabelEvidence:
        """Audit the given labels of some nodes, whatever their splits are."""
        graph = (training_data if training_data is not None else data).__copy__()
        graph.y_true, graph.votes = None, None
        audited = graph.__copy__()
        audited.label_source = None  # folds of whole sources are for audits
        audited.y = torch.full_like(data.y, -1)
        audited.y[nodes] = torch.from_numpy(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PignnWarning)
            evidence = build_checked_evidence(audited, NUM_FOLDS, seed)
            with threads_context(evidence.graph.x.numel()):
                log_probs = judge_labels(evidence, None).log_probs
        return cls(graph, nodes, given, log_probs, evidence.trusted)


def find_labeled_train_nodes(data: Data, *, with_val: bool) -> Ints:
    """Nodes whose given labels are held out in turn: those that are learned from."""
    mask = data.train_mask | data.val_mask if with_val else data.train_mask
    return np.flatnonzero((mask & (data.y >= 0)).numpy())


def assess(
    method: Method,
    data: Data,
    *,
    training_data: Data | None = None,
    seed: int = 0,
    folds: int | None = None,
    max_seconds: float | None = None,
    predicted: Ints | None = None,
) -> Assessment:
    """Cross-validate a method on the given labels that it learns from.

    Args:
        method: one that chooses among others (``auto``) must be fitted, and keeps its choice; others need not be.
        data: the graph with given labels. ``y_true``, where it is there, is compared with and no more.
        training_data: the graph with the labels to learn from, where an audit has changed some.
        seed: of folds and bootstrap.
        folds: by default 5.
        max_seconds: after this time no further fold is begun. Labels of the folds that are done still count.
        predicted: classes of all nodes by the method that learned from all labels, to compare with true ones.
    """
    start = time.perf_counter()
    nodes = find_labeled_train_nodes(data, with_val=method.get_params().get("labels") == "train+val")
    given = data.y[nodes].numpy()
    if len(nodes) < MIN_LABELS or len(np.unique(given)) < 2:
        raise DataError(f"{len(nodes)} labels are too few to say what a model is worth; {MIN_LABELS} are needed")
    evidence = LabelEvidence.from_audit(data, nodes, given, seed, training_data)
    folds = folds or NUM_FOLDS
    probs = predict_held_out_probs(method, evidence, folds, seed, None if max_seconds is None else start + max_seconds)
    return build_assessment(method, data, evidence, probs, folds, seed, start, predicted)


def predict_held_out_probs(
    method: Method, evidence: LabelEvidence, folds: int, seed: int, deadline: float | None = None
) -> Floats:
    """Class probabilities of held-out labels, [labels, classes]; NaN in folds that the time did not suffice for."""
    count = num_classes(evidence.data)
    fold = assign_stratified_or_source_folds(evidence.given, folds, seed)
    probs = np.full((len(evidence.nodes), count), np.nan)
    options: dict[str, Any] = {"progress": False} if "epochs" in method.get_params() else {}
    # Copies choose their epoch as the method itself does: by validation labels only where the graph has them.
    options["val_share"] = VAL_SHARE if bool(evidence.data.val_mask.any()) else 0.0
    for test, fold_probs in iter_positions_and_probs_per_fold(
        evidence.data, evidence.nodes, fold, count, method, seed, **options
    ):
        probs[test] = fold_probs
        if deadline is not None and time.perf_counter() > deadline:
            break
    return probs


def build_assessment(
    method: Method,
    data: Data,
    evidence: LabelEvidence,
    probs: Floats,
    folds: int,
    seed: int,
    start: float,
    predicted: Ints | None = None,
) -> Assessment:
    """What held-out probabilities say about a method."""
    done = np.flatnonzero(np.isfinite(probs).all(axis=1))
    given, classes = evidence.given[done], probs[done].argmax(axis=1)
    labels = HeldOutLabels(given, classes[:, None], evidence.log_probs[done], evidence.trusted[done].astype(bool))
    estimate = estimate_accuracy(labels, share_learned_from=1 - 1 / folds, seed=seed)
    notes = []
    if len(done) < len(probs):
        notes.append(f"the time sufficed for {len(done):,} of {len(probs):,} labels; the interval is wider for it")
    return Assessment(
        method=method.name,
        num_labels=len(done),
        num_folds=folds,
        agreement=float((classes == given).mean()),
        estimate=estimate,
        classes=_build_class_accuracy_table(get_class_names_or_numbers(data), given, classes, estimate),
        disagreements=_build_table_of_disagreements(data, evidence.nodes[done], given, probs[done], estimate),
        seconds=time.perf_counter() - start,
        true_accuracy=_score_by_truth_or_none(data, evidence.nodes[done], classes, predicted),
        notes=notes,
    )


def _build_class_accuracy_table(
    names: list[str], given: Ints, predicted: Ints, estimate: AccuracyEstimate
) -> pd.DataFrame:
    sizes = np.bincount(given, minlength=len(names))
    agreed = np.bincount(given[given == predicted], minlength=len(names)) / np.maximum(sizes, 1)
    table = {
        "class": names,
        "labels": sizes,
        "agreement": np.where(sizes > 0, agreed, np.nan),
        "accuracy": estimate.class_accuracy,
        "low": np.where(np.isnan(estimate.class_accuracy), np.nan, estimate.class_intervals[:, 0]),
        "high": np.where(np.isnan(estimate.class_accuracy), np.nan, estimate.class_intervals[:, 1]),
    }
    return pd.DataFrame(table)


def _build_table_of_disagreements(
    data: Data, nodes: Ints, given: Ints, probs: Floats, estimate: AccuracyEstimate
) -> pd.DataFrame:
    every = np.zeros((int(data.num_nodes), probs.shape[1]))
    every[nodes] = probs
    table = build_prediction_table(data, every, get_class_names_or_numbers(data)).iloc[nodes]
    table = table.loc[:, :"confidence"].copy()
    rows = np.arange(len(nodes))
    table["p_given_wrong"] = (1 - estimate.posterior[rows, given]).round(4)
    order = np.argsort(-table["p_given_wrong"].to_numpy(), kind="stable")
    return table.iloc[order[(probs.argmax(axis=1) != given)[order]]].reset_index(drop=True)


def _score_by_truth_or_none(data: Data, nodes: Ints, classes: Ints, predicted: Ints | None) -> float | None:
    """Held-out predictions of labeled nodes and predictions of all others, against true labels."""
    if data.get("y_true") is None:
        return None
    truth = data.y_true.numpy()
    guess = np.full(len(truth), -1)
    if predicted is not None:
        unlabeled = data.y.numpy() < 0
        guess[unlabeled] = predicted[unlabeled]
    guess[nodes] = classes
    known = (truth >= 0) & (guess >= 0)
    return float((guess == truth)[known].mean()) if known.any() else None
