"""Class probabilities of every labeled node, without its own label, from several views of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..methods import Method
from ..noise.estimation import fit_unmixed_noise_model, unmix_probs
from ..noise.kinds import Floats, Ints
from ..noise.model import compute_log_probs, fit_noise_model
from .crossfit import Bools, CrossFitLogistic, predict_out_of_fold
from .diagnostics import is_low_homophily
from .evidence import Evidence, compute_log_shares, compute_own_and_neighbor_features
from .suspects import find_contradicted

# Weights of the other views beside the smoothed features. They are fixed, not fitted: a fit to the given labels
# would prefer the view that predicts their errors.
OWN_WEIGHT, NEIGHBOR_WEIGHT, SIMILAR_WEIGHT = 0.3, 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Judgment:
    """What the views say. Arrays have one entry per label, `predicted_from_neighbors` one per label of the sample."""

    log_probs: Floats  # log P(true = k | x), up to a constant
    contradicted: Bools  # whether a plain classifier clearly contradicts the label
    predicted_from_features: Ints  # class by the node's own features
    predicted_from_neighbors: Ints | None  # class by its neighbors' features, -1 without any; None without edges


def judge_labels(evidence: Evidence, method: Method | None) -> Judgment:
    """Judge every label by models that never saw it; without a method, by smoothed features."""
    own, around = compute_own_and_neighbor_features(
        evidence.inputs, evidence.nodes, evidence.nodes[evidence.sample], evidence.seed
    )
    own_probs = evidence.make_classifier(own).fit_predict()
    own_logs = compute_log_probs(own_probs)
    plain = evidence.make_classifier(evidence.embedding[evidence.sample], evidence.sample)
    plain_probs = plain.fit_predict()
    is_weak = is_low_homophily(evidence.homophily[1])
    contradicted = find_contradicted(
        evidence.given, own_probs if is_weak else plain.predict_proba(evidence.embedding, evidence.fold)
    )
    logs = (
        _compute_log_probs_learned_through_noise(evidence, plain, plain_probs)
        if method is None
        else _predict_unmixed_log_probs(evidence, method)
    )
    logs = logs + (1.0 if is_weak else OWN_WEIGHT) * own_logs
    if not is_weak:
        prior = (evidence.class_counts + 1.0) / (len(evidence.given) + evidence.num_classes)
        logs += NEIGHBOR_WEIGHT * compute_log_shares(evidence.neighbor_counts, prior)
        if evidence.similar_counts is not None:
            logs += SIMILAR_WEIGHT * compute_log_shares(evidence.similar_counts, prior)
    by_neighbors = None
    if len(evidence.edges[0]):
        by_neighbors = evidence.make_classifier(around, evidence.sample).fit_predict().argmax(axis=1)
        by_neighbors[~around.any(axis=1)] = -1
    return Judgment(logs, contradicted, own_logs.argmax(axis=1), by_neighbors)


def _compute_log_probs_learned_through_noise(
    evidence: Evidence, plain_model: CrossFitLogistic, plain_probs: Floats
) -> Floats:
    """log P(true | x): the noise is estimated from the probabilities of the plain model, which then learns through it.

    Of very many labels, a sample reveals the noise.
    """
    sample = evidence.sample
    noisy = ~evidence.trusted[sample]
    given = evidence.given[sample][noisy]
    noise = (
        fit_unmixed_noise_model(given, plain_probs[noisy])[0] if noisy.any() else fit_noise_model(given, plain_probs)
    )
    is_whole = len(sample) == len(evidence.given)
    model = plain_model if is_whole else evidence.make_classifier(evidence.embedding)
    return compute_log_probs(model.fit_predict(noise.transition))


def _predict_unmixed_log_probs(evidence: Evidence, method: Method) -> Floats:
    """The same by a method as it is; the noise is taken out of its probabilities afterwards."""
    probs = predict_out_of_fold(
        evidence.graph, evidence.nodes, evidence.fold, evidence.num_classes, method, evidence.seed
    )
    _, transition = fit_unmixed_noise_model(evidence.given[evidence.sample], probs[evidence.sample])
    return compute_log_probs(probs if transition is None else unmix_probs(probs, transition))
