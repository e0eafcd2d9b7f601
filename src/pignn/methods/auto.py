"""The method that chooses methods, by given labels alone."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import graphs
from ..backbones import GraphInputs
from ..core.errors import DataError, ModelFileError, warn_user
from ..core.progress import progress_context, track
from ..core.settings import Bool, Choice, Float, setting
from ..core.threads import threads_context
from ..propagation import NodeViews
from .auto_candidates import (
    LEARNER_CLASSES,
    MAX_FEW_LABELS_NETWORK_WORK,
    MAX_NETWORK_WORK,
    NETWORK_EPOCHS,
    Candidate,
    Ensemble,
    choose_likeliest_for_other_graphs,
    choose_networks_and_epochs,
    compute_candidate_logits,
    copy_with_view_as_features,
    cross_val_predict_network_scores,
    explain_choice,
    find_view_with_most_weight,
    fit_ensemble,
    fit_model_to_labels,
    is_no_better_than_class_frequencies,
    list_distinct_views_of_candidates,
    list_linear_candidates,
    needs_view_of_fitted_graph,
)
from .core.base import FitFacts, Method, build_inputs_and_warn_of_edge_changes
from .core.calibration import NUM_FOLDS, assign_stratified_folds
from .core.embedding_classifier import EmbeddingClassifier
from .core.ensembling import compute_log_mean_probs, mix_log_probs_with_uniform
from .core.labels import GivenLabels

LABELS = ("train+val", "train", "noisy-val")
DIMENSIONS, MANY_LABELS_DIMENSIONS = 64, 256
FEW_LABELS_EPOCHS = 100  # of a network that learns from few labels, none of which is left to choose an epoch by
MAX_UNSEEN_SHARE = 0.1  # of the labels, that a network may do without; above, it learns again from all
HOLDOUT_FOLDS = 5  # with many labels, one fold of so many is held out
MAX_HOLDOUT_LABELS = 5_000  # they tell candidates apart that differ by half a percent
# In the comparison, candidates learn from at most so many labels, fewer with many classes.
MAX_COMPARED_LABELS, MIN_COMPARED_LABELS, MAX_COMPARED_SCORES = 10_000, 4_000, 250_000
SUBSET_LEARNERS = ("low density", "denoised")
SUBSETS_PER_LEARNER = 24
NUM_SUBSETS = len(SUBSET_LEARNERS) * SUBSETS_PER_LEARNER
SUBSET_FRACTION = 0.6  # of the labels of each class

Views = dict[str, Tensor]
Judged = tuple[Ensemble, dict[Candidate, Any]]  # what held-out labels say about fitted candidates


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Method):
    """Compares many classifiers on held-out *given* labels, under the estimated noise, and averages the good ones.

    Candidates are four linear learners (``denoised``, ``low-density``, ``prototypes`` and class means) in each of eight
    views of the nodes (:class:`pignn.propagation.NodeViews`): features smoothed far and nearby, features alone, own
    features beside those of neighbors, structure alone, degrees, and combinations. Networks (GraphSAGE,
    GCN, MLP) are candidates too where a budget of work allows.

    The comparison is by the log-likelihood of given labels that a candidate was not trained on, Σ log Σ_c
    softmax(s·scores)_c T[c, given], under the transition matrix T that suits the labels of the other folds best. So a
    candidate that is certain and attributes the rest to noise loses nothing against one that has learned the noise.
    Probabilities are averaged with weights ∝ likelihood^0.2. Few labels are held out in five folds, of many labels a
    fifth is held out once, and what is chosen learns from all of them afterwards.

    With ``labels="noisy-val"`` validation labels judge, no candidate learns from them, and weights are
    ∝ exp(0.3·validation labels that a candidate predicts). Candidates in the best view then also learn from random
    parts of the labels, so that some have seen fewer wrong ones. No true label is read.

    After fit: ``chosen_`` (the candidate of largest weight), ``weights_``, ``explanation_`` (one line),
    ``holdout_log_likelihood_`` (means) and ``agreement_`` (with held-out labels), by candidate, ``models_`` (what is
    averaged, trained on all labels), ``transition_``, ``inverse_temperature_`` and ``bias_`` (of the classes, where
    their frequencies among the labels matter).
    """

    min_holdout_labels: ClassVar[int] = 1000  # from so many on, one fold tells candidates apart, networks among them
    labels: str = setting(
        "train+val",
        Choice(LABELS),
        "which given labels are learned from: of training and validation nodes, of training nodes, or of training "
        "nodes while those of validation nodes choose (noisy-val)",
    )
    networks: str = setting("auto", Choice(("auto", "never")), "whether networks are compared too")
    time_limit: float | None = setting(
        None, Float(open_min=True), "seconds after which no further candidate is tried; by default all are"
    )
    directed: bool = setting(False, Bool(), "propagate along the direction of edges only")

    def fit(self, data: Data, *, split_index: int | None = None, progress: bool | None = None) -> Self:
        """Choose by the given labels, and learn from them."""
        self.check_settings()
        start = time.perf_counter()
        data = graphs.copy_checked_graph(data, split_index=split_index)
        with threads_context(data.x.numel()), progress_context(progress):
            self._choose_fit_and_store_ensemble(data, start)
        self.seconds_ = time.perf_counter() - start
        self._set_num_features_classes_and_settings(data)
        if self.warning_:
            warn_user(self.warning_)
        return self

    def _choose_fit_and_store_ensemble(self, data: Data, start: float) -> None:
        inputs = build_inputs_and_warn_of_edge_changes(data, self.directed)
        given_labels = GivenLabels.from_data(data, self._get_training_split_name())
        self._deadline, self._untried = None if self.time_limit is None else start + self.time_limit, 0
        many = self.labels != "noisy-val" and len(given_labels.y) >= self.min_holdout_labels
        self.views_ = NodeViews(
            MANY_LABELS_DIMENSIONS if many else DIMENSIONS, directed=self.directed, seed=int(self.seed) % 2**31
        )
        views = self.views_.fit_transform(inputs)
        if self.labels == "noisy-val":
            ensemble, fitted = self._fit_and_judge_by_validation(data, views, given_labels)
        elif many:
            ensemble, fitted = self._fit_and_judge_by_holdout(data, views, given_labels)
        else:
            ensemble, fitted = self._fit_and_judge_by_folds(data, views, given_labels)
        self._store_ensemble(ensemble, fitted, len(given_labels.y))
        untried = f"; the time limit left {self._untried} candidates untried" if self._untried else ""
        explanation = explain_choice(ensemble, given_labels, by_validation_labels=self.labels == "noisy-val")
        self.explanation_ = explanation + untried
        self.warning_ = None
        if is_no_better_than_class_frequencies(ensemble, self.chosen_, given_labels):
            self.warning_ = (
                "auto: no candidate predicts held-out labels better than the frequencies of the classes do; "
                "features and graph may say nothing about these labels"
            )

    def copy_and_refit(self, data: Data) -> Self:
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
        given_labels = GivenLabels.from_data(data, self._get_training_split_name())
        other.uniform_mass_ = 1 / (len(given_labels.y) + 1)
        inputs = build_inputs_and_warn_of_edge_changes(data, self.directed)
        candidates = [self.candidates_[name] for name in self._get_weights_usable_on(inputs)]
        views = self.views_.transform(inputs, list_distinct_views_of_candidates(candidates))
        other.models_ = {}
        for candidate in candidates:
            model = self.models_[candidate.name]
            if candidate.is_linear:
                again: Any = self._make_fitted_linear(candidate, views, given_labels)
            else:
                again = self._make_fitted_network(candidate, data, views, given_labels, int(model.epochs))
            again.inverse_temperature_ = model.inverse_temperature_
            other.models_[candidate.name] = again
        other.weights_ = self._get_weights_usable_on(inputs)
        return other

    def get_fit_facts(self) -> FitFacts:
        return replace(
            super().get_fit_facts(),
            learns_from_val=self.labels == "train+val",
            chosen=self.chosen_,
            weights=self.weights_,
            explanation=self.explanation_,
            warning=getattr(self, "warning_", None),
        )

    def _get_training_split_name(self) -> str:
        return "train+val" if self.labels == "train+val" else "train"

    # ---- three ways to hold labels out ----

    def _fit_and_judge_by_folds(self, data: Data, views: Views, given_labels: GivenLabels) -> Judged:
        """Few labels: each is judged by candidates that learned from the other folds."""
        work = MAX_FEW_LABELS_NETWORK_WORK if self.networks == "auto" else 0
        networks, epochs = choose_networks_and_epochs(data, views, FEW_LABELS_EPOCHS, NUM_FOLDS + 1, work)
        fitted: dict[Candidate, Any] = {}
        unseen = {}
        transitions: dict[str, Any] = {}  # by view
        for candidate in self._iter_until_deadline([*list_linear_candidates(views), *networks]):
            if candidate.is_linear:
                model = self._make_unfitted_linear(candidate)
                model.fit_with_temperature(views[candidate.view], given_labels, transitions.get(candidate.view))
                transitions.setdefault(candidate.view, model.transitions_)
                fitted[candidate], unseen[candidate.name] = model, model.held_out_
            else:
                fitted[candidate] = self._make_fitted_network(candidate, data, views, given_labels, epochs)
                read = copy_with_view_as_features(candidate, data, views)
                unseen[candidate.name] = cross_val_predict_network_scores(fitted[candidate], read, given_labels)
        return self._build_ensemble(unseen, fitted, given_labels), fitted

    def _fit_and_judge_by_holdout(self, data: Data, views: Views, given_labels: GivenLabels) -> Judged:
        """Many labels: a fifth is held out once, and what is chosen learns from all."""
        fold = assign_stratified_folds(given_labels.y, HOLDOUT_FOLDS, int(self.seed))
        judging_labels = given_labels.draw_subset_in_mask(fold == 0, MAX_HOLDOUT_LABELS, int(self.seed))
        size = min(MAX_COMPARED_LABELS, max(MIN_COMPARED_LABELS, MAX_COMPARED_SCORES // given_labels.num_classes))
        rest = given_labels.subset(~torch.isin(given_labels.nodes, judging_labels.nodes))
        training_labels = rest.draw_subset_in_mask(torch.ones(len(rest.y), dtype=torch.bool), size, int(self.seed))
        refit_networks = len(judging_labels.y) > MAX_UNSEEN_SHARE * len(given_labels.y)
        work, num_fits = MAX_NETWORK_WORK if self.networks == "auto" else 0, 2 if refit_networks else 1
        networks, epochs = choose_networks_and_epochs(data, views, NETWORK_EPOCHS, num_fits, work)
        candidates = [*list_linear_candidates(views), *networks]
        transitions: list[Tensor] | None = None  # many labels tell the noise in any view
        fitted: dict[Candidate, Any] = {}
        unseen = {}
        for candidate in self._iter_until_deadline(candidates):
            if candidate.is_linear:
                model = self._make_fitted_linear(candidate, views, training_labels, transitions=transitions)
                transitions = transitions or model.transitions_
            else:
                model = self._make_fitted_network(candidate, data, views, rest, epochs, judging_labels)
            scores = compute_candidate_logits(candidate, model, data, views)
            fitted[candidate], unseen[candidate.name] = model, scores[judging_labels.nodes]
        ensemble = self._build_ensemble(unseen, fitted, judging_labels)
        kept = {*ensemble.weights, choose_likeliest_for_other_graphs(ensemble, fitted).name}
        for candidate, model in fitted.items():
            if candidate.name in kept and candidate.is_linear:
                fitted[candidate] = self._make_fitted_linear(candidate, views, given_labels, transitions=transitions)
            elif candidate.name in kept and refit_networks:
                epochs = model.best_epoch_ + 1
                fitted[candidate] = self._make_fitted_network(candidate, data, views, given_labels, epochs)
        return ensemble, fitted

    def _fit_and_judge_by_validation(self, data: Data, views: Views, given_labels: GivenLabels) -> Judged:
        """Validation labels judge. In the best view, candidates also learn from random parts of the labels."""
        judging_labels = GivenLabels.from_data(data, "val")
        fitted: dict[Candidate, Any] = {}
        unseen = {}

        def add(candidates: Iterable[Candidate]) -> Ensemble:
            for candidate in self._iter_until_deadline(candidates):
                whole = fitted.get(replace(candidate, subset=None))
                fitted[candidate] = self._make_fitted_linear(candidate, views, given_labels, whole)
                unseen[candidate.name] = fitted[candidate].compute_scores_of_embedded_nodes(
                    views[candidate.view][judging_labels.nodes]
                )
            return self._build_ensemble(unseen, fitted, judging_labels, by_agreement=True)

        ensemble = add(list_linear_candidates(views))
        best_view = find_view_with_most_weight(ensemble, fitted)
        return add(
            Candidate(learner, best_view, number * SUBSETS_PER_LEARNER + k)
            for number, learner in enumerate(SUBSET_LEARNERS)
            for k in range(SUBSETS_PER_LEARNER)
        ), fitted

    def _iter_until_deadline(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The candidates, until the time is over. The first one always comes."""
        for number, candidate in enumerate(track(candidates, "auto: methods tried")):
            if number and self._deadline is not None and time.perf_counter() > self._deadline:
                self._untried += 1
            else:
                yield candidate

    def _build_ensemble(
        self,
        held_out_scores: dict[str, Tensor],
        fitted: dict[Candidate, Any],
        judging_labels: GivenLabels,
        by_agreement: bool = False,
    ) -> Ensemble:
        transitions = {each.name: model.transition_ for each, model in fitted.items() if each.is_linear}
        return fit_ensemble(
            held_out_scores, transitions, judging_labels, weigh_by_accuracy=by_agreement, fold_seed=int(self.seed)
        )

    def _store_ensemble(self, ensemble: Ensemble, fitted: dict[Candidate, Any], num_labels: int) -> None:
        """Keep what is averaged, and the best candidate that can predict for other graphs."""
        self.weights_, self.bias_ = ensemble.weights, ensemble.bias
        self.inverse_temperature_ = ensemble.inverse_temperature
        self.transition_, self.agreement_ = ensemble.transition, ensemble.agreement
        self.holdout_log_likelihood_ = ensemble.log_likelihood
        self.uniform_mass_ = 1 / (num_labels + 1)
        self.fallback_ = choose_likeliest_for_other_graphs(ensemble, fitted).name
        self.candidates_ = {each.name: each for each in fitted if each.name in {*self.weights_, self.fallback_}}
        self.models_: dict[str, Any] = {each.name: fitted[each] for each in self.candidates_.values()}
        for name, model in self.models_.items():
            model.inverse_temperature_ = ensemble.inverse_temperatures[name]
        self.chosen_ = max(self.weights_, key=lambda name: self.weights_[name])

    # ---- candidates ----

    def _make_unfitted_linear(self, candidate: Candidate) -> EmbeddingClassifier:
        model = candidate.make(seed=self.seed, directed=self.directed, labels=self._get_training_split_name())
        assert isinstance(model, EmbeddingClassifier)
        return model

    def _make_fitted_linear(
        self,
        candidate: Candidate,
        views: Views,
        given_labels: GivenLabels,
        fitted_on_all: EmbeddingClassifier | None = None,
        transitions: list[Tensor] | None = None,
    ) -> EmbeddingClassifier:
        """A candidate that learned from all these labels, or from its part of them, as a copy of ``fitted_on_all``."""
        embedded = views[candidate.view]
        if candidate.subset is None or fitted_on_all is None:
            fitted_on_all = self._make_unfitted_linear(candidate).fit_uncalibrated(embedded, given_labels, transitions)
        if candidate.subset is None:
            return fitted_on_all
        seed = (int(self.seed) * NUM_SUBSETS + candidate.subset) % 2**63
        subset = given_labels.draw_subset_per_class_keeping_trusted(SUBSET_FRACTION, seed)
        return fitted_on_all.copy_refitted_to_subset(subset, embedded)

    def _make_fitted_network(self, candidate: Candidate, data: Data, views: Views, *learned_from: Any) -> Any:
        model = candidate.make(seed=self.seed, directed=self.directed)
        return fit_model_to_labels(model, copy_with_view_as_features(candidate, data, views), *learned_from)

    # ---- predictions and state ----

    def _get_weights_usable_on(self, inputs: GraphInputs) -> dict[str, float]:
        """The weights of what can predict for this graph: without views of the structure for another one."""
        if self.views_.is_fitted_graph(inputs):
            return self.weights_
        candidates = {name: self.candidates_[name] for name in self.weights_}
        left = {name: self.weights_[name] for name, each in candidates.items() if not needs_view_of_fitted_graph(each)}
        if not left:
            return {self.fallback_: 1.0}
        return {name: weight / sum(left.values()) for name, weight in left.items()}

    def _compute_logits(self, data: Data) -> Tensor:
        inputs = GraphInputs.from_data(data, directed=self.directed)
        weights = self._get_weights_usable_on(inputs)
        views = self.views_.transform(
            inputs, list_distinct_views_of_candidates(self.candidates_[name] for name in weights)
        )
        scores = {
            name: self.models_[name].inverse_temperature_
            * compute_candidate_logits(self.candidates_[name], self.models_[name], data, views)
            for name in weights
        }
        mean = self.inverse_temperature_ * compute_log_mean_probs(scores, weights) + self.bias_
        return mix_log_probs_with_uniform(mean, self.uniform_mass_)

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, views = self.views_.get_state()
        tensors = {f"views.{key}": value.clone() for key, value in tensors.items()}
        tensors |= {"auto.transition": self.transition_.clone(), "auto.bias": self.bias_.clone()}
        models = []
        for number, (name, model) in enumerate(self.models_.items()):
            own, metadata = model._get_tensors_and_metadata()
            tensors |= {f"{number}.{key}": value.clone() for key, value in own.items()}  # some are shared
            candidate = self.candidates_[name]
            place = {"learner": candidate.learner, "view": candidate.view, "subset": candidate.subset}
            place |= {"num_features": getattr(model, "num_features_", self.num_features_)}
            place |= {"inverse_temperature": float(model.inverse_temperature_), "method": model.name}
            models.append(place | {"settings": model.get_json_compatible_settings(), "metadata": metadata})
        state = {name: getattr(self, f"{name}_") for name in STATE_ATTRIBUTES}
        return tensors, {"models": models, "views": views} | state

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        self.transition_, self.bias_ = tensors["auto.transition"], tensors["auto.bias"]
        view_tensors, seed = _select_and_strip_prefix(tensors, "views."), int(self.seed) % 2**31
        self.views_ = NodeViews.from_state(view_tensors, metadata["views"], directed=self.directed, seed=seed)
        self.models_, self.candidates_ = {}, {}
        for number, inner in enumerate(metadata["models"]):
            if inner["method"] not in LEARNER_CLASSES:
                raise ModelFileError(f"the model inside is '{inner['method']}', which 'auto' never chooses")
            model: Any = LEARNER_CLASSES[inner["method"]](**inner["settings"])
            model.class_names_, model.num_features_ = self.class_names_, inner["num_features"]
            model._set_tensors_and_metadata(_select_and_strip_prefix(tensors, f"{number}."), inner["metadata"])
            model.inverse_temperature_ = float(inner["inverse_temperature"])
            candidate = Candidate(str(inner["learner"]), str(inner["view"]), inner["subset"])
            self.models_[candidate.name], self.candidates_[candidate.name] = model, candidate
        for name in STATE_ATTRIBUTES:
            setattr(self, f"{name}_", metadata[name])
        self.weights_ = {str(name): float(weight) for name, weight in metadata["weights"].items()}
        self.inverse_temperature_ = float(metadata["inverse_temperature"])
        self.uniform_mass_ = float(metadata["uniform_mass"])


STATE_ATTRIBUTES = (
    *("weights", "inverse_temperature", "uniform_mass", "chosen", "fallback", "explanation"),
    *("holdout_log_likelihood", "agreement", "seconds"),
)


def _select_and_strip_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
