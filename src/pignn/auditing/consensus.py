"""Combine the votes of several annotators with what the graph says: the consensus and its result."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import beta
from torch_geometric.data import Data

from .. import graphs
from ..core.errors import PignnWarning, warn_user
from ..core.settings import Int
from ..core.text import format_count
from ..core.threads import threads_context
from ..graphs.checks import parse_node_ids_or_none
from ..graphs.stored_ids import StoredIds
from ..graphs.votes import Votes, check_and_get_trusted_classes, parse_votes_annotators_and_classes
from ..methods.core.base import build_inputs_and_warn_of_edge_changes
from ..noise.kinds import Floats, Ints
from ..report import render_consensus_html
from .columns import Findings
from .vote_evidence import VoteEvidence
from .votes import (
    VoteModel,
    compute_annotator_error_rates,
    compute_expected_gains_per_annotator_and_node,
    compute_krippendorff_alpha_or_none,
    compute_pairwise_agreement_or_none,
    compute_penalized_log_evidence,
    count_confusions,
    fit_vote_model_by_em,
    list_confusion_forms_to_compare,
)

NUM_ROUNDS = 3  # of classifiers learning through confusions, and confusions from the classifiers
NUM_SHOWN_QUESTIONS = 10
CANDIDATES_PER_QUESTION = 10
NEW_ANNOTATOR = "somebody new"
MANY_ERRORS = 0.5
MIN_CONFUSION_VOTES = 0.5  # expected, to be listed


@dataclass(frozen=True)
class AnnotatorSummary:
    """The votes of one annotator."""

    annotator: str
    votes: int
    error_rate: float  # expected share of wrong votes
    error_low: float  # 95 % interval, which says how much so few votes can tell
    error_high: float
    most_frequent_error: str  # "true class → class that was voted for"; empty without errors


@dataclass(frozen=True, eq=False)
class Consensus:
    """The result of :func:`combine_votes`. It shows itself in a notebook.

    Arrays have one row per node of the graph, also for nodes without votes. Of these, `probabilities` are what the
    graph and the features say.
    """

    votes: Votes
    annotators: list[str]
    class_names: list[str]
    node_ids: list[str] | StoredIds | None
    known: Ints  # classes that somebody verified, -1 elsewhere
    probabilities: Floats  # [nodes, classes], P(true = k | votes, x)
    class_log_probs: Floats | None  # [nodes, classes], log P(true = k | x) without the node's own votes
    confusions: Floats  # [annotators, classes, classes], P(annotator says j | true = k), smoothed
    notes: list[str] = field(default_factory=list)  # reasons for doubt, which were warned of

    @cached_property
    def nodes(self) -> Ints:
        """Nodes with votes, or with a class that somebody verified."""
        return np.flatnonzero((self.votes.count_per_node() > 0) | (self.known >= 0))

    @cached_property
    def labels(self) -> Ints:
        """The most probable class of each node with votes, -1 of the others."""
        labels = np.full(len(self.probabilities), -1, dtype=np.int64)
        labels[self.nodes] = self.probabilities[self.nodes].argmax(axis=1)
        return labels

    @cached_property
    def plurality(self) -> Ints:
        """The class with the most votes, -1 without votes."""
        return self.votes.choose_plurality_classes()

    @cached_property
    def krippendorff_alpha(self) -> float | None:
        """Krippendorff's alpha of the votes: 1 is full agreement, 0 chance; None if no node has two votes."""
        return compute_krippendorff_alpha_or_none(self.votes)

    @cached_property
    def pairwise_agreement(self) -> float | None:
        """Share of pairs of votes on one node that agree; None if no node has two votes."""
        return compute_pairwise_agreement_or_none(self.votes)

    @property
    def expected_accuracy(self) -> float:
        """Mean probability of the consensus labels."""
        return float(self.probabilities[self.nodes].max(axis=1).mean())

    @cached_property
    def annotator_summaries(self) -> list[AnnotatorSummary]:
        """Votes and expected errors per annotator, in the order of `annotators`."""
        rates, counts = compute_annotator_error_rates(self.votes, self.probabilities), self.votes.count_per_annotator()
        wrong = np.nan_to_num(rates) * counts
        low, high = (
            beta.ppf(0.025, wrong + 0.5, counts - wrong + 0.5),
            beta.ppf(0.975, wrong + 0.5, counts - wrong + 0.5),
        )
        errors = count_confusions(self.votes, self.probabilities) * (1 - np.eye(len(self.class_names)))
        top = errors.reshape(len(errors), -1).argmax(axis=1)
        return [
            AnnotatorSummary(
                name,
                int(counts[a]),
                float(rates[a]),
                float(low[a]),
                float(high[a]),
                self._format_most_frequent_error(errors[a], top[a]),
            )
            for a, name in enumerate(self.annotators)
        ]

    def _format_most_frequent_error(self, error_counts: Floats, flat_index: int) -> str:
        true, said = divmod(int(flat_index), len(self.class_names))
        return f"{self.class_names[true]} → {self.class_names[said]}" if error_counts.ravel()[flat_index] >= 0.5 else ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per node with votes: consensus, its probability, number of votes and how many agree with it."""
        nodes, labels = self.nodes, self.labels[self.nodes]
        counts = self.votes.sum_confidence_per_node_and_class()
        names = np.array(self.class_names, dtype=object)
        plurality = self.plurality[nodes]
        columns: dict[str, Any] = {"node": self._get_ids_or_numbers(nodes)}
        columns |= {
            "consensus": names[labels],
            "probability": self.probabilities[nodes, labels],
            "votes": self.votes.count_per_node()[nodes],
            "agreement": _divide_or_nan(counts[nodes, labels], counts[nodes].sum(axis=1)),
            "majority": np.where(plurality >= 0, names[np.maximum(plurality, 0)], ""),
        }
        columns |= {f"p_{name}": self.probabilities[nodes, c] for c, name in enumerate(self.class_names)}
        return pd.DataFrame(columns)

    @cached_property
    def vote_table(self) -> pd.DataFrame:
        """One row per vote, with the probability that it is right."""
        votes = self.votes
        return pd.DataFrame(
            {
                "node": self._get_ids_or_numbers(votes.node),
                "annotator": np.array(self.annotators, dtype=object)[votes.annotator],
                "label": np.array(self.class_names, dtype=object)[votes.label],
                "confidence": votes.confidence,
                "p_right": self.probabilities[votes.node, votes.label],
            }
        )

    @property
    def annotator_table(self) -> pd.DataFrame:
        """One row per annotator: votes, error rate with its interval, most frequent error."""
        return pd.DataFrame([asdict(row) for row in self.annotator_summaries])

    @cached_property
    def confusion_table(self) -> pd.DataFrame:
        """One row per annotator, true class and class voted for: expected number of votes, and their share."""
        counts = count_confusions(self.votes, self.probabilities)
        annotator, true, said = np.nonzero(counts >= MIN_CONFUSION_VOTES)
        names = np.array(self.class_names, dtype=object)
        return pd.DataFrame(
            {
                "annotator": np.array(self.annotators, dtype=object)[annotator],
                "true": names[true],
                "said": names[said],
                "votes": counts[annotator, true, said],
                "share": self.confusions[annotator, true, said],
            }
        )

    def suggest_questions(self, count: int = NUM_SHOWN_QUESTIONS) -> pd.DataFrame:
        """Whom to ask about which node next: where one more vote is expected to help most, best first.

        `expected_gain` is by how much the vote is expected to raise the probability that the consensus of this node is
        right. Nobody is asked twice about a node. Where everybody has voted, somebody new is, as good as the others are
        on average.
        """
        Int(min=1).raise_unless_valid("count", count)
        doubt = 1 - self.probabilities[self.nodes].max(axis=1)
        candidates = self.nodes[np.argsort(-doubt, kind="stable")[: CANDIDATES_PER_QUESTION * count]]
        pooled = self.confusions[self.votes.annotator].mean(axis=0)[None]
        gains = compute_expected_gains_per_annotator_and_node(
            self.probabilities[candidates], np.concatenate([self.confusions, pooled])
        )
        position = np.full(len(self.probabilities), -1)
        position[candidates] = np.arange(len(candidates))
        is_asked = position[self.votes.node] >= 0
        gains[self.votes.annotator[is_asked], position[self.votes.node[is_asked]]] = -1.0
        asked = gains[:-1].argmax(axis=0) if len(self.annotators) else np.zeros(len(candidates), dtype=np.int64)
        asked = np.where(gains[:-1].max(axis=0) >= 0, asked, len(self.annotators))
        gain = gains[asked, np.arange(len(candidates))]
        order = np.argsort(-gain, kind="stable")[:count]
        chosen = candidates[order]
        names = np.array([*self.annotators, NEW_ANNOTATOR], dtype=object)
        return pd.DataFrame(
            {
                "node": self._get_ids_or_numbers(chosen),
                "ask": names[asked[order]],
                "consensus": np.array(self.class_names, dtype=object)[self.labels[chosen]],
                "probability": self.probabilities[chosen].max(axis=1),
                "expected_gain": gain[order],
            }
        )

    def copy_with_weighted_consensus_labels(self, data: Data) -> Data:
        """A copy of the graph whose given labels are the consensus, each weighted by its probability."""
        result = copy_with_missing_labels_filled(data, self.labels)
        result.y = torch.where(torch.from_numpy(self.labels) >= 0, torch.from_numpy(self.labels), result.y)
        weight = data.get("label_weight")
        weight = torch.ones(len(self.labels)) if weight is None else weight.clone()
        weight[self.nodes] *= torch.from_numpy(self.probabilities[self.nodes].max(axis=1)).to(weight)
        result.label_weight = weight
        return result

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values for JSON, without those of single nodes."""
        return {
            "votes": len(self.votes),
            "nodes": len(self.nodes),
            "alpha": self.krippendorff_alpha,
            "agreement": self.pairwise_agreement,
            "expected_accuracy": self.expected_accuracy,
            "annotators": [
                asdict(row) | {"confusion": self.confusions[a].tolist()}
                for a, row in enumerate(self.annotator_summaries)
            ],
            "notes": self.notes,
        }

    def _get_ids_or_numbers(self, nodes: Ints) -> Any:
        return nodes if self.node_ids is None else np.array(self.node_ids, dtype=object)[nodes]

    def _repr_html_(self) -> str:
        rows = [asdict(row) for row in self.annotator_summaries]
        return render_consensus_html(self.to_dict(), rows, self.suggest_questions().to_dict("records"))


def combine_votes(data: Data, *, folds: int = 5, seed: int = 0) -> Consensus:
    """The probable label of every node from the votes of several annotators, and how often each of them errs.

    The confusions of the annotators and classifiers of the graph are estimated together (`auditing.votes` and
    `auditing.vote_evidence` have the model). Annotators are taken to err independently, given the true class.

    Args:
        data: a graph with `votes`, integers of shape [votes, 3]: node, annotator, class. `annotators` are their names,
            `vote_confidence` a number in (0, 1] per vote. `trusted_mask` marks nodes whose `y` somebody verified.
        folds: no node is judged by a classifier that saw its votes; it is in one of so many folds.
        seed: random seed of folds and embeddings.
    """
    votes, annotators, class_names = parse_votes_annotators_and_classes(data)
    known = check_and_get_trusted_classes(data, votes)
    graph = copy_with_missing_labels_filled(data, np.where(known >= 0, known, votes.choose_plurality_classes()))
    num_voted = int((graph.y >= 0).sum())
    notes = []
    log_probs = None
    if num_voted >= 2 * folds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PignnWarning)
            inputs = build_inputs_and_warn_of_edge_changes(graphs.copy_checked_graph(graph), directed=False)
        with threads_context(inputs.x.numel()):
            model, log_probs = fit_confusions_and_classifiers_in_turn(VoteEvidence(inputs, votes, known, folds, seed))
    else:
        model = fit_vote_model_by_em(votes, known=known, form=list_confusion_forms_to_compare(votes)[0])
        notes.append(f"{format_count(num_voted, 'node')} with votes are too few to learn from: the graph has no say")
    consensus = Consensus(
        votes,
        annotators,
        class_names,
        parse_node_ids_or_none(data),
        known,
        model.posterior,
        log_probs,
        model.confusions,
        notes,
    )
    notes += list_consensus_doubts(consensus)
    for note in notes:
        warn_user(note)
    return consensus


def fit_confusions_and_classifiers_in_turn(evidence: VoteEvidence) -> tuple[VoteModel, Floats]:
    """Confusions and classifiers, each learned from the other in turn, and log P(true = k | x).

    Of several forms of the confusions, each is learned by itself to the end: classifiers that learned through one form
    would speak for it.
    """
    votes, known = evidence.votes, evidence.known
    best: tuple[float, VoteModel, Floats] | None = None
    for form in list_confusion_forms_to_compare(votes):
        evidence.reset_classifier_weights()
        model = fit_vote_model_by_em(votes, known=known, form=form)
        for _ in range(NUM_ROUNDS):
            log_probs = evidence.fit_predict_log_probs(model.confusions)
            model = fit_vote_model_by_em(votes, log_probs, known, model.confusions, form)
        value = compute_penalized_log_evidence(votes, log_probs, model, form)
        if best is None or value > best[0]:
            best = value, model, log_probs
    assert best is not None
    return best[1:]


def list_consensus_doubts(consensus: Consensus) -> list[str]:
    """What speaks against the consensus, in one line each."""
    doubts = []
    if consensus.krippendorff_alpha is None:
        doubts.append("no node has two votes: the errors of annotators are told by the graph and the features alone")
    elif consensus.krippendorff_alpha < 0.1:
        doubts.append(
            f"annotators hardly agree more than by chance (Krippendorff's alpha {consensus.krippendorff_alpha:.2f})"
        )
    summaries = consensus.annotator_summaries
    if silent := [row.annotator for row in summaries if not row.votes]:
        doubts.append(f"{format_count(len(silent), 'annotator')} without a vote, first '{silent[0][:40]}'")
    if bad := [row for row in summaries if row.votes and row.error_low > MANY_ERRORS]:
        doubts.append(
            f"annotator '{bad[0].annotator[:40]}' errs in {bad[0].error_rate:.0%} of {bad[0].votes:,} votes; "
            "do the classes mean the same to all?"
        )
    return doubts


def copy_with_missing_labels_filled(data: Data, labels: Ints) -> Data:
    """A copy of the graph with these labels where `y` has none; masks cover them where there are no masks."""
    result = data.__copy__()
    filled = torch.from_numpy(labels)
    y = data.get("y")
    result.y = filled.clone() if y is None else torch.where(y < 0, filled.to(y), y)
    if result.get("train_mask") is None or not bool(result.train_mask.any()):
        result.train_mask = result.y >= 0
    return result


def replace_noise_by_consensus(findings: Findings, consensus: Consensus) -> Findings:
    """Findings of an audit in which the votes decide: p_wrong of a label is that the consensus has another class."""
    evidence = findings.evidence
    nodes, given, num_classes = evidence.nodes, evidence.given, evidence.num_classes
    posterior = consensus.probabilities[nodes]
    p_wrong = np.where(evidence.trusted, 0.0, 1 - posterior[np.arange(len(given)), given])
    counts = posterior.T @ np.eye(num_classes)[given] + 0.01 * np.eye(num_classes)
    rate, spread = float(p_wrong.mean()), 1.96 * float(np.sqrt((p_wrong * (1 - p_wrong)).sum())) / len(given)
    noise = replace(
        findings.noise,
        rate=rate,
        transition=counts / counts.sum(axis=1, keepdims=True),
        prior=posterior.mean(axis=0),
        posterior=posterior,
        rate_interval=(max(0.0, rate - spread), min(1.0, rate + spread)),
        transition_interval=None,
    )
    # The plain classifier knows one label per node. The votes know better what is contradicted.
    judgment = replace(findings.judgment, contradicted=np.zeros(len(given), dtype=bool))
    logs = consensus.class_log_probs
    probs = findings.class_probs if logs is None else np.exp(logs[nodes])
    return replace(findings, judgment=judgment, noise=noise, class_probs=probs)


def _divide_or_nan(numerators: Floats, denominators: Floats) -> Floats:
    return np.where(denominators > 0, numerators / np.where(denominators > 0, denominators, 1.0), np.nan)
