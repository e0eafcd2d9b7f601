"""The simple graph behind an edge list: no self-loops, no duplicates, and undirected unless asked otherwise."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..core.text import format_count


class SimpleEdges(NamedTuple):
    """Edges sorted by (row, column), their weights if there are any, and notes on what was changed."""

    edge_index: Tensor
    edge_weight: Tensor | None
    notes: list[str]


def simplify_edges(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None, *, directed: bool = False
) -> SimpleEdges:
    """Drop self-loops, merge duplicates and, unless `directed`, give every edge its reverse.

    Weights of duplicates sum. A weighted edge and its reverse get the larger of their two (summed) weights,
    so a graph that is symmetric already keeps its weights.
    """
    notes: list[str] = []
    is_loop = edge_index[0] == edge_index[1]
    num_loops = int(is_loop.sum())
    if num_loops:
        notes.append(f"dropped {format_count(num_loops, 'self-loop')}")
        edge_index = edge_index[:, ~is_loop]
        edge_weight = None if edge_weight is None else edge_weight[~is_loop]
    del is_loop

    # One integer per edge: sorting the keys sorts by (row, column), equal keys are duplicates.
    edge_index = edge_index.long()
    key, weight = sort_keys_with_weights_(edge_index[0] * num_nodes + edge_index[1], edge_weight)
    num_before = key.numel()
    key, weight = merge_equal_keys_and_sum_weights(key, weight)
    if num_merged := num_before - key.numel():
        notes.append(f"merged {format_count(num_merged, 'duplicate edge')}")
    if not directed:
        key, weight = _add_reverse_edges(key, weight, num_nodes, notes)
    row = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
    return SimpleEdges(torch.stack([row, key - row * num_nodes]), weight, notes)


def _add_reverse_edges(
    sorted_keys: Tensor, weights: Tensor | None, num_nodes: int, notes: list[str]
) -> tuple[Tensor, Tensor | None]:
    """Add the reverse of every edge that lacks it. An edge and its reverse get the larger weight."""
    row = torch.div(sorted_keys, max(num_nodes, 1), rounding_mode="floor")
    reverse, reverse_weight = sort_keys_with_weights_((sorted_keys - row * num_nodes) * num_nodes + row, weights)
    del row
    if torch.equal(sorted_keys, reverse):
        if weights is not None and reverse_weight is not None:
            _add_note_if_weights_uneven((weights != reverse_weight).sum(), notes)
            weights = torch.maximum(weights, reverse_weight)
        return sorted_keys, weights
    both = torch.cat([sorted_keys, reverse])
    both_weight = None if weights is None or reverse_weight is None else torch.cat([weights, reverse_weight])
    both, both_weight = sort_keys_with_weights_(both, both_weight)
    is_first = compute_run_start_mask(both)
    if both_weight is not None:
        # Every key is there once or twice, and its twin stands right behind it.
        twin_weight = torch.cat([both_weight[1:], both_weight[:1]])
        is_alone = torch.cat([is_first[1:], is_first.new_ones(1)])
        _add_note_if_weights_uneven((is_first & ~is_alone & (both_weight != twin_weight)).sum(), notes)
        both_weight = torch.where(is_alone, both_weight, torch.maximum(both_weight, twin_weight))[is_first]
    both = both[is_first]
    notes.append(f"made {format_count(both.numel() - sorted_keys.numel(), 'one-way edge')} two-way")
    return both, both_weight


def _add_note_if_weights_uneven(num_uneven_directions: Tensor, notes: list[str]) -> None:
    if num_uneven := int(num_uneven_directions) // 2:
        notes.append(f"took the larger weight of {format_count(num_uneven, 'edge')} whose two directions differ")


def sort_keys_with_weights_(keys: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Keys in ascending order, weights along with them. May reuse the memory of `keys`."""
    if bool((keys[1:] >= keys[:-1]).all()):
        return keys, weights
    if weights is None and keys.device.type == "cpu":
        # NumPy sorts in place and makes no permutation: half the memory and several times faster.
        keys.numpy().sort()
        return keys, None
    keys, order = torch.sort(keys, stable=True)
    return keys, None if weights is None else weights[order]


def merge_equal_keys_and_sum_weights(sorted_keys: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """One entry for every run of equal keys, its weights summed."""
    is_first = compute_run_start_mask(sorted_keys)
    if bool(is_first.all()):
        return sorted_keys, weights
    if weights is not None:
        start = is_first.nonzero().view(-1)
        stop = torch.cat([start[1:], start.new_tensor([sorted_keys.numel()])])
        weights = torch.segment_reduce(weights, "sum", lengths=stop - start)
    return sorted_keys[is_first], weights


def compute_run_start_mask(sorted_keys: Tensor) -> Tensor:
    """Where a run of equal keys begins."""
    is_first = torch.ones_like(sorted_keys, dtype=torch.bool)
    torch.ne(sorted_keys[1:], sorted_keys[:-1], out=is_first[1:])
    return is_first
