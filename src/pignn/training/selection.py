"""Which epoch's classifier is kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import unknown

RULES = ("noisy-val", "clean-val", "last")


class Selection:
    """Keep the classifier of the epoch with the best accuracy on ``nodes``; the first of equals; or the last one.

    ``labels`` are given labels for ``noisy-val`` and true ones for ``clean-val``, which is an oracle: real users
    have no clean validation labels.
    """

    def __init__(self, rule: str, nodes: Tensor, labels: Tensor) -> None:
        if rule not in RULES:
            raise unknown("selection", rule, RULES)
        self.rule = rule
        self.nodes = nodes
        self.labels = labels
        self.best = -1.0
        self.epoch = -1
        self.weights: dict[str, Tensor] = {}

    def update(self, epoch: int, predicted: Tensor, network: nn.Module) -> float | None:
        """Score an epoch; remember its weights if it is the best so far. Returns the accuracy."""
        score = None
        if self.nodes.numel():
            score = float((predicted[self.nodes] == self.labels).float().mean())
        if self.rule == "last":
            self.epoch = epoch
        elif score is not None and score > self.best:
            self.best, self.epoch = score, epoch
            self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}
        return score

    @torch.no_grad()
    def restore(self, network: nn.Module) -> None:
        """Put the chosen weights back."""
        if self.weights:
            network.load_state_dict(self.weights)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return self.weights, {"best": self.best, "epoch": self.epoch}

    def set_state(self, weights: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.weights, self.best, self.epoch = weights, about["best"], about["epoch"]
