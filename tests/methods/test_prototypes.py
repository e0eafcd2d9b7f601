"""Prototypes, denoised labels and boundaries between nodes: worked-out cases, odd graphs, save and load."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import graphs
from pignn.core import errors
from pignn.methods.core.calibration import fit_inverse_temperature_and_likelihoods
from pignn.methods.core.labels import GivenLabels, build_symmetric_transition, fit_transition
from pignn.methods.denoised import (
    BALANCE_PRIOR_LABELS,
    compute_leave_one_out_cosines_of_labeled,
    estimate_transitions_and_posterior,
    fit_logistic_regression,
    fit_symmetric_rate,
    weight_and_balance_targets,
)
from pignn.methods.low_density import compute_mutual_information, fit_weights_and_transition
from pignn.methods.prototypes import compute_unit_class_means, fit_mixture

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("prototypes", {"noise": "none"}),
    ("prototypes", {}),
    ("prototypes", {"noise": "full"}),
    ("denoised", {}),
    ("low-density", {}),
]


def given(y: list[int], trusted: list[int] | None = None, classes: int = 2) -> GivenLabels:
    n = len(y)
    sure = torch.zeros(n, dtype=torch.bool) if trusted is None else torch.tensor(trusted).bool()
    return GivenLabels(torch.arange(n), torch.tensor(y), torch.ones(n), sure, classes)


def test_one_round_of_the_mixture_by_hand() -> None:
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    labels = given([0, 1, 1])
    means = compute_unit_class_means(h, labels)
    torch.testing.assert_close(means, torch.tensor([[1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)]]))
    found = fit_mixture(h, labels, concentration=2.0, unlabeled_weight=0.0, max_rounds=1)
    r = math.sqrt(0.5)
    q0 = [0.7 * math.exp(2), 0.3 * math.exp(2 * r)]
    q1 = [0.3 * math.exp(2), 0.7 * math.exp(2 * r)]
    q2 = [0.3 * math.exp(0), 0.7 * math.exp(2 * r)]
    expected = torch.tensor([[a / (a + b), b / (a + b)] for a, b in (q0, q1, q2)])
    torch.testing.assert_close(found.posterior, expected)
    rate = 1 - float(expected[0, 0] + expected[1, 1] + expected[2, 1]) / 3
    torch.testing.assert_close(found.transition, torch.tensor([[1 - rate, rate], [rate, 1 - rate]]))
    total = expected.T @ h
    torch.testing.assert_close(found.prototypes, total / total.norm(dim=1, keepdim=True))


def test_information_is_high_for_certain_nodes_and_used_classes() -> None:
    sure = torch.tensor([[50.0, 0.0], [0.0, 50.0]])
    assert float(compute_mutual_information(sure)) == pytest.approx(math.log(2))
    assert float(compute_mutual_information(sure[:, :1])) == pytest.approx(0.0, abs=1e-6)
    assert float(compute_mutual_information(torch.zeros(2, 3))) == pytest.approx(0.0, abs=1e-6)


def test_boundaries_run_between_clusters_whatever_the_labels_say() -> None:
    """Two clusters; in the second, 40 % of the labels say the first class, and more of them on its near side."""
    generator = torch.Generator().manual_seed(0)
    angle = torch.cat([torch.zeros(50), torch.full((50,), 1.2)]) + 0.1 * torch.randn(100, generator=generator)
    h = torch.stack([angle.cos(), angle.sin()], 1)
    second = torch.arange(50, 100)
    flipped = second[angle[second].argsort()[:20]]
    y = (torch.arange(100) >= 50).long()
    truth = y.clone()
    y[flipped] = 0
    labels = given(y.tolist(), classes=3)  # nothing is of the third class
    start = fit_logistic_regression(h, torch.nn.functional.one_hot(y, 3).float(), 1.0)
    assert (torch.where(labels.labeled_class_mask, h @ start, -1e4).argmax(1) != truth).any()
    weight, transition = fit_weights_and_transition(h, labels, start, 15.0, 0.3)
    assert torch.equal(torch.where(labels.labeled_class_mask, h @ weight, -1e4).argmax(1), truth)
    assert 0.2 < float(transition[1, 0]) < 0.5 > float(transition[0, 1])
    sure = given(y.tolist(), [1] * 100, classes=3)
    assert torch.equal(fit_transition(torch.nn.functional.one_hot(truth, 3).float(), sure), torch.eye(3))


def test_trusted_labels_stay_and_a_wrong_label_is_detected() -> None:
    h = torch.tensor([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5)
    wrong = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert float(fit_mixture(h, given(wrong)).posterior[4, 0]) > 0.9
    kept = fit_mixture(h, given(wrong, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0])).posterior
    torch.testing.assert_close(kept[4], torch.tensor([0.0, 1.0]))


def test_cosines_to_class_means_leave_the_node_itself_out() -> None:
    h = torch.nn.functional.normalize(torch.randn(9, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = given([0, 1, 2, 0, 1, 2, 0, 1, 2], classes=3)
    found = compute_leave_one_out_cosines_of_labeled(h, labels)
    for i in range(9):
        keep = torch.arange(9) != i
        torch.testing.assert_close(
            found[i], h[i] @ compute_unit_class_means(h, labels.subset(keep)).T, atol=1e-5, rtol=1e-5
        )


def test_noise_does_not_flatten_calibrated_probabilities() -> None:
    scores = torch.tensor([[1.0, 0.0]]).repeat(100, 1)
    y = torch.tensor([0] * 80 + [1] * 20)
    noisy = torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    assert fit_inverse_temperature_and_likelihoods(scores, torch.eye(2)[:, y].T, torch.ones(100))[0] == pytest.approx(
        math.log(4), rel=0.06
    )
    assert fit_inverse_temperature_and_likelihoods(scores, noisy[:, y].T, torch.ones(100))[0] > 2 * math.log(4)


def test_few_labels_that_agree_are_no_proof_of_certainty() -> None:
    found = [
        fit_inverse_temperature_and_likelihoods(
            torch.tensor([[3.0, 0.0]]).repeat(n, 1), torch.tensor([[1.0, 0.0]]).repeat(n, 1), torch.ones(n)
        )[0]
        for n in (5, 50, 5000)
    ]
    assert 1 < found[0] < found[1] < found[2] < 10


def test_the_rate_of_symmetric_noise_is_estimated() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = torch.randint(0, 4, (2000,), generator=generator)
    wrong = torch.rand(2000, generator=generator) < 0.4
    y = torch.where(wrong, (truth + torch.randint(1, 4, (2000,), generator=generator)) % 4, truth)
    cosines = 0.5 * torch.nn.functional.one_hot(truth, 4) + 0.1 * torch.randn(2000, 4, generator=generator)
    assert fit_symmetric_rate(cosines, y) == pytest.approx(0.4, abs=0.051)
    assert fit_symmetric_rate(cosines, truth) < 0.06


def test_posteriors_are_averaged_over_the_noise_models() -> None:
    h = torch.nn.functional.normalize(torch.randn(12, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = given([0, 1, 2] * 4, trusted=[1] + [0] * 11, classes=3)
    models = [build_symmetric_transition(0.1, 3), build_symmetric_transition(0.5, 3)]
    both = estimate_transitions_and_posterior(h, labels, models)[1]
    torch.testing.assert_close(
        both, sum(estimate_transitions_and_posterior(h, labels, [model])[1] for model in models) / 2
    )
    torch.testing.assert_close(both[0], torch.tensor([1.0, 0.0, 0.0]))


def test_balancing_pulls_class_totals_together() -> None:
    target = torch.eye(3)[torch.tensor([0] * 9 + [1] * 3)].double()  # class 2 has none
    total = weight_and_balance_targets(target, torch.ones(12)).sum(0)
    expected = (
        torch.tensor([9 + BALANCE_PRIOR_LABELS, 3 + BALANCE_PRIOR_LABELS, 0.0]) * 12 / (12 + 2 * BALANCE_PRIOR_LABELS)
    )
    torch.testing.assert_close(total.float(), expected)


def test_logistic_regression_is_at_its_optimum() -> None:
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(40, 5, generator=generator), torch.rand(40, 3, generator=generator)
    weights = fit_logistic_regression(x, target, 2.0).double()
    p = (x.double() @ weights).softmax(1)
    slope = x.double().T @ (target.sum(1, keepdim=True) * p - target) + 2.0 * weights
    assert float(slope.abs().max()) < 1e-2


@pytest.mark.parametrize(("name", "chosen"), METHODS)
def test_learns_saves_and_never_reads_the_truth(noisy: Data, tmp_path: Path, name: str, chosen: dict[str, Any]) -> None:
    model = pignn.make(name, labels="train+val", **chosen).fit(noisy)
    assert model.score(noisy) > 0.8
    proba = model.predict_proba(noisy)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-5)
    model.save(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(noisy), proba)
    other = graphs.csbm(num_nodes=90, num_classes=3, signal=2.0, seed=0)
    assert again.predict(other).shape == (90,)
    scrambled = noisy.clone()
    scrambled.y_true = scrambled.y_true[torch.randperm(noisy.num_nodes, generator=torch.Generator().manual_seed(1))]
    np.testing.assert_array_equal(
        pignn.make(name, labels="train+val", **chosen).fit(scrambled).predict_proba(noisy), proba
    )


@pytest.mark.parametrize(("name", "chosen"), METHODS)
def test_graphs_without_edges_features_or_a_class_give_finite_probabilities(
    noisy: Data, name: str, chosen: dict[str, Any]
) -> None:
    few = noisy.clone()  # one label per class, one class without any, no edges, a node without features
    few.train_mask = torch.zeros(noisy.num_nodes, dtype=torch.bool)
    for c in (0, 1):
        few.train_mask[(noisy.y == c).nonzero()[0, 0]] = True
    few.edge_index = torch.empty(2, 0, dtype=torch.int64)
    few.x = few.x.clone()
    few.x[:5] = 0.0
    with pytest.warns(errors.PignnWarning, match="no training node carries class 2"):
        model = pignn.make(name, **chosen).fit(few)
    proba = model.predict_proba(few)
    assert np.isfinite(proba).all()
    assert not proba[:, 2].any()


def test_label_weights_count_and_wrong_settings_are_refused(noisy: Data) -> None:
    heavy = noisy.clone()
    heavy.label_weight = torch.where(noisy.y == noisy.y_true, 1.0, 0.0)
    right = pignn.make("prototypes", noise="none").fit(heavy).prototypes_
    only = noisy.clone()
    only.train_mask = noisy.train_mask & (noisy.y == noisy.y_true)
    torch.testing.assert_close(pignn.make("prototypes", noise="none").fit(only).prototypes_, right)
    with pytest.raises(errors.ConfigError, match="class_weight"):
        pignn.make("denoised", class_weight="equal").fit(noisy)
    with pytest.raises(errors.ConfigError, match="unknown noise 'symetric'; did you mean 'symmetric'"):
        pignn.make("prototypes", noise="symetric").fit(noisy)
