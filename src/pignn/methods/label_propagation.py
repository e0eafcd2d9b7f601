"""Label propagation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .. import backbones
from ..core.errors import DataError
from ..core.settings import Bool, Float, Int, Range, setting
from .core.base import FitFacts
from .core.non_iterative import NonIterativeMethod


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPropagation(NonIterativeMethod):
    """Labels flow along the edges. Features have no part in it.

    Zhu & Ghahramani, 2002: F ← D⁻¹A F with the given labels put back after every step (``clamped``). Otherwise Zhou
    et al., NeurIPS 2003: F ← αÂF + (1 − α)Y with Â = D^{-½}(A + I)D^{-½}, so that a label that its surroundings
    contradict gives way. A node that no label reaches gets the class frequencies of the labels.

    It predicts for the nodes of its own graph only.
    """

    clamped: bool = setting(True, Bool(), "keep given labels as they are; label_weight scales what flows from each")
    alpha: float = setting(
        0.9,
        Float(max=1, open_max=True),
        "share that comes from the neighbors if labels are not clamped",
        search=Range(0.5, 0.99),
    )
    num_hops: int = setting(50, Int(min=1), "number of propagation steps")

    def fit_state(
        self, inputs: backbones.GraphInputs, y: Tensor, label_weight: Tensor, num_classes: int
    ) -> dict[str, Tensor]:
        nodes = (y >= 0).nonzero().view(-1)
        given = torch.zeros(len(y), num_classes)
        given[nodes, y[nodes]] = label_weight[nodes]
        f = given
        for _ in range(self.num_hops):
            if self.clamped:
                f = inputs.mean_adj @ f
                f[nodes] = given[nodes]
            else:
                f = torch.lerp(given, inputs.gcn_adj @ f, self.alpha)
        frequencies = torch.zeros(num_classes).index_add_(0, y[nodes], label_weight[nodes])
        total = f.sum(1, keepdim=True)
        f = torch.where(total > 0, f / total.clamp(min=1e-30), frequencies / frequencies.sum())
        return {"log_probability": f.clamp(min=1e-12).log()}

    def compute_logits(self, inputs: backbones.GraphInputs, state: dict[str, Tensor]) -> Tensor:
        logits = state["log_probability"]
        if len(logits) != inputs.num_nodes:
            raise DataError(
                f"label propagation knows the {len(logits)} nodes it was fitted to, and this graph has "
                f"{inputs.num_nodes}; fit it to this one"
            )
        return logits

    def get_fit_facts(self) -> FitFacts:
        return replace(super().get_fit_facts(), repeats_given_labels=bool(self.clamped))
