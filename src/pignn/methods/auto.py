"""The method that chooses methods, by given labels alone."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import backbones, graphs
from ..core.errors import DataError, ModelFileError, PignnWarning
from ..core.settings import Bool, Choice, setting
from ..core.threads import threads_context
from ..propagation import Embedding
from .auto_candidates import (
    CAUTIOUS_CANDIDATES,
    EXTRA_CANDIDATES,
    FEATURES_ONLY,
    LINEAR_CANDIDATES,
    MAIN_CANDIDATES,
    NETWORK_CANDIDATES,
    SUBSET_CANDIDATES,
    SUBSET_FRACTION,
    Candidate,
    LinearCandidate,
    weigh_candidates,
)
from .core.base import FitFacts, Method, build_inputs, get_class_names
from .core.calibration import assign_folds
from .core.embedding_classifier import EmbeddingClassifier
from .core.ensembling import compute_agreement, compute_upper_bound, log_mean_probs, mix_log_probs_with_uniform
from .core.homophily import estimate_homophily
from .core.labels import GivenLabels

LABELS = ("train+val", "train", "noisy-val")
NETWORK_FOLDS = 5  # folds of the labels in the comparison with networks
HELD_OUT_FOLDS = 2  # how many of these are held out, one at a time
LINEAR_AVERAGE = "linear models"  # the name of their average in the comparison with networks
LOW_HOMOPHILY = "most edges join different classes"
RARE_CLASSES = "on held-out labels the linear models do worse than always predicting the largest class"
MAX_EXPLAINED = 4  # candidates that the explanation names

Embeddings = dict[float, tuple[Embedding, Tensor]]  # by alpha: the embedding, and the nodes of a graph in it


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Method):
    """Compares several methods on held-out *given* labels, under the estimated noise, and averages the good ones.

    The comparison is by the log-likelihood of given labels that a candidate was not trained on, Σ log Σ_c
    softmax(s·scores)_c T[c, given], under the transition matrix T and the inverse temperature s that suit it best. So a
    candidate that is certain and attributes the rest to noise loses nothing against one that has learned the noise.
    Candidates are linear classifiers of smoothed features and a mixture of prototypes. Their probabilities are
    averaged with weights ∝ likelihood^0.3. Features without the graph take their place if they are better by more than
    a standard error.

    A GCN and an MLP are compared too if there are at least 300 labels and either fewer than half of the edges join
    nodes of one class, or the average predicts fewer held-out labels than the largest class has. Two fifths of the
    labels are held out for that, one fifth at a time. The model that agrees with them most often is taken.

    With ``labels="noisy-val"`` there are more candidates, many of which learn from random parts of the labels, so that
    some have seen fewer wrong ones. Weights are then ∝ exp(0.3·validation labels that a candidate predicts). No true
    label is read.

    After fit: ``chosen_`` (the candidate of largest weight), ``weights_``, ``explanation_`` (one line),
    ``holdout_log_likelihood_`` (means), ``agreement_`` (with held-out labels, if it was measured), ``models_`` (what is
    averaged, trained on all labels), ``transition_``, ``homophily_`` (share of edges within a class and its standard
    error, the lower of two estimates; None if no edge joins two labels), ``inverse_temperature_``.
    """

    min_network_labels: ClassVar[int] = 300  # fewer cannot tell a network from the rest
    max_network_nodes: ClassVar[int] = 50_000  # of larger graphs, networks would take too long
    low_homophily: ClassVar[float] = 0.5  # networks are tried where the share of edges within a class is surely lower
    network_candidates: ClassVar[tuple[Candidate, ...]] = NETWORK_CANDIDATES

    labels: str = setting(
        "train+val",
        Choice(LABELS),
        "which given labels are learned from: of training and validation nodes, of training nodes, or of training "
        "nodes while those of validation nodes choose (noisy-val)",
    )
    networks: str = setting("auto", Choice(("auto", "never")), "whether networks are compared too")
    directed: bool = setting(False, Bool(), "propagate along the direction of edges only")

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Choose by the given labels, and learn from them."""
        self.check_settings()
        start = time.perf_counter()
        data = graphs.copy_checked_graph(data, split_index=split_index)
        with threads_context(data.x.numel()):
            self._choose_and_fit(data)
        self.seconds_ = time.perf_counter() - start
        self._record_fit(data)
        if self.warning_:
            warnings.warn(self.warning_, PignnWarning, stacklevel=2)
        return self

    def _choose_and_fit(self, data: Data) -> None:
        inputs = build_inputs(data, self.directed, stacklevel=4)
        given_labels = GivenLabels.from_data(data, self._get_training_split())
        judging_labels = GivenLabels.from_data(data, "val") if self.labels == "noisy-val" else given_labels
        fitted, unseen = self._fit_candidates_and_predict_held_out(data, inputs, given_labels, judging_labels)
        ensemble = weigh_candidates(fitted, unseen, judging_labels, independent=judging_labels is not given_labels)
        self.weights_, self.inverse_temperature_ = ensemble.weights, ensemble.inverse_temperature
        self.transition_, self.agreement_ = ensemble.transition, ensemble.agreement
        self.holdout_log_likelihood_ = ensemble.log_likelihood
        self.uniform_mass_ = 1 / (len(given_labels.y) + 1)
        self.models_: dict[str, Any] = {name: fitted[name] for name in self.weights_}
        transitions = [fitted[candidate.name].transition_ for candidate in CAUTIOUS_CANDIDATES]
        estimates = [estimate_homophily(inputs, given_labels, transition) for transition in transitions]
        self.homophily_ = min((each for each in estimates if each is not None), key=compute_upper_bound, default=None)
        doubt = self._explain_doubt(ensemble.held_out, judging_labels)
        if doubt and self.networks == "auto" and self._can_try_networks(len(given_labels.y), inputs.num_nodes):
            self._try_networks(data, given_labels, judging_labels, ensemble.held_out)
        self.chosen_ = max(self.weights_, key=lambda name: self.weights_[name])
        self.explanation_ = self._explain_choice(float(1 - (self.transition_.diag()[given_labels.y]).mean()), doubt)
        self.warning_ = None
        if doubt == RARE_CLASSES and not self._chose_network():
            self.warning_ = f"auto: {doubt}: they favor rare classes; a network ('vanilla', 'pi-gnn') may suit better"

    def refit(self, data: Data) -> Self:
        """A copy with the same choice, weights and temperatures, trained on the labels of this graph.

        Use it for folds of the same labels and for new labels of the same kind: it is many times faster than choosing
        again. Random parts of other labels are other parts, so ``labels="noisy-val"`` loses by it.
        """
        self._check_fitted()
        other = copy.copy(self)
        data = graphs.copy_checked_graph(data)
        num_features, num_classes = int(data.x.shape[1]), graphs.num_classes(data)
        if num_features != self.num_features_ or num_classes > self.num_classes_:
            raise DataError(
                f"the model was fitted on {self.num_features_} features and {self.num_classes_} classes, this "
                f"graph has {num_features} and {num_classes}; fit anew"
            )
        given_labels = GivenLabels.from_data(data, self._get_training_split())
        other.uniform_mass_ = 1 / (len(given_labels.y) + 1)
        if self._chose_network():
            network, epochs = self._find_network_candidate(self.chosen_), int(self.models_[self.chosen_].epochs)
            other.models_ = {self.chosen_: self._fit_network(network, data, given_labels, epochs)}
            return other
        candidates = [LINEAR_CANDIDATES[name] for name in self.models_]
        embeddings = self._embed_nodes(build_inputs(data, self.directed), candidates)
        other.models_ = {}
        trained_on_all: dict[str, EmbeddingClassifier] = {}
        for candidate in candidates:
            model = self._fit_linear_candidate(candidate, given_labels, embeddings, trained_on_all)
            model.inverse_temperature_ = self.models_[candidate.name].inverse_temperature_
            other.models_[candidate.name] = model
        return other

    def fit_facts(self) -> FitFacts:
        return replace(
            super().fit_facts(),
            learns_from_val=self.labels == "train+val",
            chosen=self.chosen_,
            weights=self.weights_,
            explanation=self.explanation_,
            warning=getattr(self, "warning_", None),
        )

    def _get_training_split(self) -> str:
        return "train+val" if self.labels == "train+val" else "train"

    # ---- linear candidates ----

    def _fit_candidates_and_predict_held_out(
        self, data: Data, inputs: backbones.GraphInputs, given_labels: GivenLabels, judging_labels: GivenLabels
    ) -> tuple[dict[str, EmbeddingClassifier], dict[str, Tensor]]:
        """By name: trained candidates, and their scores of judging labels that they were not trained on.

        Labels that no candidate was trained on can tell more candidates apart, and need no folds.
        """
        fitted: dict[str, EmbeddingClassifier] = {}
        if judging_labels is given_labels:
            candidates = [*MAIN_CANDIDATES, FEATURES_ONLY]
            embeddings = self._embed_nodes(inputs, candidates)
            for candidate in candidates:
                model = self._make_linear_candidate(candidate)
                fitted[candidate.name] = model.fit_embedded(data, given_labels, *embeddings[candidate.alpha])
            return fitted, {name: model.held_out_ for name, model in fitted.items()}
        candidates = [*MAIN_CANDIDATES, *EXTRA_CANDIDATES, FEATURES_ONLY, *SUBSET_CANDIDATES]
        embeddings = self._embed_nodes(inputs, candidates)
        unseen = {}
        for candidate in candidates:
            model = self._fit_linear_candidate(candidate, given_labels, embeddings, fitted)
            model.class_names_ = get_class_names(data)
            fitted[candidate.name] = model
            unseen[candidate.name] = model.score_embedded(embeddings[candidate.alpha][1][judging_labels.nodes])
        return fitted, unseen

    def _fit_linear_candidate(
        self,
        candidate: LinearCandidate,
        given_labels: GivenLabels,
        embeddings: Embeddings,
        trained_on_all: dict[str, EmbeddingClassifier],
    ) -> EmbeddingClassifier:
        """A trained candidate. ``wholes`` keeps those trained on all labels, of which others are refitted copies."""
        name = candidate.parent or candidate.name
        if name not in trained_on_all:
            whole = LINEAR_CANDIDATES[name]
            trained_on_all[name] = self._make_linear_candidate(whole).fit_uncalibrated(
                given_labels, *embeddings[whole.alpha]
            )
        if candidate.subset is None:
            return trained_on_all[name]
        seed = (int(self.seed) * len(SUBSET_CANDIDATES) + candidate.subset) % 2**63
        part = given_labels.sample_fraction(SUBSET_FRACTION, seed)
        return trained_on_all[name].refit_subset(part, embeddings[candidate.alpha][1])

    def _make_linear_candidate(self, candidate: LinearCandidate) -> EmbeddingClassifier:
        model = candidate.make(seed=self.seed, directed=self.directed, labels=self._get_training_split())
        assert isinstance(model, EmbeddingClassifier)
        return model

    def _embed_nodes(self, inputs: backbones.GraphInputs, candidates: Iterable[LinearCandidate]) -> Embeddings:
        """The embeddings that the candidates need, each computed once."""
        embeddings: Embeddings = {}
        for candidate in candidates:
            if candidate.alpha not in embeddings:
                embedding = self._make_linear_candidate(candidate).make_embedding()
                embeddings[candidate.alpha] = embedding, embedding.fit_transform(inputs)
        return embeddings

    # ---- networks ----

    def _explain_doubt(self, held_out: Tensor, judging_labels: GivenLabels) -> str:
        """Why linear classifiers of smoothed features, which balance classes, may not suit this graph. Or nothing."""
        if self.homophily_ is not None and compute_upper_bound(self.homophily_) < self.low_homophily:
            return LOW_HOMOPHILY
        weight = judging_labels.weight.double()
        largest = float(torch.bincount(judging_labels.y, weights=weight).max() / weight.sum())
        error = (largest * (1 - largest) / len(judging_labels.y)) ** 0.5
        agreement = compute_agreement(held_out, judging_labels)
        return RARE_CLASSES if compute_upper_bound((agreement, error)) < largest else ""

    def _can_try_networks(self, num_labels: int, num_nodes: int) -> bool:
        return num_labels >= self.min_network_labels and num_nodes <= self.max_network_nodes

    def _chose_network(self) -> bool:
        return not all(isinstance(model, EmbeddingClassifier) for model in self.models_.values())

    def _find_network_candidate(self, name: str) -> Candidate:
        return next(candidate for candidate in self.network_candidates if candidate.name == name)

    def _try_networks(
        self, data: Data, given_labels: GivenLabels, judging_labels: GivenLabels, linear_scores: Tensor
    ) -> None:
        """Let a network that agrees with held-out labels more often than the linear average take its place.

        By agreement: the transition matrix is that of a linear classifier, and a poor one takes its mistakes for noise.
        """
        fold = assign_folds(
            judging_labels.y, NETWORK_FOLDS if judging_labels is given_labels else HELD_OUT_FOLDS, int(self.seed)
        )
        trials = []
        for number in range(HELD_OUT_FOLDS):
            train = given_labels.nodes[fold != number] if judging_labels is given_labels else given_labels.nodes
            trials.append(_replace_masks(data, train, judging_labels.nodes[fold == number]))
        held_out = fold < HELD_OUT_FOLDS
        self.agreement_[LINEAR_AVERAGE] = compute_agreement(linear_scores[held_out], judging_labels.subset(held_out))
        epochs = {}
        for candidate in self.network_candidates:
            self.agreement_[candidate.name], epochs[candidate.name] = self._measure_network(candidate, trials)
        names = [LINEAR_AVERAGE, *epochs]
        best = max(names, key=lambda name: self.agreement_[name])
        if best != LINEAR_AVERAGE:
            self.weights_, self.inverse_temperature_ = {best: 1.0}, 1.0
            network = self._find_network_candidate(best)
            self.models_ = {best: self._fit_network(network, data, given_labels, epochs[best])}

    def _measure_network(self, candidate: Candidate, trials: list[Data]) -> tuple[float, int]:
        """(share of held-out labels that a network predicts, number of epochs that suited them best).

        Each held-out fold is scored after the epochs that were best for the other ones: after those that were best for
        itself, agreement would be luck as well.
        """
        curves = []
        for trial in trials:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PignnWarning)
                model = candidate.make(seed=self.seed, directed=self.directed).fit(trial, progress=False)
            curves.append(torch.tensor([row["val_accuracy"] for row in model.history_]))
        curve = torch.stack(curves)
        best_for_others = (curve.sum(0) - curve).argmax(1)
        return float(curve.gather(1, best_for_others[:, None]).mean()), int(curve.mean(0).argmax()) + 1

    def _fit_network(self, candidate: Candidate, data: Data, given_labels: GivenLabels, epochs: int) -> Method:
        """A network trained on all labels, for as many epochs as suited the held-out ones best."""
        with warnings.catch_warnings():  # the trials have given these warnings already
            warnings.simplefilter("ignore", PignnWarning)
            model = candidate.make(seed=self.seed, directed=self.directed, epochs=max(epochs, 1), selection="last")
            fitted: Method = model.fit(_replace_masks(data, given_labels.nodes, given_labels.nodes[:0]), progress=False)
        return fitted

    # ---- predictions and state ----

    def _compute_logits(self, data: Data) -> Tensor:
        if self._chose_network():
            return next(iter(self.models_.values()))._compute_logits(data)
        inputs = backbones.GraphInputs.from_data(data, directed=self.directed)
        embedded: dict[float, Tensor] = {}
        for model in self.models_.values():
            if model.alpha not in embedded:
                embedded[model.alpha] = model.embed_inputs(inputs)
        scores = {
            name: model.inverse_temperature_ * model.score_embedded(embedded[model.alpha])
            for name, model in self.models_.items()
        }
        mean = self.inverse_temperature_ * log_mean_probs(scores, self.weights_)
        return mix_log_probs_with_uniform(mean, self.uniform_mass_)

    def _explain_choice(self, noise_rate: float, doubt: str) -> str:
        name, values = self.chosen_, self.holdout_log_likelihood_
        if self._chose_network():
            names = [LINEAR_AVERAGE, *(candidate.name for candidate in self.network_candidates)]
            others = _format_values({each: self.agreement_[each] for each in names if each != name}, "{:.1%}")
            return (
                f"chose '{name}': it predicts {self.agreement_[name]:.1%} of held-out given labels ({others}); {doubt}"
            )
        largest = dict(sorted(self.weights_.items(), key=lambda each: -each[1])[:MAX_EXPLAINED])
        terms = " + ".join(f"{weight:.2f} '{each}'" for each, weight in largest.items())
        if len(self.weights_) > len(largest):
            terms += f" + {1 - sum(largest.values()):.2f} of the rest"
        choice = f"chose '{name}'" if len(self.weights_) == 1 else f"averaged {terms}"
        if self.labels == "noisy-val":
            worst = f"the worst of {len(values)} predicts {min(self.agreement_[each] for each in values):.1%}"
            agreement = f"'{name}' predicts {self.agreement_[name]:.1%} of them"
            return f"{choice} by given labels of validation nodes: {agreement}, {worst}"
        others = _format_values({each: value for each, value in values.items() if each != name}, "{:.3f}")
        return (
            f"{choice} by held-out given labels: log-likelihood of '{name}' {values[name]:.3f} "
            f"with an estimated {noise_rate:.0%} of wrong labels ({others})"
        )

    def _get_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, models = {"auto.transition": self.transition_.clone()}, []
        for number, (name, model) in enumerate(self.models_.items()):
            own, metadata = model._get_state()
            if "components" in own:  # by far the largest, and the same for all models of one alpha
                tensors[_build_embedding_key(model)] = own.pop("components").clone()
            tensors |= {f"{number}.{key}": value.clone() for key, value in own.items()}  # some are shared
            settings = model.settings_as_json()
            models.append({"name": name, "method": model.name, "settings": settings, "metadata": metadata})
        return tensors, {"models": models} | {name: getattr(self, f"{name}_") for name in STATE_ATTRIBUTES}

    def _set_state(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        self.transition_ = tensors["auto.transition"]
        self.models_ = {}
        methods: dict[str, type[Method]] = {each.method.name: each.method for each in LINEAR_CANDIDATES.values()}
        methods |= {each.method.name: each.method for each in self.network_candidates}
        for number, inner in enumerate(metadata["models"]):
            if inner["method"] not in methods:
                raise ModelFileError(f"the model inside is '{inner['method']}', which 'auto' never chooses")
            model: Any = methods[inner["method"]](**inner["settings"])
            model.class_names_, model.num_features_ = self.class_names_, self.num_features_
            prefix = f"{number}."
            own = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            if isinstance(model, EmbeddingClassifier):
                own["components"] = tensors[_build_embedding_key(model)]
            model._set_state(own, inner["metadata"])
            self.models_[inner["name"]] = model
        for name in STATE_ATTRIBUTES:
            setattr(self, f"{name}_", metadata[name])
        self.weights_ = {str(name): float(weight) for name, weight in metadata["weights"].items()}
        self.inverse_temperature_ = float(metadata["inverse_temperature"])
        self.uniform_mass_ = float(metadata["uniform_mass"])
        self.homophily_ = None if metadata["homophily"] is None else tuple(metadata["homophily"])


STATE_ATTRIBUTES = (
    *("weights", "inverse_temperature", "uniform_mass", "chosen", "explanation"),
    *("holdout_log_likelihood", "agreement", "homophily", "seconds"),
)


def _replace_masks(data: Data, train: Tensor, val: Tensor) -> Data:
    """The graph with other training and validation nodes, and without what a network must not read."""
    data = copy.copy(data)
    for name, nodes in (("train_mask", train), ("val_mask", val)):
        data[name] = torch.zeros(len(data.y), dtype=torch.bool).index_fill_(0, nodes, True)
    data.test_mask = torch.zeros(len(data.y), dtype=torch.bool)
    if data.get("y_true") is not None:
        del data["y_true"]
    return data


def _build_embedding_key(model: EmbeddingClassifier) -> str:
    return f"embedding.{float(model.alpha)!r}"


def _format_values(values: dict[str, float], form: str) -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())
