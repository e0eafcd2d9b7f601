"""Sums over all disconnected pairs by square tiles, on and above the diagonal: what is below mirrors them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from .graph import PairGraph
from .labels import PairLabels
from .targets import BLANK, PairTarget, SigmoidTarget, sum_of_logs

MAX_TILE_SIZE_CPU = 640  # rows and columns: two tiles stay in the L2 caches of two cores
MAX_TILE_SIZE_CUDA = 4096
MAX_SHARES = 8  # of a sum that threads make each for itself: it takes memory as often


class HalfGradient:
    """Σ_j slope_ij·h_j, from square tiles on and above the diagonal."""

    def __init__(self, h: Tensor, size: int) -> None:
        self.strips = h.split(size)
        self.grad = torch.zeros_like(h)
        self.parts = self.grad.split(size)
        # Hᵀ·G takes half the time of Gᵀ·H, so that the mirrored half is summed up transposed; and each thread does so
        # for the rows that it has in its cache.
        threads = 1 if h.is_cuda else math.gcd(size, min(torch.get_num_threads(), MAX_SHARES))
        self.shares = (threads, size // threads)
        self.mirrored = [h.new_zeros(threads, h.shape[1], len(strip)) for strip in self.strips]

    def multiply(self, i: int, j: int, out: Tensor) -> Tensor:
        return torch.mm(self.strips[i], self.strips[j].t(), out=out)

    def sum_weighted_products(self, i: int, j: int, p: Tensor) -> Tensor:
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

    def compute_total(self) -> Tensor:
        return self.grad.add_(torch.cat([each.sum(0) for each in self.mirrored], dim=1).t())


def _choose_tile_size(h: Tensor, graph: PairGraph | None) -> int:
    """Strips of nearly equal height, because a narrow one costs time as well; threads can share all but the last."""
    largest = (graph and graph.max_tile_size) or (MAX_TILE_SIZE_CUDA if h.is_cuda else MAX_TILE_SIZE_CPU)
    even = math.ceil(len(h) / math.ceil(len(h) / largest))
    return min(math.ceil(even / MAX_SHARES) * MAX_SHARES, largest, len(h))


def _iter_tiles(h: Tensor, size: int, num_buffers: int) -> Iterator[tuple[int, int, list[Tensor]]]:
    """Row and column of the tiles on and above the diagonal, with buffers of the tile's shape; none without buffers.

    All that is computed of a tile goes into its buffers, and nothing new stays behind: a number that did, where a tile
    was freed, would keep the next tile from fitting there, and memory would grow with every tile.
    """
    num_nodes = len(h) if num_buffers else 0
    scratch = h.new_empty(num_buffers, size * size)
    buffers = list(scratch.view(num_buffers, size, size))
    for i, top in enumerate(range(0, num_nodes, size)):
        for j, left in enumerate(range(top, num_nodes, size), start=i):
            shape = min(size, num_nodes - top), min(size, num_nodes - left)
            if shape != buffers[0].shape:  # only the last strip is another
                buffers = list(scratch[:, : shape[0] * shape[1]].view(num_buffers, *shape))
            yield i, j, buffers


def sum_disconnected(
    h: Tensor,
    graph: PairGraph | None,
    connected: Tensor | None,
    labels: PairLabels | None,
    target: PairTarget,
    wants_grad: bool,
    compute_value: bool,
) -> tuple[Tensor, Tensor]:
    """Σ over the ordered pairs of B⁻ (all pairs without a graph), and half of its gradient.

    ``connected`` has z_ij of the other pairs.
    """
    size = _choose_tile_size(h, graph)
    shortcut = target if isinstance(target, SigmoidTarget) else None
    half, logs = HalfGradient(h, size), LogSums(h, compute_value and shortcut is not None)
    positions = {} if graph is None else graph.find_tile_positions(size)
    for i, j, (z, room, scratch) in _iter_tiles(h, size, 3 if wants_grad or logs.used else 0):
        half.multiply(i, j, out=z)
        connected_here = positions.get((i, j))
        p = _compute_tile_labels(labels, i, j, target, room, size)
        if shortcut is not None and logs.used:
            sigma = _fill(z.sigmoid_(), connected_here, 1)
            products = 0 if labels is None else half.sum_weighted_products(i, j, _fill(p, connected_here, 0))
            log_sum = shortcut.sum_logs(sigma, p, logs.factors, scratch)
            logs.add(i, j, log_sum - products if target.uses_complement else log_sum + products)
            slopes = shortcut.slopes_from_sigmoid(sigma, p) if wants_grad else sigma
        else:
            slopes = target.disconnected_slopes(z, p)
        if wants_grad:
            half.add(i, j, _fill(slopes, connected_here, 0))
    if not compute_value:
        return h.new_tensor(float("nan")), half.compute_total()
    total = logs.compute_total(connected, has_all_products=not target.uses_complement)
    return sum_disconnected_terms(h, graph, labels, target) if total is None else total, half.compute_total()


def sum_disconnected_for_both(
    h_e: Tensor,
    h: Tensor,
    graph: PairGraph,
    connected: tuple[Tensor, Tensor],
    target: SigmoidTarget,
    compute_value: bool,
) -> tuple[tuple[Tensor | None, Tensor], tuple[Tensor | None, Tensor]]:
    """The same of the structure loss of ``h_e``, and of a target under the pair labels σ(z^e); values may be None."""
    size = _choose_tile_size(h, graph)
    half_e, half = HalfGradient(h_e, size), HalfGradient(h, size)
    logs_e, logs = LogSums(h_e, compute_value), LogSums(h, compute_value)
    positions = graph.find_tile_positions(size)
    for i, j, (p, z, scratch) in _iter_tiles(h, size, 3):
        connected_here = positions.get((i, j))
        half_e.multiply(i, j, out=p).sigmoid_()
        if logs_e.used:
            logs_e.add(i, j, sum_of_logs(_fill(p, connected_here, 1), logs_e.factors, scratch))
        half_e.add(i, j, _fill(p, connected_here, 0))
        sigma = half.multiply(i, j, out=z).sigmoid_()
        if logs.used:
            log_sum = target.sum_shared_logs(_fill(sigma, connected_here, 1), p, logs.factors, scratch)
            logs.add(i, j, log_sum + half.sum_weighted_products(i, j, p))
        half.add(i, j, target.shared_slopes(_fill(sigma, connected_here, 0), p))
    of_e = logs_e.compute_total(connected[0]), half_e.compute_total()
    return of_e, (logs.compute_total(connected[1]), half.compute_total())


class LogSums:
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

    def add(self, i: int, j: int, log_sum: Tensor) -> None:
        """Add what a tile takes off the total; a tile on the diagonal has both z_ij and z_ji."""
        self.taken_off.add_(log_sum, alpha=1 if i == j else 2)

    def compute_total(self, connected: Tensor | None, has_all_products: bool = True) -> Tensor | None:
        if not self.used:
            return None
        total = -self.taken_off
        if has_all_products:
            total += self.h.sum(dim=0, dtype=torch.float64).square().sum()
            if connected is not None:
                total -= connected.sum(dtype=torch.float64)
        usual = float(torch.linalg.matrix_norm(self.h.t() @ self.h))  # N times the root mean square of z
        n = len(self.h)
        least = 256 * torch.finfo(self.h.dtype).eps ** 0.5  # 9 % of 1, or of z, in float32: more may cancel out
        return total if total > least * n * max(n, usual) else None


def _fill(tile: Tensor, hole: Tensor | None, number: float) -> Tensor:
    """``number`` at the connected pairs of a tile, if it has any."""
    if hole is not None:
        tile.view(-1).index_fill_(0, hole, number)
    return tile


def sum_disconnected_terms(h: Tensor, graph: PairGraph | None, labels: PairLabels | None, target: PairTarget) -> Tensor:
    """Σ over the ordered pairs of B⁻ term by term, right to the last digits of the smallest one."""
    size = _choose_tile_size(h, graph)
    strips = h.split(size)
    positions = {} if graph is None else graph.find_tile_positions(size)
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    for i, j, (z, room) in _iter_tiles(h, size, 2):
        connected_here = positions.get((i, j))
        _fill(torch.mm(strips[i], strips[j].t(), out=z), connected_here, BLANK)
        p = _compute_tile_labels(labels, i, j, target, room, size)
        p = p if labels is None else _fill(p, connected_here, 0)
        terms = target.disconnected_terms(z, p).sum().double()
        total += terms if i == j else 2 * terms  # a tile on the diagonal has both z_ij and z_ji
    return total


def _compute_tile_labels(
    labels: PairLabels | None, i: int, j: int, target: PairTarget, room: Tensor, size: int
) -> Tensor:
    """What a target needs of the pair labels of a tile: p or 1 − p. Anything where there are no labels."""
    if labels is None:
        return room
    rows, cols = slice(i * size, i * size + room.shape[0]), slice(j * size, j * size + room.shape[1])
    return labels.compute_block(rows, cols, complement=target.uses_complement, out=room)
