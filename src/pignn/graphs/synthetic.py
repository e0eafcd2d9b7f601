"""Synthetic graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import ConfigError
from ..core.settings import SEED, Float, Int
from .edges import simplify_edges
from .splits import split_per_class


def csbm(
    num_nodes: int = 1000,
    num_classes: int = 4,
    *,
    homophily: float = 0.8,
    degree: float = 10.0,
    signal: float = 1.0,
    num_features: int = 32,
    seed: int = 0,
) -> Data:
    """Contextual stochastic block model with balanced classes.

    The graph has num_nodes·degree/2 distinct undirected edges. A share `homophily` of them joins two nodes of the same
    class, the rest joins two nodes of different classes, and every such pair is equally likely. Features are
    x_i = signal·μ_y(i) + ε_i with random unit directions μ_c and ε_i ~ N(0, I). Time and memory grow with the number
    of edges, not with num_nodes². Masks are those of `split_per_class`.
    """
    _check_csbm_settings(num_nodes, num_classes, homophily, degree, signal, num_features, seed)
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.full((num_classes,), num_nodes // num_classes)
    sizes[: num_nodes % num_classes] += 1
    sampler = _BlockPairSampler(num_nodes, sizes, generator)
    num_edges = round(num_nodes * degree / 2)
    num_within = round(num_edges * homophily)
    pair_keys = torch.cat(
        [sampler.sample_within_blocks(num_within), sampler.sample_between_blocks(num_edges - num_within)]
    )

    # Classes are blocks of consecutive nodes while edges are drawn. The nodes are shuffled in the end.
    shuffle = torch.randperm(num_nodes, generator=generator)
    pairs = shuffle[torch.stack([pair_keys // num_nodes, pair_keys % num_nodes])]
    y = torch.empty_like(sampler.block_of_node)
    y[shuffle] = sampler.block_of_node
    means = torch.nn.functional.normalize(torch.randn(num_classes, num_features, generator=generator), dim=1)
    x = torch.randn(num_nodes, num_features, generator=generator).add_((signal * means)[y])
    masks = split_per_class(y)._asdict()
    data = Data(x=x, edge_index=simplify_edges(pairs, num_nodes).edge_index, y=y, **masks)
    data.class_names = [str(c) for c in range(num_classes)]
    data.name = "csbm"
    return data


@dataclass
class _BlockPairSampler:
    """Nodes in blocks of consecutive numbers, and random pairs of them as keys (smaller · N + larger)."""

    num_nodes: int
    sizes: Tensor
    generator: torch.Generator

    def __post_init__(self) -> None:
        self.starts = torch.cumsum(self.sizes, 0) - self.sizes
        self.block_of_node = torch.arange(len(self.sizes)).repeat_interleave(self.sizes)
        self.num_pairs_within = int((self.sizes * (self.sizes - 1) // 2).sum())

    def sample_within_blocks(self, count: int) -> Tensor:
        """`count` distinct pairs of nodes that share a block."""
        return self._sample_distinct_pairs(
            count,
            self.num_pairs_within,
            self._draw_keys_within_blocks,
            self._list_all_keys_within_blocks,
            "nodes of one class",
        )

    def sample_between_blocks(self, count: int) -> Tensor:
        """`count` distinct pairs of nodes of different blocks."""
        num_pairs = self.num_nodes * (self.num_nodes - 1) // 2 - self.num_pairs_within
        return self._sample_distinct_pairs(
            count, num_pairs, self._draw_keys_between_blocks, self._list_all_keys_between_blocks, "different classes"
        )

    def _sample_distinct_pairs(
        self,
        count: int,
        num_pairs: int,
        draw_keys: Callable[[int], Tensor],
        list_keys: Callable[[], Tensor],
        ends_text: str,
    ) -> Tensor:
        if count > num_pairs:
            raise ConfigError(
                f"csbm: {count:,} edges between {ends_text} requested, but there are {num_pairs:,} pairs; "
                "lower the degree or add nodes"
            )
        if 2 * count > num_pairs:
            # Random draws would mostly repeat pairs. The list of all pairs is at most twice as long as needed.
            keys = list_keys()
        else:
            keys = torch.empty(0, dtype=torch.long)
            while keys.numel() < count:
                missing = count - keys.numel()
                keys = torch.unique(torch.cat([keys, draw_keys(missing + missing // 8 + 8)]))
        return keys[torch.randperm(keys.numel(), generator=self.generator)[:count]]

    def _draw_keys_within_blocks(self, count: int) -> Tensor:
        nodes, sizes, starts = self._draw_nodes_with_block_sizes_and_starts(count)
        step = 1 + (torch.rand(count, generator=self.generator, dtype=torch.float64) * (sizes - 1)).long()
        return self._encode_pairs_as_keys(nodes, starts + (nodes - starts + step) % sizes)

    def _draw_keys_between_blocks(self, count: int) -> Tensor:
        nodes, sizes, starts = self._draw_nodes_with_block_sizes_and_starts(count)
        step = (torch.rand(count, generator=self.generator, dtype=torch.float64) * (self.num_nodes - sizes)).long()
        return self._encode_pairs_as_keys(nodes, (starts + sizes + step) % self.num_nodes)

    def _draw_nodes_with_block_sizes_and_starts(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Random nodes, with the sizes and the first nodes of their blocks."""
        nodes = torch.randint(self.num_nodes, (count,), generator=self.generator)
        blocks = self.block_of_node[nodes]
        return nodes, self.sizes[blocks], self.starts[blocks]

    def _list_all_keys_within_blocks(self) -> Tensor:
        parts = [
            torch.triu_indices(int(size), int(size), 1) + int(start)
            for size, start in zip(self.sizes, self.starts, strict=True)
        ]
        a, b = torch.cat(parts, dim=1)
        return self._encode_pairs_as_keys(a, b)

    def _list_all_keys_between_blocks(self) -> Tensor:
        a, b = torch.triu_indices(self.num_nodes, self.num_nodes, 1)
        differ = self.block_of_node[a] != self.block_of_node[b]
        return self._encode_pairs_as_keys(a[differ], b[differ])

    def _encode_pairs_as_keys(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.minimum(a, b) * self.num_nodes + torch.maximum(a, b)


def _check_csbm_settings(
    num_nodes: int, num_classes: int, homophily: float, degree: float, signal: float, num_features: int, seed: int
) -> None:
    Int(min=2, bits=31).raise_unless_valid("csbm: num_classes", num_classes)
    Int(min=1, bits=31).raise_unless_valid("csbm: num_nodes", num_nodes)
    Int(min=1, bits=31).raise_unless_valid("csbm: num_features", num_features)
    if num_nodes < 3 * num_classes:
        raise ConfigError(f"csbm needs at least 3 nodes per class, not {num_nodes} nodes for {num_classes} classes")
    Float(max=1).raise_unless_valid("csbm: homophily", homophily)
    Float(max=num_nodes - 1).raise_unless_valid("csbm: degree", degree)
    Float().raise_unless_valid("csbm: signal", signal)
    SEED.raise_unless_valid("csbm: seed", seed)
