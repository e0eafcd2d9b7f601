"""Products of sparse matrices are what dense ones give, whatever the widths of their indices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pignn.graphs import regions
from pignn.graphs.sparse import SparsityPattern, build_csr, multiply_by_pattern, spmm

DENSE = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 3.0, 4.0], [0.0, 0.0, 0.0]])
CROW, COL, VALUES = [0, 1, 1, 4, 4], [1, 0, 1, 2], [2.0, 1.0, 3.0, 4.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("width", [1, 2, 17])
def test_a_product_is_that_of_the_dense_matrix(dtype, index, width):
    x = torch.randn(3, width, dtype=dtype)
    matrix = build_csr(
        torch.tensor(CROW, dtype=index), torch.tensor(COL, dtype=index), torch.tensor(VALUES).to(dtype), (4, 3)
    )
    assert torch.allclose(spmm(matrix, x), DENSE.to(dtype) @ x)
    assert torch.allclose(spmm(matrix, x.T.contiguous().T), DENSE.to(dtype) @ x)


def test_values_that_learn_have_a_gradient():
    values = torch.tensor(VALUES, requires_grad=True)
    matrix = build_csr(torch.tensor(CROW), torch.tensor(COL), values, (4, 3))
    spmm(matrix, torch.ones(3, 2)).sum().backward()
    assert values.grad is not None


def test_a_pattern_multiplies_as_a_matrix_of_ones():
    pattern = SparsityPattern(torch.tensor(CROW), torch.tensor(COL, dtype=torch.int32), (4, 3))  # as a store has them
    x = torch.randn(3, 5)
    assert torch.allclose(multiply_by_pattern(pattern, x), (DENSE > 0).float() @ x)
    nothing = SparsityPattern(torch.zeros(5, dtype=torch.int64), torch.empty(0, dtype=torch.int32), (4, 3))
    assert not multiply_by_pattern(nothing, x).any()


@pytest.mark.parametrize("chunk", [1, 7, 50])
def test_regions_grow_alike_in_pieces_of_any_size(monkeypatch, chunk):
    rng = np.random.default_rng(chunk)
    count = rng.integers(0, 4, 150)
    neighbors, centers = rng.integers(0, 150, count.sum()), rng.permutation(150)[:7]
    whole = regions.grow_regions(count, neighbors, centers)
    monkeypatch.setattr(regions, "CHUNK_ENTRIES", chunk)
    assert (regions.grow_regions(count, neighbors, centers) == whole).all()
    assert (regions.grow_regions(np.zeros(150, dtype=int), neighbors[:0], centers)[centers] == np.arange(7)).all()
