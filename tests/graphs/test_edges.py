import numpy as np
import pytest
import torch

from pignn.graphs import simplify_edges


def dense(edge_index, n, weight=None):
    out = torch.zeros(n, n, dtype=torch.float64)
    for k, (a, b) in enumerate(edge_index.t().tolist()):
        out[a, b] += 1.0 if weight is None else float(weight[k])
    return out


def test_clean_graph_is_unchanged_and_says_nothing():
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    out = simplify_edges(edge_index, 4)
    assert torch.equal(out.edge_index, edge_index)
    assert out.edge_weight is None
    assert out.notes == []


def test_notes_count_what_happened():
    #                         loop loop loop dup dup      one-way
    edge_index = torch.tensor([[0, 1, 2, 0, 0, 0, 1, 3], [0, 1, 2, 1, 1, 1, 0, 2]])
    out = simplify_edges(edge_index, 4)
    assert out.notes == ["dropped 3 self-loops", "merged 2 duplicate edges", "made 1 one-way edge two-way"]
    assert out.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]


def test_directed_keeps_direction():
    out = simplify_edges(torch.tensor([[2, 0, 0, 1], [1, 1, 1, 1]]), 3, directed=True)
    assert out.edge_index.tolist() == [[0, 2], [1, 1]]
    assert out.notes == ["dropped 1 self-loop", "merged 1 duplicate edge"]


def test_weights_sum_over_duplicates_and_take_the_larger_way():
    edge_index = torch.tensor([[0, 0, 1, 1, 2], [1, 1, 0, 2, 2]])
    weight = torch.tensor([1.0, 2.0, 5.0, 0.5, 9.0])
    out = simplify_edges(edge_index, 3, weight)
    assert out.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert out.edge_weight.tolist() == [5.0, 5.0, 0.5, 0.5]


def test_both_ways_with_different_weights_says_so():
    out = simplify_edges(torch.tensor([[0, 1], [1, 0]]), 2, torch.tensor([1.0, 3.0]))
    assert out.edge_weight.tolist() == [3.0, 3.0]
    assert out.notes == ["took the larger weight of 1 edge whose two directions differ"]


def test_different_weights_are_said_beside_one_way_edges():
    out = simplify_edges(torch.tensor([[0, 1, 1], [1, 0, 2]]), 3, torch.tensor([1.0, 5.0, 2.0]))
    assert out.edge_weight.tolist() == [5.0, 5.0, 2.0, 2.0]
    assert out.notes == [
        "took the larger weight of 1 edge whose two directions differ",
        "made 1 one-way edge two-way",
    ]


def test_symmetric_weighted_graph_is_unchanged():
    edge_index = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    weight = torch.tensor([0.3, 0.7, 0.3, 0.7])
    out = simplify_edges(edge_index, 3, weight)
    assert torch.equal(out.edge_index, edge_index)
    assert torch.equal(out.edge_weight, weight)
    assert out.notes == []


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_equals_dense_reference(seed, weighted, directed):
    generator = torch.Generator().manual_seed(seed)
    n, e = 7, 40
    edge_index = torch.randint(n, (2, e), generator=generator)
    weight = torch.rand(e, generator=generator) if weighted else None
    before = edge_index.clone()
    out = simplify_edges(edge_index, n, weight, directed=directed)

    expected = dense(edge_index, n, weight).fill_diagonal_(0)
    if not weighted:
        expected = (expected > 0).double()
    if not directed:
        expected = torch.maximum(expected, expected.t())
    torch.testing.assert_close(dense(out.edge_index, n, out.edge_weight), expected, atol=1e-6, rtol=0)
    key = out.edge_index[0] * n + out.edge_index[1]
    assert bool((key[1:] > key[:-1]).all())
    assert torch.equal(edge_index, before)  # the input is left alone


def test_sorted_input_is_not_written_to():
    edge_index = torch.tensor([[0, 2], [1, 0]])
    simplify_edges(edge_index, 3)
    assert edge_index.tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_graph_without_edges_stays_empty(n):
    out = simplify_edges(torch.empty(2, 0, dtype=torch.long), n, torch.empty(0))
    assert out.edge_index.shape == (2, 0)
    assert out.edge_weight.shape == (0,)
    assert out.notes == []


def test_keys_do_not_overflow_32_bits():
    n = 200_000
    out = simplify_edges(torch.tensor([[n - 1], [n - 2]], dtype=torch.int32), n)
    assert np.array_equal(out.edge_index.numpy(), [[n - 2, n - 1], [n - 1, n - 2]])
