"""Sums over all disconnected pairs by square tiles, on and above the diagonal: what is below mirrors them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from .graph import PairGraph
from .labels import PairLabels

TILE_CPU = 640  # rows and columns: two tiles stay in the L2 caches of two cores
TILE_CUDA = 4096
MOST_SHARES = 8  # of a sum that threads make each for itself: it takes memory as often
BLANK = -1e4  # softplus and σ of it are exactly 0, and unlike −∞ it can be multiplied by 0


class HalfGradient:
    """Σ_j slope_ij·h_j, from square tiles on and above the diagonal."""

    def __init__(self, h: Tensor, size: int) -> None:
        self.strips = h.split(size)
        self.grad = torch.zeros_like(h)
        self.parts = self.grad.split(size)
        # Hᵀ·G takes half the time of Gᵀ·H, so that the mirrored half is summed up transposed; and each thread does so
        # for the rows that it has in its cache.
        threads = 1 if h.is_cuda else math.gcd(size, min(torch.get_num_threads(), MOST_SHARES))
        self.shares = (threads, size // threads)
        self.mirrored = [h.new_zeros(threads, h.shape[1], len(strip)) for strip in self.strips]

    def products(self, i: int, j: int, out: Tensor) -> Tensor:
        return torch.mm(self.strips[i], self.strips[j].t(), out=out)

    def add(self, i: int, j: int, slope: Tensor) -> None:
        self.parts[i].addmm_(slope, self.strips[j])
        if i == j:
            return
        if len(self.mirrored[j]) == 1:
            self.mirrored[j][0].addmm_(self.strips[i].t(), slope)
        else:  # strip i is not the last one, which may be shorter
            turned = self.strips[i].view(*self.shares, -1).transpose(1, 2)
            self.mirrored[j].baddbmm_(turned, slope.view(*self.shares, -1))

    def total(self) -> Tensor:
        return self.grad.add_(torch.cat([each.sum(0) for each in self.mirrored], dim=1).t())


def _tile_size(h: Tensor) -> int:
    return min(TILE_CUDA if h.is_cuda else TILE_CPU, len(h))


def _tiles(h: Tensor, scratch: Tensor) -> Iterator[tuple[int, int, Tensor, Tensor]]:
    """Places of the tiles on and above the diagonal, and room for two tiles."""
    n, size = len(h), _tile_size(h)
    one, two = scratch[:2].view(2, size, size)
    for i, top in enumerate(range(0, n, size)):
        for j, left in enumerate(range(top, n, size), start=i):
            shape = min(size, n - top), min(size, n - left)
            if shape != one.shape:  # only the last strip is another
                one, two = scratch[:2, : shape[0] * shape[1]].view(2, *shape)
            yield i, j, one, two


def disconnected(
    h: Tensor,
    graph: PairGraph | None,
    labels: PairLabels | None,
    target: str,
    wants_grad: bool,
    value: bool,
    quick: bool = True,
) -> tuple[Tensor, Tensor]:
    """Σ over the ordered pairs of B⁻ (all pairs without a graph), and half of its gradient."""
    n, size = len(h), _tile_size(h)
    half = HalfGradient(h, size)
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    scratch = h.new_empty(3 if value and quick else 2, size * size)
    holes = {} if graph is None else graph.in_tiles(size)
    reach = float(h.square().sum(dim=1).max()) if value else 0.0  # no |z_ij| is larger
    quick = quick and reach <= _largest(h.dtype)
    for i, j, z, room in _tiles(h, scratch):
        half.products(i, j, out=z)
        p = None
        if labels is not None:
            rows, cols = slice(i * size, i * size + z.shape[0]), slice(j * size, j * size + z.shape[1])
            p = labels.block(rows, cols, complement=target == "masked", out=room)
        hole = holes.get((i, j))
        if hole is not None:
            if p is not None:
                p.view(-1).index_fill_(0, hole, 0)
            if p is None or target == "soft":  # masked terms are multiplied by p, 0 already
                z.view(-1).index_fill_(0, hole, BLANK)
        if value:
            found = _quick_value(z, p, target, reach, scratch[2]) if quick else tile_value(z, p, target)
            total += found if i == j else 2 * found  # a tile on the diagonal has both z_ij and z_ji
        if wants_grad:
            half.add(i, j, tile_slope(z, p, target))
    if value and quick and total < 16 * torch.finfo(h.dtype).eps ** 0.5 * max(1.0, reach) * n * n:
        total, _ = disconnected(h, graph, labels, target, False, True, quick=False)
    return total, half.total()


def disconnected_both(h_e: Tensor, h: Tensor, graph: PairGraph, target: str) -> tuple[Tensor, Tensor]:
    """Half of the gradients of the structure loss of ``h_e``, and of a target under the pair labels σ(z^e)."""
    of_e, of_h = HalfGradient(h_e, _tile_size(h)), HalfGradient(h, _tile_size(h))
    holes = graph.in_tiles(_tile_size(h))
    for i, j, p, z in _tiles(h, h.new_empty(2, _tile_size(h) ** 2)):
        of_e.products(i, j, out=p)
        of_h.products(i, j, out=z)
        hole = holes.get((i, j))
        if hole is not None:
            p.view(-1).index_fill_(0, hole, BLANK)
            z.view(-1).index_fill_(0, hole, BLANK)
        of_e.add(i, j, p.sigmoid_())
        slope = z.sigmoid_()
        # Masked, (1 − p)·σ(z) as σ(z) − p·σ(z): one pass over the tile, and no more is lost than p has lost already.
        of_h.add(i, j, slope.addcmul_(p, slope, value=-1) if target == "masked" else slope.sub_(p))
    return of_e.total(), of_h.total()


def tile_value(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """Σ of the terms of a tile: softplus(z), (1 − p)·softplus(z) with ``p`` holding 1 − p, or softplus(z) − p·z."""
    terms = F.softplus(z) if p is None or target == "masked" else bce(z, p)
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


def bce(z: Tensor, p: Tensor) -> Tensor:
    """softplus(z) − p·z, as (max(z, 0) − p·z) + softplus(−|z|): neither part is negative, so nothing cancels."""
    return F.relu(z).addcmul_(p, z, value=-1).add_(F.softplus(z.abs().neg_()))


def tile_slope(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """d(term)/dz, in place of ``z``: σ(z), (1 − p)·σ(z) with ``p`` holding 1 − p, or σ(z) − p."""
    slope = z.sigmoid_()
    if p is None:
        return slope
    return slope.mul_(p) if target == "masked" else slope.sub_(p)
