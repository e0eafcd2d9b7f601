"""The labels that a method without a loop learns from, and what a transition matrix says about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from ... import graphs
from ...core.errors import ConfigError, DataError

LABELS = ("train", "train+val")
PRIOR = 20.0  # labels a class that symmetric noise counts as where every entry of T is free
NEVER = -1e4  # logit of what cannot be; finite, so that no product of it is not a number


def counting(data: Data, mask: Tensor) -> Tensor:
    """The nodes of a mask whose given labels are there and count; one of weight 0 is not read at all."""
    labelled = mask & (data.y >= 0)
    return labelled if data.get("label_weight") is None else labelled & (data.label_weight > 0)


@dataclass(frozen=True)
class GivenLabels:
    """The labelled nodes: their number, given class, weight, and whether somebody verified the label."""

    nodes: Tensor
    y: Tensor
    weight: Tensor
    trusted: Tensor
    classes: int

    @classmethod
    def of(cls, data: Data, which: str, class_weight: str | Sequence[float] | None = None) -> GivenLabels:
        """The given labels of a checked graph: of training nodes, validation nodes, or both."""
        mask = {"train": data.train_mask, "val": data.val_mask, "train+val": data.train_mask | data.val_mask}[which]
        weight = torch.ones(len(data.y)) if data.get("label_weight") is None else data.label_weight
        trusted = torch.zeros(len(data.y), dtype=torch.bool) if data.get("trusted_mask") is None else data.trusted_mask
        nodes = counting(data, mask).nonzero().view(-1)
        classes = graphs.num_classes(data)
        y = data.y[nodes]
        each = class_weights(class_weight, y, classes)
        found = cls(nodes, y, weight[nodes] * each[y], trusted[nodes], classes)
        if not float(found.weight.sum()) > 0:
            if which == "val":
                raise DataError("there is no label of a validation node to choose by; take labels='train'")
            raise DataError("the weights of all given labels are 0; nothing would be learnt")
        return found

    def take(self, keep: Tensor) -> GivenLabels:
        return GivenLabels(self.nodes[keep], self.y[keep], self.weight[keep], self.trusted[keep], self.classes)

    def part(self, share: float, seed: int) -> GivenLabels:
        """A random part: so many labels of each class, rounded up, and all that are trusted."""
        draw = torch.randperm(len(self.y), generator=torch.Generator().manual_seed(seed))
        draw = draw[~self.trusted[draw]]
        order = draw[torch.argsort(self.y[draw], stable=True)]
        count = torch.bincount(self.y[draw], minlength=self.classes)
        place = torch.arange(len(order)) - (count.cumsum(0) - count)[self.y[order]]  # among those of its class
        most = (share * count.double() - 1e-9).ceil()
        kept = self.trusted.clone()
        kept[order[place < most[self.y[order]]]] = True
        return self.take(kept)

    @property
    def present(self) -> Tensor:
        """Which classes have a label at all."""
        return torch.bincount(self.y, weights=self.weight, minlength=self.classes) > 0


def class_weights(class_weight: str | Sequence[float] | None, y: Tensor, classes: int) -> Tensor:
    """How much a label of each class counts, [classes]."""
    if class_weight is None:
        return torch.ones(classes)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ConfigError(f"class_weight must be 'balanced' or one number a class, not '{class_weight}'")
        return len(y) / (classes * torch.bincount(y, minlength=classes).clamp(min=1).float())
    try:
        each = torch.as_tensor(class_weight, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError):
        each = torch.empty(0)
    if each.shape != (classes,) or not bool((torch.isfinite(each) & (each >= 0)).all()):
        raise ConfigError(f"class_weight must be {classes} numbers of at least 0, one a class")
    return each


def symmetric(rate: float, classes: int) -> Tensor:
    """T of symmetric noise."""
    t = torch.full((classes, classes), rate / max(classes - 1, 1))
    return t.fill_diagonal_(1 - rate)


def fitted_transition(posterior: Tensor, given: GivenLabels, prior: float = PRIOR) -> Tensor:
    """T from P(true | features, given) of the labels, with as much as ``prior`` labels a class of symmetric noise.

    With infinitely many, T is symmetric. Trusted labels have no part in it.
    """
    hot = torch.nn.functional.one_hot(given.y, given.classes).to(posterior)
    doubtful = given.weight.to(posterior) * ~given.trusted
    counts = (posterior * doubtful[:, None]).T @ hot
    if not float(counts.sum()) > 0:
        return torch.eye(given.classes)
    rate = float(1 - counts.trace() / counts.sum())
    even = symmetric(min(max(rate, 1e-3), 1 - 1 / given.classes), given.classes)
    return even if math.isinf(prior) else torch.nn.functional.normalize(counts + prior * even, p=1, dim=1).float()


def evidence(given: GivenLabels, transition: Tensor) -> Tensor:
    """log P(given | true) for each labelled node and class."""
    doubtful = transition.clamp(min=1e-12).log().T[given.y]
    sure = torch.full_like(doubtful, NEVER).scatter_(1, given.y[:, None], 0.0)
    return torch.where(given.trusted[:, None], sure, doubtful)
