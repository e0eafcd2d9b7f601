"""Graphs made to measure."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..core import validation as settings
from ..core.errors import ConfigError
from .edges import simple_edges
from .splits import per_class


def csbm(
    nodes: int = 1000,
    classes: int = 4,
    *,
    homophily: float = 0.8,
    degree: float = 10.0,
    signal: float = 1.0,
    features: int = 32,
    seed: int = 0,
) -> Data:
    """Contextual stochastic block model with balanced classes.

    Of nodes·degree/2 distinct undirected edges, the share `homophily` joins two nodes of one class, the rest
    two of different classes, each pair equally likely. Features are x_i = signal·μ_y(i) + ε_i with random
    unit directions μ_c and ε_i ~ N(0, I). Time and memory grow with the number of edges, not with nodes².
    Masks as in `per_class`.
    """
    _validate(nodes, classes, homophily, degree, signal, features)
    settings.seed("csbm: seed", seed)
    generator = torch.Generator().manual_seed(seed)
    # Classes are blocks of consecutive nodes while edges are drawn; the nodes are shuffled in the end.
    size = torch.full((classes,), nodes // classes)
    size[: nodes % classes] += 1
    start = torch.cumsum(size, 0) - size
    block = torch.arange(classes).repeat_interleave(size)

    def within(count: int) -> Tensor:
        a = torch.randint(nodes, (count,), generator=generator)
        own, first = size[block[a]], start[block[a]]
        step = 1 + (torch.rand(count, generator=generator, dtype=torch.float64) * (own - 1)).long()
        return _key(a, first + (a - first + step) % own, nodes)

    def between(count: int) -> Tensor:
        a = torch.randint(nodes, (count,), generator=generator)
        own, first = size[block[a]], start[block[a]]
        step = (torch.rand(count, generator=generator, dtype=torch.float64) * (nodes - own)).long()
        return _key(a, (first + own + step) % nodes, nodes)

    def all_within() -> Tensor:
        parts = [torch.triu_indices(int(n), int(n), 1) + int(at) for n, at in zip(size, start, strict=True)]
        a, b = torch.cat(parts, dim=1)
        return _key(a, b, nodes)

    def all_between() -> Tensor:
        a, b = torch.triu_indices(nodes, nodes, 1)
        apart = block[a] != block[b]
        return _key(a[apart], b[apart], nodes)

    edges = round(nodes * degree / 2)
    same = round(edges * homophily)
    pairs_within = int((size * (size - 1) // 2).sum())
    pairs_between = nodes * (nodes - 1) // 2 - pairs_within
    key = torch.cat(
        [
            _distinct(same, pairs_within, within, all_within, generator, "one class"),
            _distinct(edges - same, pairs_between, between, all_between, generator, "different classes"),
        ]
    )
    shuffle = torch.randperm(nodes, generator=generator)
    pairs = shuffle[torch.stack([key // nodes, key % nodes])]
    y = torch.empty_like(block)
    y[shuffle] = block
    mean = torch.nn.functional.normalize(torch.randn(classes, features, generator=generator), dim=1)
    x = torch.randn(nodes, features, generator=generator).add_((signal * mean)[y])
    masks = per_class(y)._asdict()
    data = Data(x=x, edge_index=simple_edges(pairs, nodes).edge_index, y=y, **masks)
    data.class_names = [str(c) for c in range(classes)]
    data.name = "csbm"
    return data


def _distinct(
    count: int,
    possible: int,
    draw: Callable[[int], Tensor],
    enumerate_all: Callable[[], Tensor],
    generator: torch.Generator,
    kind: str,
) -> Tensor:
    """`count` different pairs out of `possible`, each equally likely, as keys."""
    if count > possible:
        raise ConfigError(
            f"csbm: {count:,} edges between nodes of {kind} asked for, but there are {possible:,} pairs; "
            "lower the degree or add nodes"
        )
    if 2 * count > possible:
        # Drawing would mostly hit pairs it has; all of them are at most twice what is needed.
        found = enumerate_all()
    else:
        found = torch.empty(0, dtype=torch.long)
        while found.numel() < count:
            missing = count - found.numel()
            found = torch.unique(torch.cat([found, draw(missing + missing // 8 + 8)]))
    return found[torch.randperm(found.numel(), generator=generator)[:count]]


def _key(a: Tensor, b: Tensor, nodes: int) -> Tensor:
    return torch.minimum(a, b) * nodes + torch.maximum(a, b)


def _validate(nodes: int, classes: int, homophily: float, degree: float, signal: float, features: int) -> None:
    for name, value in (("nodes", nodes), ("classes", classes), ("features", features)):
        if not isinstance(value, Integral) or value >= 2**31:
            raise ConfigError(f"csbm: {name} must be an integer below 2^31, not {value!r}")
    for name, number in (("homophily", homophily), ("degree", degree), ("signal", signal)):
        if not isinstance(number, Real):
            raise ConfigError(f"csbm: {name} must be a number, not {number!r}")
    if classes < 2 or nodes < 3 * classes:
        raise ConfigError(f"csbm: needs at least 2 classes and 3 nodes a class, not {nodes} nodes, {classes} classes")
    if not 0 <= homophily <= 1:
        raise ConfigError(f"csbm: homophily must be in [0, 1], not {homophily}")
    if not 0 <= degree <= nodes - 1:
        raise ConfigError(f"csbm: degree must be between 0 and nodes - 1, not {degree}")
    if not 0 <= signal < float("inf"):
        raise ConfigError(f"csbm: signal must be a number that is not negative, not {signal}")
    if features < 1:
        raise ConfigError(f"csbm: features must be at least 1, not {features}")
