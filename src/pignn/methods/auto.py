"""The method that chooses methods, by given labels alone."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import graphs
from ..backbones import GraphInputs
from ..core.errors import DataError, warn_user
from ..core.progress import ShowProgress, progress_context, track
from ..core.settings import Bool, Choice, Float, setting
from ..core.threads import threads_context
from ..propagation import NodeViews, get_block_work_or_none
from . import auto_fits, auto_state
from .auto_candidates import (
    MAX_FEW_LABELS_NETWORK_WORK,
    MAX_NETWORK_WORK,
    NETWORK_EPOCHS,
    Candidate,
    Ensemble,
    choose_likeliest_for_other_graphs,
    choose_networks_and_epochs,
    compute_network_logits,
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
from .auto_fits import Views
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

    def fit(self, data: Data, *, split_index: int | None = None, progress: ShowProgress = None) -> Self:
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
        self._trials = auto_fits.Trials(None if self.time_limit is None else start + self.time_limit)
        many = self.labels != "noisy-val" and len(given_labels.y) >= self.min_holdout_labels
        self.views_ = NodeViews(
            MANY_LABELS_DIMENSIONS if many else DIMENSIONS, directed=self.directed, seed=int(self.seed) % 2**31
        )
        self._kept_nodes = auto_fits.list_nodes_to_keep(data, given_labels, int(self.seed), None)
        views = self.views_.fit_transform(inputs, self._kept_nodes)
        if self.labels == "noisy-val":
            ensemble, fitted = self._fit_and_judge_by_validation(data, views, given_labels)
        elif many:
            ensemble, fitted = self._fit_and_judge_by_holdout(data, views, given_labels)
        else:
            ensemble, fitted = self._fit_and_judge_by_folds(data, views, given_labels)
        self._store_ensemble(ensemble, fitted, len(given_labels.y))
        explanation = explain_choice(ensemble, given_labels, by_validation_labels=self.labels == "noisy-val")
        self.explanation_ = explanation + self._trials.describe_left_out()
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
        kept = getattr(self, "_kept_nodes", None)
        other._kept_nodes = auto_fits.list_nodes_to_keep(data, given_labels, int(self.seed), kept)
        views = self.views_.transform(inputs, list_distinct_views_of_candidates(candidates), other._kept_nodes)
        epochs = {each.name: int(self.models_[each.name].epochs) for each in candidates if not each.is_linear}
        other.models_ = other._refit(candidates, data, views, given_labels, epochs)
        for name, model in other.models_.items():
            model.inverse_temperature_ = self.models_[name].inverse_temperature_
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
        for candidate, result in self._iter_fitted_linear(views, given_labels, None, lambda each: each.view):
            fitted[candidate], unseen[candidate.name] = result
        for candidate in self._trials.iter_in_time(networks):
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
        fitted: dict[Candidate, Any] = {}
        unseen = {}
        # Many labels tell the noise in any view.
        for candidate, result in self._iter_fitted_linear(views, training_labels, judging_labels.nodes, lambda _: ""):
            fitted[candidate], unseen[candidate.name] = result
        for candidate in self._trials.iter_in_time(networks):
            fitted[candidate] = self._make_fitted_network(candidate, data, views, rest, epochs, judging_labels)
            scores = compute_network_logits(candidate, fitted[candidate], data, views)
            unseen[candidate.name] = scores[judging_labels.nodes]
        ensemble = self._build_ensemble(unseen, fitted, judging_labels)
        fallback = choose_likeliest_for_other_graphs(ensemble, fitted)
        chosen = [each for each in fitted if each.name in ensemble.weights or each is fallback]
        transitions = next(iter(fitted.values())).transitions_
        learn_again = [each for each in chosen if each.is_linear or refit_networks]
        best_epochs = {each.name: fitted[each].best_epoch_ + 1 for each in learn_again if not each.is_linear}
        again = self._refit(learn_again, data, views, given_labels, best_epochs, transitions)
        return ensemble, fitted | {each: again[each.name] for each in learn_again}

    def _fit_and_judge_by_validation(self, data: Data, views: Views, given_labels: GivenLabels) -> Judged:
        """Validation labels judge. In the best view, candidates also learn from random parts of the labels."""
        judging_labels = GivenLabels.from_data(data, "val")
        fitted: dict[Candidate, Any] = {}
        unseen = {}

        def add(candidates: Iterable[Candidate]) -> Ensemble:
            for candidate in self._trials.iter_in_time(candidates):
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

    def _iter_fitted_linear(
        self, views: Views, labels: GivenLabels, judging_nodes: Tensor | None, group: Callable[[Candidate], str]
    ) -> Iterator[tuple[Candidate, auto_fits.Fitted]]:
        """The linear candidates, fitted to labels; the first of each group estimates the noise for the others."""
        fits = {
            each: auto_fits.LinearFit(self._make_unfitted_linear(each), labels, judging_nodes)
            for each in list_linear_candidates(views)
        }
        fitted = auto_fits.iter_fitted_candidates(fits, views, group, self._trials, self._kept_nodes)
        found = dict(track(fitted, "auto: methods tried", len(fits)))
        yield from ((each, found[each]) for each in fits if each in found)  # machines are done in any order

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

    def _make_unfitted_linear(self, candidate: Candidate) -> EmbeddingClassifier:
        model = candidate.make(seed=self.seed, directed=self.directed, labels=self._get_training_split_name())
        assert isinstance(model, EmbeddingClassifier)
        return model

    def _make_fitted_linear(
        self, candidate: Candidate, views: Views, given_labels: GivenLabels, on_all: EmbeddingClassifier | None = None
    ) -> EmbeddingClassifier:
        """A candidate that learned from all these labels, or from its part of them, as a copy of ``on_all``."""
        embedded = views[candidate.view]
        if on_all is None:
            on_all = self._make_unfitted_linear(candidate).fit_uncalibrated(embedded, given_labels)
        if candidate.subset is None:
            return on_all
        seed = (int(self.seed) * NUM_SUBSETS + candidate.subset) % 2**63
        subset = given_labels.draw_subset_per_class_keeping_trusted(SUBSET_FRACTION, seed)
        return on_all.copy_refitted_to_subset(subset, embedded)

    def _refit(
        self,
        candidates: list[Candidate],
        data: Data,
        views: Views,
        given_labels: GivenLabels,
        epochs: Mapping[str, int],
        transitions: list[Tensor] | None = None,
    ) -> dict[str, Any]:
        """Candidates by name, fitted to these labels: linear ones under known noise, networks for so many epochs."""
        nobody, linear = given_labels.nodes[:0], [each for each in candidates if each.is_linear and each.subset is None]
        fits = {
            each: auto_fits.LinearFit(self._make_unfitted_linear(each), given_labels, nobody, transitions)
            for each in linear
        }
        models = auto_fits.refit_candidates(fits, views, self._kept_nodes)
        for each in candidates:
            if each not in models:
                models[each] = (
                    self._make_fitted_linear(each, views, given_labels)
                    if each.is_linear
                    else self._make_fitted_network(each, data, views, given_labels, epochs[each.name])
                )
        return {each.name: models[each] for each in candidates}

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
        weights, view_names = self._get_weights_and_views(inputs)
        of_networks = self._compute_network_logits(data, inputs, weights)
        parts = [
            self._average_scores(weights, views, {name: logits[rows] for name, logits in of_networks.items()})
            for rows, views in self.views_.iter_transformed_rows(inputs, view_names)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _compute_logits_of_nodes(self, data: Data, nodes: Tensor) -> Tensor:
        if get_block_work_or_none() is None:
            return super()._compute_logits_of_nodes(data, nodes)
        inputs = GraphInputs.from_data(data, directed=self.directed)
        weights, view_names = self._get_weights_and_views(inputs)
        kept = auto_fits.choose_if_all_inside(nodes.unique(), getattr(self, "_kept_nodes", None))
        stored = self.views_.transform(inputs, view_names, kept)
        of_networks = {name: each[nodes] for name, each in self._compute_network_logits(data, inputs, weights).items()}
        return self._average_scores(weights, {name: stored[name][nodes] for name in view_names}, of_networks)

    def _get_weights_and_views(self, inputs: GraphInputs) -> tuple[dict[str, float], list[str]]:
        """What is averaged, and the views that its linear candidates read."""
        weights = self._get_weights_usable_on(inputs)
        linear = (self.candidates_[name] for name in weights if self.candidates_[name].is_linear)
        return weights, list_distinct_views_of_candidates(linear)

    def _compute_network_logits(self, data: Data, inputs: GraphInputs, names: Iterable[str]) -> dict[str, Tensor]:
        networks = [self.candidates_[name] for name in names if not self.candidates_[name].is_linear]
        view_names = list_distinct_views_of_candidates(networks)
        views = self.views_.transform(inputs, view_names) if view_names else {}
        return {each.name: compute_network_logits(each, self.models_[each.name], data, views) for each in networks}

    def _average_scores(
        self, weights: dict[str, float], views: Mapping[str, Tensor], of_networks: Mapping[str, Tensor]
    ) -> Tensor:
        scores = {}
        for name in weights:
            model, view = self.models_[name], self.candidates_[name].view
            logits = of_networks.get(name)
            logits = model.compute_scores_of_embedded_nodes(views[view]) if logits is None else logits
            scores[name] = model.inverse_temperature_ * logits
        mean = self.inverse_temperature_ * compute_log_mean_probs(scores, weights) + self.bias_
        return mix_log_probs_with_uniform(mean, self.uniform_mass_)

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return auto_state.get_tensors_and_metadata(self)

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        auto_state.set_tensors_and_metadata(self, tensors, metadata)
