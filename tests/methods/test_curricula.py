"""Methods that choose or weigh labels by their surroundings, against small cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.methods import clnode, cp, unionnet
from pignn.methods.core import curriculum, learner, links
from pignn.methods.core.best_outputs import BestOutputs
from pignn.methods.core.labels import GivenLabels
from pignn.training.callbacks import Callback

Y = torch.tensor([0, 1, 0, 1])
Z = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [-1.0, 0.2]])


@pytest.fixture
def noisy():
    clean = graphs.csbm(num_nodes=120, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)


def make_step(h, y, *, epoch=0, phase="training", trusted=None, networks=None, **others):
    n = len(y)
    return learner.Step(
        epoch=epoch,
        phase=phase,
        nodes=torch.arange(n),
        y=y,
        weight=torch.full((n,), 1 / n),
        trusted=torch.zeros(n, dtype=torch.bool) if trusted is None else trusted,
        logits=h,
        logits_all=h,
        inputs=None,
        input_nodes=torch.arange(n),
        rows=torch.arange(n),
        networks=networks or {},
        eval_logits=lambda: h.detach(),
        **others,
    )


def make_inputs(edges, num_nodes):
    edge_index = torch.tensor(edges).t()
    return backbones.GraphInputs.from_data(Data(x=torch.randn(num_nodes, 3), edge_index=edge_index))


# ---- UnionNET ----


def expect_support(k):
    unit = (Z / Z.norm(dim=1, keepdim=True)).tolist()
    result = np.zeros((4, 2))
    for i in range(4):
        similar = sorted((sum(a * b for a, b in zip(unit[i], unit[j], strict=True)), j) for j in range(4) if j != i)
        similar = similar[-k:]
        total = sum(math.exp(s) for s, _ in similar)
        for s, j in similar:
            result[i, int(Y[j])] += math.exp(s) / total
    return result


@pytest.mark.parametrize("k", [1, 2, 3])
def test_labels_are_aggregated_from_the_most_similar_other_nodes(k, monkeypatch):
    np.testing.assert_allclose(unionnet.compute_label_shares_of_nearest(Z, Y, 2, k), expect_support(k), rtol=1e-5)
    monkeypatch.setattr(unionnet, "TILE_VALUES", 5)  # one row at a time
    np.testing.assert_allclose(unionnet.compute_label_shares_of_nearest(Z, Y, 2, k), expect_support(k), rtol=1e-5)


def test_a_trusted_or_only_label_is_its_own_support():
    trusted = torch.tensor([True, False, False, False])
    assert unionnet.compute_label_shares_of_nearest(Z, Y, 2, 2, trusted)[0].tolist() == [1, 0]
    assert unionnet.compute_label_shares_of_nearest(Z[:1], Y[:1], 2, 2).tolist() == [[1, 0]]


def test_the_loss_of_unionnet_equals_its_formula_and_its_correction_has_a_gradient():
    """A known port multiplies plain cross-entropy by a constant: then both gradients have one direction."""
    h = torch.tensor([[1.0, -0.5], [0.3, 0.2], [-1.0, 0.7], [0.0, 0.4]], requires_grad=True)
    network = nn.Module()
    network.hidden = Z
    monkey = pytest.MonkeyPatch()
    monkey.setattr(unionnet, "EncodedClassifier", nn.Module)
    method = pignn.make("unionnet", warm_epochs=0, support_size=2, correction_weight=0.3, prior_weight=0.7)
    loss = method.objective(make_step(h, Y, networks={"classifier": network}))
    monkey.undo()
    p, support = h.detach().softmax(-1).numpy(), expect_support(2)
    expected = 0.0
    for i in range(4):
        best = int(support[i].argmax())
        expected += (
            0.7 * support[i, Y[i]] * -math.log(p[i, Y[i]]) / 4 + 0.3 * support[i, best] * -math.log(p[i, best]) / 4
        )
    expected += 0.7 * sum(0.5 * math.log(0.5 / p[:, c].mean()) for c in range(2))
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, h)
    (plain,) = torch.autograd.grad(F.cross_entropy(h, Y), h)
    assert float(F.cosine_similarity(gradient.view(-1), plain.view(-1), dim=0)) < 0.95


def test_unionnet_compares_labels_before_a_network_has_learned_wrong_ones(noisy):
    """With a long plain phase, the epoch that validation labels choose is one of plain training."""
    plain, own = (pignn.make("unionnet", epochs=3, **more).fit(noisy).history_ for more in ({"warm_epochs": 3}, {}))
    assert plain[0]["class_loss"] != own[0]["class_loss"]


# ---- CLNode ----


def test_the_share_of_easy_labels_grows_to_one():
    for pace in curriculum.PACES:
        shares = [curriculum.compute_easy_share(pace, 0.25, t, 10) for t in range(13)]
        assert shares[0] == pytest.approx(0.25)
        assert shares == sorted(shares)
        assert shares[10:] == [1.0] * 3
    assert curriculum.compute_easy_share("linear", 0.5, 5, 10) == pytest.approx(0.75)
    assert curriculum.compute_easy_share("root", 0.5, 5, 10) == pytest.approx(math.sqrt(0.25 + 0.75 / 2))
    assert curriculum.compute_easy_share("geometric", 0.5, 5, 10) == pytest.approx(2 ** (math.log2(0.5) / 2))
    assert curriculum.compute_easy_share("geometric", 0.5, 0, 0) == 1


def test_local_difficulty_is_the_entropy_around_a_node():
    inputs = make_inputs([(0, 1), (0, 2), (2, 3)], 5)
    labels = torch.tensor([0, 0, 1, 1, 1])
    entropy = lambda *p: -sum(v * math.log(v) for v in p)  # noqa: E731
    expected = [entropy(2 / 3, 1 / 3), 0, entropy(1 / 3, 2 / 3), 0, 0]
    np.testing.assert_allclose(clnode.compute_neighborhood_label_entropy(inputs, labels, 3), expected, atol=1e-6)


def test_global_difficulty_compares_a_node_with_its_class():
    e = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.7, 0.3]])
    labels = torch.tensor([0, 0, 1, 1])
    unit = e.numpy() / np.linalg.norm(e.numpy(), axis=1, keepdims=True)
    means = np.stack([unit[:2].sum(0), unit[2:].sum(0)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    s = np.array([2 * unit[i] @ means[labels[i]] / (unit[i] @ means.T).sum() for i in range(4)])
    s /= np.array([s[:2].mean()] * 2 + [s[2:].mean()] * 2)
    s[s > 0.95] = 1
    np.testing.assert_allclose(clnode.compute_dissimilarity_to_class_direction(e, labels, 2), 1 / s, rtol=1e-5)
    assert torch.isfinite(clnode.compute_dissimilarity_to_class_direction(torch.zeros(4, 2), labels, 3)).all()


def test_clnode_gives_unlabeled_nodes_predicted_classes_and_trains_on_easy_labels(noisy):
    """A known port gives all unlabeled nodes the lowest class, and pretrains by raw logits, which have no bound."""
    seen = {}

    class Spy(type(pignn.make("clnode"))):
        def prepare_from_teacher_outputs(self, task, outputs):
            super().prepare_from_teacher_outputs(task, outputs)
            seen["labels"] = torch.where(task.y >= 0, task.y, outputs[:, clnode.TEACHER_CHANNELS :].argmax(1))
            seen["rank"], seen["task"] = self._rank, task

    model = Spy(epochs=5, pretrain_epochs=60).fit(noisy)
    hidden = seen["task"].y < 0
    assert len(seen["labels"][hidden].unique()) == 3
    assert float((seen["labels"] == noisy.y_true)[hidden].float().mean()) > 0.6
    pretraining = [row["class_loss"] for row in model.history_ if row["phase"] == "pretrain"]
    assert min(pretraining) >= 0
    # Only the easiest half has a part in the first loss.
    nodes = seen["task"].nodes
    easy = seen["rank"][nodes] <= 0.5
    h = torch.randn(len(nodes), 3)
    step = make_step(h, seen["task"].y[nodes])
    step.nodes = nodes
    expected = F.cross_entropy(h[easy], seen["task"].y[nodes][easy])
    assert float(model.train_objective(step)) == pytest.approx(float(expected), rel=1e-5)


def test_the_best_outputs_are_those_of_the_best_validation_epoch():
    given = GivenLabels(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), torch.ones(3), torch.zeros(3).bool(), 2)
    task = learner.Task(
        None, torch.tensor([0, -1, -1, -1]), torch.tensor([0]), torch.ones(4), 2, torch.zeros(4).bool(), given
    )
    best = BestOutputs(4, 2)
    half, full = torch.tensor([1, 1, 0, 0]), torch.tensor([1, 1, 1, 0])  # node 0 is a training node: not judged by
    assert best.keep_if_better(task, torch.full((4, 2), 1.0), half)
    assert best.keep_if_better(task, torch.full((4, 2), 2.0), full)
    assert not best.keep_if_better(task, torch.full((4, 2), 3.0), full)
    assert best.outputs[0, 0] == 2
    assert best.score == 1
    task.given_labels = given.subset(torch.tensor([True, False, False]))
    assert best.keep_if_better(task, torch.full((4, 2), 4.0), half), "without validation labels the newest count"


# ---- CP ----


def test_communities_are_parts_of_the_graph_and_need_no_label():
    rings = [(i, (i + 1) % 10) for i in range(10)] + [(10 + i, 10 + (i + 1) % 10) for i in range(10)]
    community = cp.find_communities(make_inputs(rings, 20), 2, 8, seed=0)
    assert len(community[:10].unique()) == len(community[10:].unique()) == 1
    assert community[0] != community[19]
    assert torch.equal(community, cp.find_communities(make_inputs(rings, 20), 2, 8, seed=0))


@pytest.mark.parametrize("nodes", ["all", "train"])
def test_the_loss_of_cp_adds_the_communities(noisy, nodes):
    """Over all nodes, unless asked otherwise: known ports read the communities of training nodes only."""
    losses = {}
    for weight in (0.0, 0.5):
        model = pignn.make(
            "cp", epochs=1, community_weight=weight, community_nodes=nodes, num_communities=4, dropout=0.0
        )
        losses[weight] = model.fit(noisy).history_[0]["class_loss"]
    torch.manual_seed(0)
    fresh = model.make_networks(noisy.x.shape[1], 3, 120)["classifier"]
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy)).copy_with_scaling(model.feature_scaling_)
    fresh(inputs)
    each = F.cross_entropy(fresh.community_head(fresh.hidden), model._community, reduction="none")
    chosen = noisy.train_mask if nodes == "train" else torch.ones(120, dtype=torch.bool)
    assert losses[0.5] - losses[0.0] == pytest.approx(0.5 * float(each[chosen].mean()), rel=1e-4)


def test_more_communities_than_nodes_are_no_error():
    assert len(cp.find_communities(make_inputs([(0, 1), (1, 2)], 3), 8, 8, seed=0)) == 3
    assert links.find_columns_with_largest_products(Z, Z, 2)[0].shape == (4, 2)


def test_pretraining_keeps_the_best_epoch_of_the_teacher(noisy):
    scores = []

    class Watch(Callback):
        def on_epoch_end(self, context, row):
            scores.append(float(context.networks["teacher_outputs"].score))

    pignn.make("clnode", epochs=2, pretrain_epochs=30).fit(noisy, callbacks=[Watch()])
    assert scores == sorted(scores)
    assert scores[0] == -1  # untrained
    assert scores[-1] > 0.4
