"""The sparse product that the backbones share: a CSR matrix whose transpose is kept for the backward pass."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

INT32_MAX = 2**31 - 1


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor, without torch's beta notice and without its costly check of the indices."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


def csr_from_coo(row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """CSR from coordinates in any order (not merged: equal coordinates stay apart and add up in a product)."""
    order = torch.argsort(row * shape[1] + col)
    counts = torch.bincount(row, minlength=shape[0])
    crow = torch.zeros(shape[0] + 1, dtype=torch.int64, device=row.device)
    torch.cumsum(counts, 0, out=crow[1:])
    # Half the index memory wherever it suffices.
    index = torch.int32 if max(row.numel(), *shape) <= INT32_MAX else torch.int64
    return csr(crow.to(index), col[order].to(index), values[order], shape)


class Operator:
    """A constant sparse matrix ``M`` with ``M @ x`` differentiable in ``x``.

    Autograd's own product transposes ``M`` at every backward pass; here the transpose is made once.
    """

    def __init__(self, matrix: Tensor, transpose: Tensor) -> None:
        self.matrix = matrix
        self.transpose = transpose

    @classmethod
    def from_coo(
        cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int], *, symmetric: bool = False
    ) -> Operator:
        matrix = csr_from_coo(row, col, values, shape)
        if symmetric:
            return cls(matrix, matrix)
        return cls(matrix, csr_from_coo(col, row, values, (shape[1], shape[0])))

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
        return operator.matrix @ x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.operator.transpose @ grad.contiguous(), None
