"""Methods without a training loop."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from ... import backbones, graphs
from ...core import validation as settings
from .base import Method, checked_inputs, class_names
from .labels import counting


@dataclass(kw_only=True, eq=False, repr=False)
class DirectMethod(Method):
    """Learns in one go; what it has learnt is a few tensors."""

    directed: bool = False

    @abstractmethod
    def learn(self, inputs: backbones.GraphInputs, y: Tensor, weight: Tensor, classes: int) -> dict[str, Tensor]:
        """What is to be kept, from the given labels ``y`` (−1 where there is none) and how much each counts."""

    @abstractmethod
    def outputs(self, inputs: backbones.GraphInputs, learnt: dict[str, Tensor]) -> Tensor:
        """Logits of all nodes."""

    def check_settings(self) -> None:
        settings.seed("seed", self.seed)
        settings.flag("directed", self.directed)

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Learn from the given labels of the training nodes."""
        self.check_settings()
        data = graphs.check_graph(data, split_index=split_index)
        inputs = checked_inputs(data, self.directed)
        weight = torch.ones(len(data.y)) if data.get("label_weight") is None else data.label_weight.float()
        y = torch.where(counting(data, data.train_mask), data.y, -1)
        learnt = self.learn(inputs, y, weight * (y >= 0), graphs.num_classes(data))
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        self.learnt_ = learnt
        return self

    def _outputs(self, data: Data) -> Tensor:
        return self.outputs(backbones.GraphInputs.from_data(data, directed=self.directed), self.learnt_)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return dict(self.learnt_), {}

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.learnt_ = tensors
