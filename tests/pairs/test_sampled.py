"""Random pairs: uniform, and unbiased estimates of the exact loss and gradient."""

from __future__ import annotations

import pytest
import torch

from pignn import pairs

N = 14


@pytest.fixture
def edges():
    return torch.randint(0, N, (2, 20), generator=torch.Generator().manual_seed(5))


def weights(sample):
    """What each ordered pair counts in a sample; 0 if it is not in it."""
    found = torch.zeros(sample.num_nodes, sample.num_nodes)
    for groups in sample.iter_grouped_node_numbers():
        found[groups[:, :, None], groups[:, None, :]] = sample.weight
    return found.fill_diagonal_(0)


@pytest.mark.parametrize(("n", "num_negatives"), [(6, 2), (7, 2), (8, 2), (5, 4), (5, 9), (2, 1), (9, 1)])
def test_every_pair_of_distinct_nodes_counts_once_in_the_mean(n, num_negatives):
    torch.manual_seed(0)
    draws = torch.stack([weights(pairs.PairSample(n, num_negatives)) for _ in range(3000)])
    error = draws.std(0) / len(draws) ** 0.5
    off = ~torch.eye(n, dtype=torch.bool)
    assert ((draws.mean(0) - 1).abs() < 5 * error + 1e-6)[off].all()
    assert (draws.mean(0)[~off] == 0).all()


def test_every_grouped_node_has_num_negatives_pairs():
    found = weights(pairs.PairSample(1000, 15))
    counts = (found > 0).sum(1)
    assert set(counts.tolist()) == {0, 15}
    assert int((counts == 0).sum()) == 1000 % 16
    assert float(found.sum()) == pytest.approx(1000 * 999)


@pytest.mark.parametrize("source", ["structure", "estimated", "random", "given", "low-rank"])
@pytest.mark.parametrize("target", pairs.PAIR_TARGETS.list_names())
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_loss_and_gradient_are_unbiased(edges, target, source, share):
    torch.manual_seed(1)
    h = torch.randn(N, 3, dtype=torch.float64, requires_grad=True)
    graph = pairs.PairGraph(edges, N)
    labels = {
        "structure": None,
        "estimated": pairs.EstimatedPairLabels(torch.randn(N, 3, dtype=torch.float64)),
        "random": pairs.RandomPairLabels(N, 0, dtype=torch.float64),
        "given": pairs.AgreementPairLabels(torch.randint(-1, 3, (N,)), dtype=torch.float64),
        "low-rank": pairs.LowRankPairLabels(graph, 4, dtype=torch.float64),
    }[source]

    def loss(sample=None):
        part = graph if sample is None or share == 1 else graph.copy_with_sampled_edges(share)
        if labels is None:
            return pairs.structure_loss(h, part, sample=sample)
        return pairs.regularizer(h, labels, part, target=target, sample=sample)

    exact = loss()
    exact_grad = torch.autograd.grad(exact, h)[0]
    values, grads = [], []
    for _ in range(3000):
        value = loss(pairs.PairSample(N, 4))
        values.append(value.detach())
        grads.append(torch.autograd.grad(value, h)[0])
    values, grads = torch.stack(values), torch.stack(grads)
    error = values.std() / len(values) ** 0.5
    assert error < 0.1 * exact
    assert abs(values.mean() - exact) < 4 * error
    errors = grads.std(0) / len(grads) ** 0.5
    assert ((grads.mean(0) - exact_grad).abs() < 5 * errors + 1e-12).all()


@pytest.mark.parametrize("target", ["masked", "soft"])
@pytest.mark.parametrize("drawn", [False, True])
def test_cached_estimates_equal_computed_pair_labels(monkeypatch, edges, target, drawn):
    graph = pairs.PairGraph(edges, N)
    h, h_estimator = torch.randn(N, 3, requires_grad=True), torch.randn(N, 3, requires_grad=True)
    sample = pairs.PairSample(N, 3) if drawn else None

    def loss(labels, sample=sample):
        value = pairs.regularizer(h, labels, graph, target=target, sample=sample)
        return value, torch.autograd.grad(value, h)[0]

    expected = loss(h_estimator)
    estimates = pairs.EstimatedPairLabels(h_estimator)
    pairs.structure_loss(h_estimator, graph, sample=sample, estimates=estimates)
    if drawn:  # of other groups, and of other graphs, it knows nothing
        other = pairs.PairSample(N, 4)
        torch.testing.assert_close(loss(estimates, other), loss(h_estimator, other))
    part = pairs.PairGraph(edges[:, :9], N)
    torch.testing.assert_close(
        estimates.lookup_connected(part), pairs.EstimatedPairLabels(h_estimator).lookup_connected(part)
    )
    monkeypatch.setattr(
        pairs.PairGraph, "compute_connected_products", products := counting(pairs.PairGraph.compute_connected_products)
    )
    torch.testing.assert_close(loss(estimates), expected)
    assert products.calls == 1  # those of h


def counting(function):
    def counted(*arguments):
        counted.calls += 1
        return function(*arguments)

    counted.calls = 0
    return counted


def test_one_node_has_no_pairs():
    h = torch.randn(1, 3, requires_grad=True)
    empty = torch.empty(2, 0, dtype=torch.int64)
    loss = pairs.structure_loss(h, empty, sample=pairs.PairSample(1, 5))
    loss.backward()
    assert loss == 0
    assert (h.grad == 0).all()
