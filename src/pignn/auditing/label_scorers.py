"""Scores of how wrong a given label looks: the audit's, and simpler ones to compare it with.

A study runs them as work of the kind ``audit``. Every scorer sees labels on all nodes and uses the same five folds.
Another package adds one through the entry-point group ``pignn.label_scorers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from .. import graphs
from ..core.registry import Entry, Registry
from ..core.settings import Int, check_settings, setting
from .audit import audit_labels
from .crossfit import iter_train_and_test_positions
from .evidence import Evidence, build_checked_evidence

FOLD_SEED = 0
SCORERS: Registry[type[LabelScorer]] = Registry(
    "label scorer",
    "pignn.label_scorers",
    [
        Entry("audit", f"{__name__}:AuditScorer", "probability that the label is wrong, by the audit"),
        Entry("logistic", f"{__name__}:LogisticScorer", "1 − probability of the given label, smoothed features"),
        Entry("margin", f"{__name__}:MarginScorer", "how far another class leads over the given label"),
        Entry("neighbors", f"{__name__}:NeighborScorer", "share of labeled neighbors with another label"),
        Entry("gcn-cleanlab", f"{__name__}:CleanlabScorer", "label quality of cleanlab, from a cross-validated GCN"),
        Entry("graph-cleaner", f"{__name__}:GraphCleanerScorer", "GraphCleaner's detector, from a cross-validated GCN"),
    ],
)


@dataclass(kw_only=True)
class LabelScorer(ABC):
    """Scores every given label of a graph; higher means more probably wrong."""

    folds: int = setting(5, Int(min=2), "number of folds; no model sees the labels that it scores")

    def check_settings(self) -> None:
        check_settings(self)

    @abstractmethod
    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        """(score of each label from 0 to 1, what was measured beside)."""

    def gather_evidence(self, data: Data) -> Evidence:
        return build_checked_evidence(data, self.folds, FOLD_SEED)


@dataclass(kw_only=True)
class AuditScorer(LabelScorer):
    """The audit itself. It also estimates the noise rate and corrects suspects."""

    method: str = "smoothed"

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        audit = audit_labels(data, self.method, folds=self.folds, seed=FOLD_SEED)
        issues = audit.issues.sort_values("node")
        truth = data.y_true.numpy()[issues["node"]]
        chosen = {"corrected_accuracy": issues["suspect"], "probable_corrected_accuracy": issues["p_wrong"] > 0.5}
        corrected = {name: np.where(mask, issues["suggested"], issues["given"]) for name, mask in chosen.items()}
        return issues["p_wrong"].to_numpy(), {
            "estimated_noise": audit.noise.rate,
            "noise_error": abs(audit.noise.rate - float((issues["given"] != truth).mean())),
            "noise_dawid_skene": audit.rate_dawid_skene,
            **{name: float((labels == truth).mean()) for name, labels in corrected.items()},
        }


@dataclass(kw_only=True)
class LogisticScorer(LabelScorer):
    """Cross-validated logistic regression of smoothed features."""

    def predict_held_out_proba(self, data: Data) -> np.ndarray:
        evidence = self.gather_evidence(data)
        return evidence.make_cross_fit_classifier(evidence.embedding).fit_predict_proba()

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        return 1 - self.predict_held_out_proba(data)[np.arange(data.num_nodes), data.y.numpy()], {}


@dataclass(kw_only=True)
class MarginScorer(LogisticScorer):
    """The same regression, by the lead of the best other class."""

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        probs, nodes, given = self.predict_held_out_proba(data), np.arange(data.num_nodes), data.y.numpy()
        own = probs[nodes, given].copy()
        probs[nodes, given] = -1
        return (1 + probs.max(axis=1) - own) / 2, {}


@dataclass(kw_only=True)
class NeighborScorer(LabelScorer):
    """The share of neighbors that disagree: finer than whether their majority does, and better."""

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        votes = self.gather_evidence(data).neighbor_class_counts
        same = votes[np.arange(data.num_nodes), data.y.numpy()]
        return 1 - same / np.maximum(votes.sum(axis=1), 1), {}


@dataclass(kw_only=True)
class NetworkScorer(LabelScorer):
    """A scorer that reads out-of-fold probabilities of a GCN."""

    epochs: int = setting(200, Int(min=1), "number of training epochs per fold")

    def predict_held_out_proba(self, data: Data) -> np.ndarray:
        """Probabilities of all nodes, [N, classes], each from a network that has not seen the node's label."""
        from ..methods import make

        probs = np.empty((data.num_nodes, graphs.num_classes(data)))
        for train, test in iter_train_and_test_positions(self.gather_evidence(data).fold):
            graph = data.clone()
            graph.y[torch.from_numpy(test)] = -1
            graph.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            graph.train_mask[torch.from_numpy(train)] = True
            graph.val_mask = graph.test_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            model = make("vanilla", epochs=self.epochs, selection="last").fit(graph)
            probs[test] = model.predict_proba(graph)[test]
        return probs


@dataclass(kw_only=True)
class CleanlabScorer(NetworkScorer):
    """cleanlab's label quality from out-of-fold probabilities of a GCN."""

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        from cleanlab.rank import get_label_quality_scores

        return 1 - get_label_quality_scores(data.y.numpy(), self.predict_held_out_proba(data)), {}


@dataclass(kw_only=True)
class GraphCleanerScorer(NetworkScorer):
    """GraphCleaner's detector (Li et al., ICML 2023): it learns to see labels that were flipped on purpose."""

    def compute_suspicion_scores_and_measures(self, data: Data) -> tuple[np.ndarray, dict[str, float | None]]:
        from ..backbones import GraphInputs
        from ..methods.graph_cleaner import NeighborhoodFeatures, compute_wrong_label_probs

        probs, nodes = self.predict_held_out_proba(data), np.arange(data.num_nodes)
        features = NeighborhoodFeatures(GraphInputs.from_data(graphs.copy_checked_graph(data)))
        return compute_wrong_label_probs(features, probs, data.y.numpy(), nodes, nodes, FOLD_SEED), {}


class AuditWork:
    """Work of the kind ``audit`` in a study: score given labels, to be compared with which of them are wrong."""

    def get_settings_class(self, method: str) -> type[LabelScorer]:
        return SCORERS.get(method)

    def compute_targets_probs_and_measures(
        self, method: str, settings: dict[str, Any], trials: object, seed: int, data: Data
    ) -> tuple[np.ndarray, np.ndarray, dict[str, float | None], dict[str, Any]]:
        scores, measures = SCORERS.get(method)(**settings).compute_suspicion_scores_and_measures(data)
        wrong = data.y.numpy() != data.y_true.numpy()
        highest = np.argsort(-scores, kind="stable")[: wrong.sum()]
        measures["precision_at_k"] = float(wrong[highest].mean()) if wrong.any() else None
        return wrong.astype(np.int64), np.stack([1 - scores, scores], axis=1), measures, {}


AUDITING = AuditWork()
