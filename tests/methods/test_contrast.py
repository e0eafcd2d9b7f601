"""Contrastive methods (CR-GNN, C-GNN), D-GNN and TSS against small cases worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.methods import c_gnn, cr_gnn, d_gnn, tss
from pignn.methods.core import contrast, views
from pignn.methods.core.learner import Step

U = torch.tensor([[1.0, 0.2], [0.3, -1.0], [-0.5, 0.5]])
V = torch.tensor([[0.8, 0.1], [0.5, -0.7], [0.2, 0.9]])


@pytest.fixture
def noisy():
    clean = graphs.csbm(num_nodes=120, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)


def make_inputs(edges, x):
    return backbones.GraphInputs.from_data(Data(x=x, edge_index=torch.tensor(edges).t()))


def cosine(a, b):
    return float(F.cosine_similarity(a, b, dim=0))


@pytest.mark.parametrize("within", [False, True])
def test_infonce_equals_its_formula(within):
    expected = 0.0
    for i in range(3):
        for a, b in ((U, V), (V, U)):
            total = sum(math.exp(cosine(a[i], b[k]) / 0.5) for k in range(3))
            total += sum(math.exp(cosine(a[i], a[k]) / 0.5) for k in range(3) if k != i) if within else 0
            expected -= math.log(math.exp(cosine(a[i], b[i]) / 0.5) / total) / 6
    assert float(contrast.compute_infonce_loss(U, V, 0.5, include_own_view=within)) == pytest.approx(expected, rel=1e-5)
    near = contrast.compute_infonce_loss(U, V, 0.5, positives=V[[1, 2, 0]])
    terms = [
        math.log(sum(math.exp(cosine(U[i], V[k]) / 0.5) for k in range(3))) - cosine(U[i], V[(i + 1) % 3]) / 0.5
        for i in range(3)
    ]
    assert float(near) == pytest.approx(sum(terms) / 3, rel=1e-5)


def test_infonce_is_finite_for_huge_and_zero_rows():
    """A known port takes inner products under exp, which overflow."""
    for scale in (0.0, 1e15):
        u = (U * scale).requires_grad_()
        loss = contrast.compute_infonce_loss(u, V * scale, 0.5, include_own_view=True)
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(u.grad).all()
    assert float(contrast.compute_infonce_loss(U[:1], V[:1], 0.5)) == pytest.approx(0, abs=1e-6)


def test_the_diagonal_alone_is_positive():
    """A known port averages over all pairs as if all were positive: then equal views would not be best."""
    x = torch.eye(4)
    assert contrast.compute_infonce_loss(x, x, 0.5) < contrast.compute_infonce_loss(x, x.roll(1, 0), 0.5)


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_views_drop_edges_both_ways_and_features(density):
    data = graphs.csbm(num_nodes=200, num_classes=3, seed=0)
    data.x = data.x * (torch.rand(data.x.shape) < density)
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(data))
    view = views.copy_with_random_edges_dropped(inputs, 0.5)
    kept = {(int(a), int(b)) for a, b in zip(view.adj.row, view.adj.col, strict=True)}
    assert kept == {(b, a) for a, b in kept}
    assert 0.3 < view.adj.num_entries / inputs.adj.num_entries < 0.7
    network = backbones.build("gcn", data.x.shape[1], 3).eval()
    torch.testing.assert_close(network(views.copy_with_random_edges_dropped(inputs, 0.0)), network(inputs))
    masked = views.copy_with_random_features_masked(inputs, 0.5, whole_columns=True)
    zero = (masked.x == 0).all(0)
    assert 0 < zero.sum() < len(zero)
    torch.testing.assert_close(masked.x[:, ~zero], inputs.x[:, ~zero])
    plain = backbones.GraphInputs(masked.x, inputs.adj)
    torch.testing.assert_close(network(masked), network(plain))
    entries = views.copy_with_random_features_masked(inputs, 0.5, whole_columns=False)
    assert 0.35 < entries.x.count_nonzero() / inputs.x.count_nonzero() < 0.65


# ---- CR-GNN ----


def test_similarities_of_projections_and_classes_are_matched():
    p = (torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([[0.8, 0.2], [0.5, 0.5]]))
    expected = 0.0
    for i in range(2):
        for j in range(2):
            similar = cosine(p[0][i], p[1][j])
            wanted = math.exp(similar / 2) if similar >= 0.8 else 0.0
            expected += (math.exp(cosine(U[i], V[j]) / 2) - wanted) ** 2 / 4
    assert float(cr_gnn.compute_similarity_mismatch((U[:2], V[:2]), p, 2.0, 0.8)) == pytest.approx(expected, rel=1e-5)


def make_step(y, trusted=None):
    n = len(y)
    trusted = torch.zeros(n, dtype=torch.bool) if trusted is None else trusted
    step = SimpleNamespace(y=y, weight=torch.full((n,), 1 / n), trusted=trusted, nodes=torch.arange(n), epoch=0)
    step.weighted_mean = lambda values, chosen=None: Step.weighted_mean(step, values, chosen)
    return step


def test_cr_gnn_learns_labels_on_which_both_views_agree():
    """A known port is NaN where they agree on none."""
    first = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    second = torch.tensor([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    y, method = torch.tensor([0, 1, 1]), pignn.make("cr-gnn")
    expected = sum(F.cross_entropy(h[[0, 2]], y[[0, 2]]) for h in (first, second)) / 2
    assert float(method.compute_loss_where_views_agree(make_step(y), first, second)) == pytest.approx(float(expected))
    assert float(method.compute_loss_where_views_agree(make_step(y[1:2]), first[1:2], second[1:2])) == 0


def test_all_four_losses_of_cr_gnn_count(noisy):
    """A known port leaves out two of them."""
    settings = {"contrast_weight": 0.2, "cross_weight": 0.2}
    losses = {}
    for name, change in {"all": {}, "no contrast": {"contrast_weight": 0.0}, "no cross": {"cross_weight": 0.0}}.items():
        model = pignn.make("cr-gnn", epochs=1, contrast_nodes=50, **settings | change).fit(noisy)
        losses[name] = model.history_[0]["class_loss"]
    assert len(set(losses.values())) == 3
    step = SimpleNamespace(inputs=make_inputs([(0, 1), (1, 2)], torch.randn(4, 2)))
    neighbors = pignn.make("cr-gnn").sample_one_neighbor_per_row(step, torch.arange(4))
    assert neighbors[0] == 1
    assert neighbors[1] in (0, 2)
    assert neighbors[3] == 3, "a node without neighbors is its own"


# ---- C-GNN ----


def test_labels_that_contradict_a_coherent_neighborhood_are_replaced():
    """A known port gives training labels back unchanged."""
    inputs = make_inputs([(0, 1), (0, 2), (0, 3), (4, 1), (4, 5)], torch.randn(6, 2))
    logits = torch.tensor([[2.0, 1.9], [2.1, 2.0], [2.0, 1.8], [2.0, 1.7], [-1.0, 2.0], [1.0, -1.0]])
    y = torch.tensor([1, 0, 0, -1, 0, -1])  # nodes 3 and 5 have no label; they are predicted 0
    pure = c_gnn.replace_labels_by_neighbor_majority(inputs, y, logits, 0.8)
    assert pure.tolist() == [0, 0, 1, -1, 0, -1]  # node 2 follows its one neighbor, all at once
    # Neighbors that are not similar to the node move nothing.
    assert c_gnn.replace_labels_by_neighbor_majority(inputs, torch.tensor([0, 0, 0, -1, 1, -1]), logits, 0.8)[4] == 1
    unsure = c_gnn.replace_labels_by_neighbor_majority(inputs, y, logits, 1.0)
    assert torch.equal(unsure, y), "nobody is similar enough"


def test_c_gnn_starts_each_epoch_from_the_given_labels(noisy):
    """A known port overwrites the labels for good."""
    model = pignn.make("c-gnn", epochs=12, warm_epochs=4, threshold=0.3)
    before = noisy.y.clone()
    model.fit(noisy)
    assert torch.equal(noisy.y, before)
    assert torch.equal(model._y[noisy.train_mask], before[noisy.train_mask])


# ---- D-GNN ----


def test_the_transition_matrix_is_read_at_the_surest_nodes():
    logits = torch.tensor([[3.0, 1.0, 0.0], [4.0, 3.9, 0.0], [0.0, 2.0, 1.0]])
    matrix = d_gnn.estimate_transition_at_surest_nodes(logits)
    torch.testing.assert_close(matrix[0], logits[1].softmax(-1))
    torch.testing.assert_close(matrix[1], logits[2].softmax(-1))
    assert matrix[2].tolist() == [0, 0, 1], "nobody is predicted 2: a known port takes node 0"


def test_the_loss_of_d_gnn_is_a_mean_over_labels():
    method = pignn.make("d-gnn")
    matrix = torch.tensor([[0.8, 0.2], [0.3, 0.7]])
    method._inverse = d_gnn.pseudo_invert_and_warn_if_singular(matrix)
    h, y = torch.tensor([[1.0, 0.0], [0.2, 0.4]]), torch.tensor([0, 1])
    step = make_step(y)
    step.logits = h
    inverse, log_p = np.linalg.inv(matrix.double().numpy()), h.double().log_softmax(-1).numpy()
    expected = np.mean([-(inverse[y[i]] * log_p[i]).sum() for i in range(2)])
    assert float(method.train_objective(step)) == pytest.approx(expected, rel=1e-5)
    assert method.backbone == "gin"


# ---- TSS ----


def test_boundary_centrality_equals_its_sum_and_needs_no_order(noisy):
    """A known port takes positions in the list of training nodes for node numbers."""
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    nodes = torch.tensor([90, 3, 57, 20, 111, 64])
    y = torch.tensor([0, 1, 0, 2, 1, 1])
    n, adj = 120, inputs.adj
    dense = torch.eye(n, dtype=torch.double)
    dense[adj.row, adj.col.long()] = 1
    scale = dense.sum(1).rsqrt()
    walk = scale[:, None] * dense * scale
    pagerank = 0.15 * torch.linalg.inv(torch.eye(n, dtype=torch.double) - 0.85 * walk)
    proximity = tss.compute_pagerank_rows(inputs, nodes, 0.15)
    np.testing.assert_allclose(proximity, pagerank[nodes], atol=0.01)

    exact = proximity.double()[:, nodes].clamp(min=1e-8)
    expected = np.zeros(6)
    for c in range(3):
        inside = [k for k in range(6) if y[k] == c]
        outside = [k for k in range(6) if y[k] != c]
        each = np.array(
            [
                sum(exact[u, i] * exact[v, i] / exact[u, v] for u in inside for v in outside) / len(inside)
                for i in range(6)
            ]
        )
        expected += each / (each.max() - each.min())
    got = tss.compute_boundary_centrality(proximity[:, nodes], torch.arange(6), y, 3)
    np.testing.assert_allclose(got, expected, rtol=1e-3)
    one_class = tss.compute_boundary_centrality(proximity[:, nodes], torch.arange(6), torch.zeros(6).long(), 3)
    assert (one_class == 0).all()


def test_tss_learns_easy_labels_that_the_teacher_confirms():
    method = pignn.make("tss", start_share=0.5, pace_epochs=10)
    method._rank = torch.tensor([0.25, 0.5, 0.75, 1.0])
    method._confirmed = torch.tensor([True, False, True, True])
    h, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    step = make_step(y)
    step.logits = h
    assert float(method.train_objective(step)) == pytest.approx(float(F.cross_entropy(h[:1], y[:1])), rel=1e-5)
    method._confirmed[:] = False
    assert float(method.train_objective(step)) == 0
