"""What methods share that learn in an embedding of smoothed features: no network, no loop, seconds."""

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
from ...core import validation as settings
from ...core.errors import unknown
from ...propagation import Embedding
from .base import FitFacts, Method, checked_inputs, class_names
from .calibration import FOLDS, fit_inverse_temperature, held_out
from .labels import LABELS, NEVER, GivenLabels, evidence


@dataclass(kw_only=True, eq=False, repr=False)
class Embedded(Method):
    """Linear scores in a :class:`pignn.propagation.Embedding`, made as sure as held-out given labels allow.

    A method says how it learns (``_learn``) and how it scores labels that it has not seen (``_held_out``). All of them
    leave behind ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labelled_``), ``held_out_`` (scores of these labels by a classifier that has not seen them) and
    ``inverse_temperature_``.
    """

    tensors: ClassVar[tuple[str, ...]] = (
        "components",
        "weight",
        "present",
        "transition",
        "posterior",
        "labelled",
        "held_out",
    )

    labels: str = "train"
    dimensions: int = 64
    alpha: float = 0.1
    num_hops: int = 20
    class_weight: str | Sequence[float] | None = None
    directed: bool = False

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Learn from the given labels of the training nodes, and of validation nodes with ``labels="train+val"``."""
        self.check_settings()
        data = graphs.check_graph(data, split_index=split_index)
        given = GivenLabels.of(data, self.labels, self.class_weight)
        embedding = self.embedding()
        return self.fit_embedded(data, given, embedding, embedding.fit_transform(checked_inputs(data, self.directed)))

    def fit_embedded(self, data: Data, given: GivenLabels, embedding: Embedding, h: Tensor) -> Self:
        """The same where the graph is checked and embedded already."""
        self.learn_embedded(given, embedding, h)

        def scores(keep: Tensor, ask: Tensor) -> Tensor:
            part = given.take(keep)
            return torch.where(part.present, h[given.nodes[ask]] @ self._learn_again(h, part), NEVER)

        self.held_out_ = held_out(given.y, given.classes, FOLDS, scores, int(self.seed))
        self._judge(given)
        self.inverse_temperature_ = fit_inverse_temperature(
            self.held_out_, evidence(given, self.transition_).exp(), given.weight
        )[0]
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        return self

    def learn_embedded(self, given: GivenLabels, embedding: Embedding, h: Tensor) -> Self:
        """Learn, and leave out what tells how sure to be: no label is held out, and the sharpness is 1."""
        self.components_, self.present_, self.labelled_ = embedding.components_, given.present, given.nodes
        # Laid out as a file would hold it: on some machines a product with a transposed matrix has other last digits.
        self.weight_ = self._learn(h, given).contiguous()
        self.held_out_, self.inverse_temperature_ = torch.zeros(0, given.classes), 1.0
        self.num_features_ = len(embedding.components_)
        return self

    def of_part(self, part: GivenLabels, h: Tensor) -> Self:
        """A copy that has learnt from a part of the labels; how noisy they are is known from all."""
        other = copy.copy(self)
        other.labelled_, other.posterior_ = part.nodes, self.posterior_[torch.isin(self.labelled_, part.nodes)]
        other.weight_ = self._learn_again(h, part).contiguous()
        return other

    @abstractmethod
    def _learn(self, h: Tensor, given: GivenLabels) -> Tensor:
        """W, [dimensions, classes]; sets ``transition_`` and ``posterior_``."""

    @abstractmethod
    def _learn_again(self, h: Tensor, given: GivenLabels) -> Tensor:
        """W from a part of the labels; sets nothing."""

    def _judge(self, given: GivenLabels) -> None:
        """A last word on ``transition_``, with ``held_out_`` at hand."""

    def embedding(self) -> Embedding:
        return Embedding(
            self.dimensions,
            alpha=self.alpha,
            num_hops=self.num_hops,
            directed=self.directed,
            seed=int(self.seed) % 2**31,
        )

    def embedded(self, inputs: backbones.GraphInputs) -> Tensor:
        """[N, dimensions], of the graph that was learnt from or another one."""
        embedding = self.embedding()
        embedding.components_ = self.components_
        return embedding.transform(inputs)

    def scores(self, h: Tensor) -> Tensor:
        """Of embedded nodes; a class that had no label is never predicted."""
        return torch.where(self.present_, h @ self.weight_, NEVER)

    def _outputs(self, data: Data) -> Tensor:
        return self.inverse_temperature_ * self.scores(
            self.embedded(backbones.GraphInputs.from_data(data, directed=self.directed))
        )

    def fit_facts(self) -> FitFacts:
        return replace(super().fit_facts(), learns_from_val=self.labels == "train+val")

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {name: getattr(self, f"{name}_").contiguous() for name in self.tensors}, {
            "inverse_temperature": self.inverse_temperature_
        }

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        for name in self.tensors:
            setattr(self, f"{name}_", tensors[name])
        self.inverse_temperature_ = float(about["inverse_temperature"])

    def check_settings(self) -> None:
        if self.labels not in LABELS:
            raise unknown("labels", self.labels, LABELS)
        settings.seed("seed", self.seed)
        self.embedding()  # checks its own
