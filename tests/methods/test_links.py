"""Predicted links, and the methods that are built on them (NRGNN, RTGNN)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.graphs.sparse import SparsityPattern, dot_products
from pignn.methods import rtgnn
from pignn.methods.core import links
from pignn.methods.factory import resolve_method_class
from pignn.training.callbacks import Callback


@pytest.fixture
def noisy():
    clean = graphs.csbm(num_nodes=120, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)


def make_inputs(edges, x):
    return backbones.GraphInputs.from_data(Data(x=x, edge_index=torch.tensor(edges).t()))


EDGES = [(0, 1), (1, 2), (3, 4)]
Z = torch.tensor([[1.0, 0.5], [0.2, -1.0], [0.4, 0.4], [-1.0, 2.0], [0.3, 0.1]])


def test_the_nearest_columns_do_not_depend_on_tiles(monkeypatch):
    rows, columns = torch.randn(13, 4), torch.randn(9, 4)
    whole = (rows @ columns.t()).topk(3)
    monkeypatch.setattr(links, "TILE_VALUES", 20)
    indices, values = links.find_columns_with_largest_products(rows, columns, 3)
    assert torch.equal(indices, whole.indices)
    torch.testing.assert_close(values, whole.values)
    assert links.find_columns_with_largest_products(rows, columns[:2], 3)[0].shape == (13, 2)
    assert links.find_columns_with_largest_products(rows[:0], columns, 3)[0].shape == (0, 3)


def test_links_are_two_way_and_leave_out_edges_and_self_pairs():
    inputs = make_inputs(EDGES, Z)
    made = links.symmetrize_pairs_without_edges(torch.tensor([[0, 0, 2, 4, 2], [1, 2, 0, 4, 3]]), inputs.adj)
    assert made.t().tolist() == [[0, 2], [2, 0], [2, 3], [3, 2]]


def test_the_reconstruction_loss_equals_its_sum_over_pairs():
    inputs = make_inputs(EDGES, Z)
    present = {frozenset(edge) for edge in EDGES}
    products = {(i, j): float(Z[i] @ Z[j]) for i in range(5) for j in range(i)}
    positive = sum((v - 1) ** 2 for (i, j), v in products.items() if {i, j} in present)
    negatives = [v**2 for (i, j), v in products.items() if {i, j} not in present]
    expected = (positive + 10 * np.mean(negatives)) * 5 / (3 + 10)
    assert float(links.reconstruction_loss(Z, inputs.adj, 4)) == pytest.approx(expected, rel=1e-5)
    complete = make_inputs([(0, 1)], Z[:2])  # no non-edge at all
    assert torch.isfinite(links.reconstruction_loss(Z[:2], complete.adj, 4))
    assert torch.isfinite(
        links.reconstruction_loss(Z[:2], SparsityPattern.from_row_sorted(*torch.empty(2, 0).long(), (2, 2)), 4)
    )


def test_products_at_edges_have_the_right_gradient():
    inputs = make_inputs(EDGES, Z)
    z = Z.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda h: dot_products(inputs.adj, h), (z,))


@pytest.mark.parametrize("backbone", ["gcn", "sage"])
def test_learned_weights_act_as_constant_ones_and_have_a_gradient(backbone):
    torch.manual_seed(0)
    inputs = make_inputs(EDGES, torch.randn(5, 7))
    network = backbones.build(backbone, 7, 3).eval()
    weight = torch.rand(inputs.adj.num_entries)
    _, reverse = inputs.adj.transpose_and_entry_order
    weight = weight + weight[reverse]  # undirected
    constant = backbones.GraphInputs(inputs.raw_x, inputs.adj, weight)
    learned = backbones.GraphInputs(inputs.raw_x, inputs.adj, weight.clone().requires_grad_())
    result = network(learned)
    torch.testing.assert_close(result, network(constant))
    result.square().sum().backward()
    step, entry = 1e-2, 2
    shifted = [weight.clone() for _ in range(2)]
    shifted[0][entry] += step
    shifted[1][entry] -= step
    up, down = (
        network(backbones.GraphInputs(inputs.raw_x, inputs.adj, w, directed=True)).square().sum().item()
        for w in shifted
    )
    assert float(learned.edge_weight.grad[entry]) == pytest.approx((up - down) / (2 * step), rel=0.05, abs=1e-3)


@pytest.mark.parametrize("name", ["nrgnn", "rtgnn"])
def test_the_edge_predictor_has_no_dropout_and_its_own_width(name, noisy):
    networks = pignn.make(name, hidden_channels=8, dropout=0.9).make_networks(noisy.x.shape[1], 3, 120)
    predictor = networks["classifier"].predictor.train()
    inputs = backbones.GraphInputs.from_data(noisy)
    assert torch.equal(predictor(inputs), predictor(inputs))
    assert predictor(inputs).shape == (120, 64)


@pytest.mark.parametrize("name", ["nrgnn", "rtgnn"])
def test_links_are_used_on_their_graph_alone_and_saved(name, noisy, tmp_path):
    model = pignn.make(name, epochs=8).fit(noisy)
    classifier = model.networks_["classifier"]
    assert classifier.links.numel()
    with_links = model.embed(noisy)
    model.save(tmp_path / "model")
    assert torch.equal(pignn.load_model(tmp_path / "model").networks_["classifier"].links, classifier.links)
    other = noisy.clone()
    other.edge_index = noisy.edge_index[:, noisy.edge_index.sum(0) != int(noisy.edge_index[:, 0].sum())]
    assert np.isfinite(model.predict_proba(other)).all()
    classifier.links = classifier.links[:, :0]
    assert not np.allclose(model.embed(noisy), with_links)


def test_nrgnn_renews_its_pseudo_labels_and_trains_the_edge_predictor(noisy):
    """A known port freezes both at epoch 0: no pseudo-label ever, no gradient of classes in the edge predictor."""
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, context, row):
            seen.append(context.networks["mined"].outputs.clone())

    settings = {"confidence": 0.4, "reconstruction_weight": 0.0, "weight_decay": 0.0}
    model = pignn.make("nrgnn", epochs=30, **settings).fit(noisy, callbacks=[Watch()])
    assert not seen[0].any(), "an untrained miner has nothing to say"
    assert len({tuple(outputs[0].tolist()) for outputs in seen}) > 2
    assert (seen[-1].amax(1) > 0.4).any()
    torch.manual_seed(0)
    before = resolve_method_class("nrgnn")(**settings).make_networks(noisy.x.shape[1], 3, 120)["classifier"].predictor
    after = model.networks_["classifier"].predictor
    assert any(not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


@pytest.mark.parametrize("settings", [{"confidence": 1.0}, {"num_links": 10_000}, {"min_weight": 1e6}])
def test_nrgnn_without_sure_nodes_or_links_is_finite(noisy, settings):
    model = pignn.make("nrgnn", epochs=6, **settings).fit(noisy)
    assert all(np.isfinite(row["class_loss"]) for row in model.history_)


# ---- RTGNN ----


def test_rtgnn_divides_labels_by_its_rules():
    y = torch.tensor([0, 1, 0, 1, 0, 0])
    losses = torch.tensor([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    first = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.95, 0.05], [0.4, 0.6], [0.05, 0.95]])
    second = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.1, 0.9]])
    trusted = torch.tensor([False, False, False, False, False, True])
    divided = rtgnn.divide_labels_into_clean_and_relabeled(losses, torch.stack([first, second]), y, 0.9, trusted)
    # κ = max(1 − 0.45, 3/6) = 0.55: three of six. The threshold is 1 − 0.5·0.9 = 0.55.
    assert divided.clean.tolist() == [True, True, True, False, False, True]
    assert divided.relabeled.tolist() == [False, False, False, True, False, False]
    assert divided.predicted[3] == 0
    assert float(divided.factor[3]) == pytest.approx((0.95 * 0.9) ** 0.05, rel=1e-5)
    # The first node of the list has no special place: a known port never relabels it.
    swapped = torch.tensor([3, 1, 2, 0, 4, 5])
    again = rtgnn.divide_labels_into_clean_and_relabeled(
        losses[swapped], torch.stack([first, second])[:, swapped], y[swapped], 0.9, trusted
    )
    assert again.relabeled.tolist() == [True, False, False, False, False, False]


def test_weights_of_edges_matter_to_the_neighbor_loss_of_rtgnn():
    """A known port multiplies a mean by weights that sum to one: they cancel."""
    inputs = make_inputs([(0, 1), (0, 2)], Z[:3])
    h = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [2.0, 0.0]], [[0.5, 0.0], [0.0, 1.0], [1.5, 0.0]]])
    p = h.softmax(-1).double().numpy()
    for weights in ((0.25, 0.75), (0.9, 0.1)):
        # entries in row order: (0,1), (0,2), (1,0), (2,0)
        weight = torch.tensor([weights[0], weights[1], weights[0], weights[1]])
        classifier = SimpleNamespace(linked=backbones.GraphInputs(inputs.raw_x, inputs.adj, weight))
        step = SimpleNamespace(logits_all=h, logits=h[:, :1], rows=torch.tensor([0]))
        loss = pignn.make("rtgnn").compute_neighbor_divergence_loss(step, classifier)
        expected = sum(
            w * (p[k, j] * np.log(p[k, j] / p[k, 0])).sum()
            for k in (0, 1)
            for j, w in zip((1, 2), weights, strict=True)
        )
        assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_rtgnn_learns_unlabeled_nodes_of_which_both_networks_are_sure():
    method = pignn.make("rtgnn", confidence=0.9)
    method._y = torch.tensor([0, -1, -1, -1])
    h = torch.tensor([[[9.0, 0], [9, 0], [9, 0], [1, 0]], [[9.0, 0], [8, 0], [0, 9], [1, 0]]])
    step = SimpleNamespace(logits_all=h, logits=h[:, :1])
    log_p, log_q = (h[k, 1].double().log_softmax(-1) for k in (0, 1))
    divergence = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()
    expected = float(
        -log_p[0] - log_q[0] + 0.1 * divergence
    )  # node 1 alone: labeled, disagreeing and unsure ones are out
    assert float(method.compute_pseudo_label_loss(step)) == pytest.approx(expected, rel=1e-4)
    step.logits_all = torch.zeros(2, 4, 2)
    assert float(method.compute_pseudo_label_loss(step)) == 0, "nobody is sure"


def test_a_node_of_rtgnn_hears_from_those_that_chose_it(noisy):
    """Links that went both ways would join every unlabeled node with ``num_links`` labeled ones, right or wrong."""
    model = pignn.make("rtgnn", epochs=2, num_links=3).fit(noisy)
    receivers, senders = model.networks_["classifier"].links
    labeled = noisy.train_mask & (noisy.y >= 0)
    to_unlabeled = ~labeled[receivers]
    assert labeled[senders[to_unlabeled]].all()
    assert int(to_unlabeled.sum()) <= 3 * int(labeled.sum())
    assert torch.bincount(senders[to_unlabeled]).max() <= 3
    assert torch.bincount(receivers[~to_unlabeled]).max() > 3, "a labeled node may be chosen by many"


@pytest.mark.parametrize("settings", [{"num_links": 10_000}, {"confidence": 1.0}, {"min_weight": 10.0}])
def test_rtgnn_is_finite_with_more_links_than_labels_or_none(noisy, settings):
    model = pignn.make("rtgnn", epochs=6, **settings).fit(noisy)
    assert all(np.isfinite(row["class_loss"]) for row in model.history_)
