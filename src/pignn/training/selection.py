"""Which epoch's classifier is kept. A rule is one :class:`SelectionRule` in the registry ``SELECTIONS``.

Another package adds one through the entry-point group ``pignn.selections``. Torch is not imported here, so that listing
the rules does not wait for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from ..core.errors import DataError
from ..core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch_geometric.data import Data


class SelectionRule(ABC):
    """Which labels of the validation nodes epochs are compared by."""

    name: ClassVar[str]
    summary: ClassVar[str]
    is_oracle: ClassVar[bool] = False  # whether it reads true labels, which real users do not have
    keeps_best: ClassVar[bool] = True  # otherwise the last epoch is kept, and labels only serve the history

    @abstractmethod
    def get_labels_for_selection(self, data: Data) -> Tensor:
        """The label of every node of a checked graph, [N]; −1 where it must not be used."""

    def find_validation_nodes_and_labels(self, data: Data) -> tuple[Tensor, Tensor]:
        """The validation nodes that have a label, and their labels."""
        labels = self.get_labels_for_selection(data)
        nodes = (data.val_mask & (labels >= 0)).nonzero().view(-1)
        return nodes, labels[nodes]


class NoisyValidation(SelectionRule):
    name = "noisy-val"
    summary = "best accuracy on the given validation labels; the last epoch where there are none"

    def get_labels_for_selection(self, data: Data) -> Tensor:
        weight = data.get("label_weight")
        return data.y if weight is None else data.y.where(weight > 0, -1)


class CleanValidation(SelectionRule):
    name = "clean-val"
    summary = "best accuracy on the true validation labels: an oracle"
    is_oracle = True

    def get_labels_for_selection(self, data: Data) -> Tensor:
        if data.get("y_true") is None:
            raise DataError("selection='clean-val' needs data.y_true, and the graph has none")
        return data.y_true.reshape(-1)


class LastEpoch(NoisyValidation):
    name = "last"
    summary = "the last epoch, whatever its accuracy"
    keeps_best = False


SELECTIONS: Registry[type[SelectionRule]] = Registry("selection", "pignn.selections")
for _rule in (NoisyValidation, CleanValidation, LastEpoch):
    SELECTIONS.register(_rule.name, _rule, _rule.summary)


class Selection:
    """The classifier of the epoch with the best accuracy on ``nodes``, the first of equals; or the last one.

    An epoch that gives one class more than ``max_share`` of all nodes must be better than the others by more than a
    standard error: where the accuracy says little, a classifier that knows one class only is often best by chance.
    """

    def __init__(self, rule: SelectionRule, nodes: Tensor, labels: Tensor, max_share: float = 1.0) -> None:
        self.rule = rule
        self.nodes = nodes
        self.labels = labels
        self.max_share = max_share
        self.best = -1.0
        self.epoch = -1
        self.weights: dict[str, Tensor] = {}

    def update_and_get_accuracy(self, epoch: int, predicted: Tensor, network: nn.Module) -> float | None:
        """Score an epoch and remember its weights if it is the best so far. Returns the accuracy."""
        score = None
        if self.nodes.numel():
            score = float((predicted[self.nodes] == self.labels).float().mean())
        if not self.rule.keeps_best:
            self.epoch = epoch
        elif score is not None and (ranked := score - self._compute_lopsidedness_penalty(predicted)) > self.best:
            self.best, self.epoch = ranked, epoch
            self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}
        return score

    def copy_as_before_first_epoch(self) -> Selection:
        """The same rule before the first epoch."""
        return Selection(self.rule, self.nodes, self.labels, self.max_share)

    def _compute_lopsidedness_penalty(self, predicted: Tensor) -> float:
        is_lopsided = self.max_share < 1 and int(predicted.bincount().max()) > self.max_share * len(predicted)
        return 0.5 / len(self.nodes) ** 0.5 if is_lopsided else 0.0

    def restore_selected_weights(self, network: nn.Module) -> None:
        """Load the selected weights into the classifier."""
        if self.weights:
            network.load_state_dict(self.weights)

    def state_dict(self) -> dict[str, Any]:
        """The state besides ``weights``, as JSON can hold it."""
        return {"best": self.best, "epoch": self.epoch}

    def load_state_dict(self, weights: dict[str, Tensor], state: dict[str, Any]) -> None:
        self.weights, self.best, self.epoch = weights, state["best"], state["epoch"]
