"""Noise as other benchmarks draw it, against dense computations on small graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from pignn import graphs
from pignn.core.errors import ConfigError, DataError
from pignn.noise import ConfidenceNoise, FeatureNoise, TopologyNoise, benchmark_kinds, corrupt, summarize_noise
from pignn.noise.kinds import LabelsToCorrupt

DOUBT = ["topology", "feature", "confidence"]
PAIRS = ["feature-pair", "structure-pair"]


@pytest.fixture(scope="module")
def data():
    return graphs.csbm(600, 4, homophily=0.8, degree=6, seed=0)


def ask(data, num_classes):
    y = data.y.numpy()
    return LabelsToCorrupt(data, y, np.arange(len(y)), num_classes, 0.3, 0, "any")


def make_graph(edges, x, y):
    edge_index = torch.tensor(edges).t()
    both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    return Data(x=torch.tensor(x), edge_index=both, y=torch.tensor(y), num_nodes=len(y))


@pytest.mark.parametrize("kind", [*DOUBT, *PAIRS])
def test_the_rate_is_exact_and_flips_are_nested_and_seeded(data, kind):
    few, many = (corrupt(data, kind, rate, splits="all") for rate in (0.1, 0.4))
    wrong = [noisy.y != noisy.y_true for noisy in (few, many)]
    assert [int(w.sum()) for w in wrong] == [60, 240]
    assert (wrong[0] <= wrong[1]).all()
    assert torch.equal(few.y, corrupt(data, kind, 0.1, splits="all").y)
    assert not torch.equal(few.y, corrupt(data, kind, 0.1, seed=1, splits="all").y)
    assert not (corrupt(data, kind, 0.0, splits="all").y != data.y).any()


def test_noisygl_instance_noise_has_its_rate_and_follows_the_features(data):
    noisy = corrupt(data, "instance-noisygl", 0.3, splits="all")
    assert summarize_noise(noisy).split_rates["train"] == pytest.approx(0.3, abs=0.1)
    wrong = noisy.y != noisy.y_true
    assert float(wrong.float().mean()) == pytest.approx(0.3, abs=0.05)
    more = corrupt(data, "instance-noisygl", 0.5, splits="all")
    assert (wrong <= (more.y != more.y_true)).all()
    again = data.clone()
    again.x = again.x.clone() * 1e6  # saturates the softmax: one wrong class per node, nothing overflows
    noisy = corrupt(again, "instance-noisygl", 1.0, splits="all")
    assert ((noisy.y >= 0) & (noisy.y < 4) & (noisy.y != noisy.y_true)).all()
    weights = benchmark_kinds.make_generator("instance-noisygl-weights", 0).standard_normal((4, data.x.shape[1], 4))
    scores = np.einsum("nf,nfc->nc", data.x.double().numpy(), weights[data.y.numpy()])
    scores[np.arange(600), data.y.numpy()] = -np.inf
    assert np.array_equal(noisy.y.numpy(), scores.argmax(axis=1))


def test_topology_noise_is_the_softmax_of_pagerank_to_classes():
    graph = make_graph([(0, 1), (1, 2), (0, 2), (2, 3)], np.zeros((5, 1)), [0, 1, 1, 2, 0])
    adj = np.eye(5)
    for i, j in graph.edge_index.t().tolist():
        adj[i, j] = 1
    walk = adj / adj.sum(1, keepdims=True)
    for alpha, tolerance in ((0.9, 1e-3), (0.6, 0.05)):
        pagerank = alpha * np.linalg.inv(np.eye(5) - (1 - alpha) * walk)
        np.fill_diagonal(pagerank, 0)
        expected = pagerank @ np.eye(3)[graph.y]
        kind = TopologyNoise(alpha=alpha, temperature=1.0)
        found = kind.compute_logits(ask(graph, 3))
        np.testing.assert_allclose(found[:4], expected[:4], atol=tolerance)
        assert found[4].argmax() == 0, "nobody is near node 4"


def test_feature_noise_is_the_softmax_of_cosines_to_class_means(monkeypatch):
    monkeypatch.setattr(benchmark_kinds, "ROWS_PER_CHUNK", 2)
    x = np.array([[1.0, 0.2], [0.8, 0.0], [0.0, 1.0], [0.3, 0.9], [0.0, 0.0]])
    graph = make_graph([(0, 1)], x, [0, 0, 1, 1, 0])
    means = np.stack([x[[0, 1, 4]].mean(0), x[[2, 3]].mean(0)])
    cosine = x @ means.T / np.maximum(np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(means, axis=1), 1e-10)
    np.testing.assert_allclose(FeatureNoise(0.5).compute_logits(ask(graph, 2)), cosine / 0.5, atol=1e-12)


def test_nodes_are_drawn_in_proportion_to_their_doubt(data):
    """Of two kinds of nodes, those of twice the doubt go first twice as often."""
    probs = np.full((600, 4), 0.2 / 3)
    probs[np.arange(600), data.y.numpy()] = 0.8
    probs[300:] = 0.4 / 3
    probs[np.arange(300, 600), data.y.numpy()[300:]] = 0.6
    counts = np.zeros(2)
    for seed in range(200):
        noisy = corrupt(data, ConfidenceNoise(probs), 10 / 600, seed=seed, splits="all")
        wrong = (noisy.y != noisy.y_true).view(2, 300)
        counts += wrong.sum(1).numpy()
    assert counts.sum() == 2000
    assert counts[1] / counts.sum() == pytest.approx(2 / 3, abs=0.04)


def test_a_class_of_no_probability_is_never_given(data):
    probs = np.full((600, 4), 1e-9)
    probs[:, :2] = 0.5
    noisy = corrupt(data, ConfidenceNoise(probs), 0.3, splits="all")
    assert noisy.y[noisy.y != noisy.y_true].max() <= 1
    with pytest.raises(DataError, match="needs probabilities of shape"):
        corrupt(data, ConfidenceNoise(probs[:5]), 0.3)


def test_wrong_labels_lie_where_a_classifier_doubts(data):
    scores = benchmark_kinds.compute_cross_fitted_probs(ask(data, 4))
    own = scores[np.arange(600), data.y.numpy()]
    noisy = corrupt(data, "confidence", 0.2, splits="all")
    wrong = (noisy.y != noisy.y_true).numpy()
    assert own[wrong].mean() < own[~wrong].mean() - 0.1


def test_every_class_goes_to_the_most_similar_one():
    x = [[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [0.0, 1.0], [0.0, 0.9]]
    graph = make_graph([(0, 3), (1, 3), (2, 0), (3, 4)], x, [0, 0, 1, 2, 2])
    # A known program takes the last class with any similarity, and swaps pairs back.
    assert corrupt(graph, "feature-pair", 1.0, splits="all").y.tolist() == [1, 1, 0, 1, 1]
    assert corrupt(graph, "structure-pair", 1.0, splits="all").y.tolist() == [2, 2, 0, 0, 0]


@pytest.mark.parametrize("kind", ["instance-noisygl", *DOUBT, *PAIRS])
def test_graphs_without_edges_or_features_are_no_error(kind):
    data = graphs.csbm(60, 3)
    data.edge_index = data.edge_index[:, :0]
    data.x = torch.zeros_like(data.x)
    noisy = corrupt(data, kind, 0.5, splits="all")
    assert 10 <= int((noisy.y != noisy.y_true).sum()) <= 50
    assert ((noisy.y >= 0) & (noisy.y < 3)).all()


def test_settings_are_checked_and_recorded(data):
    assert corrupt(data, TopologyNoise(alpha=0.5), 0.2).noise["alpha"] == 0.5
    with pytest.raises(ConfigError, match="alpha must be"):
        TopologyNoise(alpha=0)
    with pytest.raises(ConfigError, match="temperature must be"):
        FeatureNoise(temperature=-1)
