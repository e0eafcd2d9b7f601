"""How far edges tell of classes, from few and noisy labels: what the weight of the pair loss follows.

Two estimates of homophily, with chance at 0 and certainty at 1, and what is assumed where both are vague:

- *labels*: how much more often than by chance the two ends of an edge have one given label. Wrong labels lower it; it
  is divided by the third or so that is left of it when 45 % are wrong, so that noise does not pass for heterophily.
- *features*: how much the features of a labeled node's neighbors resemble those of its class, in proportion to how much
  its own do. Wrong labels lower both alike. Edges may also join similar nodes for other reasons, so it counts less.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...backbones import GraphInputs
from ...graphs.homophily import compute_adjusted_homophily_or_none, list_labeled_edge_end_labels

LABEL_RELIABILITY = 0.3  # of the agreement of two given labels, about (1 − 0.45)²
FEATURES_ERROR = 0.3  # standard deviation of what features have in common along edges besides classes
PRIOR_MEAN, PRIOR_ERROR = 0.5, 0.5  # of homophily where the data say nothing: most graphs are homophilous
FULL_HOMOPHILY = 0.2  # from here on, the pair loss has its full weight
ENOUGH_EDGES = 500  # between labeled nodes: from here on, their labels alone tell
MAX_LABELS = 5_000
MAX_EDGES = 20_000


@dataclass(frozen=True)
class EdgeEvidence:
    """Estimated homophily, from 0 (chance) to 1, and its standard error."""

    homophily: float
    error: float

    @property
    def pair_loss_share(self) -> float:
        """The weight of the pair loss as a share of its full weight."""
        return min(max(self.homophily / FULL_HOMOPHILY, 0.0), 1.0)

    def describe_pair_loss_reduction_or_empty(self) -> str:
        """What became of the pair loss, for people; empty where it has its full weight."""
        if self.pair_loss_share == 1:
            return ""
        found = f"edges tell little of classes (homophily above chance {self.homophily:.2f} ± {self.error:.2f})"
        return f"none: {found}" if self.pair_loss_share == 0 else f"weight × {self.pair_loss_share:.2f}: {found}"


def estimate_edge_evidence(inputs: GraphInputs, y: Tensor, num_classes: int) -> EdgeEvidence:
    """Homophily from given labels ``y`` ([N], −1 for none), weighted by the precision of each estimate."""
    estimates = [(PRIOR_MEAN, PRIOR_ERROR)]
    ends = list_labeled_edge_end_labels(y, inputs.adj.crow.diff(), inputs.adj.col)
    num_edges = len(ends[0]) / (1 if inputs.directed else 2)
    if num_edges:
        agreement = compute_adjusted_homophily_or_none(ends[0].cpu(), ends[1].cpu(), num_classes)
        if agreement is not None:
            estimates.append((agreement / LABEL_RELIABILITY, 0.5 / num_edges**0.5 / LABEL_RELIABILITY))
    if num_edges < ENOUGH_EDGES:
        estimates += _estimate_feature_homophily_with_error_or_empty(inputs, y, num_classes)
    precision = sum(error**-2 for _, error in estimates)
    return EdgeEvidence(sum(value * error**-2 for value, error in estimates) / precision, precision**-0.5)


def _estimate_feature_homophily_with_error_or_empty(
    inputs: GraphInputs, y: Tensor, num_classes: int
) -> list[tuple[float, float]]:
    """The estimate from features and its error; none where features do not tell of classes."""
    labeled = (y >= 0).nonzero().view(-1)
    labeled = labeled[:: max(1, -(-len(labeled) // MAX_LABELS))]
    classes, num_labeled = y[labeled], len(labeled)
    x = inputs.select_features(labeled)
    sums = x.new_zeros(num_classes, x.shape[1]).index_add_(0, classes, x)
    counts = torch.bincount(classes, minlength=num_classes)[classes].to(x.dtype)

    def compute_resemblance(rows: Tensor, of: Tensor) -> Tensor:
        """How much closer each row is to the class of a labeled node than to all classes, without that node."""
        own = (rows * x[of]).sum(1)
        to_all = (rows @ sums.sum(0) - own) / max(num_labeled - 1, 1)
        return ((rows * sums[classes[of]]).sum(1) - own) / (counts[of] - 1).clamp(min=1) - to_all

    itself = compute_resemblance(x, torch.arange(num_labeled, device=x.device))
    degree = inputs.adj.entries_per_row[labeled]
    of = torch.repeat_interleave(torch.arange(num_labeled, device=x.device), degree)
    if not len(of):
        return []
    entry = inputs.adj.crow[labeled].long()[of] + torch.arange(len(of), device=x.device)
    entry -= (degree.cumsum(0) - degree)[of]
    step = max(1, -(-len(of) // MAX_EDGES))
    of, neighbors = of[::step], inputs.adj.col[entry[::step]].long()
    of, neighbors = of[y[neighbors] < 0], neighbors[y[neighbors] < 0]  # a labeled one is part of its class's mean
    mean, error = float(itself.mean()), float(itself.std()) / num_labeled**0.5
    if len(of) < 10 or not mean > 2 * error:
        return []
    ratio = float(compute_resemblance(inputs.select_features(neighbors), of).mean()) / mean
    return [(ratio, (FEATURES_ERROR**2 + (ratio * error / mean) ** 2) ** 0.5)]
