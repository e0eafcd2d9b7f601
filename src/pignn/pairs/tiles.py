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

    def weighed(self, i: int, j: int, p: Tensor) -> Tensor:
        """Σ p·z of a tile, by way of P·H: a sum over so many terms at once would lose digits."""
        return torch.dot(torch.mm(p.to(self.grad), self.strips[j]).view(-1), self.strips[i].reshape(-1))

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
    """Of nearly equal strips, for a narrow one takes its time as well; what threads can share, where it is not all."""
    most, n = TILE_CUDA if h.is_cuda else TILE_CPU, len(h)
    even = math.ceil(n / math.ceil(n / most))
    return min(math.ceil(even / MOST_SHARES) * MOST_SHARES, most, n)


def _tiles(h: Tensor, rooms: int) -> Iterator[tuple[int, int, list[Tensor]]]:
    """Places of the tiles on and above the diagonal, and room for so many tiles; none where there is no room.

    What is computed of a tile goes into its room, and nothing new stays behind: a number that did, at the place of a
    tile that was given back, would keep the next tile from fitting there, and memory would grow with every tile.
    """
    n, size = len(h) if rooms else 0, _tile_size(h)
    scratch = h.new_empty(rooms, size * size)
    room = list(scratch.view(rooms, size, size))
    for i, top in enumerate(range(0, n, size)):
        for j, left in enumerate(range(top, n, size), start=i):
            shape = min(size, n - top), min(size, n - left)
            if shape != room[0].shape:  # only the last strip is another
                room = list(scratch[:, : shape[0] * shape[1]].view(rooms, *shape))
            yield i, j, room


def disconnected(
    h: Tensor,
    graph: PairGraph | None,
    connected: Tensor | None,
    labels: PairLabels | None,
    target: str,
    wants_grad: bool,
    compute_value: bool,
) -> tuple[Tensor, Tensor]:
    """Σ over the ordered pairs of B⁻ (all pairs without a graph), and half of its gradient.

    ``connected`` has z_ij of the other pairs.
    """
    size = _tile_size(h)
    half, logs = HalfGradient(h, size), Logs(h, compute_value)
    plain = labels is None or target == "soft"
    holes = {} if graph is None else graph.find_tile_positions(size)
    for i, j, (z, room, free) in _tiles(h, 3 if wants_grad or logs.used else 0):
        slope = half.products(i, j, out=z).sigmoid_()
        hole = holes.get((i, j))
        p = None if labels is None else _block(labels, i, j, target, room, size)
        if logs.used:
            by_z = 0 if p is None else half.weighed(i, j, _fill(p, hole, 0))
            if p is None or plain:
                logs.add(i, j, _log_sum(_fill(slope, hole, 1), logs.factors, free) + by_z)
            else:
                logs.add(i, j, torch.log(slope, out=free).mul_(p).sum() - by_z)
        if wants_grad:
            if p is not None:
                slope = slope.sub_(p) if plain else slope.mul_(p)
            half.add(i, j, _fill(slope, hole, 0))
    if not compute_value:
        return h.new_tensor(float("nan")), half.total()
    total = logs.total(connected, all_products=plain)
    return careful_value(h, graph, labels, target) if total is None else total, half.total()


def disconnected_both(
    h_e: Tensor, h: Tensor, graph: PairGraph, connected: tuple[Tensor, Tensor], target: str, compute_value: bool
) -> tuple[tuple[Tensor | None, Tensor], tuple[Tensor | None, Tensor]]:
    """The same of the structure loss of ``h_e``, and of a target under the pair labels σ(z^e); values may be None."""
    of_e, of_h = HalfGradient(h_e, _tile_size(h)), HalfGradient(h, _tile_size(h))
    logs_e, logs = Logs(h_e, compute_value), Logs(h, compute_value)
    holes = graph.find_tile_positions(_tile_size(h))
    for i, j, (p, z, free) in _tiles(h, 3):
        hole = holes.get((i, j))
        of_e.products(i, j, out=p)
        p.sigmoid_()
        if logs_e.used:
            logs_e.add(i, j, _log_sum(_fill(p, hole, 1), logs_e.factors, free))
        of_e.add(i, j, _fill(p, hole, 0))
        slope = of_h.products(i, j, out=z).sigmoid_()
        if logs.used:
            _fill(slope, hole, 1)
            if target == "masked":
                found = torch.log(slope, out=free)
                found = found.addcmul_(p, found, value=-1).sum()
            else:
                found = _log_sum(slope, logs.factors, free)
            logs.add(i, j, found + of_h.weighed(i, j, p))
        _fill(slope, hole, 0)
        # Masked, (1 − p)·σ(z) as σ(z) − p·σ(z): one pass over the tile, and no more is lost than p has lost already.
        of_h.add(i, j, slope.addcmul_(p, slope, value=-1) if target == "masked" else slope.sub_(p))
    return (logs_e.total(connected[0]), of_e.total()), (logs.total(connected[1]), of_h.total())


class Logs:
    """Values from the slopes: softplus(z) = z − log σ(z), whose logarithms are taken of products of several σ.

    Σ z over all pairs is |Σ h|². Each term is off by the last digits of 1 and of z, which matters where all are tiny:
    then there is no total. Nor is there one where some |h|² is so large that σ might be 0.
    """

    def __init__(self, h: Tensor, compute_value: bool) -> None:
        self.h = h
        reach = float(h.square().sum(dim=1).max()) if compute_value else 0.0  # no |z_ij| is larger
        least = -math.log(torch.finfo(h.dtype).tiny)
        self.factors = min(16, int(least / (reach + 1))) if math.isfinite(reach) else 0  # their product is not 0
        self.used = compute_value and self.factors > 0
        self.taken_off = torch.zeros((), dtype=torch.float64, device=h.device)

    def add(self, i: int, j: int, found: Tensor) -> None:
        """What is to be taken off; a tile on the diagonal has both z_ij and z_ji."""
        self.taken_off.add_(found, alpha=1 if i == j else 2)

    def total(self, connected: Tensor | None, all_products: bool = True) -> Tensor | None:
        if not self.used:
            return None
        total = -self.taken_off
        if all_products:
            total += self.h.sum(dim=0, dtype=torch.float64).square().sum()
            if connected is not None:
                total -= connected.sum(dtype=torch.float64)
        usual = float(torch.linalg.matrix_norm(self.h.t() @ self.h))  # N times the root mean square of z
        n = len(self.h)
        least = 256 * torch.finfo(self.h.dtype).eps ** 0.5  # 9 % of 1, or of z, in float32: more may cancel out
        return total if total > least * n * max(n, usual) else None


def _log_sum(s: Tensor, factors: int, room: Tensor) -> Tensor:
    """Σ log s. The factors of a product stand in the rows of one thread, which has them in its cache."""
    if factors == 1:
        return torch.log(s, out=room).sum()
    flat, threads = s.view(-1), torch.get_num_threads()
    even = flat.numel() // (threads * factors) * threads * factors
    products = room.view(-1)[: even // factors].view(threads, -1)
    total = torch.prod(flat[:even].view(threads, factors, -1), dim=1, out=products).log_().sum()
    return total if even == flat.numel() else total + flat[even:].log().sum()


def _fill(tile: Tensor, hole: Tensor | None, number: float) -> Tensor:
    """``number`` at the connected pairs of a tile, if it has any."""
    if hole is not None:
        tile.view(-1).index_fill_(0, hole, number)
    return tile


def careful_value(h: Tensor, graph: PairGraph | None, labels: PairLabels | None, target: str) -> Tensor:
    """Σ over the ordered pairs of B⁻, right to the last digits of the smallest term."""
    size = _tile_size(h)
    strips = h.split(size)
    holes = {} if graph is None else graph.find_tile_positions(size)
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    for i, j, (z, room) in _tiles(h, 2):
        hole = holes.get((i, j))
        _fill(torch.mm(strips[i], strips[j].t(), out=z), hole, BLANK)
        p = None if labels is None else _fill(_block(labels, i, j, target, room, size), hole, 0)
        found = tile_value(z, p, target)
        total += found if i == j else 2 * found  # a tile on the diagonal has both z_ij and z_ji
    return total


def _block(labels: PairLabels, i: int, j: int, target: str, room: Tensor, size: int) -> Tensor:
    """p of a tile, or 1 − p if masked."""
    rows, cols = slice(i * size, i * size + room.shape[0]), slice(j * size, j * size + room.shape[1])
    return labels.compute_block(rows, cols, complement=target == "masked", out=room)


def tile_value(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """Σ of the terms of a tile: softplus(z), (1 − p)·softplus(z) with ``p`` holding 1 − p, or softplus(z) − p·z."""
    terms = F.softplus(z) if p is None or target == "masked" else bce(z, p)
    if p is not None and target == "masked":
        terms *= p
    return terms.sum().double()


def bce(z: Tensor, p: Tensor) -> Tensor:
    """softplus(z) − p·z, as (max(z, 0) − p·z) + softplus(−|z|): neither part is negative, so nothing cancels."""
    return F.relu(z).addcmul_(p, z, value=-1).add_(F.softplus(z.abs().neg_()))


def tile_slope(z: Tensor, p: Tensor | None, target: str) -> Tensor:
    """d(term)/dz, in place of ``z``: σ(z), (1 − p)·σ(z) with ``p`` holding 1 − p, or σ(z) − p."""
    slope = z.sigmoid_()
    if p is None:
        return slope
    return slope.mul_(p) if target == "masked" else slope.sub_(p)
