"""Decoupling."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .core.committee import TwoNetworkMethod
from .core.learner import Step


@dataclass(kw_only=True, eq=False, repr=False)
class Decoupling(TwoNetworkMethod):
    """Two networks that learn only from the nodes on which their predictions differ.

    Malach & Shalev-Shwartz, "Decoupling 'when to update' from 'how to update'", NeurIPS 2017. A step in which they
    agree on every node changes nothing; dropout makes them differ again. Trusted labels are always learned from.
    """

    def objective(self, step: Step) -> Tensor:
        predicted = step.logits.argmax(-1)
        disagree = (predicted[0] != predicted[1]) | step.trusted
        first, second = self.compute_losses_by_network(step)
        return step.weighted_mean(first, disagree) + step.weighted_mean(second, disagree)
