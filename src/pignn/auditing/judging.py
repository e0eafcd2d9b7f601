"""Class probabilities of every labeled node, without its own label, from several views of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..methods import Method
from ..noise.estimation import MAX_FIT_LABELS, fit_unmixed_noise_model, unmix_probs
from ..noise.kinds import Floats, Ints
from ..noise.model import compute_confidence, compute_log_probs
from .crossfit import Bools, CrossFitLogistic, Features, predict_out_of_fold
from .dawid_skene import compute_p_wrong
from .evidence import Evidence
from .stacking import combine_log_probs
from .suspects import find_contradicted
from .views import LARGE_GRAPH_NODES, average_neighbor_features, compute_own_features, embed_structure, join_columns

ASSUMED_NOISE = 0.1  # while views are weighted for the first time, before the noise is known


@dataclass(frozen=True, eq=False)
class Judgment:
    """What the views say. Arrays have one entry per label, `predicted_from_neighbors` one per label of the sample."""

    log_probs: Floats  # log P(true = k | x), up to a constant
    given_probs: Floats  # P(given = k | x), by classifiers that know of no noise
    contradicted: Bools  # whether a plain classifier clearly contradicts the label
    predicted_from_features: Ints  # class by the node's own features
    predicted_from_neighbors: Ints | None  # class by its neighbors' features, -1 without any; None without edges


def judge_labels(evidence: Evidence, method: Method | None) -> Judgment:
    """Judge every label by models that never saw it; without a method, by all views."""
    own = compute_own_features(evidence.inputs, evidence.seed)
    models = _make_classifiers(evidence, own)
    plain = [compute_log_probs(model.fit_predict()) for model in models]
    matrix = _assume_noise(evidence.num_classes)
    given_logs = combine_log_probs(plain, evidence.given, evidence.trusted, matrix, evidence.seed)
    given_probs = np.exp(given_logs)
    by_features, by_neighbors = plain[1].argmax(axis=1), _predict_from_neighbors(evidence, own)
    if method is None:
        matrix = _estimate_transition(evidence, given_probs)
        if by_neighbors is not None:
            sample = evidence.sample
            votes = np.stack([evidence.given[sample], by_features[sample], by_neighbors])
            rate_ds = compute_p_wrong(votes, evidence.num_classes, evidence.trusted[sample]).mean()
            prior = evidence.class_counts / len(evidence.given)
            rate = float(prior @ (1 - np.diag(matrix)))
            want = rate_ds * compute_confidence(evidence.given, given_probs)
            if rate < want:
                mix = (want - rate) / (1 - rate)
                k = evidence.num_classes
                matrix = (1 - mix) * matrix + mix * (1 - np.eye(k)) / (k - 1)
        logs = [compute_log_probs(model.fit_predict(matrix)) for model in models]
    else:
        logs = [_predict_unmixed_log_probs(evidence, method), plain[1]]
    return Judgment(
        log_probs=combine_log_probs(logs, evidence.given, evidence.trusted, matrix, evidence.seed),
        given_probs=given_probs,
        contradicted=find_contradicted(evidence.given, given_probs),
        predicted_from_features=by_features,
        predicted_from_neighbors=by_neighbors,
    )


def _make_classifiers(evidence: Evidence, own: Features) -> list[CrossFitLogistic]:
    """One classifier per view: smoothed features, own features, and where there are edges the two others."""
    views = [evidence.embedding, own[evidence.nodes]]
    if len(evidence.edges[0]) and len(evidence.nodes) <= LARGE_GRAPH_NODES:
        around = average_neighbor_features(evidence.inputs, own, evidence.nodes, evidence.seed)
        views.append(join_columns(views[1], around))
        views.append(embed_structure(evidence.inputs, evidence.nodes, evidence.num_classes, evidence.seed))
    return [evidence.make_classifier(view) for view in views]


def _assume_noise(num_classes: int) -> Floats:
    return (1 - ASSUMED_NOISE) * np.eye(num_classes) + ASSUMED_NOISE / num_classes


def _estimate_transition(evidence: Evidence, given_probs: Floats) -> Floats:
    """How truth becomes a given label, by a sample of very many labels."""
    noisy = evidence.sample[~evidence.trusted[evidence.sample]]
    if len(noisy) > MAX_FIT_LABELS:
        noisy = np.sort(np.random.default_rng(evidence.seed).choice(noisy, MAX_FIT_LABELS, replace=False))
    if not len(noisy):
        return np.eye(evidence.num_classes)
    return fit_unmixed_noise_model(evidence.given[noisy], given_probs[noisy])[0].transition


def _predict_from_neighbors(evidence: Evidence, own: Features) -> Ints | None:
    if not len(evidence.edges[0]):
        return None
    nodes = evidence.nodes[evidence.sample]
    around = average_neighbor_features(evidence.inputs, own, nodes, evidence.seed)
    predicted = evidence.make_classifier(around, evidence.sample).fit_predict().argmax(axis=1)
    predicted[np.asarray(abs(around).sum(axis=1)).ravel() == 0] = -1
    return predicted


def _predict_unmixed_log_probs(evidence: Evidence, method: Method) -> Floats:
    """The same by a method as it is; the noise is taken out of its probabilities afterwards."""
    probs = predict_out_of_fold(
        evidence.graph, evidence.nodes, evidence.fold, evidence.num_classes, method, evidence.seed
    )
    _, transition = fit_unmixed_noise_model(evidence.given[evidence.sample], probs[evidence.sample])
    return compute_log_probs(probs if transition is None else unmix_probs(probs, transition))
