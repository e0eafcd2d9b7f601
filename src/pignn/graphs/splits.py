"""Which nodes train, validate and test."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import DataError
from ..core.text import format_count

TRAIN_PER_CLASS, VAL_PER_CLASS = 20, 30


class Masks(NamedTuple):
    """Boolean masks over the nodes, [N] or, for several splits, [N, k]."""

    train_mask: Tensor
    val_mask: Tensor
    test_mask: Tensor


def split_per_class(
    y: Tensor, train_per_class: int = TRAIN_PER_CLASS, val_per_class: int = VAL_PER_CLASS, *, seed: int = 0
) -> Masks:
    """Draw `train_per_class` and `val_per_class` nodes of every class at random; all other nodes test.

    A class with no more than `train_per_class + val_per_class` nodes is divided in the same proportions with at least
    one node in each part. Nodes without a label (-1) are in no part.
    """
    order = torch.randperm(y.numel(), generator=torch.Generator().manual_seed(seed))
    return _split_each_class_by_rank(y, rank_within_class(y, order), train_per_class, val_per_class)


def split_first_per_class(
    y: Tensor, train_per_class: int = TRAIN_PER_CLASS, val_per_class: int = TRAIN_PER_CLASS
) -> Masks:
    """The first `train_per_class` nodes of every class train, the next `val_per_class` validate, all others test."""
    return _split_each_class_by_rank(y, rank_within_class(y, torch.arange(y.numel())), train_per_class, val_per_class)


def split_by_shares(y: Tensor, shares: tuple[float, float], seed: int = 0) -> Masks:
    """Draw two shares of the labeled nodes for training and validation, whatever their classes; all others test."""
    nodes = (y >= 0).nonzero().view(-1)
    order = nodes[torch.randperm(nodes.numel(), generator=torch.Generator().manual_seed(seed))]
    train, val = (int(share * nodes.numel()) for share in shares)
    return build_masks_from_indices(y.numel(), *order.split([train, val, nodes.numel() - train - val]))


def build_masks_from_indices(num_nodes: int, train: Tensor, val: Tensor, test: Tensor) -> Masks:
    """Masks from lists of node numbers."""
    masks = Masks(*(torch.zeros(num_nodes, dtype=torch.bool) for _ in range(3)))
    for mask, nodes in zip(masks, (train, val, test), strict=True):
        mask[nodes] = True
    return masks


def rank_within_class(y: Tensor, order: Tensor) -> Tensor:
    """Position of every node among the nodes of its class, in the given order of all nodes."""
    by_class = order[torch.argsort(y[order], stable=True)]
    sizes = torch.bincount(y + 1)  # nodes without a label come first
    start = torch.cumsum(sizes, 0) - sizes
    rank = torch.empty_like(order)
    rank[by_class] = torch.arange(y.numel()) - start.repeat_interleave(sizes)
    return rank


def _split_each_class_by_rank(y: Tensor, rank_in_class: Tensor, train_per_class: int, val_per_class: int) -> Masks:
    sizes = torch.bincount(y[y >= 0])
    too_small = ((sizes > 0) & (sizes < 3)).nonzero().view(-1)
    if too_small.numel():
        small_class, size = int(too_small[0]), int(sizes[too_small[0]])
        raise DataError(
            f"cannot split: class {small_class} has {format_count(size, 'node')}, and train, val and test need one "
            "each; leave that class out or give masks of your own"
        )
    is_short = sizes <= train_per_class + val_per_class
    train_sizes = torch.where(
        is_short, (sizes * train_per_class // (train_per_class + val_per_class + 1)).clamp(min=1), train_per_class
    )
    val_sizes = torch.where(
        is_short, (sizes * val_per_class // (train_per_class + val_per_class + 1)).clamp(min=1), val_per_class
    )
    labeled = y >= 0
    classes = y.clamp(min=0)
    in_train = labeled & (rank_in_class < train_sizes[classes])
    in_val = labeled & ~in_train & (rank_in_class < (train_sizes + val_sizes)[classes])
    return Masks(in_train, in_val, labeled & ~in_train & ~in_val)


def copy_with_random_trusted_labels(data: Data, per_class: int = 1, *, seed: int = 0) -> Data:
    """A copy in which `per_class` labels of every class are trusted: `corrupt` leaves them true, methods may use them.

    For experiments, before `corrupt`. They are drawn among the nodes that are in no split, which then join the training
    nodes. If a class has none of those, they are drawn among its training nodes.
    """
    data = copy.copy(data)
    in_split = data.train_mask | data.val_mask | data.test_mask
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    unused = data.y.masked_fill(in_split, -1)
    lacks_unused = torch.bincount(unused[unused >= 0], minlength=int(data.y.max()) + 1) < per_class
    candidates = torch.where(lacks_unused[data.y.clamp(min=0)], data.y.masked_fill(~data.train_mask, -1), unused)
    trusted = (candidates >= 0) & (rank_within_class(candidates, order) < per_class)
    data.train_mask = data.train_mask | trusted
    data.trusted_mask = trusted
    return data
