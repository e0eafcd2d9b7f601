"""Noise that follows the features or the graph, and noise of one side."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pignn import graphs
from pignn.noise import build_transition_matrix, corrupt, summarize_noise


def test_one_sided_matrix() -> None:
    expected = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.3, 0.0, 0.7]])
    np.testing.assert_allclose(build_transition_matrix("one-sided", 0.3, 3), expected, atol=1e-15)


def test_one_sided_noise_leaves_the_first_class_alone() -> None:
    found = summarize_noise(corrupt(graphs.csbm(20_000, 3, num_features=4), "one-sided", 0.4, splits=("all",)))
    np.testing.assert_allclose(found.transition, build_transition_matrix("one-sided", 0.4, 3), atol=0.02)


@pytest.mark.parametrize("kind", ["rule", "cluster"])
def test_the_rate_is_exact_and_flips_are_nested(kind: str) -> None:
    data = graphs.csbm(1000, 4, degree=6)
    few, many = (corrupt(data, kind, rate, splits=("all",)) for rate in (0.1, 0.25))
    wrong = [(noisy.y != noisy.y_true) for noisy in (few, many)]
    assert [int(w.sum()) for w in wrong] == [100, 250]
    assert (wrong[0] <= wrong[1]).all()
    assert torch.equal(few.y, corrupt(data, kind, 0.1, splits=("all",)).y)
    assert not torch.equal(few.y, corrupt(data, kind, 0.1, seed=1, splits=("all",)).y)
    assert not (corrupt(data, kind, 0.0, splits=("all",)).y != data.y).any()


def test_rule_noise_is_a_function_of_the_features() -> None:
    """Two nodes with the same features that a rule labels get the same label, whatever they are."""
    data = graphs.csbm(1000, 4)
    data.x[500:] = data.x[:500]
    noisy = corrupt(data, "rule", 0.3, splits=("all",))
    wrong = (noisy.y != noisy.y_true).view(2, 500)
    labels = noisy.y.view(2, 500)
    either = wrong.any(dim=0)
    assert either.sum() > 100
    assert (labels[0] == labels[1])[either].float().mean() > 0.99


def test_cluster_noise_is_local() -> None:
    data = graphs.csbm(2000, 4, homophily=0.9, degree=4)
    row, col = data.edge_index
    together = {}
    for kind in ("cluster", "symmetric"):
        noisy = corrupt(data, kind, 0.2, splits=("all",))
        wrong = noisy.y != noisy.y_true
        together[kind] = float(wrong[col][wrong[row]].float().mean())
    assert together["cluster"] > together["symmetric"] + 0.2


def test_cluster_noise_on_a_graph_without_edges_has_the_exact_rate() -> None:
    data = graphs.csbm(200, 2)
    data.edge_index = data.edge_index[:, :0]
    noisy = corrupt(data, "cluster", 0.2, splits=("all",))
    assert int((noisy.y != noisy.y_true).sum()) == 40
