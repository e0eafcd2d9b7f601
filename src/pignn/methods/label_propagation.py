"""Label propagation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .. import backbones
from ..core import validation as settings
from ..core.errors import DataError
from .core.base import FitFacts
from .core.non_iterative import DirectMethod


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPropagation(DirectMethod):
    """Labels flow along the edges; features have no part in it.

    Zhu & Ghahramani, 2002: F ← D⁻¹A F with the given labels put back after every step (``clamped``). Not clamped, Zhou
    et al., NeurIPS 2003: F ← αÂF + (1 − α)Y with Â = D^{-½}(A + I)D^{-½}, so that a label that its surroundings
    contradict gives way. A node that no label reaches gets the classes' shares among the labels.

    It knows the nodes of its graph only, and predicts for no others.

    Args:
        clamped: given labels stay what they are; ``label_weight`` says how much of each flows on.
        alpha: α, how much comes from the neighbours, where labels are not clamped.
        num_hops: of propagation.
    """

    clamped: bool = True
    alpha: float = 0.9
    num_hops: int = 50

    def learn(self, inputs: backbones.GraphInputs, y: Tensor, weight: Tensor, classes: int) -> dict[str, Tensor]:
        nodes = (y >= 0).nonzero().view(-1)
        given = torch.zeros(len(y), classes)
        given[nodes, y[nodes]] = weight[nodes]
        f = given
        for _ in range(self.num_hops):
            if self.clamped:
                f = inputs.mean_adj @ f
                f[nodes] = given[nodes]
            else:
                f = torch.lerp(given, inputs.gcn_adj @ f, self.alpha)
        shares = torch.zeros(classes).index_add_(0, y[nodes], weight[nodes])
        total = f.sum(1, keepdim=True)
        f = torch.where(total > 0, f / total.clamp(min=1e-30), shares / shares.sum())
        return {"log_probability": f.clamp(min=1e-12).log()}

    def outputs(self, inputs: backbones.GraphInputs, learnt: dict[str, Tensor]) -> Tensor:
        known = learnt["log_probability"]
        if len(known) != inputs.num_nodes:
            raise DataError(
                f"label propagation knows the {len(known)} nodes it was fitted to, and this graph has "
                f"{inputs.num_nodes}; fit it to this one"
            )
        return known

    def fit_facts(self) -> FitFacts:
        return replace(super().fit_facts(), repeats_given_labels=bool(self.clamped))

    def check_settings(self) -> None:
        super().check_settings()
        settings.flag("clamped", self.clamped)
        settings.number("alpha", self.alpha, below=1)
        settings.whole("num_hops", self.num_hops, 1)
