"""ERASE, GCOD, TFR, DnD-NeT, RNCGLN and R2LP: losses and selection steps against computations by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.core.errors import DataError
from pignn.methods import dnd_net, erase, gcod, r2lp, rncgln, tfr
from pignn.methods.core.learner import Task

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]
METHODS = ["erase", "gcod", "tfr", "dnd-net", "rncgln", "r2lp"]


@pytest.fixture
def noisy():
    clean = graphs.csbm(num_nodes=120, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)


def make_inputs(x=None):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 6, generator=generator) if x is None else x
    edge_index = torch.tensor(EDGES).t()
    return backbones.GraphInputs.from_data(Data(x=x, edge_index=torch.cat([edge_index, edge_index.flip(0)], dim=1)))


def make_adjacency():
    adj = torch.zeros(5, 5, dtype=torch.float64)
    for i, j in EDGES:
        adj[i, j] = adj[j, i] = 1
    return adj


def make_task(inputs, y, trusted=()):
    y = torch.tensor(y)
    mask = torch.zeros(len(y), dtype=torch.bool)
    mask[list(trusted)] = True
    nodes = (y >= 0).nonzero().view(-1)
    return Task(inputs, y, nodes, (y >= 0) / len(nodes), int(y.max()) + 1, mask, None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_one_label_a_class_and_no_validation_label_give_finite_probabilities(name, noisy):
    chosen = [int(((noisy.y == c) & noisy.train_mask).nonzero()[0]) for c in (0, 2)]
    y = torch.full_like(noisy.y, -1)
    y[chosen] = noisy.y[chosen]
    noisy.y = y
    model = pignn.make(name, epochs=3).fit(noisy)
    assert np.isfinite(model.predict_proba(noisy)).all()
    assert all(np.isfinite(row["class_loss"]) for row in model.history_)
    noisy.y = y.clamp(max=0)
    with pytest.raises(DataError, match="all training nodes carry one class"):
        pignn.make(name, epochs=3).fit(noisy)


# ---- ERASE ----


def test_the_coding_rate_equals_its_definition_over_codes():
    """By the N × N determinant, which is the same as the d × d one."""
    torch.manual_seed(0)
    codes = torch.randn(9, 4, dtype=torch.float64)
    for factor in (1.0, 2.5):
        gram = torch.eye(9, dtype=torch.float64) + factor * 4 / (9 * 0.05) * codes @ codes.t()
        expected = 0.5 * torch.logdet(gram)
        torch.testing.assert_close(erase.compute_coding_rate(codes, 0.05, factor), expected)
    classes = torch.tensor([0] * 4 + [2] * 5)
    loss = erase.compute_coding_rate_loss(codes, classes, 3, expand=2.0, compress=1.5, epsilon=0.05)
    expected = -2.0 * erase.compute_coding_rate(codes, 0.05, 1.5)
    for members in (codes[:4], codes[4:]):
        gram = torch.eye(4, dtype=torch.float64) + 4 / (len(members) * 0.05) * members.t() @ members
        expected = expected + 1.5 * len(members) / (2 * 9) * torch.logdet(gram)
    torch.testing.assert_close(loss, expected)


def test_the_logistic_regressions_converge_to_those_of_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(60, 4, generator=generator).double(), torch.randint(3, (60,), generator=generator)
    penalties = torch.tensor([1.0, 0.1]).double()
    heads = erase.compute_heads_after_newton_steps(
        torch.zeros(2, 4, 3).double(), x, F.one_hot(y, 3).double(), torch.ones(60).double(), penalties, num_steps=300
    )
    for head, penalty in zip(heads, penalties.tolist(), strict=True):
        model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=1000).fit(x.numpy(), y.numpy())
        np.testing.assert_allclose((x @ head).softmax(1), model.predict_proba(x.numpy()), atol=1e-3)


def test_erase_denoises_by_propagated_labels_and_similar_codes():
    inputs = make_inputs()
    task = make_task(inputs, [0, 1, 0, -1, -1], trusted=[1])
    method = pignn.make("erase", propagation_steps=2, alpha=0.6, label_share=0.4)
    method.prepare_phase(task, {}, None)
    adj = make_adjacency() + torch.eye(5, dtype=torch.float64)
    scale = adj.sum(1).rsqrt()
    step_matrix = 0.4 * scale[:, None] * adj * scale + 0.6 * torch.eye(5, dtype=torch.float64)
    labels = torch.zeros(5, 2, dtype=torch.float64)
    labels[[0, 1, 2], [0, 1, 0]] = 1
    labels = step_matrix @ step_matrix @ labels
    torch.testing.assert_close(method._labels.double(), labels, rtol=1e-5, atol=1e-6)
    codes = torch.randn(5, 3, generator=torch.Generator().manual_seed(3)).relu()
    nodes = torch.tensor([0, 1, 2])
    step = SimpleNamespace(
        rows=nodes, weight=torch.full((3,), 1 / 3), inputs=inputs, trusted=task.trusted[nodes], y=task.y[nodes]
    )
    own = labels.argmax(1)[:3]
    means = torch.stack([codes[:3].double()[own == c].sum(0) for c in (0, 1)])
    cosine = (F.normalize(codes.double(), dim=1) @ F.normalize(means, dim=1).t()).abs()
    soft = (0.4 * labels + 0.6 * cosine).softmax(1)
    expected = (step_matrix @ step_matrix @ soft).argmax(1)
    expected[1] = 1  # trusted
    assert method.compute_denoised_classes(step, codes).tolist() == expected.tolist()


def test_the_regression_of_erase_tells_nearly_parallel_codes_apart():
    """Codes that may grow have nearly one direction; a port whose regression has a penalty of 1 predicts one class."""
    clean = graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)
    noisy = pignn.corrupt(clean, "symmetric", 0.3, seed=0)
    model = pignn.make("erase", epochs=60).fit(noisy)
    classifier = model.networks_["classifier"]
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy)).copy_with_scaling(model.feature_scaling_)
    classifier(inputs)
    assert (classifier.codes >= 0).all()
    assert classifier.codes.norm(dim=1).mean() > 2, "free to grow"
    assert model.score(noisy) > 0.7
    spectrum = torch.linalg.svdvals(F.normalize(classifier.codes, dim=1))
    assert float(spectrum[1] / spectrum[0]) < 0.7


# ---- GCOD ----


def test_centroids_come_from_the_half_with_the_smallest_discounts():
    """Another port's centroids are means of all labels, wrong ones included."""
    hidden, y = torch.randn(7, 3), torch.tensor([0, 1, 0, 0, 1, 0, 0])
    u = torch.tensor([0.9, 0.1, 0.0, 0.5, 0.8, 0.2, 1.0])
    found = gcod.compute_centroids_of_least_discounted(hidden, y, u, 3)
    torch.testing.assert_close(found[0], hidden[[2, 5, 3]].mean(0))
    torch.testing.assert_close(found[1], hidden[1])
    assert not found[2].any()


def test_the_losses_of_gcod_equal_their_formulas():
    logits, y = torch.tensor([[1.0, 0.0], [0.5, 2.0]]), torch.tensor([0, 0])
    u, target, accuracy = torch.tensor([0.1, 0.6]), torch.tensor([0.9, 0.4]), torch.tensor(0.7)
    p = logits.softmax(1)[:, 0]
    expected = -target * (p + 0.7 * u).clamp(max=1).log()
    torch.testing.assert_close(gcod.compute_discounted_losses(logits, y, target, u, accuracy), expected)
    one_hot = torch.eye(2)
    predicted = logits.argmax(1)
    difference = one_hot[predicted] + u[:, None] * one_hot[y] - one_hot[y]
    torch.testing.assert_close(
        gcod.compute_losses_that_fit_discounts(predicted, y, u, 2), difference.square().sum(1) / 2
    )
    p, q = torch.sigmoid(logits[:, 0]), torch.sigmoid(-u.log())
    expected = p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
    torch.testing.assert_close(gcod.compute_alignment_losses(logits, y, u), expected)
    assert torch.isfinite(gcod.compute_alignment_losses(1e4 * logits, y, torch.tensor([0.0, 1.0]))).all()


def test_discounts_grow_where_labels_are_wrong(noisy):
    model = pignn.make("gcod", epochs=100, selection="last").fit(noisy)
    train = noisy.train_mask
    u, wrong = model.networks_["discounts"].values.detach()[train], (noisy.y != noisy.y_true)[train]
    assert float(u[wrong].mean()) > float(u[~wrong].mean()) + 0.1
    assert not model.networks_["discounts"].values[~train].any()


# ---- TFR ----


def test_the_decoder_of_tfr_equals_its_messages():
    torch.manual_seed(0)
    decoder, inputs, probs = tfr.Decoder(3, 6, 0.0), make_inputs(), torch.rand(5, 3).softmax(1)
    hidden, confidence = decoder.compute_hidden_and_confidence(probs, inputs.adj)
    neighbors = make_adjacency() + torch.eye(5)
    for i in range(5):
        around = neighbors[i].nonzero().view(-1).tolist()
        score = [
            torch.sigmoid(
                decoder.target_score(decoder.target(probs[i]).relu())
                + decoder.source_score(decoder.source(probs[j]).relu())
            )
            for j in around
        ]
        messages = [e * (decoder.own(probs[i]) + decoder.other(probs[j])) for e, j in zip(score, around, strict=True)]
        torch.testing.assert_close(hidden[i], torch.stack(messages).mean(0).relu())
        assert float(confidence[i]) == pytest.approx(float(torch.stack(score).mean()), rel=1e-5)
    assert not confidence.requires_grad


def test_the_most_confident_nodes_learn_from_themselves():
    logits = torch.randn(10, 3, requires_grad=True)
    confidence = torch.arange(10.0)
    p = logits[7:].softmax(1).detach()
    expected = -(p * logits[7:].log_softmax(1)).sum(1).mean()
    torch.testing.assert_close(pignn.make("tfr").compute_entropy_of_most_confident(logits, confidence), expected)
    assert float(pignn.make("tfr", pseudo_share=0.0).compute_entropy_of_most_confident(logits, confidence)) == 0


def test_features_are_reconstructed_as_shares():
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    inputs = backbones.GraphInputs.from_data(Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]])))
    assert tfr.compute_feature_shares(inputs, torch.tensor([0, 1])).tolist() == [[0.25, 0.75], [0.0, 0.0]]


# ---- DnD-NeT ----


def test_neighbors_are_averaged_by_weight_and_weigh_a_node():
    inputs, probs = make_inputs(), torch.rand(5, 3).softmax(1)
    weight = torch.rand(inputs.adj.num_entries)
    matrix = torch.zeros(5, 5)
    matrix[inputs.adj.row, inputs.adj.col.long()] = weight
    found = dnd_net.average_neighbor_probs(inputs.adj, weight, probs)
    expected = matrix @ probs / matrix.sum(1, keepdim=True)
    torch.testing.assert_close(found[:4], expected[:4])
    assert not found[4].any(), "node 4 has no neighbor"
    sure = dnd_net.compute_certainty_weights(torch.tensor([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 0]]))
    np.testing.assert_allclose(sure, [1, 1 / math.e, 1 / math.e], rtol=1e-5)


def test_perturbations_have_their_length_and_stay_with_their_graph(noisy):
    model = pignn.make("dnd-net", epochs=5, dropout=0.0).fit(noisy)
    network = model.networks_["classifier"]
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy)).copy_with_scaling(model.feature_scaling_)
    g = network.smooth_and_cache_features(inputs)
    noise = F.normalize(network.noise, dim=1)
    pure, perturbed = network.compute_member_logits(inputs)
    torch.testing.assert_close(perturbed, network.apply_layers(g + 0.1 * g.sign() * noise))
    mean = (pure.softmax(1) + perturbed.softmax(1)) / 2
    np.testing.assert_allclose(model.predict_proba(noisy), mean.detach(), atol=1e-5)
    other = graphs.csbm(num_nodes=60, num_classes=3, signal=2.0, seed=1)
    assert np.isfinite(model.predict_proba(other)).all()


# ---- RNCGLN ----


def test_the_first_map_is_that_of_layer_normalized_features():
    torch.manual_seed(0)
    for density in (1.0, 0.05):
        x = torch.randn(40, 30) * (torch.rand(40, 30) < density)
        inputs = backbones.GraphInputs.from_data(Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]])))
        network = rncgln.Transformer(30, 8, 3, 2, 16, 0.0).eval()
        network(inputs)
        mapped = F.layer_norm(x, (30,)) @ network.weight + network.bias
        torch.testing.assert_close(
            network.embedded, F.normalize(F.layer_norm(mapped, (8,)), dim=1), atol=1e-4, rtol=1e-3
        )


def test_linear_attention_equals_its_dense_form():
    torch.manual_seed(0)
    layer, x = rncgln.LinearAttention(8, 2), torch.randn(5, 8)
    q, k, v = layer.maps(x).split(8, dim=1)
    heads = [q[:, part].softmax(1) @ k[:, part].softmax(0).t() @ v[:, part] for part in (slice(0, 4), slice(4, 8))]
    torch.testing.assert_close(layer(x), layer.out(torch.cat(heads, dim=1)))


def test_the_contrast_with_the_graph_equals_its_formula():
    """Another port takes powers of the bare adjacency: no self-loops, counts in place of shares."""
    inputs = make_inputs()
    adj = make_adjacency() + torch.eye(5)
    scale = adj.sum(1).rsqrt()
    walk = torch.linalg.matrix_power(scale[:, None] * adj * scale, 4)
    rows = torch.tensor([3, 1])
    graph = rncgln.compute_rows_of_adjacency_power(inputs, rows)
    torch.testing.assert_close(graph.double(), walk[rows], rtol=1e-5, atol=1e-6)
    h = F.normalize(torch.randn(5, 3), dim=1)
    similarity = (h @ h.t()).double()
    similarity.fill_diagonal_(0)
    weight = (2 * similarity).exp()
    expected = -((walk * weight).sum(1) / weight.sum(1)).log()[rows].mean()
    found = rncgln.compute_graph_contrastive_loss(h, rows, graph, 2.0)
    assert float(found) == pytest.approx(float(expected), rel=1e-5)
    assert float(rncgln.compute_graph_contrastive_loss(h, rows, torch.zeros(2, 5), 2.0)) == 0
    h.requires_grad_()
    rncgln.compute_graph_contrastive_loss(h, rows, graph * torch.tensor([[0.0], [1.0]]), 2.0).backward()
    assert torch.isfinite(h.grad).all(), "a row that B has nothing of leaves the others their gradient"
    assert rncgln.zero_all_but_largest_per_row(torch.tensor([[3.0, 1, 2]]), 2).tolist() == [[3, 0, 2]]


def test_rncgln_learns_from_sure_nodes_but_for_validation_nodes():
    method = pignn.make("rncgln", confidence=0.8, certainty=0.95)
    method._may_learn = torch.tensor([True, True, True, False])
    state = rncgln.Improvement(4, 2, 3)
    state.is_used.fill_(True)
    state.best.outputs.copy_(torch.tensor([[0.99, 0.01], [0.15, 0.85], [0.5, 0.5], [0.99, 0.01]]))
    h = torch.randn(4, 2)
    step = SimpleNamespace(
        logits_all=h, logits=h[:1], y=torch.tensor([1]), nodes=torch.tensor([0]), trusted=torch.tensor([False])
    )
    log_p = h.log_softmax(1)
    expected = (-log_p[0, 0] - 0.15 * log_p[1, 0] - 0.85 * log_p[1, 1]) / 2
    assert float(method.compute_class_loss(step, state)) == pytest.approx(float(expected), rel=1e-5)
    step.trusted = torch.tensor([True])
    expected = (-log_p[0, 1] - 0.15 * log_p[1, 0] - 0.85 * log_p[1, 1]) / 2
    assert float(method.compute_class_loss(step, state)) == pytest.approx(float(expected), rel=1e-5)


# ---- R2LP ----


def make_global_gnn(**settings):
    torch.manual_seed(0)
    method = pignn.make("r2lp", alpha=2.0, beta=3.0, gamma=0.4, orders=2, dropout=0.0, **settings)
    return r2lp.GlobalGNN((6, 3, 5), 4, method).eval(), method


def test_r2lp_equals_the_dense_form_of_its_graph():
    network, _ = make_global_gnn()
    inputs = make_inputs()
    with torch.no_grad():
        network.order_weights.copy_(torch.tensor([0.7, 0.3]))
        result = network(inputs).double()
        h0, y = network.initial_scores.double(), torch.rand(5, 3).double()
        adj = make_adjacency() + torch.eye(5)
        row = adj / adj.sum(1, keepdim=True)
        a, b, eye = 1 / 5, 0.6, torch.eye(3, dtype=torch.float64)
        h = h0
        for _ in range(2):
            middle = torch.linalg.inv(eye / b**2 + a * h.t() @ h)
            g = b * a * h - b * a**2 * h @ middle @ (h.t() @ h)
            around = 3 * (0.7 * row @ g + 0.3 * row @ row @ g)
            h = b * h @ (h.t() @ g) + around - 0.4 * b * h0 @ (h.t() @ g) + 0.4 * h0
        torch.testing.assert_close(result, h, rtol=1e-4, atol=1e-5)
        middle = torch.linalg.inv(eye / b**2 + a * h.t() @ h)
        dense = (b * h @ h.t() + 3 * 0.7 * row - 0.4 * b * h0 @ h.t()) @ (a * torch.eye(5) - a**2 * h @ middle @ h.t())
        found = r2lp.propagate_labels_over_learned_graph(network, inputs, y.float(), 0.3)
        torch.testing.assert_close(found.double(), y + 0.3 * dense @ y, rtol=1e-4, atol=1e-4)


def test_rounds_move_the_surest_labels_with_their_new_class():
    """Known ports supervise the first nodes by number, and propagate the old label of a node that moved."""
    network, method = make_global_gnn(rounds=3)
    inputs, sets = make_inputs(), r2lp.LabelSets(5)
    task = make_task(inputs, [-1, 0, 1, 2, 0], trusted=[3])
    networks = {"classifier": network, "label_sets": sets}
    phases = method.list_phases()
    assert [phase.name for phase in phases] == ["round 1", "round 2", "training"]
    method.prepare_phase(task, networks, phases[0])
    assert sets.clean.tolist() == [False, False, False, True, False]
    method.prepare_phase(task, networks, phases[1])
    assert int(sets.clean.sum()) == 2, "half of three, at least one"
    assert not sets.clean[0], "an unlabeled node never moves"
    state = sets.clean.clone(), sets.classes.clone()
    method.prepare_phase(task, networks, phases[1])  # resumed within the round
    assert torch.equal(sets.clean, state[0])
    moved = (sets.clean & ~task.trusted).nonzero().view(-1)
    probs = network(inputs).softmax(-1).detach()
    one_hot = F.one_hot(task.y.clamp(min=0), 3).float()
    start = 0.6 * (
        0.3 * one_hot * task.trusted[:, None]
        + 0.7 * (0.5 * one_hot * ((task.y >= 0) & ~task.trusted)[:, None] + 0.5 * probs)
    )
    height, found = r2lp.propagate_labels_over_learned_graph(network, inputs, start, 0.4).max(1)
    noisy = torch.tensor([1, 2, 4])
    assert moved.tolist() == [int(noisy[height[noisy].argmax()])]
    assert sets.classes[moved] == found[moved]


def test_r2lp_without_trusted_labels_begins_with_all_given_ones(noisy):
    """A known port's first round has no label at all, and a loss that is no number."""
    model = pignn.make("r2lp", epochs=10, pretrain_epochs=10, rounds=2).fit(noisy)
    assert all(np.isfinite(row["class_loss"]) and row["class_loss"] > 0 for row in model.history_)
    train = noisy.train_mask
    assert 0 < int(model.networks_["label_sets"].clean.sum()) < int(train.sum())
