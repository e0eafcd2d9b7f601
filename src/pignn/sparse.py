"""Sparse matrices that do not change: the pattern of a graph, and products whose transpose is kept."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

INT32_MAX = 2**31 - 1


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor, without torch's beta notice and without its costly check of the indices."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


class Pattern:
    """Where a sparse matrix has entries, row by row. Indices take half the memory wherever that suffices."""

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        self.crow, self.col, self.shape = crow, col, shape

    @classmethod
    def from_sorted(cls, row: Tensor, col: Tensor, shape: tuple[int, int]) -> Pattern:
        """From coordinates that are sorted by row."""
        crow = torch.zeros(shape[0] + 1, dtype=torch.int64, device=row.device)
        torch.cumsum(torch.bincount(row, minlength=shape[0]), 0, out=crow[1:])
        index = torch.int32 if max(row.numel(), *shape) <= INT32_MAX else torch.int64
        return cls(crow.to(index), col.to(index), shape)

    @property
    def size(self) -> int:
        return self.col.numel()

    @property
    def counts(self) -> Tensor:
        """Entries in each row."""
        return self.crow.diff().long()

    @cached_property
    def row(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.col.device), self.counts)

    def matrix(self, values: Tensor) -> Tensor:
        return csr(self.crow, self.col, values, self.shape)

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        """a_i·b_j at every entry (i, j), without gathering rows."""
        zeros = torch.zeros(self.size, dtype=a.dtype, device=a.device)
        return torch.sparse.sampled_addmm(self.matrix(zeros), a, b.t(), beta=0.0).values()


class Operator:
    """A constant sparse matrix M, perhaps with a diagonal apart, and ``M @ x`` differentiable in ``x``.

    Autograd's own product transposes M at every backward pass; here the transpose is made once.
    """

    def __init__(self, matrix: Tensor, transpose: Tensor, diagonal: Tensor | None = None) -> None:
        self.matrix = matrix
        self.transpose = transpose
        self.diagonal = None if diagonal is None else diagonal[:, None]

    @classmethod
    def from_coo(cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Operator:
        """From coordinates in any order."""

        def one_way(a: Tensor, b: Tensor, size: tuple[int, int]) -> Tensor:
            order = torch.argsort(a, stable=True)
            return Pattern.from_sorted(a[order], b[order], size).matrix(values[order])

        return cls(one_way(row, col, shape), one_way(col, row, (shape[1], shape[0])))

    @classmethod
    def from_dense(cls, x: Tensor) -> Operator:
        row, col = x.nonzero(as_tuple=True)
        return cls.from_coo(row, col, x[row, col], (x.shape[0], x.shape[1]))

    @property
    def shape(self) -> torch.Size:
        return self.matrix.shape

    def __matmul__(self, x: Tensor) -> Tensor:
        return _Product.apply(x, self)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Operator) -> Tensor:
        ctx.operator = operator
        return _multiply(operator.matrix, operator.diagonal, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        operator = ctx.operator
        return _multiply(operator.transpose, operator.diagonal, grad.contiguous()), None


def _multiply(matrix: Tensor, diagonal: Tensor | None, x: Tensor) -> Tensor:
    result = matrix @ x
    return result if diagonal is None else result.addcmul_(diagonal, x)
