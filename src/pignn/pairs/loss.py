"""Pair losses: exact sums over all |V|² ordered pairs, in memory that grows with |V|.

Write z_ij = h_i·h_j. The disconnected pairs are taken tile by tile, gradient and all, on one side of the diagonal (the
other side mirrors it), with the few connected pairs blanked out; those are taken on a sparse pattern.

With a :class:`PairSample` the tiles give way to random pairs: then cost grows with nodes and edges, and loss and
gradient are unbiased estimates of the exact ones.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..errors import ConfigError, DataError, unknown
from .graph import PairGraph, pair_graph
from .labels import Estimated, PairLabels
from .sample import PairSample

TARGETS = ("masked", "soft")
TILE_CPU = 768  # rows and columns: it stays in the L2 caches of two cores
TILE_CUDA = 4096
BLANK = -1e4  # softplus and σ of it are exactly 0, and unlike −∞ it can be multiplied by 0


def structure_loss(
    h: Tensor,
    edges: Tensor | PairGraph,
    *,
    beta: float | str = "auto",
    value: bool = True,
    sample: PairSample | None = None,
    estimates: Estimated | None = None,
) -> Tensor:
    """How badly dot products predict connections:

    S(H) = β/N² · [ Σ_{B⁺} w·softplus(−z_ij) + Σ_{B⁻} softplus(z_ij) ],  β = c by default.

    Args:
        h: node embeddings [N, d].
        edges: ``edge_index`` or, to save preparing it at every call, a :class:`PairGraph` of it.
        beta: ``"auto"`` for c = N²/(2(N² − Q)), or a number in its place.
        value: ``False`` saves about half of the time: the result is then NaN, but its gradient is right.
        sample: random pairs in place of all disconnected ones; draw them anew for every step.
        estimates: pair labels of the same embeddings, for :func:`regularizer` with the same graph and sample: what is
            computed here of them is not computed again.
    """
    graph = _fitting(pair_graph(edges, h), sample)
    return _PairLoss.apply(h, graph, None, "masked", _scale(beta, graph), value, sample, estimates)


def regularizer(
    h: Tensor,
    labels: Tensor | PairLabels,
    edges: Tensor | PairGraph,
    *,
    target: str = "masked",
    beta: float | str = "auto",
    value: bool = True,
    sample: PairSample | None = None,
) -> Tensor:
    """The pair loss of the classifier under pair labels p_ij.

    ``masked``: β/N² · [ Σ_{B⁺} w·p_ij·softplus(−z_ij) + Σ_{B⁻} (1 − p_ij)·softplus(z_ij) ]

    ``soft``:   β/N² · [ Σ_{B⁺} w·bce(z_ij, p_ij) + Σ_{B⁻} bce(z_ij, p_ij) ],  bce(z, p) = softplus(z) − p·z

    Args:
        h: the classifier's embeddings [N, d].
        labels: a source of pair labels, or the estimator's embeddings, which give p_ij = σ(h^e_i·h^e_j).
            No gradient flows into them.
        edges: as in :func:`structure_loss`.
        target: ``"masked"`` (the authors' program) or ``"soft"`` (the paper's equations).
        beta: as in :func:`structure_loss`.
        value: as in :func:`structure_loss`.
        sample: as in :func:`structure_loss`.
    """
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    graph = _fitting(pair_graph(edges, h), sample)
    if isinstance(labels, Tensor):
        labels = Estimated(labels.to(h.dtype))
    return _PairLoss.apply(h, graph, labels, target, _scale(beta, graph), value, sample, None)


def all_pairs_softplus(h: Tensor) -> Tensor:
    """Σ_{i,j} softplus(h_i·h_j) over all ordered pairs, self-pairs included, without |V|² memory."""
    return _PairLoss.apply(h, None, None, "masked", 1.0, True, None, None)


def _fitting(graph: PairGraph, sample: PairSample | None) -> PairGraph:
    if sample is not None and sample.num_nodes != graph.num_nodes:
        raise DataError(f"the sample is of {sample.num_nodes} nodes, the graph has {graph.num_nodes}")
    if sample is None and graph.share < 1:
        raise ConfigError("a share of the connected pairs goes with sample=, random pairs")
    return graph


def _scale(beta: float | str, graph: PairGraph) -> float:
    if beta == "auto":
        beta = graph.c
    if not isinstance(beta, int | float):
        raise ConfigError(f"beta must be 'auto' or a number, not {beta!r}")
    return beta / graph.total


class _PairLoss(torch.autograd.Function):
    """scale · Σ of one target over all pairs; the gradient is taken in the forward pass, while the tiles are there."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        graph: PairGraph | None,
        labels: PairLabels | None,
        target: str,
        scale: float,
        value: bool,
        sample: PairSample | None,
        estimates: Estimated | None,
    ) -> Tensor:
        wants_grad = ctx.needs_input_grad[0]
        h = h.detach().contiguous()
        if sample is None:
            total, half_grad = _disconnected(h, graph, labels, target, wants_grad, value)
        else:
            total, half_grad = _drawn(h, sample, labels, target, wants_grad, value, estimates)
        if graph is not None:
            counted = sample is not None
            extra, slope = _connected(h, graph, labels, target, wants_grad, value, counted, estimates)
            total = total + extra
            if slope is not None:
                graph.add_spread(slope, h, out=half_grad)
        if wants_grad:
            ctx.save_for_backward(half_grad.mul_(2 * scale))  # z_ij and z_ji are one number
        return (total * scale).to(h.dtype) if value else h.new_tensor(float("nan"))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (saved,) = ctx.saved_tensors
        # A pass over all embeddings is spared where nobody weighs the loss; the engine never writes into what is saved.
        alone = not grad.is_cuda and grad == 1
        return saved if alone else saved * grad, None, None, None, None, None, None, None


def _disconnected(
    h: Tensor,
    graph: PairGraph | None,
    labels: PairLabels | None,
    target: str,
    wants_grad: bool,
    value: bool,
    quick: bool = True,
) -> tuple[Tensor, Tensor]:
    """Σ over the ordered pairs of B⁻ (all pairs without a graph), and half of its gradient."""
    n = h.shape[0]
    size = min(TILE_CUDA if h.is_cuda else TILE_CPU, n)
    strips = h.split(size)
    starts = range(0, n, size)
    grad = torch.zeros_like(h)
    # Hᵀ·G takes half the time of Gᵀ·H, so that the mirrored half is summed up transposed.
    mirrored = [torch.zeros_like(strip.t(), memory_format=torch.contiguous_format) for strip in strips]
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    scratch = h.new_empty(3 if value and quick else 2, size * size)
    z, room = scratch[:2].view(2, size, size)
    holes = {} if graph is None else graph.in_tiles(size)
    reach = float(h.square().sum(dim=1).max()) if value else 0.0  # no |z_ij| is larger
    quick = quick and reach <= _largest(h.dtype)
    for i, (a, left, mine) in enumerate(zip(starts, strips, grad.split(size), strict=True)):
        for j, (b, right) in enumerate(zip(starts[i:], strips[i:], strict=True), start=i):
            shape = len(left), len(right)
            if shape != z.shape:  # only the last strip is another
                z, room = scratch[:2, : shape[0] * shape[1]].view(2, *shape)
            torch.mm(left, right.t(), out=z)
            p = None
            if labels is not None:
                rows, cols = slice(a, a + shape[0]), slice(b, b + shape[1])
                p = labels.block(rows, cols, complement=target == "masked", out=room)
            hole = holes.get((i, j))
            if hole is not None:
                if p is not None:
                    p.view(-1).index_fill_(0, hole, 0)
                if p is None or target == "soft":  # masked terms are multiplied by p, 0 already
                    z.view(-1).index_fill_(0, hole, BLANK)
            if value:
                found = _quick_value(z, p, target, reach, scratch[2]) if quick else _tile_value(z, p, target)
                total += found if i == j else 2 * found  # a tile on the diagonal has both z_ij and z_ji
            if wants_grad:
                slope = _tile_slope(z, p, target)
                mine.addmm_(slope, right)
                if i != j:
                    mirrored[j].addmm_(left.t(), slope)
    if value and quick and total < 16 * torch.finfo(h.dtype).eps ** 0.5 * max(1.0, reach) * n * n:
        total, _ = _disconnected(h, graph, labels, target, False, True, quick=False)
    return total, grad.add_(torch.cat(mirrored, dim=1).t())


def _tile_value(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """Σ of the terms of a tile: softplus(z), (1 − p)·softplus(z) with ``p`` holding 1 − p, or softplus(z) − p·z."""
    terms = F.softplus(z) if p is None or target == "masked" else _bce(z, p)
    if p is not None and target == "masked":
        terms *= p
    return terms.sum().double()


def _quick_value(z: Tensor, p: Tensor | None, target: str, reach: float, room: Tensor) -> Tensor:
    """The same from softplus(z) = log(1 + e^z), with one logarithm for the product of several factors.

    No |z| exceeds ``reach``, so that so many factors do not overflow. Each is off by the last digit of 1, which matters
    where all terms are tiny.
    """
    factors = torch.exp(z, out=room[: z.numel()].view_as(z)).add_(1)
    if p is not None and target == "masked":
        return factors.log_().mul_(p).sum().double()
    count = min(16, int(_largest(z.dtype) / max(reach, 1.0)))
    flat = factors.view(-1)
    even = flat.numel() // count * count
    total = flat[:even].view(count, -1).prod(dim=0).log_().sum().double() + flat[even:].log_().sum()
    return total if p is None else total - torch.mul(p, z, out=factors).sum()


def _largest(dtype: torch.dtype) -> float:
    """1 + e^z does not overflow up to this z."""
    return math.log(torch.finfo(dtype).max) - 1


def _bce(z: Tensor, p: Tensor) -> Tensor:
    """softplus(z) − p·z, as (max(z, 0) − p·z) + softplus(−|z|): neither part is negative, so nothing cancels."""
    return F.relu(z).addcmul_(p, z, value=-1).add_(F.softplus(z.abs().neg_()))


def _tile_slope(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """d(term)/dz, in place of ``z``: σ(z), (1 − p)·σ(z) with ``p`` holding 1 − p, or σ(z) − p."""
    slope = z.sigmoid_()
    if p is None:
        return slope
    return slope.mul_(p) if target == "masked" else slope.sub_(p)


def _drawn(
    h: Tensor,
    sample: PairSample,
    labels: PairLabels | None,
    target: str,
    wants_grad: bool,
    value: bool,
    estimates: Estimated | None,
) -> tuple[Tensor, Tensor]:
    """Σ over all ordered pairs of distinct nodes, estimated, as if none were connected; half of its gradient."""
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    slopes = torch.empty_like(h)  # in the order of the groups
    slopes[sample.used :] = 0
    weight, done = sample.weight, 0
    for groups in sample.groups():
        rows = slice(done, done + groups.numel())
        done = rows.stop
        mine = h.index_select(0, groups.view(-1)).view(*groups.shape, -1)
        z = torch.bmm(mine, mine.transpose(1, 2))
        z.diagonal(dim1=1, dim2=2).fill_(BLANK)
        p = None if labels is None else labels.within(groups, complement=target == "masked")
        if p is not None and target == "soft":  # masked terms are 0 there already
            p.diagonal(dim1=1, dim2=2).zero_()
        if value:
            total += weight * _tile_value(z, p, target)
        if wants_grad:
            slope = _tile_slope(z, p, target)
            slopes[rows].view_as(mine).baddbmm_(slope, mine, beta=0, alpha=weight)
            if estimates is not None and sample.is_small:
                estimates.take_within(groups, slope)  # σ(z)
    return total, slopes.index_select(0, sample.place) if wants_grad else slopes


def _connected(
    h: Tensor,
    graph: PairGraph,
    labels: PairLabels | None,
    target: str,
    wants_grad: bool,
    value: bool,
    counted: bool,
    estimates: Estimated | None,
) -> tuple[Tensor, Tensor | None]:
    """Σ over the ordered pairs of B⁺, and d(term)/dz of each.

    Random pairs do not know which of them are connected; where they were ``counted`` as disconnected, what they
    added, in expectation, is taken off here (self-pairs are never among them).
    """
    z = graph.products(h)
    if estimates is not None:
        estimates.take_connected(graph, z)
    p = None if labels is None else labels.connected(graph)
    total, slope = z.new_zeros(()), None
    if value:
        terms = F.softplus(-z) if p is None or target == "masked" else _bce(z, p)
        if p is not None and target == "masked":
            terms *= p
        total = graph.weigh(terms).sum(dtype=torch.float64)
    if wants_grad:
        slope = torch.neg(z).sigmoid_().neg_()  # σ(z) − p = (1 − p)·σ(z) − p·σ(−z), where nothing cancels
        if p is not None:
            slope *= p
        if p is not None and target == "soft":
            slope += (1 - p) * torch.sigmoid(z)
        slope = graph.weigh(slope)
    if counted:
        z = z[: graph.num_edges]
        before = None if labels is None or p is None else labels.counted(graph, p)[: graph.num_edges]
        if before is not None and target == "masked":
            before = 1 - before
        if value:
            total = total - _tile_value(z, before, target) / graph.share
        if slope is not None:
            slope[: graph.num_edges].sub_(_tile_slope(z.clone(), before, target), alpha=1 / graph.share)
    return total, slope
