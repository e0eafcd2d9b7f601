"""Pair labels p_ij ∈ [0, 1], symmetric: for a block of pairs, for single pairs, and for the connected pairs.

Which pairs are connected is always the graph's own business. No class stores N² values. Plain connectivity needs no
pair labels: it is the structure loss itself.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from .graph import PairGraph


class PairLabels(ABC):
    """Pair labels p, or their complement 1 − p."""

    num_nodes: int | None = None  # number of nodes they are for, if it is known

    @abstractmethod
    def compute_block(self, rows: slice, cols: slice, *, complement: bool, out: Tensor | None = None) -> Tensor:
        """p (or 1 − p) of all pairs of ``rows`` × ``cols``. Its values for connected pairs are not read.

        ``out`` has the shape of the result and may be used for it.
        """

    @abstractmethod
    def lookup(self, rows: Tensor, cols: Tensor) -> Tensor:
        """p of the pairs (rows[k], cols[k]), the same as in :meth:`compute_block`."""

    @abstractmethod
    def subset(self, nodes: Tensor) -> PairLabels:
        """The labels of the pairs among these nodes, which are numbered from 0."""

    def lookup_connected(self, graph: PairGraph) -> Tensor:
        """p of the connected pairs, in the order of ``graph``."""
        return self.lookup(graph.row, graph.col)

    def lookup_connected_as_in_groups(self, graph: PairGraph, connected_labels: Tensor) -> Tensor:
        """p of connected pairs in :meth:`compute_labels_within_groups`; mostly that of :meth:`lookup_connected`."""
        return connected_labels

    def compute_labels_within_groups(self, groups: Tensor, *, complement: bool) -> Tensor:
        """p (or 1 − p) of all pairs within groups of nodes: [groups, size] → [groups, size, size]."""
        p = self.lookup(groups[:, :, None], groups[:, None, :])
        return 1 - p if complement else p


class EstimatedPairLabels(PairLabels):
    """p_ij = σ(h_i·h_j) from embeddings: the estimator's, or the classifier's own.

    A structure loss of the same embeddings computes much of this too, and can cache it here.
    """

    def __init__(self, h: Tensor) -> None:
        self.h, self.num_nodes = h.detach(), len(h)
        self._connected: tuple[PairGraph, Tensor] | None = None
        self._group_complements: dict[int, tuple[Tensor, Tensor]] = {}

    def cache_connected_products(self, graph: PairGraph, products: Tensor) -> None:
        """Keep the products of the connected pairs. Nobody may write into them any more."""
        self._connected = graph, products

    def cache_group_complements_in_place(self, groups: Tensor, probs: Tensor) -> None:
        """Keep p of all pairs within groups. ``probs`` is written into."""
        complement = probs.neg_().add_(1)  # in place: a new tensor of this size takes longer than the sum
        # While the groups are kept, no other tensor has their address.
        self._group_complements[groups.data_ptr()] = groups, complement

    @cached_property
    def negated_h(self) -> Tensor:
        """−h, computed once for all blocks."""
        return -self.h

    def compute_block(self, rows: slice, cols: slice, *, complement: bool, out: Tensor | None = None) -> Tensor:
        # 1 − σ(z) = σ(−z), which keeps its digits where σ(z) rounds to 1.
        left = self.negated_h if complement else self.h
        if out is not None and out.dtype != self.h.dtype:
            out = None
        return torch.mm(left[rows], self.h[cols].t(), out=out).sigmoid_()

    def lookup(self, rows: Tensor, cols: Tensor) -> Tensor:
        return (self.h[rows] * self.h[cols]).sum(dim=1).sigmoid_()

    def subset(self, nodes: Tensor) -> EstimatedPairLabels:
        return EstimatedPairLabels(self.h[nodes])

    def lookup_connected(self, graph: PairGraph) -> Tensor:
        is_cached = self._connected is not None and self._connected[0] is graph
        return (
            self._connected[1] if self._connected and is_cached else graph.compute_connected_products(self.h)
        ).sigmoid()

    def compute_labels_within_groups(self, groups: Tensor, *, complement: bool) -> Tensor:
        _, cached = self._group_complements.get(groups.data_ptr(), (groups, None))
        if cached is not None:  # off by the last digit of 1, in a sum that is an estimate anyway
            return cached if complement else 1 - cached
        h = self.h.index_select(0, groups.view(-1)).view(*groups.shape, -1)
        return torch.bmm(-h if complement else h, h.transpose(1, 2)).sigmoid_()


class AgreementPairLabels(PairLabels):
    """p_ij = 1 where two labels agree, 0 where they differ, connectivity where one of them is missing (−1)."""

    def __init__(self, y: Tensor, dtype: torch.dtype = torch.float32) -> None:
        self.dtype, self.num_nodes = dtype, len(y)
        self.y = y
        # A missing label must not equal another missing one.
        self.y_or_missing = torch.where(y < 0, y.new_tensor(-2), y)

    def compute_block(self, rows: slice, cols: slice, *, complement: bool, out: Tensor | None = None) -> Tensor:
        left, right = self.y[rows, None], self.y_or_missing[None, cols]
        return ((left != right) if complement else (left == right)).to(self.dtype)

    def lookup(self, rows: Tensor, cols: Tensor) -> Tensor:
        return (self.y[rows] == self.y_or_missing[cols]).to(self.dtype)

    def subset(self, nodes: Tensor) -> AgreementPairLabels:
        return AgreementPairLabels(self.y[nodes], self.dtype)

    def lookup_connected(self, graph: PairGraph) -> Tensor:
        a, b = self.y[graph.row], self.y[graph.col]
        return ((a == b) | (a < 0) | (b < 0)).to(self.dtype)

    def lookup_connected_as_in_groups(self, graph: PairGraph, connected_labels: Tensor) -> Tensor:
        return self.lookup(graph.row, graph.col)


class RandomPairLabels(PairLabels):
    """p_ij uniform in [0, 1), one value per unordered pair and seed, by hashing."""

    def __init__(self, num_nodes: int, seed: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> None:
        self.ids = torch.arange(num_nodes, dtype=torch.int64, device=device)
        self.seed = int(seed) * 0x9E3779B1 % 2**32  # the product of a NumPy integer would overflow
        self.dtype, self.num_nodes = dtype, num_nodes

    def _hash_pairs_to_unit_interval(self, rows: Tensor, cols: Tensor) -> Tensor:
        low, high = torch.minimum(rows, cols), torch.maximum(rows, cols)
        return _scramble_bits(_scramble_bits(low + self.seed) ^ high).bitwise_and_(0xFFFFFF).to(self.dtype).div_(2**24)

    def compute_block(self, rows: slice, cols: slice, *, complement: bool, out: Tensor | None = None) -> Tensor:
        p = self._hash_pairs_to_unit_interval(self.ids[rows, None], self.ids[None, cols])
        return 1 - p if complement else p

    def lookup(self, rows: Tensor, cols: Tensor) -> Tensor:
        return self._hash_pairs_to_unit_interval(self.ids[rows], self.ids[cols])

    def subset(self, nodes: Tensor) -> RandomPairLabels:
        part = copy.copy(self)
        part.ids, part.num_nodes = self.ids[nodes], len(nodes)
        return part


def _scramble_bits(x: Tensor) -> Tensor:
    """Scramble the low 32 bits of each integer (two multiply-and-shift rounds; every value fits in 64 bits)."""
    x = x & 0xFFFFFFFF
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    return (x >> 16) ^ x


class LowRankPairLabels(PairLabels):
    """p_ij = the rank-r approximation of the adjacency matrix, clipped to [0, 1].

    The matrix is symmetric, so its singular vectors are eigenvectors: A_r = Σ λ_k u_k u_kᵀ over the r largest |λ_k|.
    """

    def __init__(self, graph: PairGraph, rank: int, dtype: torch.dtype = torch.float32) -> None:
        self.num_nodes = graph.num_nodes
        vectors, values = _compute_leading_eigenpairs(graph, min(rank, graph.num_nodes))
        device = graph.row.device
        u = torch.as_tensor(vectors, dtype=dtype, device=device)
        self.left = u * torch.as_tensor(values, dtype=dtype, device=device)
        self.right = u.t().contiguous()

    def compute_block(self, rows: slice, cols: slice, *, complement: bool, out: Tensor | None = None) -> Tensor:
        p = torch.mm(self.left[rows], self.right[:, cols]).clamp_(0, 1)
        return 1 - p if complement else p

    def lookup(self, rows: Tensor, cols: Tensor) -> Tensor:
        # In chunks, because rank × pairs would not fit.
        right = self.right.t()
        parts = zip(rows.split(4096), cols.split(4096), strict=True)
        return torch.cat([(self.left[a] * right[b]).sum(dim=1) for a, b in parts]).clamp_(0, 1)

    def subset(self, nodes: Tensor) -> LowRankPairLabels:
        part = copy.copy(self)
        part.left, part.right, part.num_nodes = self.left[nodes], self.right[:, nodes], len(nodes)
        return part

    def compute_labels_within_groups(self, groups: Tensor, *, complement: bool) -> Tensor:
        p = torch.bmm(self.left[groups], self.right.t()[groups].transpose(1, 2)).clamp_(0, 1)
        return 1 - p if complement else p


def _compute_leading_eigenpairs(graph: PairGraph, rank: int) -> tuple[np.ndarray, np.ndarray]:
    import scipy.sparse as sp
    from scipy.sparse.linalg import eigsh

    n = graph.num_nodes
    row, col = graph.row.cpu().numpy(), graph.col.cpu().numpy()
    edge = row != col
    if not edge.any():  # Lanczos has nothing to start from
        return np.zeros((n, rank)), np.zeros(rank)
    adjacency = sp.csr_matrix((np.ones(int(edge.sum())), (row[edge], col[edge])), shape=(n, n))
    if rank >= n - 1:  # Lanczos cannot compute all of them
        values, vectors = np.linalg.eigh(adjacency.toarray())
        order = np.argsort(-np.abs(values), kind="stable")[:rank]
        return vectors[:, order], values[order]
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(adjacency, k=rank, which="LM", v0=start)
    return vectors, values
