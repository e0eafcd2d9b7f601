"""The classifiers that ``auto`` compares, and how they are weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from .core.base import Method
from .core.calibration import estimate_transition, fit_inverse_temperature, fit_inverse_temperature_and_noise
from .core.embedding_classifier import EmbeddingClassifier
from .core.ensembling import compute_agreement, is_significantly_better, log_mean_probs, softmax_weights
from .core.labels import GivenLabels, log_likelihood
from .denoised import Denoised
from .low_density import LowDensity
from .prototypes import Prototypes
from .references import MLP
from .vanilla import Vanilla

SUBSETS_PER_CANDIDATE = 24
SUBSET_FRACTION = 0.6  # of the labels of each class, which a candidate learns from that has but a part of them


@dataclass(frozen=True)
class Candidate:
    """A method with settings, under the name that explanations use."""

    name: str
    method: type[Method]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **common: Any) -> Any:
        return self.method(**{**self.settings, **common})


@dataclass(frozen=True)
class LinearCandidate(Candidate):
    """A linear classifier of smoothed features; with a ``subset``, one that learns from a random part of the labels."""

    subset: int | None = None
    parent: str = ""  # the candidate that learns from all labels, of which this one is a refitted copy

    @property
    def alpha(self) -> float:
        """Restart probability of its embedding. Candidates with the same one share an embedding."""
        return float(self.settings.get("alpha", EmbeddingClassifier.alpha))


DENOISED = LinearCandidate("denoised", Denoised)
NEARBY_DENOISED = LinearCandidate("denoised, nearer", Denoised, {"alpha": 0.3})
LOW_DENSITY = LinearCandidate("low density", LowDensity)
FEATURES_ONLY = LinearCandidate("features alone", Denoised, {"alpha": 1.0})

MAIN_CANDIDATES = (
    DENOISED,
    NEARBY_DENOISED,
    LinearCandidate("mixture", Prototypes, {"unlabeled_weight": 0.01}),
    LOW_DENSITY,
)
CAUTIOUS_CANDIDATES = (DENOISED, NEARBY_DENOISED)  # they attribute less to noise than the others
EXTRA_CANDIDATES = (  # only labels that no candidate was trained on can tell these apart
    LinearCandidate("class means", Prototypes, {"noise": "none"}),
    LinearCandidate("class means, nearer", Prototypes, {"noise": "none", "alpha": 0.3}),
    LinearCandidate("mixture, more unlabeled", Prototypes, {"unlabeled_weight": 0.05}),
    LinearCandidate("mixture, any noise", Prototypes, {"unlabeled_weight": 0.01, "noise": "full"}),
    LinearCandidate("low density, nearer", LowDensity, {"alpha": 0.3}),
    LinearCandidate("low density, weak", LowDensity, {"information_weight": 5.0}),
    LinearCandidate("low density, strong", LowDensity, {"information_weight": 40.0}),
)
SUBSET_CANDIDATES = tuple(
    replace(
        whole,
        name=f"{whole.name}, part {k + 1}",
        subset=number * SUBSETS_PER_CANDIDATE + k,
        parent=whole.name,
    )
    for number, whole in enumerate((LOW_DENSITY, DENOISED))
    for k in range(SUBSETS_PER_CANDIDATE)
)
LINEAR_CANDIDATES = {
    candidate.name: candidate for candidate in (*MAIN_CANDIDATES, *EXTRA_CANDIDATES, FEATURES_ONLY, *SUBSET_CANDIDATES)
}
NETWORK_CANDIDATES = (Candidate("GCN", Vanilla), Candidate("MLP", MLP))


@dataclass(frozen=True)
class Ensemble:
    """How candidates are averaged, and what held-out labels said about them."""

    weights: dict[str, float]
    inverse_temperature: float
    transition: Tensor
    held_out: Tensor  # averaged scores of the labels that decide
    log_likelihood: dict[str, float]  # mean per label, by candidate
    agreement: dict[str, float]  # share of labels that a candidate predicts; only of labels nobody was trained on


def weigh_candidates(
    fitted: dict[str, EmbeddingClassifier],
    unseen: dict[str, Tensor],
    judging_labels: GivenLabels,
    *,
    independent: bool,
) -> Ensemble:
    """Weights, noise and temperatures by labels that are ``independent`` if no candidate was trained on them."""
    # The transition matrix of the candidate that attributes least to noise decides the temperature.
    transition = fitted[CAUTIOUS_CANDIDATES[0].name].transition_
    total = float(judging_labels.weight.sum())
    share = judging_labels.weight.double() / total
    scaled, values = {}, {}
    for name, model in fitted.items():
        start = transition if independent else model.transition_
        model.inverse_temperature_, by_label = fit_inverse_temperature_and_noise(unseen[name], judging_labels, start)
        scaled[name], values[name] = model.inverse_temperature_ * unseen[name], float(share @ by_label)
    agreement = (
        {name: compute_agreement(scores, judging_labels) for name, scores in scaled.items()} if independent else {}
    )
    evidence = agreement if independent else values
    alone = FEATURES_ONLY.name
    weights = softmax_weights({name: total * value for name, value in evidence.items() if name != alone})
    held_out = log_mean_probs(scaled, weights)
    if independent:
        transition = estimate_transition(held_out, judging_labels.y, judging_labels.trusted)
    likelihood = log_likelihood(judging_labels, transition).exp()
    inverse_temperature, by_label = fit_inverse_temperature(held_out, likelihood, judging_labels.weight)
    alone_by_label = fit_inverse_temperature(unseen[alone], likelihood, judging_labels.weight)[1]
    if is_significantly_better(alone_by_label, by_label, share):
        weights, inverse_temperature, held_out = {alone: 1.0}, 1.0, scaled[alone]
    return Ensemble(weights, inverse_temperature, transition, held_out, values, agreement)
