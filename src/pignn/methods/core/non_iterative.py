"""Methods without a training loop."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from ... import backbones, graphs
from ...core.progress import ShowProgress
from ...core.settings import Bool, setting
from ...core.threads import threads_context
from .base import Method, build_inputs_and_warn_of_edge_changes
from .labels import mask_labels_of_positive_weight


@dataclass(kw_only=True, eq=False, repr=False)
class NonIterativeMethod(Method):
    """A method that learns in one call. Its learned state is a few tensors, ``state_``."""

    directed: bool = setting(False, Bool(), "propagate along the direction of edges only")

    @abstractmethod
    def fit_state(
        self, inputs: backbones.GraphInputs, y: Tensor, label_weight: Tensor, num_classes: int
    ) -> dict[str, Tensor]:
        """The state to keep, from the given labels ``y`` (−1 where there is none) and how much each counts."""

    @abstractmethod
    def compute_logits(self, inputs: backbones.GraphInputs, state: dict[str, Tensor]) -> Tensor:
        """Logits of all nodes, [N, classes]."""

    def fit(self, data: Data, *, split_index: int | None = None, progress: ShowProgress = None) -> Self:
        """Learn from the given labels of the training nodes."""
        self.check_settings()
        data = graphs.copy_checked_graph(data, split_index=split_index)
        inputs = build_inputs_and_warn_of_edge_changes(data, self.directed)
        weight = torch.ones(len(data.y)) if data.get("label_weight") is None else data.label_weight.float()
        y = torch.where(mask_labels_of_positive_weight(data, data.train_mask), data.y, -1)
        with threads_context(data.x.numel()):
            self.state_ = self.fit_state(inputs, y, weight * (y >= 0), graphs.num_classes(data))
        self._set_num_features_classes_and_settings(data)
        return self

    def _compute_logits(self, data: Data) -> Tensor:
        return self.compute_logits(backbones.GraphInputs.from_data(data, directed=self.directed), self.state_)

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return dict(self.state_), {}

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        self.state_ = tensors
