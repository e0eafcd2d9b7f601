"""Sums over all disconnected pairs, by square tiles on and above the diagonal. Those below mirror them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .graph import PairGraph
from .labels import EstimatedPairLabels, PairLabels
from .sample import PairSample
from .targets import BLANK, PairTarget, SigmoidTarget, sum_logs_of_products

MAX_TILE_SIZE_CPU = 640  # rows and columns: two tiles stay in the L2 caches of two cores
MAX_TILE_SIZE_CUDA = 4096
MAX_SHARES = 8  # threads that sum up for themselves: each takes memory of its own


@dataclass(frozen=True)
class PairTerms:
    """What is summed over pairs.

    Args:
        target: the terms of one pair.
        labels: pair labels, unless the target needs none.
        scale: what the sum is multiplied by.
        needs_value: whether the loss itself is wanted besides its gradient.
        sample: random pairs in place of all disconnected ones.
        estimates: pair labels that keep what is computed of them on the way.
    """

    target: PairTarget
    labels: PairLabels | None
    scale: float
    needs_value: bool = True
    sample: PairSample | None = None
    estimates: EstimatedPairLabels | None = None


class HalfGradient:
    """Σ_j slope_ij·h_j, from square tiles on and above the diagonal. ``row`` and ``col`` number the tiles."""

    def __init__(self, h: Tensor, tile_size: int) -> None:
        self.strips = h.split(tile_size)
        self.grad = torch.zeros_like(h)
        self.parts = self.grad.split(tile_size)
        # Hᵀ·G takes half the time of Gᵀ·H, so the mirrored half is summed up transposed. Each thread does so for the
        # rows that it has in its cache.
        threads = 1 if h.is_cuda else math.gcd(tile_size, min(torch.get_num_threads(), MAX_SHARES))
        self.shares = (threads, tile_size // threads)
        self.mirrored = [h.new_zeros(threads, h.shape[1], len(strip)) for strip in self.strips]

    def compute_tile_products(self, row: int, col: int, out: Tensor) -> Tensor:
        """z of a tile."""
        return torch.mm(self.strips[row], self.strips[col].t(), out=out)

    def sum_weighted_products(self, row: int, col: int, p: Tensor) -> Tensor:
        """Σ p·z of a tile, by way of P·H: a sum over so many terms at once would lose digits."""
        return torch.dot(torch.mm(p.to(self.grad), self.strips[col]).view(-1), self.strips[row].reshape(-1))

    def add_tile_and_its_mirror(self, row: int, col: int, slopes: Tensor) -> None:
        """Add a tile, and its mirror image unless it is on the diagonal."""
        self.parts[row].addmm_(slopes, self.strips[col])
        if row == col:
            return
        if len(self.mirrored[col]) == 1:
            self.mirrored[col][0].addmm_(self.strips[row].t(), slopes)
        else:  # this strip is not the last one, which may be shorter
            transposed = self.strips[row].view(*self.shares, -1).transpose(1, 2)
            self.mirrored[col].baddbmm_(transposed, slopes.view(*self.shares, -1))

    def add_mirror_images_and_get_total(self) -> Tensor:
        """The sum over all tiles, [N, d]."""
        return self.grad.add_(torch.cat([part.sum(0) for part in self.mirrored], dim=1).t())


def _choose_tile_size(h: Tensor, graph: PairGraph | None) -> int:
    """Strips of nearly equal height, because a narrow one costs time as well; threads can share all but the last."""
    largest = (graph and graph.max_tile_size) or (MAX_TILE_SIZE_CUDA if h.is_cuda else MAX_TILE_SIZE_CPU)
    even = math.ceil(len(h) / math.ceil(len(h) / largest))
    return min(math.ceil(even / MAX_SHARES) * MAX_SHARES, largest, len(h))


def _iter_tiles(h: Tensor, tile_size: int, num_buffers: int) -> Iterator[tuple[int, int, list[Tensor]]]:
    """Row and column of the tiles on and above the diagonal, with buffers of the tile's shape; none without buffers.

    All that is computed of a tile goes into its buffers, and nothing new stays behind: a number that did, where a tile
    was freed, would keep the next tile from fitting there, and memory would grow with every tile.
    """
    num_nodes = len(h) if num_buffers else 0
    scratch = h.new_empty(num_buffers, tile_size * tile_size)
    buffers = list(scratch.view(num_buffers, tile_size, tile_size))
    for i, top in enumerate(range(0, num_nodes, tile_size)):
        for j, left in enumerate(range(top, num_nodes, tile_size), start=i):
            shape = min(tile_size, num_nodes - top), min(tile_size, num_nodes - left)
            if shape != buffers[0].shape:  # only the last strip is another
                buffers = list(scratch[:, : shape[0] * shape[1]].view(num_buffers, *shape))
            yield i, j, buffers


def sum_disconnected_pairs_and_half_gradient(
    h: Tensor, graph: PairGraph | None, connected_products: Tensor | None, terms: PairTerms, wants_grad: bool
) -> tuple[Tensor, Tensor]:
    """Σ over the ordered pairs of B⁻ (all pairs without a graph), and half of its gradient.

    ``connected_products`` has z_ij of the other pairs.
    """
    target, labels = terms.target, terms.labels
    tile_size = _choose_tile_size(h, graph)
    shortcut = target if isinstance(target, SigmoidTarget) else None
    half, logs = HalfGradient(h, tile_size), LogSums(h, terms.needs_value and shortcut is not None)
    positions = {} if graph is None else graph.group_connected_positions_by_tile(tile_size)
    for i, j, (z, room, scratch) in _iter_tiles(h, tile_size, 3 if wants_grad or logs.used else 0):
        half.compute_tile_products(i, j, out=z)
        connected_here = positions.get((i, j))
        p = _compute_tile_labels(terms, i, j, room, tile_size)
        if shortcut is not None and logs.used:
            sigma = _fill_positions_(z.sigmoid_(), connected_here, 1)
            products = 0 if labels is None else half.sum_weighted_products(i, j, _fill_positions_(p, connected_here, 0))
            log_sum = shortcut.sum_weighted_logs(sigma, p, logs.num_factors, scratch)
            logs.add_tile_and_its_mirror(i, j, log_sum - products if target.uses_complement else log_sum + products)
            slopes = shortcut.compute_slopes_from_sigmoid_(sigma, p) if wants_grad else sigma
        else:
            slopes = target.compute_disconnected_slopes_(z, p)
        if wants_grad:
            half.add_tile_and_its_mirror(i, j, _fill_positions_(slopes, connected_here, 0))
    if not terms.needs_value:
        return h.new_tensor(float("nan")), half.add_mirror_images_and_get_total()
    total = logs.compute_total_unless_inaccurate(connected_products, has_all_products=not target.uses_complement)
    return sum_disconnected_pairs_accurately(
        h, graph, terms
    ) if total is None else total, half.add_mirror_images_and_get_total()


def sum_disconnected_pairs_and_half_gradients_of_both(
    h_e: Tensor, h: Tensor, graph: PairGraph, connected_products: tuple[Tensor, Tensor], terms: PairTerms
) -> tuple[tuple[Tensor | None, Tensor], tuple[Tensor | None, Tensor]]:
    """The same for the structure loss of ``h_e`` and for terms under the pair labels σ(z^e). Values may be None."""
    target = terms.target
    assert isinstance(target, SigmoidTarget)
    tile_size = _choose_tile_size(h, graph)
    half_e, half = HalfGradient(h_e, tile_size), HalfGradient(h, tile_size)
    logs_e, logs = LogSums(h_e, terms.needs_value), LogSums(h, terms.needs_value)
    positions = graph.group_connected_positions_by_tile(tile_size)
    for i, j, (p, z, scratch) in _iter_tiles(h, tile_size, 3):
        connected_here = positions.get((i, j))
        half_e.compute_tile_products(i, j, out=p).sigmoid_()
        if logs_e.used:
            logs_e.add_tile_and_its_mirror(
                i, j, sum_logs_of_products(_fill_positions_(p, connected_here, 1), logs_e.num_factors, scratch)
            )
        half_e.add_tile_and_its_mirror(i, j, _fill_positions_(p, connected_here, 0))
        sigma = half.compute_tile_products(i, j, out=z).sigmoid_()
        if logs.used:
            log_sum = target.sum_weighted_logs_given_p(
                _fill_positions_(sigma, connected_here, 1), p, logs.num_factors, scratch
            )
            logs.add_tile_and_its_mirror(i, j, log_sum + half.sum_weighted_products(i, j, p))
        half.add_tile_and_its_mirror(
            i, j, target.compute_slopes_given_p_(_fill_positions_(sigma, connected_here, 0), p)
        )
    of_e = logs_e.compute_total_unless_inaccurate(connected_products[0]), half_e.add_mirror_images_and_get_total()
    return of_e, (logs.compute_total_unless_inaccurate(connected_products[1]), half.add_mirror_images_and_get_total())


class LogSums:
    """Values from the slopes: softplus(z) = z − log σ(z). Logarithms are taken of products of several σ.

    Σ z over all pairs is |Σ h|². Each term is off by the last digits of 1 and of z, which matters where all are tiny:
    then there is no total. Nor is there one where some |h|² is so large that σ might be 0.
    """

    def __init__(self, h: Tensor, needs_value: bool) -> None:
        self.h = h
        largest_z = float(h.square().sum(dim=1).max()) if needs_value else 0.0  # the largest |z_ij|
        max_exponent = -math.log(torch.finfo(h.dtype).tiny)
        self.num_factors = (
            min(16, int(max_exponent / (largest_z + 1))) if math.isfinite(largest_z) else 0
        )  # their product is not 0
        self.used = needs_value and self.num_factors > 0
        self.taken_off = torch.zeros((), dtype=torch.float64, device=h.device)

    def add_tile_and_its_mirror(self, row: int, col: int, log_sum: Tensor) -> None:
        """Add what a tile takes off the total. A tile on the diagonal has both z_ij and z_ji."""
        self.taken_off.add_(log_sum, alpha=1 if row == col else 2)

    def compute_total_unless_inaccurate(
        self, connected_products: Tensor | None, has_all_products: bool = True
    ) -> Tensor | None:
        """Σ softplus(z), or of its weighted part; ``None`` where it would be inaccurate."""
        if not self.used:
            return None
        total = -self.taken_off
        if has_all_products:
            total += self.h.sum(dim=0, dtype=torch.float64).square().sum()
            if connected_products is not None:
                total -= connected_products.sum(dtype=torch.float64)
        typical = float(torch.linalg.matrix_norm(self.h.t() @ self.h))  # N times the root mean square of z
        n = len(self.h)
        min_share = 256 * torch.finfo(self.h.dtype).eps ** 0.5  # 9 % of 1, or of z, in float32: more may cancel out
        return total if total > min_share * n * max(n, typical) else None


def _fill_positions_(tile: Tensor, positions: Tensor | None, value: float) -> Tensor:
    """Set some positions of a tile to ``value``, if there are any."""
    if positions is not None:
        tile.view(-1).index_fill_(0, positions, value)
    return tile


def sum_disconnected_pairs_accurately(h: Tensor, graph: PairGraph | None, terms: PairTerms) -> Tensor:
    """Σ over the ordered pairs of B⁻ term by term, right to the last digits of the smallest one."""
    tile_size = _choose_tile_size(h, graph)
    strips = h.split(tile_size)
    positions = {} if graph is None else graph.group_connected_positions_by_tile(tile_size)
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    for i, j, (z, room) in _iter_tiles(h, tile_size, 2):
        connected_here = positions.get((i, j))
        _fill_positions_(torch.mm(strips[i], strips[j].t(), out=z), connected_here, BLANK)
        p = _compute_tile_labels(terms, i, j, room, tile_size)
        values = terms.target.compute_disconnected_loss_terms(z, _fill_positions_(p, connected_here, 0)).sum().double()
        total += values if i == j else 2 * values  # a tile on the diagonal has both z_ij and z_ji
    return total


def _compute_tile_labels(terms: PairTerms, row: int, col: int, out: Tensor, tile_size: int) -> Tensor:
    """What the target needs of the pair labels of a tile: p or 1 − p. Anything if there are no labels."""
    if terms.labels is None:
        return out
    top, left = row * tile_size, col * tile_size
    rows, cols = slice(top, top + out.shape[0]), slice(left, left + out.shape[1])
    return terms.labels.compute_block(rows, cols, complement=terms.target.uses_complement, out=out)
