"""Constant sparse matrices: the sparsity pattern of a graph, and products that cache the transpose."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

INT32_MAX = 2**31 - 1
CHUNK_ENTRIES = 2**21  # entries that are held at once where a matrix is built in chunks
MIN_WIDTH = 8  # torch's sampled product takes several times as long for narrower rows


@cache
def _trigger_and_swallow_beta_warning() -> None:
    """torch warns once per process that CSR tensors are in beta. The warning is triggered and dropped here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)


def build_csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor, without torch's beta warning and without its costly check of the indices."""
    _trigger_and_swallow_beta_warning()
    return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


class SparsityPattern:
    """Where a sparse matrix has entries, row by row. Indices are 32-bit wherever that suffices."""

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        self.crow, self.col, self.shape = crow, col, shape
        self._zeros: Tensor | None = None  # values that a sampled product multiplies by 0

    @classmethod
    def from_row_sorted(cls, row: Tensor, col: Tensor, shape: tuple[int, int]) -> SparsityPattern:
        """A pattern from coordinates that are sorted by row."""
        crow = torch.zeros(shape[0] + 1, dtype=torch.int64, device=row.device)
        torch.cumsum(torch.bincount(row, minlength=shape[0]), 0, out=crow[1:])
        index = torch.int32 if max(row.numel(), *shape) <= INT32_MAX else torch.int64
        return cls(crow.to(index), col.to(index), shape)

    @property
    def num_entries(self) -> int:
        return self.col.numel()

    @property
    def entries_per_row(self) -> Tensor:
        """Entries in each row."""
        return self.crow.diff().long()

    @cached_property
    def row(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.col.device), self.entries_per_row)

    def to_csr(self, values: Tensor) -> Tensor:
        return build_csr(self.crow, self.col, values, self.shape)

    def iter_row_and_entry_slices_with_patterns(self) -> Iterator[tuple[slice, slice, SparsityPattern]]:
        """Rows, entries and pattern of consecutive rows with at most CHUNK_ENTRIES entries (or of a single row)."""
        stop, end = 0, int(self.crow[-1])
        while stop < self.shape[0]:
            start, first = stop, int(self.crow[stop])
            limit = torch.tensor(min(first + CHUNK_ENTRIES, end), dtype=self.crow.dtype, device=self.crow.device)
            stop = max(int(torch.searchsorted(self.crow, limit, right=True)) - 1, start + 1)
            entries = slice(first, int(self.crow[stop]))
            crow = self.crow[start : stop + 1] - first
            yield slice(start, stop), entries, SparsityPattern(crow, self.col[entries], (stop - start, self.shape[1]))

    @cached_property
    def transpose_and_entry_order(self) -> tuple[SparsityPattern, Tensor]:
        """The pattern of the transpose, and the position here of each of its values."""
        order = torch.argsort(self.col, stable=True)
        return SparsityPattern.from_row_sorted(self.col[order].long(), self.row[order], self.shape[::-1]), order

    def repeat_for_entries(self, row_values: Tensor) -> Tensor:
        """Values per row [rows, ...] repeated for every entry of the row [entries, ...]."""
        return torch.repeat_interleave(row_values, self.entries_per_row, dim=0, output_size=self.num_entries)

    def compute_dot_products_at_entries(self, a: Tensor, b: Tensor) -> Tensor:
        """a_i·b_j at every entry (i, j), without gathering rows."""
        missing = MIN_WIDTH - a.shape[1]
        if missing > 0:
            a, b = torch.nn.functional.pad(a, (0, missing)), torch.nn.functional.pad(b, (0, missing))
        if self._zeros is None or self._zeros.dtype != a.dtype:
            self._zeros = torch.zeros(self.num_entries, dtype=a.dtype, device=a.device)
        return torch.sparse.sampled_addmm(self.to_csr(self._zeros), a, b.t(), beta=0.0).values()


class Operator:
    """A constant sparse matrix M, perhaps with a separate diagonal, and ``M @ x`` differentiable in ``x``.

    Autograd's own product transposes M at every backward pass; here it is built once.
    """

    def __init__(self, matrix: Tensor, transpose: Tensor, diagonal: Tensor | None = None) -> None:
        self.matrix = matrix
        self.transpose = transpose
        self.diagonal = None if diagonal is None else diagonal[:, None]

    @classmethod
    def from_values(cls, pattern: SparsityPattern, values: Tensor, diagonal: Tensor | None = None) -> Operator:
        """An operator from the values at the entries of a pattern."""
        transposed, order = pattern.transpose_and_entry_order
        return cls(pattern.to_csr(values), transposed.to_csr(values[order]), diagonal)

    @property
    def shape(self) -> torch.Size:
        return self.matrix.shape

    def __matmul__(self, x: Tensor) -> Tensor:
        return _OperatorProduct.apply(x, self)


class WeightedOperator:
    """A sparse matrix whose values are learned, perhaps with a diagonal: ``M @ x`` is differentiable in all three."""

    def __init__(self, pattern: SparsityPattern, values: Tensor, diagonal: Tensor | None = None) -> None:
        self.pattern, self.values = pattern, values
        self.diagonal = None if diagonal is None else diagonal[:, None]

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.pattern.shape)

    def __matmul__(self, x: Tensor) -> Tensor:
        result = weighted_spmm(self.pattern, self.values, x.contiguous())
        return result if self.diagonal is None else result + self.diagonal * x


class ChunkedOperator:
    """The same product with a matrix that is built some rows at a time and never held. For inference only."""

    def __init__(
        self,
        pattern: SparsityPattern,
        values: Callable[[SparsityPattern, slice, slice], Tensor],
        diagonal: Tensor | None = None,
    ) -> None:
        self.pattern, self.values = pattern, values
        self.diagonal = None if diagonal is None else diagonal[:, None]

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.pattern.shape)

    @torch.no_grad()
    def __matmul__(self, x: Tensor) -> Tensor:
        result = x.new_empty(self.pattern.shape[0], x.shape[1])
        for rows, entries, chunk in self.pattern.iter_row_and_entry_slices_with_patterns():
            result[rows] = spmm(chunk.to_csr(self.values(chunk, rows, entries)), x)
        return result if self.diagonal is None else result.addcmul_(self.diagonal, x)


class SparseFeatures:
    """Features that are mostly zeros, as a sparse matrix to multiply weights with."""

    def __init__(self, pattern: SparsityPattern, values: Tensor) -> None:
        self.pattern, self.values = pattern, values
        self.operator = Operator.from_values(pattern, values)

    @classmethod
    def from_dense(cls, x: Tensor) -> SparseFeatures:
        row, col = x.nonzero(as_tuple=True)
        return cls(SparsityPattern.from_row_sorted(row, col, (x.shape[0], x.shape[1])), x[row, col])

    def dropout(self, p: float, training: bool) -> SparseFeatures:
        """Dropout as on the dense features, where zeros stay zeros."""
        if not training or p == 0:
            return self
        return SparseFeatures(self.pattern, torch.nn.functional.dropout(self.values, p))

    def __matmul__(self, weight: Tensor) -> Tensor:
        return self.operator @ weight


class _OperatorProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Operator) -> Tensor:
        ctx.operator = operator
        return _multiply_and_add_diagonal(operator.matrix, operator.diagonal, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        operator = ctx.operator
        return _multiply_and_add_diagonal(operator.transpose, operator.diagonal, grad.contiguous()), None


def spmm(matrix: Tensor, x: Tensor) -> Tensor:
    """M·x of a CSR matrix.

    Sums of embeddings are the same product. Their kernel fetches rows of ``x`` before it needs them, so it is 1.1 to 6
    times as fast as that of sparse matrices, in single precision. Elsewhere: ``matrix @ x`` would first write zeros.
    """
    needs_gradient = torch.is_grad_enabled() and (x.requires_grad or matrix.requires_grad)
    if x.device.type != "cpu" or x.dtype != torch.float32 or needs_gradient or not matrix.values().numel():
        return torch.addmm(x.new_zeros(1), matrix, x, beta=0)
    crow, col = _match_index_dtypes(matrix.crow_indices(), matrix.col_indices())
    return _sum_rows(x, crow, col, matrix.values())


def multiply_by_pattern(pattern: SparsityPattern, x: Tensor) -> Tensor:
    """A·x, where A is 1 at every entry of a pattern: no value of it is stored. For inference only."""
    crow, col = _match_index_dtypes(pattern.crow, pattern.col)
    return _sum_rows(x, crow, col, None)


def _sum_rows(x: Tensor, crow: Tensor, col: Tensor, weights: Tensor | None) -> Tensor:
    """The kernel is for rows that lie side by side in memory; for others, another one is tens of times as slow."""
    x = x.contiguous()
    return torch.embedding_bag(x, col, crow, mode=0, per_sample_weights=weights, include_last_offset=True)[0]


def _match_index_dtypes(crow: Tensor, col: Tensor) -> tuple[Tensor, Tensor]:
    """Both as the columns are, which may be narrower, if all entries can be counted so."""
    return (crow.to(col.dtype), col) if col.numel() <= INT32_MAX else (crow.long(), col.long())


def _multiply_and_add_diagonal(matrix: Tensor, diagonal: Tensor | None, x: Tensor) -> Tensor:
    result = spmm(matrix, x)
    return result if diagonal is None else result.addcmul_(diagonal, x)


def weighted_spmm(pattern: SparsityPattern, values: Tensor, x: Tensor) -> Tensor:
    """Σ_j values_ij · x_j, differentiable in both, without gathering rows of ``x``."""
    return _WeightedSpmm.apply(values, x, pattern)


class _WeightedSpmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, x: Tensor, pattern: SparsityPattern) -> Tensor:
        ctx.save_for_backward(values, x)
        ctx.pattern = pattern
        return spmm(pattern.to_csr(values), x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        values, x = ctx.saved_tensors
        transposed, order = ctx.pattern.transpose_and_entry_order
        grad = grad.contiguous()
        return ctx.pattern.compute_dot_products_at_entries(grad, x), spmm(transposed.to_csr(values[order]), grad), None


def dot_products(pattern: SparsityPattern, h: Tensor) -> Tensor:
    """h_i·h_j at every entry (i, j) of a square pattern, differentiable, without gathering rows of ``h``."""
    return _DotProducts.apply(h, pattern)


class _DotProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, pattern: SparsityPattern) -> Tensor:
        ctx.save_for_backward(h)
        ctx.pattern = pattern
        return pattern.compute_dot_products_at_entries(h, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (h,) = ctx.saved_tensors
        transposed, order = ctx.pattern.transpose_and_entry_order
        grad = grad.contiguous()
        return spmm(ctx.pattern.to_csr(grad), h) + spmm(transposed.to_csr(grad[order]), h), None


def row_softmax(pattern: SparsityPattern, logits: Tensor) -> Tensor:
    """Softmax over the entries of each row, for every column of ``logits`` [entries, columns]."""
    return _RowSoftmax.apply(logits, pattern)


class _RowSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, pattern: SparsityPattern) -> Tensor:
        counts = pattern.entries_per_row
        row_max = torch.segment_reduce(logits, "max", lengths=counts, axis=0)
        result = (logits - pattern.repeat_for_entries(row_max)).exp_()
        result /= pattern.repeat_for_entries(torch.segment_reduce(result, "sum", lengths=counts, axis=0))
        ctx.save_for_backward(result)
        ctx.pattern = pattern
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (result,) = ctx.saved_tensors
        weighted_grad = result * grad
        total = torch.segment_reduce(weighted_grad, "sum", lengths=ctx.pattern.entries_per_row, axis=0)
        return weighted_grad - result * ctx.pattern.repeat_for_entries(total), None
