"""The classifiers that ``auto`` compares, and how they are weighed."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from sklearn.base import clone
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import PignnWarning
from ..propagation import NodeVectors, is_view_of_fitted_graph_only
from .core.base import Method
from .core.calibration import (
    NUM_FOLDS,
    compute_cross_fitted_log_likelihoods,
    cross_val_predict_scores,
    fit_class_bias_or_zeros,
    fit_inverse_temperature_and_transition,
)
from .core.embedding_classifier import EmbeddingClassifier
from .core.ensembling import (
    compute_log_mean_probs,
    compute_softmax_weights_without_negligible,
    compute_weighted_agreement,
)
from .core.labels import GivenLabels, build_symmetric_transition, compute_label_log_likelihoods
from .denoised import Denoised
from .low_density import LowDensity
from .prototypes import Prototypes
from .vanilla import Vanilla

INITIAL_NOISE_RATE = 0.2
NETWORK_EPOCHS, MIN_NETWORK_EPOCHS = 150, 50
# Values of features, edges and weights, times epochs: about a minute where labels are many, a third of it else.
MAX_NETWORK_WORK, MAX_FEW_LABELS_NETWORK_WORK = 1_200_000_000, 400_000_000
NETWORK_WIDTH = 64
LIKELIHOOD_PER_LABEL = 0.2  # less than one: held-out labels of nearby nodes are predicted from the same neighbors
AGREEMENT_PER_LABEL = 0.3
MAX_EXPLAINED = 4  # candidates that the explanation names

# What learns in each view. One that estimates the noise from few labels errs in its own way, so there are several.
LINEAR_LEARNERS: Mapping[str, Callable[..., EmbeddingClassifier]] = {
    "denoised": Denoised,
    "low density": LowDensity,
    "mixture": lambda **common: Prototypes(unlabeled_weight=0.01, **common),
    "class means": lambda **common: Prototypes(noise="none", **common),
}
NETWORK_BACKBONES = {"GraphSAGE": "sage", "GCN": "gcn", "MLP": "mlp"}
LEARNER_CLASSES: dict[str, type[Method]] = {
    learner.name: learner for learner in (Denoised, LowDensity, Prototypes, Vanilla)
}


@dataclass(frozen=True)
class Candidate:
    """A learner in a view of the nodes; with a ``subset``, one that learns from a random part of the labels.

    A network reads the graph itself and has no view, or has a view in place of features that are too many.
    """

    learner: str
    view: str = ""
    subset: int | None = None

    @property
    def is_linear(self) -> bool:
        return self.learner in LINEAR_LEARNERS

    @property
    def name(self) -> str:
        """What explanations call it."""
        part = "" if self.subset is None else f", part {self.subset + 1}"
        return f"{self.learner} ({self.view}){part}" if self.view else self.learner

    def make(self, **common: Any) -> Any:
        """The method, not fitted."""
        if self.is_linear:
            return LINEAR_LEARNERS[self.learner](**common)
        common |= {"feature_scaling": "rows"} if self.view else {}
        return Vanilla(backbone=NETWORK_BACKBONES[self.learner], hidden_channels=NETWORK_WIDTH, **common)


@dataclass(frozen=True)
class Ensemble:
    """How candidates are averaged, and what held-out labels said about them."""

    weights: dict[str, float]
    inverse_temperatures: dict[str, float]  # of each candidate
    inverse_temperature: float  # of the average
    bias: Tensor  # of the classes, added to the scaled average
    transition: Tensor
    log_likelihood: dict[str, float]  # mean per label, by candidate
    agreement: dict[str, float]  # share of held-out labels that a candidate predicts


def fit_ensemble(
    held_out_scores: Mapping[str, Tensor],
    transitions: Mapping[str, Tensor],
    judging_labels: GivenLabels,
    *,
    weigh_by_accuracy: bool = False,
    fold_seed: int = 0,
) -> Ensemble:
    """Weights, noise and temperatures by the scores of labels that the candidates were not trained on.

    Args:
        held_out_scores: the scores, [labels, classes], by candidate.
        transitions: the noise that a candidate has estimated, if it has.
        judging_labels: these labels.
        weigh_by_accuracy: weigh by the number of labels that a candidate predicts, not by their likelihood.
        fold_seed: of the folds in which noise is fitted.
    """
    total = float(judging_labels.weight.sum())
    share = judging_labels.weight.double() / total
    start = build_symmetric_transition(min(INITIAL_NOISE_RATE, 0.5), judging_labels.num_classes)
    scaled, values, temperatures = {}, {}, {}
    for name, scores in held_out_scores.items():
        own = transitions.get(name, start)
        temperatures[name], _ = fit_inverse_temperature_and_transition(scores, judging_labels, own)
        scaled[name] = temperatures[name] * scores
        by_label = compute_cross_fitted_log_likelihoods(scaled[name], judging_labels, own, fold_seed)
        values[name] = float(share @ by_label)
    agreement = {name: compute_weighted_agreement(scores, judging_labels) for name, scores in scaled.items()}
    if weigh_by_accuracy:
        evidence = {name: AGREEMENT_PER_LABEL * total * value for name, value in agreement.items()}
    else:
        evidence = {name: LIKELIHOOD_PER_LABEL * total * value for name, value in values.items()}
    weights = compute_softmax_weights_without_negligible(evidence)
    held_out = compute_log_mean_probs(scaled, weights)
    # Each candidate takes other labels for wrong; their mean errs less than any of them.
    mean = torch.stack([weight * transitions.get(name, start) for name, weight in weights.items()]).sum(0)
    inverse_temperature, transition = fit_inverse_temperature_and_transition(held_out, judging_labels, mean)
    likelihood = compute_label_log_likelihoods(judging_labels, transition).exp()
    bias = fit_class_bias_or_zeros(inverse_temperature * held_out, likelihood, judging_labels.weight)
    return Ensemble(weights, temperatures, inverse_temperature, bias, transition, values, agreement)


def list_linear_candidates(views: Iterable[str]) -> list[Candidate]:
    return [Candidate(learner, view) for view in views for learner in LINEAR_LEARNERS]


def choose_networks_and_epochs(
    data: Data, views: Mapping[str, NodeVectors], epochs: int, num_fits: int, max_work: int
) -> tuple[list[Candidate], int]:
    """All networks with at most so many epochs, or the first alone, or that one in few dimensions, or none.

    The work of training each of them so often decides.
    """
    num_edges = len(data.col) if data.get("edge_index") is None else data.edge_index.shape[1]
    networks = [Candidate(name) for name in NETWORK_BACKBONES]
    in_few_dimensions = replace(networks[0], view="features")
    options = [(networks, data.x), (networks[:1], data.x)]
    view = views[in_few_dimensions.view]
    if isinstance(view, Tensor):  # of all nodes, which a network reads
        options.append(([in_few_dimensions], view))
    for chosen, x in options:
        values = min(int(x.count_nonzero()), x.numel() // 2)  # a dense matrix is multiplied faster
        work = num_fits * len(chosen) * (values + num_edges + NETWORK_WIDTH * x.shape[1])
        affordable = min(epochs, max_work // work)
        if affordable >= min(epochs, MIN_NETWORK_EPOCHS):
            return chosen, affordable
    return [], 0


def compute_network_logits(candidate: Candidate, model: Any, data: Data, views: Mapping[str, NodeVectors]) -> Tensor:
    """The scores of all nodes, [N, classes]."""
    with torch.no_grad():
        return model._compute_logits(copy_with_view_as_features(candidate, data, views))


def copy_with_view_as_features(candidate: Candidate, data: Data, views: Mapping[str, NodeVectors]) -> Data:
    """The graph as a network reads it."""
    if candidate.view:
        data = copy.copy(data)
        data.x = views[candidate.view]
    return data


def list_distinct_views_of_candidates(candidates: Iterable[Candidate]) -> list[str]:
    return sorted({each.view for each in candidates if each.view})


def needs_view_of_fitted_graph(candidate: Candidate) -> bool:
    return bool(candidate.view) and is_view_of_fitted_graph_only(candidate.view)


def choose_likeliest_for_other_graphs(ensemble: Ensemble, fitted_candidates: Iterable[Candidate]) -> Candidate:
    """The likeliest candidate that can predict for other graphs."""
    return max(
        (each for each in fitted_candidates if not needs_view_of_fitted_graph(each)),
        key=lambda each: ensemble.log_likelihood[each.name],
    )


def find_view_with_most_weight(ensemble: Ensemble, fitted_candidates: Iterable[Candidate]) -> str:
    weights: dict[str, float] = {}
    for each in fitted_candidates:
        weights[each.view] = weights.get(each.view, 0.0) + ensemble.weights.get(each.name, 0.0)
    return max(weights, key=lambda view: weights[view])


def is_no_better_than_class_frequencies(ensemble: Ensemble, name: str, given_labels: GivenLabels) -> bool:
    """Whether a candidate knows of held-out labels only how frequent each class is."""
    share = torch.bincount(given_labels.y, weights=given_labels.weight.double())
    share = share[share > 0] / share.sum()
    is_likelier = ensemble.log_likelihood[name] > float(share @ share.log())
    return len(share) > 1 and not (is_likelier and ensemble.agreement[name] > float(share.max()))


def explain_choice(ensemble: Ensemble, given_labels: GivenLabels, *, by_validation_labels: bool) -> str:
    """What is averaged and why, in one line."""
    weights = dict(sorted(ensemble.weights.items(), key=lambda each: -each[1]))
    name, largest = next(iter(weights)), dict(list(weights.items())[:MAX_EXPLAINED])
    terms = " + ".join(f"{weight:.2f} '{each}'" for each, weight in largest.items())
    if len(weights) > len(largest):
        terms += f" + {1 - sum(largest.values()):.2f} of {len(weights) - len(largest)} others"
    choice = f"chose '{name}'" if len(weights) == 1 else f"averaged {terms}"
    agreement = ensemble.agreement
    if by_validation_labels:
        worst = f"the worst of {len(agreement)} predicts {min(agreement.values()):.1%}"
        return f"{choice} by given labels of validation nodes: '{name}' predicts {agreement[name]:.1%} of them, {worst}"
    noise_rate = float(1 - (ensemble.transition.diag()[given_labels.y]).mean())
    return (
        f"{choice} by held-out given labels, of which '{name}' predicts {agreement[name]:.1%} "
        f"and an estimated {noise_rate:.0%} are wrong ({len(agreement)} candidates)"
    )


def fit_model_to_labels(
    model: Any,
    data: Data,
    given_labels: GivenLabels,
    epochs: int,
    judging_labels: GivenLabels | None = None,
) -> Any:
    """A network trained for so many epochs; where labels judge, as it was at the epoch that suits them best."""
    settings = {"selection": "last" if judging_labels is None else "noisy-val", "epochs": max(epochs, 1)}
    val = given_labels.nodes[:0] if judging_labels is None else judging_labels.nodes
    with warnings.catch_warnings():  # about settings that the user has not chosen
        warnings.simplefilter("ignore", PignnWarning)
        graph = copy_with_masks_without_truth(data, given_labels.nodes, val)
        return model.set_params(**settings).fit(graph, progress=False)


def cross_val_predict_network_scores(model: Any, data: Data, given_labels: GivenLabels) -> Tensor:
    """Scores of every label by a network like this one that was not trained on it."""

    def fit_and_score(train: Tensor, held_out: Tensor) -> Tensor:
        part = fit_model_to_labels(clone(model), data, given_labels.subset(train), model.epochs)
        with torch.no_grad():
            return part._compute_logits(data)[given_labels.nodes[held_out]]

    return cross_val_predict_scores(given_labels.y, given_labels.num_classes, NUM_FOLDS, fit_and_score, int(model.seed))


def copy_with_masks_without_truth(data: Data, train_nodes: Tensor, val_nodes: Tensor) -> Data:
    """The graph with other training and validation nodes, and without what a network must not read."""
    data = copy.copy(data)
    for name, nodes in (("train_mask", train_nodes), ("val_mask", val_nodes)):
        data[name] = torch.zeros(len(data.y), dtype=torch.bool).index_fill_(0, nodes, True)
    data.test_mask = torch.zeros(len(data.y), dtype=torch.bool)
    if data.get("y_true") is not None:
        del data["y_true"]
    return data
