"""Decoupling."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .core.committee import TwoNetworks
from .core.learner import Step


@dataclass(kw_only=True, eq=False, repr=False)
class Decoupling(TwoNetworks):
    """Two networks that learn only from the nodes on which their predictions differ.

    Malach & Shalev-Shwartz, "Decoupling 'when to update' from 'how to update'", NeurIPS 2017. Where they agree on
    every node nothing is learnt in that step; dropout makes them differ again. Trusted labels are always learnt from.
    """

    def objective(self, step: Step) -> Tensor:
        said = step.logits.argmax(-1)
        differ = (said[0] != said[1]) | step.trusted
        first, second = self.both(step)
        return step.weighted_mean(first, differ) + step.weighted_mean(second, differ)
