"""Random pairs: uniform, and unbiased estimates of the exact loss and gradient."""

from __future__ import annotations

import pytest
import torch

from pignn import pairs

N = 14


@pytest.fixture
def edges():
    return torch.randint(0, N, (2, 20), generator=torch.Generator().manual_seed(5))


def test_pairs_are_uniform_over_distinct_nodes():
    torch.manual_seed(0)
    counts = torch.zeros(6, 6)
    draws = 4000
    for _ in range(draws):
        sample = pairs.PairSample(6, 2)
        counts.index_put_((sample.i, sample.j), torch.ones(12), accumulate=True)
    assert counts.diagonal().sum() == 0
    off = counts[~torch.eye(6, dtype=torch.bool)]
    expected = draws * 12 / 30
    assert (off - expected).abs().max() < 6 * (2 * expected) ** 0.5  # pairs of one draw come in circles


def test_products_and_spread_are_those_of_the_pairs():
    sample, h = pairs.PairSample(N, 3), torch.randn(N, 4, dtype=torch.float64)
    torch.testing.assert_close(sample.products(h), (h[sample.i] * h[sample.j]).sum(1))
    values = torch.randn(3 * N, dtype=torch.float64)
    expected = torch.zeros_like(h)
    expected.index_add_(0, sample.i, values[:, None] * h[sample.j]).index_add_(
        0, sample.j, values[:, None] * h[sample.i]
    )
    torch.testing.assert_close(sample.spread(values, h), expected / 2)


def test_products_are_remembered_until_the_embeddings_change():
    sample, h = pairs.PairSample(N, 3), torch.randn(N, 4)
    assert sample.products(h) is sample.products(h.detach())
    before = sample.products(h).clone()
    h.mul_(2)
    torch.testing.assert_close(sample.products(h), 4 * before)


@pytest.mark.parametrize("source", ["structure", "estimated", "random", "given", "low-rank"])
@pytest.mark.parametrize("target", pairs.TARGETS)
def test_loss_and_gradient_are_unbiased(edges, target, source):
    torch.manual_seed(1)
    h = torch.randn(N, 3, dtype=torch.float64, requires_grad=True)
    graph = pairs.PairGraph(edges, N)
    labels = {
        "structure": None,
        "estimated": pairs.Estimated(torch.randn(N, 3, dtype=torch.float64)),
        "random": pairs.Random(N, 0, dtype=torch.float64),
        "given": pairs.Compared(torch.randint(-1, 3, (N,)), dtype=torch.float64),
        "low-rank": pairs.LowRank(graph, 4, dtype=torch.float64),
    }[source]

    def loss(sample=None):
        if labels is None:
            return pairs.structure_loss(h, graph, sample=sample)
        return pairs.regularizer(h, labels, graph, target=target, sample=sample)

    exact = loss()
    exact_grad = torch.autograd.grad(exact, h)[0]
    values, grads = [], []
    for _ in range(3000):
        value = loss(pairs.PairSample(N, 2))
        values.append(value.detach())
        grads.append(torch.autograd.grad(value, h)[0])
    values, grads = torch.stack(values), torch.stack(grads)
    error = values.std() / len(values) ** 0.5
    assert error < 0.05 * exact
    assert abs(values.mean() - exact) < 4 * error
    errors = grads.std(0) / len(grads) ** 0.5
    assert ((grads.mean(0) - exact_grad).abs() < 5 * errors + 1e-12).all()


def test_one_node_has_no_pairs():
    h = torch.randn(1, 3, requires_grad=True)
    empty = torch.empty(2, 0, dtype=torch.int64)
    loss = pairs.structure_loss(h, empty, sample=pairs.PairSample(1, 5))
    loss.backward()
    assert loss == 0
    assert (h.grad == 0).all()
