"""Linear classifiers in an embedding of smoothed features: no network, no loop, seconds."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from ... import backbones, graphs
from ...core.progress import ShowProgress
from ...core.settings import Anything, Bool, Choice, Float, Int, setting
from ...core.threads import threads_context
from ...propagation import Embedding, NodeVectors
from .base import FitFacts, Method, build_inputs_and_warn_of_edge_changes
from .calibration import NUM_FOLDS, cross_val_predict_scores, fit_inverse_temperature_and_likelihoods
from .labels import (
    CLASS_WEIGHT_HELP,
    IMPOSSIBLE_LOGIT,
    LABEL_SPLITS,
    LABELS_HELP,
    GivenLabels,
    compute_label_log_likelihoods,
)


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingClassifier(Method):
    """Linear scores in a :class:`pignn.propagation.Embedding`, with a temperature fitted to held-out given labels.

    A method implements how weights are learned (:meth:`_fit_weights_and_set_posterior`) and learned again from a part
    of the labels (:meth:`_fit_weights_with_known_transitions`).

    After fit: ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labeled_``), ``held_out_`` (scores of these labels by a classifier that was not trained on them) and
    ``inverse_temperature_``.
    """

    state_tensors: ClassVar[tuple[str, ...]] = (
        *("components", "weight", "present", "transition"),
        *("posterior", "labeled", "held_out"),
    )

    labels: str = setting("train", Choice(LABEL_SPLITS), LABELS_HELP)
    dimensions: int = setting(64, Int(min=1), "dimensions of the embedding")
    alpha: float = setting(
        0.1, Float(max=1, open_min=True), "restart probability of personalized PageRank; 1 ignores the graph"
    )
    num_hops: int = setting(20, Int(), "number of propagation steps")
    class_weight: str | Sequence[float] | None = setting(None, Anything("balanced, list of numbers"), CLASS_WEIGHT_HELP)
    directed: bool = setting(False, Bool(), "propagate along the direction of edges only")

    def fit(self, data: Data, *, split_index: int | None = None, progress: ShowProgress = None) -> Self:
        """Learn from the given labels of the training nodes, and of validation nodes with ``labels="train+val"``."""
        self.check_settings()
        data = graphs.copy_checked_graph(data, split_index=split_index)
        given_labels = GivenLabels.from_data(data, self.labels, self.class_weight)
        embedding = self.build_unfitted_embedding()
        with threads_context(data.x.numel()):
            embedded = embedding.fit_transform(build_inputs_and_warn_of_edge_changes(data, self.directed))
        self.components_ = embedding.components_
        with threads_context(len(given_labels.y) * embedded.shape[1]):
            self.fit_and_calibrate(embedded, given_labels)
        self._set_num_features_classes_and_settings(data)
        return self

    def fit_and_calibrate(
        self, embedded: NodeVectors, given_labels: GivenLabels, transitions: list[Tensor] | None = None
    ) -> Self:
        """Learn from vectors of all nodes, ``embedded``, and fit the temperature to held-out labels.

        ``transitions_`` of another classifier of the same vectors and labels spare it the estimate of the noise.
        """
        self.fit_uncalibrated(embedded, given_labels, transitions)

        def fit_and_score(train: Tensor, held_out: Tensor) -> Tensor:
            part = given_labels.subset(train)
            scores = embedded[given_labels.nodes[held_out]] @ self._fit_weights_with_known_transitions(embedded, part)
            return torch.where(part.labeled_class_mask, scores, IMPOSSIBLE_LOGIT)

        self.held_out_ = cross_val_predict_scores(
            given_labels.y, given_labels.num_classes, NUM_FOLDS, fit_and_score, int(self.seed)
        )
        self._set_transition_if_no_noise_model(given_labels)
        likelihood = compute_label_log_likelihoods(given_labels, self.transition_).exp()
        self.inverse_temperature_ = fit_inverse_temperature_and_likelihoods(
            self.held_out_, likelihood, given_labels.weight
        )[0]
        return self

    def fit_uncalibrated(
        self, embedded: NodeVectors, given_labels: GivenLabels, transitions: list[Tensor] | None = None
    ) -> Self:
        """Learn the weights only: no label is held out, and the temperature is 1."""
        self.transitions_ = transitions  # possible transition matrices, if they are known or the method estimates them
        self.present_, self.labeled_ = given_labels.labeled_class_mask, given_labels.nodes
        # Laid out as a file would hold it: on some machines a product with a transposed matrix has other last digits.
        self.weight_ = self._fit_weights_and_set_posterior(embedded, given_labels).contiguous()
        self.held_out_, self.inverse_temperature_ = torch.zeros(0, given_labels.num_classes), 1.0
        return self

    def copy_refitted_to_subset(self, subset_labels: GivenLabels, embedded: NodeVectors) -> Self:
        """A copy that has learned from a part of the labels, with the noise that was estimated from all."""
        other = copy.copy(self)
        other.labeled_, other.posterior_ = (
            subset_labels.nodes,
            self.posterior_[torch.isin(self.labeled_, subset_labels.nodes)],
        )
        other.weight_ = self._fit_weights_with_known_transitions(embedded, subset_labels).contiguous()
        return other

    @abstractmethod
    def _fit_weights_and_set_posterior(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        """The weights W, [dimensions, classes]. Sets ``transition_`` and ``posterior_``."""

    @abstractmethod
    def _fit_weights_with_known_transitions(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        """W from a part of the labels. Sets nothing."""

    def _set_transition_if_no_noise_model(self, given_labels: GivenLabels) -> None:
        """Change ``transition_`` once ``held_out_`` is there."""

    def build_unfitted_embedding(self) -> Embedding:
        return Embedding(
            self.dimensions,
            alpha=self.alpha,
            num_hops=self.num_hops,
            directed=self.directed,
            seed=int(self.seed) % 2**31,
        )

    def embed_graph_inputs(self, inputs: backbones.GraphInputs) -> Tensor:
        """The nodes of this or another graph in the fitted embedding, [N, dimensions]."""
        embedding = self.build_unfitted_embedding()
        embedding.components_ = self.components_
        return embedding.transform(inputs)

    def compute_scores_of_embedded_nodes(self, embedded: Tensor) -> Tensor:
        """Scores of embedded nodes. A class without a label is never predicted."""
        return torch.where(self.present_, embedded @ self.weight_, IMPOSSIBLE_LOGIT)

    def _compute_logits(self, data: Data) -> Tensor:
        inputs = backbones.GraphInputs.from_data(data, directed=self.directed)
        return self.inverse_temperature_ * self.compute_scores_of_embedded_nodes(self.embed_graph_inputs(inputs))

    def get_fit_facts(self) -> FitFacts:
        return replace(super().get_fit_facts(), learns_from_val=self.labels == "train+val")

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        # One that was given embedded nodes has no components of its own.
        names = [name for name in self.state_tensors if hasattr(self, f"{name}_")]
        tensors = {name: getattr(self, f"{name}_").contiguous() for name in names}
        return tensors, {"inverse_temperature": self.inverse_temperature_}

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        for name in self.state_tensors:
            if name in tensors or name != "components":
                setattr(self, f"{name}_", tensors[name])
        self.inverse_temperature_ = float(metadata["inverse_temperature"])
