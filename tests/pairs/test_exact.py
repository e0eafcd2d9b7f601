"""The tiled losses against a dense float64 reference that is written down straight from the formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from pignn import pairs
from pignn.core.errors import ConfigError, DataError

KINDS = ("structure", *(f"{target}/{source}" for target in pairs.PAIR_TARGETS for source in pairs.PAIR_LABEL_SOURCES))


def graph_of(kind: str, n: int, seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    if kind == "none" or n == 1:
        return torch.empty(2, 0, dtype=torch.int64)
    if kind == "one":
        return torch.tensor([[0], [n - 1]])
    if kind == "complete":
        a, b = np.triu_indices(n, 1)
    else:  # about two edges a node, one way, with isolated nodes, self-loops and duplicates left in
        a, b = rng.integers(0, max(1, 3 * n // 4), (2, 2 * n))
    return torch.as_tensor(np.stack([a, b]))


def dense_loss(h, edge_index, p, target, beta="auto"):
    """p: [N, N], or None for plain connectivity."""
    n = h.shape[0]
    a = torch.zeros(n, n, dtype=torch.bool)
    a[edge_index[0], edge_index[1]] = True
    a = (a | a.t()) & ~torch.eye(n, dtype=torch.bool)
    q = int(a.sum())
    w, c = ((n * n - q) / q, n * n / (2 * (n * n - q))) if q else (0.0, 0.5)
    connected = (a | torch.eye(n, dtype=torch.bool)).to(h.dtype)
    z = h @ h.t()
    if p is None:
        terms = connected * w * F.softplus(-z) + (1 - connected) * F.softplus(z)
    elif target == "masked":
        terms = connected * w * p * F.softplus(-z) + (1 - connected) * (1 - p) * F.softplus(z)
    else:
        terms = (connected * w + 1 - connected) * F.binary_cross_entropy_with_logits(z, p, reduction="none")
    return (c if beta == "auto" else beta) / n**2 * terms.sum()


def dense_labels(source, h, h_e, y, edge_index, graph, dtype):
    n = h.shape[0]
    whole = slice(0, n)
    a = torch.zeros(n, n, dtype=torch.bool)
    a[edge_index[0], edge_index[1]] = True
    a = a | a.t() | torch.eye(n, dtype=torch.bool)
    if source == "estimated":
        return pairs.EstimatedPairLabels(h_e), torch.sigmoid(h_e @ h_e.t())
    if source == "self":
        return pairs.EstimatedPairLabels(h), torch.sigmoid(h.detach() @ h.detach().t())
    if source == "connectivity":
        return None, None
    if source == "random":
        labels = pairs.RandomPairLabels(n, seed=3, dtype=dtype)
        return labels, labels.compute_block(whole, whole, complement=False)
    if source in ("given", "true"):
        y = y if source == "given" else y.clamp(min=0)
        missing = (y[:, None] < 0) | (y[None, :] < 0)
        return pairs.AgreementPairLabels(y, dtype=dtype), torch.where(missing, a, y[:, None] == y[None, :]).to(dtype)
    adjacency = (a & ~torch.eye(n, dtype=torch.bool)).double()
    values, vectors = torch.linalg.eigh(adjacency)
    keep = torch.argsort(values.abs(), descending=True)[:n]
    full = (vectors[:, keep] * values[keep]) @ vectors[:, keep].t()
    return pairs.LowRankPairLabels(graph, rank=n, dtype=dtype), full.clamp(0, 1).to(dtype)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([1, 2, 3, 7, 8, 9, 16, 29]),
    d=st.integers(1, 5),
    edges=st.sampled_from(["none", "one", "complete", "random"]),
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([0.1, 1.0, 4.0]),
    beta=st.sampled_from(["auto", 0.3]),
)
def test_loss_and_gradient_equal_the_dense_reference(kind, n, d, edges, seed, scale, beta):
    generator = torch.Generator().manual_seed(seed)
    h64 = scale * torch.randn(n, d, generator=generator, dtype=torch.float64)
    e64 = torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = torch.randint(-1, 3, (n,), generator=generator)
    edge_index = graph_of(edges, n, seed)
    for dtype, tolerance in ((torch.float64, 1e-6), (torch.float32, 1e-4)):
        graph = pairs.PairGraph(edge_index, n)
        graph.max_tile_size = 4  # so that N is and is not a multiple of the tile
        # Both sides start from the same rounded numbers, so that only the computation differs.
        h_e = e64.to(dtype)
        ours = h64.clone().to(dtype).requires_grad_()
        exact = ours.detach().double().requires_grad_()
        if kind == "structure":
            loss = pairs.structure_loss(ours, graph, beta=beta)
            expected = dense_loss(exact, edge_index, None, "masked", beta)
        else:
            target, source = kind.split("/")
            labels, _ = dense_labels(source, ours, h_e, y, edge_index, graph, dtype)
            _, p = dense_labels(source, exact, h_e.double(), y, edge_index, graph, torch.float64)
            if labels is None:
                loss = pairs.structure_loss(ours, graph, beta=beta)
            else:
                loss = pairs.regularizer(ours, labels, graph, target=target, beta=beta)
            expected = dense_loss(exact, edge_index, p, target, beta)
        loss.backward()
        expected.backward()
        assert loss.dtype == dtype
        # A pair label is known to the last digit of its type only, and `soft` multiplies it by z.
        digit = torch.finfo(dtype).eps * (exact @ exact.t()).abs().max().item() if kind.startswith("soft") else 0
        known = digit * (graph.c if beta == "auto" else beta) * max(1.0, graph.w)
        assert abs(loss.item() - expected.item()) <= tolerance * abs(expected.item()) + known + 1e-12
        # Where all pairs are saturated, or terms cancel, the gradient is below the rounding of its own terms,
        # which lie in [−1, 1] before they are weighed.
        weight = 8 * (graph.c if beta == "auto" else beta) * max(1.0, graph.w) / n
        rounding = torch.finfo(dtype).eps * weight * h64.abs().max().item()
        size = exact.grad.abs().max().item()
        assert (ours.grad.double() - exact.grad).abs().max().item() <= tolerance * size + rounding


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("size", [0.01, 0.5, 3.0, 4.0, 12.0])
@pytest.mark.parametrize("kind", ["structure", *pairs.PAIR_TARGETS])
def test_value_where_all_terms_are_tiny_and_where_exponentials_overflow(kind, size, alike):
    """Two cliques that point opposite ways, z = ±size² and next to nothing left to lose; or the same way, all wrong."""
    n = 60
    side = torch.arange(n) % 2
    edge_index = (side[:, None] == side[None, :]).nonzero().t()
    sign = torch.ones(n, dtype=torch.float64) if alike else 1 - 2 * side.double()
    h = size * sign[:, None] * (1 + 0.01 * torch.rand(n, 1, dtype=torch.float64))
    h_e = -2.0 * torch.ones(n, 1, dtype=torch.float64)  # p ≈ 0.98: wrong for half of the pairs
    for dtype, tolerance in ((torch.float64, 1e-6), (torch.float32, 1e-4)):
        mine, labels = h.to(dtype), h_e.to(dtype)
        p = None if kind == "structure" else torch.sigmoid(labels.double() @ labels.double().t())
        expected = dense_loss(mine.double(), edge_index, p, kind).item()
        if p is None:
            losses = [
                pairs.structure_loss(mine, edge_index),
                pairs.compute_structure_loss_and_regularizer(mine, labels, edge_index)[0],
            ]
        else:
            together = pairs.compute_structure_loss_and_regularizer(labels, mine, edge_index, target=kind)[1]
            losses = [pairs.regularizer(mine, labels, edge_index, target=kind), together]
        for loss in losses:
            assert abs(loss.item() - expected) <= tolerance * expected + torch.finfo(dtype).tiny


@pytest.mark.parametrize("z_e", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("z", [0.0, 0.1, 1.7, 10.0, 30.0, 50.0])
@pytest.mark.parametrize("target", pairs.PAIR_TARGETS.list_names())
def test_value_where_all_nodes_are_alike(target, z, z_e):
    """A sum of one number over and over is where rounding adds up."""
    n = 1300
    h_e, h = (torch.full((n, 16), (product / 16) ** 0.5) for product in (z_e, z))
    graph = pairs.PairGraph(torch.tensor([[0, 5], [1, 1299]]), n)
    expected = pairs.compute_structure_loss_and_regularizer(h_e.double(), h.double(), graph, target=target)
    found = pairs.compute_structure_loss_and_regularizer(h_e, h, graph, target=target)
    alone = pairs.structure_loss(h_e, graph), pairs.regularizer(h, h_e, graph, target=target)
    for loss, other, exact in zip(found, alone, expected, strict=True):
        assert abs(loss.item() - exact.item()) <= 1e-4 * exact.item()
        assert abs(other.item() - exact.item()) <= 1e-4 * exact.item()


def test_a_nan_embedding_gives_a_nan_loss():
    h = torch.randn(20, 3)
    h[3, 1] = float("nan")
    assert torch.isnan(pairs.structure_loss(h, graph_of("random", 20, 0)))


def test_all_pairs_softplus_equals_the_dense_sum():
    h = torch.randn(700, 6, dtype=torch.float64, requires_grad=True)
    twin = h.detach().clone().requires_grad_()
    pairs.all_pairs_softplus(h).backward()
    F.softplus(twin @ twin.t()).sum().backward()
    torch.testing.assert_close(h.grad, twin.grad)
    torch.testing.assert_close(pairs.all_pairs_softplus(h.detach()), F.softplus(twin @ twin.t()).sum().detach())


@pytest.mark.parametrize("h", [torch.zeros(0, 3), torch.zeros(3), torch.zeros(3, 2, dtype=torch.int64)], ids=str)
def test_invalid_embeddings_are_refused(h):
    with pytest.raises(DataError):
        pairs.all_pairs_softplus(h)


def test_arrays_in_place_of_tensors_are_refused():
    edges = torch.tensor([[0], [1]])
    with pytest.raises(DataError, match="embeddings must be a tensor, not ndarray"):
        pairs.structure_loss(np.ones((3, 2)), edges)
    with pytest.raises(DataError, match="edge_index must be a tensor, not list"):
        pairs.PairGraph(edges.tolist(), 3)


@pytest.mark.parametrize(
    "labels",
    [torch.zeros(4, 2), pairs.RandomPairLabels(9, 0), pairs.AgreementPairLabels(torch.zeros(2, dtype=torch.int64))],
    ids=type,
)
def test_pair_labels_of_other_nodes_are_refused(labels):
    with pytest.raises(DataError, match=r"3 embeddings, and pair labels of [249] nodes"):
        pairs.regularizer(torch.ones(3, 2), labels, torch.tensor([[0], [1]]))


@pytest.mark.parametrize("beta", [np.float32(0.5), np.int64(1)])
def test_beta_may_be_a_numpy_number(beta):
    h, edges = torch.ones(3, 2), torch.tensor([[0], [1]])
    assert pairs.structure_loss(h, edges, beta=beta) == pairs.structure_loss(h, edges, beta=float(beta))


@pytest.mark.parametrize("seed", [np.int32(1), np.int64(2**40 + 1)])
def test_the_seed_of_random_pair_labels_may_be_a_numpy_number(seed):
    i, j = torch.arange(9), torch.arange(9).flip(0)
    assert torch.equal(pairs.RandomPairLabels(9, seed).lookup(i, j), pairs.RandomPairLabels(9, int(seed)).lookup(i, j))


def test_the_gradient_is_right_without_the_value():
    h = torch.randn(50, 4, requires_grad=True)
    edges = graph_of("random", 50, 0)
    with_value = torch.autograd.grad(pairs.structure_loss(h, edges), h)[0]
    loss = pairs.structure_loss(h, edges, needs_value=False)
    assert torch.isnan(loss)
    torch.testing.assert_close(torch.autograd.grad(3 * loss, h)[0], 3 * with_value)


def test_structure_loss_is_half_of_the_two_means():
    """S(H) = ½[(Q+N)/Q · E_{B⁺} + (N²−Q−N)/(N²−Q) · E_{B⁻}]: the paper's λ is 1 up to the self-pairs."""
    h, edges = torch.randn(30, 4, dtype=torch.float64), graph_of("random", 30, 1)
    graph = pairs.PairGraph(edges, 30)
    n, q = 30, graph.num_edges
    connected = torch.zeros(n, n, dtype=torch.bool)
    connected[graph.row, graph.col] = True
    z = h @ h.t()
    plus, minus = F.softplus(-z[connected]).mean(), F.softplus(z[~connected]).mean()
    expected = ((q + n) / q * plus + (n * n - q - n) / (n * n - q) * minus) / 2
    torch.testing.assert_close(pairs.structure_loss(h, graph), expected)


def test_soft_connectivity_is_the_structure_loss():
    """With p = 1 on connected pairs and 0 elsewhere the three losses are one; all labels missing gives just that p."""
    h, edges = torch.randn(30, 4), graph_of("random", 30, 2)
    nothing = pairs.AgreementPairLabels(torch.full((30,), -1))
    plain = pairs.structure_loss(h, edges)
    for target in pairs.PAIR_TARGETS:
        torch.testing.assert_close(pairs.regularizer(h, nothing, edges, target=target), plain)


def test_estimator_embeddings_may_be_given_as_a_tensor_and_get_no_gradient():
    h, h_e = torch.randn(20, 3, requires_grad=True), torch.randn(20, 5, requires_grad=True)
    loss = pairs.regularizer(h, h_e, graph_of("random", 20, 3), target="soft")
    loss.backward()
    assert h.grad is not None
    assert h_e.grad is None


@pytest.mark.parametrize("target", pairs.PAIR_TARGETS.list_names())
def test_labels_may_be_less_exact_than_embeddings(target):
    h, h_e = torch.randn(30, 3, dtype=torch.float64), torch.randn(30, 4)
    edges = graph_of("random", 30, 0)
    exact = pairs.regularizer(h, h_e.double(), edges, target=target)
    torch.testing.assert_close(
        pairs.regularizer(h, pairs.EstimatedPairLabels(h_e), edges, target=target), exact, rtol=1e-6, atol=0
    )


def test_random_labels_are_symmetric_uniform_and_depend_on_the_seed():
    labels, whole = pairs.RandomPairLabels(400, seed=1), slice(0, 400)
    p = labels.compute_block(whole, whole, complement=False)
    assert torch.equal(p, p.t())
    assert torch.equal(p[:128, 256:], labels.compute_block(slice(0, 128), slice(256, 400), complement=False))
    assert 0 <= p.min() < 0.01
    assert 0.99 < p.max() < 1
    assert abs(p.mean() - 0.5) < 0.01
    assert abs(p.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(p[0].numpy(), p[1].numpy())[0, 1]) < 0.2
    assert not torch.equal(p, pairs.RandomPairLabels(400, seed=2).compute_block(whole, whole, complement=False))


def test_low_rank_by_lanczos_equals_the_full_decomposition():
    graph = pairs.PairGraph(graph_of("random", 40, 4), 40)
    adjacency = torch.zeros(40, 40, dtype=torch.float64)
    adjacency[graph.row, graph.col] = 1
    adjacency.fill_diagonal_(0)
    u, s, v = torch.linalg.svd(adjacency)
    expected = ((u[:, :5] * s[:5]) @ v[:5]).clamp(0, 1)
    labels = pairs.LowRankPairLabels(graph, rank=5, dtype=torch.float64)
    torch.testing.assert_close(labels.compute_block(slice(0, 40), slice(0, 40), complement=False), expected)
    torch.testing.assert_close(labels.lookup_connected(graph), expected[graph.row, graph.col])


def test_wrong_settings_are_one_line():
    h, edges = torch.randn(5, 2), graph_of("one", 5, 0)
    with pytest.raises(ConfigError, match="unknown target 'sof'; did you mean 'soft'"):
        pairs.regularizer(h, h, edges, target="sof")
    with pytest.raises(ConfigError, match="beta must be 'auto' or a number"):
        pairs.structure_loss(h, edges, beta="automatic")


def test_gradients_pass_gradcheck_on_a_prepared_graph():
    graph = pairs.PairGraph(graph_of("random", 12, 0), 12)
    h = torch.randn(12, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: pairs.structure_loss(x, graph), h)
    other = torch.randn(12, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: pairs.regularizer(x, other, graph, target="soft"), h)


@pytest.mark.parametrize(
    ("edge_index", "message"),
    [
        (torch.tensor([[0, 1], [1, 7]]), "holds nodes 0 to 7, and there are 5"),
        (torch.tensor([[0, -1], [1, 2]]), "holds nodes -1 to 2"),
        (torch.tensor([[0, 1], [1, 2], [2, 3]]), r"shape \[2, edges\]"),
        (torch.tensor([[0.0], [1.0]]), "must be integers"),
    ],
)
def test_invalid_edges_are_refused_in_one_line(edge_index, message):
    with pytest.raises(DataError, match=message):
        pairs.PairGraph(edge_index, 5)


def test_embeddings_and_samples_must_fit_the_graph():
    graph = pairs.PairGraph(graph_of("random", 12, 0), 12)
    with pytest.raises(DataError, match="12 nodes and the embeddings 9 rows"):
        pairs.structure_loss(torch.randn(9, 2), graph)
    with pytest.raises(DataError, match="float32 or float64"):
        pairs.structure_loss(torch.randn(12, 2).half(), graph)
    with pytest.raises(DataError, match="the sample is of 9 nodes"):
        pairs.structure_loss(torch.randn(12, 2), graph, sample=pairs.PairSample(9, 2))
    with pytest.raises(ConfigError, match="goes with sample"):
        pairs.structure_loss(torch.randn(12, 2), graph.copy_with_sampled_edges(0.5))
    with pytest.raises(ConfigError, match="num_negatives must be at least 1"):
        pairs.PairSample(9, 0)


@settings(max_examples=60, deadline=None)
@given(
    target=st.sampled_from(["masked", "soft"]),
    n=st.integers(1, 19),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    edges=st.sampled_from(["none", "one", "complete", "random"]),
    seed=st.integers(0, 2**16),
    beta=st.sampled_from(["auto", 0.3]),
)
def test_both_losses_in_one_pass_have_the_gradients_of_each(target, n, widths, edges, seed, beta):
    generator = torch.Generator().manual_seed(seed)
    h_e, h = (2 * torch.randn(n, d, generator=generator, dtype=torch.float64) for d in widths)
    graph = pairs.PairGraph(graph_of(edges, n, seed), n)
    graph.max_tile_size = 4
    found = []
    for needs_value, together in ((True, False), (True, True), (False, True)):
        mine = h_e.clone().requires_grad_(), h.clone().requires_grad_()
        if together:
            losses = pairs.compute_structure_loss_and_regularizer(
                *mine, graph, target=target, beta=beta, needs_value=needs_value
            )
        else:
            losses = (
                pairs.structure_loss(mine[0], graph),
                pairs.regularizer(mine[1], h_e, graph, target=target, beta=beta),
            )
        (3 * losses[0] + losses[1]).backward()
        found.append([*(each.grad for each in mine), *losses])
    separate, valued, bare = found
    torch.testing.assert_close(valued, separate, rtol=1e-9, atol=1e-12)
    assert all(torch.equal(one, other) for one, other in zip(valued[:2], bare[:2], strict=True))
    assert all(loss.isnan() for loss in bare[2:])


@pytest.mark.parametrize("norm", [0.5, 4.9, 5.1, 10.0, 20.0])
@pytest.mark.parametrize("turned", [False, True])
def test_both_losses_where_all_pair_labels_are_sure(norm, turned):
    """All nodes alike, or two sorts of them, so that hardly a slope is left."""
    n = 641
    h64 = torch.full((n, 4), (norm / 4) ** 0.5, dtype=torch.float64)
    h64[: n // 2] *= -1 if turned else 1
    graph = pairs.PairGraph(graph_of("random", n, 0), n)
    found = []
    for dtype in (torch.float32, torch.float64):
        mine = [h64.to(dtype).clone().requires_grad_() for _ in range(2)]
        if dtype == torch.float32:
            losses = pairs.compute_structure_loss_and_regularizer(*mine, graph)
        else:
            losses = pairs.structure_loss(mine[0], graph), pairs.regularizer(mine[1], mine[0], graph)
        sum(losses).backward()
        found.append([*losses, *(each.grad for each in mine)])
    for one, other in zip(*found, strict=True):
        assert (one - other).norm() <= 1e-4 * other.norm()


def test_low_rank_labels_of_a_graph_without_edges_are_zero():
    labels = pairs.LowRankPairLabels(pairs.PairGraph(torch.empty(2, 0, dtype=torch.int64), 50), 5)
    assert not labels.compute_block(slice(0, 50), slice(0, 50), complement=False).any()


def test_both_losses_refuse_wrong_targets_shapes_and_dtypes():
    edge_index = torch.tensor([[0], [1]])
    with pytest.raises(ConfigError, match="target"):
        pairs.compute_structure_loss_and_regularizer(
            torch.ones(3, 2), torch.ones(3, 2), edge_index, target="hard", needs_value=False
        )
    with pytest.raises(DataError, match="3 nodes and the embeddings 4 rows"):
        pairs.compute_structure_loss_and_regularizer(torch.ones(4, 2), torch.ones(3, 2), edge_index, needs_value=False)
    with pytest.raises(DataError, match="one kind of numbers"):
        pairs.compute_structure_loss_and_regularizer(torch.ones(3, 2), torch.ones(3, 2).double(), edge_index)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_losses_are_the_same_with_any_number_of_threads(threads):
    draw = torch.Generator().manual_seed(0)
    h, h_e = (torch.randn(20, 3, dtype=torch.float64, generator=draw).requires_grad_() for _ in range(2))
    graph = pairs.PairGraph(torch.randint(0, 20, (2, 30), generator=draw), 20)
    graph.max_tile_size = 6  # halves and thirds are whole, quarters are not
    expected = []
    before = torch.get_num_threads()
    for count in (1, threads):
        torch.set_num_threads(count)
        try:
            losses = (*pairs.compute_structure_loss_and_regularizer(h_e, h, graph), pairs.structure_loss(h, graph))
            expected.append((*losses, *torch.autograd.grad(sum(losses), (h, h_e))))
        finally:
            torch.set_num_threads(before)
    for one, other in zip(*expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
