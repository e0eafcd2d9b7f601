"""The given labels that a method learns from, and what a transition matrix says about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from ... import graphs
from ...core.errors import ConfigError, DataError

LABEL_SPLITS = ("train", "train+val")
LABELS_HELP = "which given labels are learned from: those of training nodes, or of validation nodes too"
CLASS_WEIGHT_HELP = "how much a label of each class counts: all the same (default), balanced, or one number per class"
PRIOR_LABELS_PER_CLASS = 20.0  # how many labels the prior of symmetric noise counts as, where all entries of T are free
IMPOSSIBLE_LOGIT = -1e4  # finite, so that no product with it is not a number


def mask_labels_of_positive_weight(data: Data, mask: Tensor) -> Tensor:
    """The nodes of a mask that have a given label of positive weight. A label of weight 0 is never read."""
    labeled = mask & (data.y >= 0)
    return labeled if data.get("label_weight") is None else labeled & (data.label_weight > 0)


@dataclass(frozen=True)
class GivenLabels:
    """The labeled nodes: index, given class, weight, and whether the label is trusted."""

    nodes: Tensor
    y: Tensor
    weight: Tensor
    trusted: Tensor
    num_classes: int

    @classmethod
    def from_data(cls, data: Data, split: str, class_weight: str | Sequence[float] | None = None) -> GivenLabels:
        """The given labels of a checked graph: of training nodes, validation nodes, or both."""
        mask = {"train": data.train_mask, "val": data.val_mask, "train+val": data.train_mask | data.val_mask}[split]
        weight = torch.ones(len(data.y)) if data.get("label_weight") is None else data.label_weight
        trusted = torch.zeros(len(data.y), dtype=torch.bool) if data.get("trusted_mask") is None else data.trusted_mask
        nodes = mask_labels_of_positive_weight(data, mask).nonzero().view(-1)
        num_classes = graphs.num_classes(data)
        y = data.y[nodes]
        each = compute_class_weights(class_weight, y, num_classes)
        labels = cls(nodes, y, weight[nodes] * each[y], trusted[nodes], num_classes)
        if not float(labels.weight.sum()) > 0:
            if split == "val":
                raise DataError("there is no label of a validation node to choose by; use labels='train'")
            raise DataError("the weights of all given labels are 0; nothing would be learned")
        return labels

    def subset(self, keep: Tensor) -> GivenLabels:
        return GivenLabels(self.nodes[keep], self.y[keep], self.weight[keep], self.trusted[keep], self.num_classes)

    def draw_subset_in_mask(self, mask: Tensor, max_size: int, seed: int) -> GivenLabels:
        """The labels in a mask, or a random part of them if there are more than ``max_size``."""
        positions = mask.nonzero().view(-1)
        if len(positions) > max_size:
            drawn = torch.randperm(len(positions), generator=torch.Generator().manual_seed(seed))[:max_size]
            positions = positions[drawn.sort().values]
        return self.subset(positions)

    def draw_subset_per_class_keeping_trusted(self, fraction: float, seed: int) -> GivenLabels:
        """A random part: this fraction of the labels of each class, rounded up, and all trusted ones."""
        shuffled = torch.randperm(len(self.y), generator=torch.Generator().manual_seed(seed))
        shuffled = shuffled[~self.trusted[shuffled]]
        order = shuffled[torch.argsort(self.y[shuffled], stable=True)]
        count = torch.bincount(self.y[shuffled], minlength=self.num_classes)
        rank_in_class = torch.arange(len(order)) - (count.cumsum(0) - count)[self.y[order]]
        limit = (fraction * count.double() - 1e-9).ceil()
        keep = self.trusted.clone()
        keep[order[rank_in_class < limit[self.y[order]]]] = True
        return self.subset(keep)

    @property
    def labeled_class_mask(self) -> Tensor:
        """Which classes have a label at all, [classes]."""
        return torch.bincount(self.y, weights=self.weight, minlength=self.num_classes) > 0


def draw_unlabeled_nodes(num_nodes: int, given_labels: GivenLabels, max_count: int, seed: int) -> Tensor:
    """Nodes without one of these labels, at most so many, sorted.

    All label sets take them from one random order of the nodes, so that those of subsets are mostly the same.
    """
    unlabeled = torch.ones(num_nodes, dtype=torch.bool)
    unlabeled[given_labels.nodes] = False
    if int(unlabeled.sum()) <= max_count:
        return unlabeled.nonzero().view(-1)
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    prefix = order[: max_count + len(given_labels.nodes)]
    return prefix[unlabeled[prefix]][:max_count].sort().values


def compute_class_weights(class_weight: str | Sequence[float] | None, y: Tensor, num_classes: int) -> Tensor:
    """How much a label of each class counts, [classes]."""
    if class_weight is None:
        return torch.ones(num_classes)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ConfigError(f"class_weight must be 'balanced' or one number per class, not '{class_weight}'")
        return len(y) / (num_classes * torch.bincount(y, minlength=num_classes).clamp(min=1).float())
    try:
        each = torch.as_tensor(class_weight, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError):
        each = torch.empty(0)
    if each.shape != (num_classes,) or not bool((torch.isfinite(each) & (each >= 0)).all()):
        raise ConfigError(f"class_weight must be {num_classes} numbers of at least 0, one per class")
    return each


def build_symmetric_transition(rate: float, num_classes: int) -> Tensor:
    """The transition matrix T of symmetric noise."""
    matrix = torch.full((num_classes, num_classes), rate / max(num_classes - 1, 1))
    return matrix.fill_diagonal_(1 - rate)


class RatePrior(NamedTuple):
    """A noise rate that counts as much as so many labels."""

    rate: float = 0.0
    labels: float = 0.0


def fit_transition(
    posterior: Tensor,
    given_labels: GivenLabels,
    prior: float = PRIOR_LABELS_PER_CLASS,
    rate_prior: RatePrior = RatePrior(),  # noqa: B008
) -> Tensor:
    """T from P(true | features, given label), with a prior of symmetric noise that counts ``prior`` labels per class.

    With an infinite prior T is symmetric. Trusted labels have no part in it.
    """
    one_hot = F.one_hot(given_labels.y, given_labels.num_classes).to(posterior)
    doubtful = given_labels.weight.to(posterior) * ~given_labels.trusted
    counts = (posterior * doubtful[:, None]).T @ one_hot
    if not float(counts.sum()) > 0:
        return torch.eye(given_labels.num_classes)
    wrong = float(counts.sum() - counts.trace()) + rate_prior.rate * rate_prior.labels
    rate = wrong / (float(counts.sum()) + rate_prior.labels)
    if rate_prior.labels:
        assumed = build_symmetric_transition(rate_prior.rate, given_labels.num_classes)
        counts += rate_prior.labels / given_labels.num_classes * assumed
    symmetric = build_symmetric_transition(
        min(max(rate, 1e-3), 1 - 1 / given_labels.num_classes), given_labels.num_classes
    )
    return symmetric if math.isinf(prior) else F.normalize(counts + prior * symmetric, p=1, dim=1).float()


def compute_label_log_likelihoods(given_labels: GivenLabels, transition: Tensor) -> Tensor:
    """log P(given label | true class) of each label, [labels, classes]. A trusted label is its true class."""
    doubtful = transition.clamp(min=1e-12).log().T[given_labels.y]
    trusted = torch.full_like(doubtful, IMPOSSIBLE_LOGIT).scatter_(1, given_labels.y[:, None], 0.0)
    return torch.where(given_labels.trusted[:, None], trusted, doubtful)
