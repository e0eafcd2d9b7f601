"""GraphCleaner: the features of its detector against dense powers, what it flips, what it finds, what is left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import pignn
from pignn import backbones, graphs
from pignn.auditing.label_scorers import SCORERS
from pignn.methods import graph_cleaner
from pignn.methods.core.learner import Step


@pytest.fixture(scope="module")
def noisy():
    clean = graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.3, seed=0)


def test_features_equal_those_of_dense_powers_without_their_diagonals(noisy, monkeypatch):
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    monkeypatch.setattr(graph_cleaner, "ROWS_PER_CHUNK", 50)
    features = graph_cleaner.NeighborhoodFeatures(inputs)
    a = np.zeros((240, 240))
    a[inputs.adj.row, inputs.adj.col.long()] = 1
    degree = np.maximum(a.sum(1), 1)
    s = a / np.sqrt(degree[:, None] * degree)
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 240), rng.integers(-1, 3, 240)
    nodes = np.flatnonzero(labels >= 0)[:40]
    one_hot = np.eye(4)[labels][:, :3]  # the row of −1 is zero
    expected = [probs[nodes, labels[nodes]]]
    for source in (probs, one_hot):
        for power in (1, 2, 3):
            matrix = np.linalg.matrix_power(s, power)
            np.fill_diagonal(matrix, 0)
            expected.append((matrix @ source)[nodes, labels[nodes]])
    np.testing.assert_allclose(
        features.compute_features_of_labels(probs, labels, nodes), np.stack(expected, axis=1), atol=1e-10
    )


def test_half_of_the_labels_are_flipped_to_another_class():
    labels, nodes = np.tile([0, 1, 2], 200), np.arange(0, 600, 2)
    transition = np.array([[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0]])
    flipped, moved = graph_cleaner.flip_half_of_labels_and_get_mask(labels, nodes, transition, 0)
    assert moved.sum() == 150
    assert np.array_equal(flipped != labels, np.isin(np.arange(600), nodes[moved]))
    assert set(flipped[nodes[moved]][labels[nodes[moved]] == 0]) == {1}
    assert set(flipped[nodes[moved]][labels[nodes[moved]] == 2]) == {0, 1}, "never wrong: any other class"


def test_no_network_has_learned_the_label_that_it_judges(noisy):
    """A network that has learned a wrong label believes it: then hardly any label of a training node is left out."""
    y, nodes = noisy.y, noisy.train_mask.nonzero().view(-1)
    folds = graph_cleaner.draw_folds(240, nodes, y[nodes], 0)
    assert torch.equal(folds, graph_cleaner.draw_folds(240, nodes, y[nodes], 0))
    table = torch.zeros(3, graph_cleaner.NUM_FOLDS).index_put_((y[nodes], folds[nodes]), torch.ones(len(nodes)), True)
    assert int((table.max(1).values - table.min(1).values).max()) <= 1
    torch.manual_seed(0)
    method = pignn.make("graph-cleaner", dropout=0.0)
    method._folds = folds
    teacher, _ = method.make_teacher_and_num_outputs(noisy.x.shape[1], 3)
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    method._task = SimpleNamespace(inputs=inputs)
    weight = torch.full((len(nodes),), 1 / len(nodes))
    step = Step(
        0, "pretrain", nodes, y[nodes], weight, weight < 0, *[torch.zeros(1)] * 2, inputs, nodes, nodes, {}, None
    )
    logits = teacher.compute_member_logits(inputs)
    expected = sum(
        F.cross_entropy(logits[k][nodes[folds[nodes] != k]], y[nodes[folds[nodes] != k]])
        for k in range(graph_cleaner.NUM_FOLDS)
    )
    torch.testing.assert_close(method.compute_teacher_loss(step, teacher.train()), expected)
    outputs = method.build_teacher_outputs(teacher.eval(), None)
    torch.testing.assert_close(outputs[7], logits[folds[7], 7])


def test_wrong_labels_are_found_and_left_out(noisy):
    model = pignn.make("graph-cleaner", epochs=60, pretrain_epochs=60).fit(noisy)
    train = noisy.train_mask.nonzero().view(-1)
    dropped = ~model._kept[train]
    wrong = noisy.y[train] != noisy.y_true[train]
    assert model.num_dropped_ == int(dropped.sum()) > 0
    assert float(wrong[dropped].float().mean()) > float(wrong.float().mean()) + 0.2
    assert model.score(noisy) > 0.8


def test_trusted_labels_and_the_last_of_a_class_stay():
    scores, y = np.array([0.9, 0.8, 0.9, 0.7, 0.2]), np.array([0, 0, 1, 1, 1])
    trusted = np.array([True, False, False, False, False])
    assert graph_cleaner.build_dropped_label_mask(scores, y, trusted, 0.5, 1).tolist() == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_without_validation_labels_or_with_one_label_nothing_fails(noisy):
    alone = noisy.clone()
    alone.y = torch.where(noisy.train_mask, noisy.y, -1)
    with pytest.warns(pignn.PignnWarning, match="the last epoch is kept"):
        model = pignn.make("graph-cleaner", epochs=3, pretrain_epochs=3).fit(alone)
    assert np.isfinite(model.predict_proba(noisy)).all()
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    features, probs = graph_cleaner.NeighborhoodFeatures(inputs), np.full((240, 3), 1 / 3)
    one = graph_cleaner.compute_wrong_label_probs(
        features, probs, np.zeros(240, dtype=int), np.array([3]), np.arange(5), 0
    )
    assert one.tolist() == [0] * 5


def test_the_detector_ranks_labels_in_the_comparison_of_the_audit():
    clean = graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)
    data = pignn.corrupt(clean, "symmetric", 0.2, seed=1, splits="all")
    scores, _ = SCORERS.get("graph-cleaner")(epochs=30).compute_suspicion_scores_and_measures(data)
    wrong = (data.y != data.y_true).numpy()
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[wrong].mean() > scores[~wrong].mean() + 0.3
