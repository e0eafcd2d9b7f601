"""Class probabilities of every labeled node, without its own label, from several views of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.memory import return_free_memory
from ..core.progress import stage_context, track
from ..methods import Method
from ..noise.estimation import MAX_FIT_LABELS, fit_noise_model_and_mixed_in_transition, unmix_probs
from ..noise.kinds import Floats, Ints
from ..noise.model import compute_agreement_above_chance, compute_log_probs
from . import dawid_skene
from .crossfit import Bools, CrossFitLogistic, Features, fit_predict_proba_per_fold
from .diagnostics import has_excess_flags
from .evidence import Evidence
from .stacking import compute_view_weights, mix_log_probs
from .suspects import compute_contradicted_mask
from .views import (
    LARGE_GRAPH_NODES,
    StoredRows,
    average_neighbor_features,
    compute_own_features,
    embed_structure,
    join_columns,
)

ASSUMED_NOISE = 0.1  # while views are weighted for the first time, and as far as they cannot tell how much there is


@dataclass(frozen=True, eq=False)
class Judgment:
    """What the views say. Arrays have one entry per label."""

    log_probs: Floats  # log P(true = k | x), up to a constant
    given_probs: Floats  # P(given = k | x), by classifiers that know of no noise
    contradicted: Bools  # whether a plain classifier clearly contradicts the label
    predicted_from_features: Ints  # class by the node's own features
    rate_dawid_skene: float | None  # share of wrong labels by three votes; None without edges
    confidence: float  # in votes, by how far views agree with given labels beyond chance: 0 to 1
    are_errors_regional: bool  # whether `log_probs` are by models that saw no label of the region


def judge_labels(evidence: Evidence, method: Method | None) -> Judgment:
    """Judge every label by models that never saw it; without a method, by all views."""
    own_features = compute_own_features(
        evidence.inputs, evidence.num_classes, evidence.seed, evidence.words_of_texts_or_none
    )
    with stage_context("audit: views"):
        models = _make_classifier_per_view(evidence, own_features)
    plain = [compute_log_probs(model.fit_predict_proba()) for model in track(models, "audit: views without noise")]
    matrix = _make_assumed_transition(evidence.num_classes)
    weights = compute_view_weights(plain, evidence.given, evidence.trusted, matrix, evidence.seed)
    given_probs = np.exp(mix_log_probs(plain, weights))
    # Views that agree are no surer than each of them where it is asked whether they contradict a label.
    unsharpened = np.exp(mix_log_probs(plain, weights / max(weights.sum(), 1.0)))
    rate_dawid_skene = _estimate_dawid_skene_rate(evidence, plain[1].argmax(axis=1), own_features)
    # Votes mislead where views hardly tell the classes apart.
    confidence = compute_agreement_above_chance(evidence.given, given_probs)
    are_errors_regional = False
    if method is None:
        matrix = _estimate_transition(evidence, given_probs)
        regional_matrix = _estimate_transition_if_errors_regional(evidence, matrix)
        are_errors_regional = regional_matrix is not None
        if regional_matrix is not None:
            matrix = regional_matrix
            models = [
                evidence.make_cross_fit_classifier(model.features, fold_of_position=evidence.fold_by_region_or_none)
                for model in models
            ]
        if rate_dawid_skene is not None:
            matrix = raise_transition_to_rate(matrix, evidence, rate_dawid_skene * confidence)
        logs = [
            compute_log_probs(model.fit_predict_proba(matrix)) for model in track(models, "audit: views with noise")
        ]
    else:
        logs = [_fit_predict_log_probs_and_remove_noise(evidence, method), plain[1]]
    weights = compute_view_weights(logs, evidence.given, evidence.trusted, matrix, evidence.seed)
    return Judgment(
        log_probs=mix_log_probs(logs, weights),
        given_probs=given_probs,
        contradicted=compute_contradicted_mask(evidence.given, unsharpened),
        predicted_from_features=plain[1].argmax(axis=1),
        rate_dawid_skene=rate_dawid_skene,
        confidence=confidence,
        are_errors_regional=are_errors_regional,
    )


def _make_classifier_per_view(evidence: Evidence, own_features: Features | StoredRows) -> list[CrossFitLogistic]:
    """One classifier per view: smoothed features, own features, and where there are edges the two others."""
    structure = None
    if len(evidence.labeled_edge_positions[0]) and evidence.inputs.num_nodes <= LARGE_GRAPH_NODES:
        # First, while there is nothing else: it needs memory for all nodes.
        structure = embed_structure(evidence.inputs, evidence.nodes, evidence.num_classes, evidence.seed)
    views = [evidence.embedding, own_features[evidence.nodes]]
    if structure is not None:
        around = average_neighbor_features(evidence.inputs, own_features, evidence.nodes, evidence.seed)
        views += [join_columns(views[1], around), structure]
    return_free_memory()
    return [evidence.make_cross_fit_classifier(view) for view in views]


def _estimate_transition_if_errors_regional(evidence: Evidence, transition: Floats) -> Floats | None:
    """T by a model that has seen no label of the region it judges; None unless it says that far more labels are wrong.

    Labels that differ from region to region for good reason are harder to predict from afar, but mistakes of a
    classifier become rare where it is confident. The noise model counts only those that do not.
    """
    if evidence.fold_by_region_or_none is None:
        return None
    apart = evidence.make_cross_fit_classifier(evidence.embedding, fold_of_position=evidence.fold_by_region_or_none)
    without_region = _estimate_transition(evidence, apart.fit_predict_proba())
    rates = (_compute_expected_rate(matrix, evidence) for matrix in (transition, without_region))
    return without_region if has_excess_flags(*rates) else None


def _make_assumed_transition(num_classes: int) -> Floats:
    return (1 - ASSUMED_NOISE) * np.eye(num_classes) + ASSUMED_NOISE / num_classes


def _estimate_transition(evidence: Evidence, given_probs: Floats) -> Floats:
    """How truth becomes a given label, by a sample of very many labels."""
    noisy = _sample_untrusted_positions(evidence)
    if not len(noisy):
        return np.eye(evidence.num_classes)
    return fit_noise_model_and_mixed_in_transition(evidence.given[noisy], given_probs[noisy])[0].transition


def _sample_untrusted_positions(evidence: Evidence) -> Ints:
    """Labels from which a noise model is fitted."""
    noisy = evidence.noise_sample_positions[~evidence.trusted[evidence.noise_sample_positions]]
    if len(noisy) <= MAX_FIT_LABELS:
        return noisy
    return np.sort(np.random.default_rng(evidence.seed).choice(noisy, MAX_FIT_LABELS, replace=False))


def raise_transition_to_rate(transition: Floats, evidence: Evidence, min_rate: float) -> Floats:
    """T with at least this share of wrong labels; what is added goes to all classes alike.

    Errors that follow features or a region are in the probabilities of all views, so T does not count them. A view that
    learns through more noise follows single labels less.
    """
    num_classes = len(transition)
    expected = _compute_expected_rate(transition, evidence)
    added = max(min_rate - expected, 0.0) / max(1 - expected, 1e-12)
    return (1 - added) * transition + added * (1 - np.eye(num_classes)) / max(num_classes - 1, 1)


def _compute_expected_rate(transition: Floats, evidence: Evidence) -> float:
    """The share of wrong labels under T."""
    return float(evidence.class_counts / len(evidence.given) @ (1 - np.diag(transition)))


def _estimate_dawid_skene_rate(
    evidence: Evidence, predicted_from_own_features: Ints, own_features: Features | StoredRows
) -> float | None:
    """Share of wrong labels by the votes of label, own features and neighbors' features; None without edges."""
    if not len(evidence.labeled_edge_positions[0]):
        return None
    sample = evidence.noise_sample_positions
    around = average_neighbor_features(evidence.inputs, own_features, evidence.nodes[sample], evidence.seed)
    by_neighbors = evidence.make_cross_fit_classifier(around, sample).fit_predict_proba().argmax(axis=1)
    by_neighbors[np.asarray(abs(around).sum(axis=1)).ravel() == 0] = -1
    votes = np.stack([evidence.given[sample], predicted_from_own_features[sample], by_neighbors])
    return float(dawid_skene.compute_p_wrong(votes, evidence.num_classes, evidence.trusted[sample]).mean())


def _fit_predict_log_probs_and_remove_noise(evidence: Evidence, method: Method) -> Floats:
    """The same by a method as it is; the noise is taken out of its probabilities afterwards."""
    probs = fit_predict_proba_per_fold(
        evidence.graph, evidence.nodes, evidence.fold, evidence.num_classes, method, evidence.seed
    )
    _, transition = fit_noise_model_and_mixed_in_transition(
        evidence.given[evidence.noise_sample_positions], probs[evidence.noise_sample_positions]
    )
    return compute_log_probs(probs if transition is None else unmix_probs(probs, transition))
