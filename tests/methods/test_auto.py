"""The method that chooses a method."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import graphs
from pignn.backbones import GraphInputs
from pignn.core import errors
from pignn.core.errors import PignnWarning
from pignn.methods import auto
from pignn.methods.auto_candidates import NETWORK_BACKBONES
from pignn.methods.core import calibration, ensembling
from pignn.methods.core.labels import GivenLabels, RatePrior, compute_label_log_likelihoods, fit_transition
from pignn.training.metrics import calibration_error


def test_it_chooses_explains_saves_and_never_reads_the_truth(noisy: Data, tmp_path: Path) -> None:
    model = pignn.make("auto").fit(noisy)
    assert model.score(noisy) > 0.8
    assert model.chosen_ in model.holdout_log_likelihood_
    assert model.chosen_ in model.explanation_
    proba = model.predict_proba(noisy)
    model.save(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(noisy), proba)
    assert (again.chosen_, again.explanation_) == (model.chosen_, model.explanation_)
    scrambled = noisy.clone()
    scrambled.y_true = scrambled.y_true.flip(0)
    np.testing.assert_array_equal(pignn.make("auto").fit(scrambled).predict_proba(noisy), proba)


def test_validation_labels_can_be_left_out(noisy: Data) -> None:
    hidden = noisy.clone()
    hidden.y = torch.where(noisy.val_mask, -1, noisy.y)
    one, two = (pignn.make("auto", labels="train").fit(data) for data in (noisy, hidden))
    np.testing.assert_array_equal(one.predict_proba(noisy), two.predict_proba(noisy))


class EagerAuto(auto.Auto):
    """Holds labels out once, and compares networks, from fewer labels on."""

    name = "auto"
    min_holdout_labels = 50


@pytest.fixture
def crossed() -> Data:
    """Noisy labels that no straight line divides."""
    data = graphs.csbm(num_nodes=900, num_classes=2, signal=0.0, num_features=4, seed=0)
    data.y = (data.x[:, 0] * data.x[:, 1] > 0).long()
    for name, first in (("train", 0), ("val", 300), ("test", 600)):
        data[f"{name}_mask"] = (torch.arange(900) >= first) & (torch.arange(900) < first + 300)
    return pignn.corrupt(data, "symmetric", 0.1, seed=0)


def test_a_network_is_chosen_if_it_predicts_better(crossed: Data, tmp_path: Path) -> None:
    model = EagerAuto().fit(crossed)
    assert model.chosen_ in NETWORK_BACKBONES
    assert f"'{model.chosen_}' predicts {model.agreement_[model.chosen_]:.1%}" in model.explanation_
    assert model.score(crossed) > 0.8
    with pytest.warns(PignnWarning, match="no candidate predicts held-out labels better"):
        assert EagerAuto(networks="never").fit(crossed).score(crossed) < 0.8
    model.save(tmp_path / "model")
    proba = model.predict_proba(crossed)
    np.testing.assert_array_equal(pignn.load_model(tmp_path / "model").predict_proba(crossed), proba)
    np.testing.assert_allclose(model.copy_and_refit(crossed).predict_proba(crossed), proba, atol=1e-5)


def test_the_chosen_ones_learn_from_all_labels_after_the_comparison(noisy: Data) -> None:
    model = EagerAuto(networks="never").fit(noisy)
    for each in model.models_.values():
        assert len(each.labeled_) == int((noisy.train_mask | noisy.val_mask).sum())
    assert model.score(noisy) > 0.8


def test_no_candidate_is_tried_after_the_time_limit(noisy: Data) -> None:
    model = pignn.make("auto", time_limit=1e-6).fit(noisy)
    assert list(model.agreement_) == ["denoised (smoothed)"]
    assert "the time limit left 34 candidates untried" in model.explanation_


@pytest.fixture
def positional() -> Data:
    """Noisy labels that only the position in the graph can tell: features are random."""
    data = graphs.csbm(num_nodes=600, num_classes=3, homophily=0.9, degree=12, signal=0.0, seed=0)
    return pignn.corrupt(data, "symmetric", 0.2, seed=0)


def test_the_structure_alone_can_tell_classes(positional: Data) -> None:
    model = pignn.make("auto").fit(positional)
    assert "structure" in model.chosen_
    assert model.score(positional) > 0.9


def test_another_graph_is_predicted_without_the_structure_of_the_first(positional: Data, tmp_path: Path) -> None:
    model = pignn.make("auto").fit(positional)
    assert "structure" not in model.fallback_
    other = graphs.csbm(num_nodes=500, num_classes=3, homophily=0.9, degree=12, signal=0.0, seed=1)
    proba = model.predict_proba(other)
    assert proba.shape == (500, 3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(pignn.load_model(tmp_path / "model").predict_proba(other), proba)


def test_labels_that_nothing_predicts_are_said(noisy: Data) -> None:
    shuffled = noisy.clone()
    labeled = (noisy.y >= 0).nonzero().view(-1)
    shuffled.y[labeled] = torch.randint(0, 3, (len(labeled),), generator=torch.Generator().manual_seed(1))
    shuffled.y[labeled[: len(labeled) // 2]] = 0  # so that one class is the largest
    with pytest.warns(PignnWarning, match="no candidate predicts held-out labels better"):
        model = pignn.make("auto").fit(shuffled)
    assert "no candidate" in model.get_fit_facts().warning


def test_noise_that_fits_the_judged_labels_themselves_is_no_evidence() -> None:
    """Certain scores that say nothing of the labels, and a transition matrix with an entry for each pair."""
    generator = torch.Generator().manual_seed(0)
    y, said = (torch.randint(0, 6, (240,), generator=generator) for _ in range(2))
    given = GivenLabels(torch.arange(240), y, torch.ones(240), torch.zeros(240, dtype=torch.bool), 6)
    scores = 20.0 * torch.nn.functional.one_hot(said, 6)
    start = torch.full((6, 6), 1 / 6)
    transition = fit_transition(scores.softmax(1), given, prior=1.0)
    in_sample = compute_label_log_likelihoods(given, transition)[torch.arange(240), said]
    cross_fitted = calibration.compute_cross_fitted_log_likelihoods(scores, given, start, seed=0)
    assert float(in_sample.mean()) > -math.log(6) > float(cross_fitted.mean())


def test_a_rate_that_is_thought_likely_counts_as_labels() -> None:
    given = GivenLabels(torch.arange(10), torch.zeros(10).long(), torch.ones(10), torch.zeros(10, dtype=torch.bool), 2)
    certain = torch.tensor([[1.0, 0.0]]).repeat(10, 1)
    matrix = fit_transition(certain, given, rate_prior=RatePrior(rate=0.2, labels=1e6))
    torch.testing.assert_close(matrix, torch.tensor([[0.8, 0.2], [0.2, 0.8]]), atol=1e-3, rtol=0)


@pytest.fixture
def hubs() -> Data:
    """Classes that only degrees tell: few, some or many links, to anybody. The features are random."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    source = np.arange(600).repeat(np.array([2, 12, 40])[y])
    edge_index = torch.from_numpy(np.stack([source, rng.integers(600, size=len(source))]))
    data = Data(x=torch.from_numpy(rng.normal(size=(600, 8))).float(), edge_index=edge_index, y=torch.from_numpy(y))
    part = torch.from_numpy(rng.integers(4, size=600))
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part > 1
    return pignn.corrupt(data, "symmetric", 0.2, seed=0)


@pytest.mark.filterwarnings("ignore:edges")
def test_degrees_can_tell_classes_of_this_and_of_another_graph(hubs: Data) -> None:
    model = pignn.make("auto", networks="never").fit(hubs)
    assert "degrees" in model.chosen_
    assert model.score(hubs) > 0.8
    other = hubs.clone()
    other.edge_index = 599 - hubs.edge_index  # the last node comes first
    assert (model.predict(other)[::-1] == hubs.y_true.numpy()).mean() > 0.7


@pytest.fixture
def uneven() -> Data:
    """One node in twenty is of the other class, which features hardly tell; neighbors do. All labels are right."""
    rng = np.random.default_rng(3)
    nodes, links = 1000, 4
    y = (rng.random(nodes) < 0.05).astype(np.int64)
    x = rng.normal(size=(nodes, 16)) + 0.3 * y[:, None]
    source = np.arange(nodes).repeat(links)
    alike = [rng.choice(np.flatnonzero(y == c), len(source)) for c in (0, 1)]
    own = np.where(y[source] == 1, alike[1], alike[0])
    target = np.where(rng.random(len(source)) < 0.9, own, rng.integers(nodes, size=len(source)))
    train = torch.from_numpy(rng.random(nodes) < 0.5)
    return Data(
        x=torch.from_numpy(x).float(),
        edge_index=torch.from_numpy(np.stack([source, target])),
        y=torch.where(train, torch.from_numpy(y), -1),
        y_true=torch.from_numpy(y),
        train_mask=train,
        val_mask=torch.zeros(nodes, dtype=torch.bool),
        test_mask=~train,
    )


@pytest.mark.filterwarnings("ignore:edges")
def test_rare_classes_are_predicted_as_often_as_labels_have_them(uneven: Data) -> None:
    model = pignn.make("auto").fit(uneven)
    largest = float((uneven.y_true[uneven.test_mask] == 0).double().mean())
    assert model.score(uneven) > largest


def test_a_class_bias_is_fitted_where_frequencies_differ_and_only_there() -> None:
    y = torch.cat([torch.zeros(450), torch.ones(50)]).long()
    scores = torch.stack([torch.zeros(500), y * 1.0 - 0.5], 1)  # as if both classes had the same size
    likelihood = torch.nn.functional.one_hot(y, 2).double()
    bias = calibration.fit_class_bias_or_zeros(scores, likelihood, torch.ones(500))
    # At the optimum without a prior, the mean probability of a class is its frequency.
    mean = float((scores.double() + bias).softmax(1)[:, 1].mean())
    assert mean == pytest.approx(0.1, abs=0.005)
    same = torch.arange(500) % 2
    assert not calibration.fit_class_bias_or_zeros(
        torch.zeros(500, 2), torch.nn.functional.one_hot(same, 2).double(), torch.ones(500)
    ).any()


def test_classes_of_equal_size_have_no_bias(noisy: Data) -> None:
    assert not pignn.make("auto").fit(noisy).bias_.any()


def test_the_average_is_that_of_probabilities(noisy: Data) -> None:
    model = pignn.make("auto").fit(noisy)
    assert len(model.weights_) > 1
    assert sum(model.weights_.values()) == pytest.approx(1)
    inputs = GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    views = model.views_.transform(inputs, {each.view for each in model.candidates_.values()})
    parts = []
    for name, weight in model.weights_.items():
        scores = model.models_[name].compute_scores_of_embedded_nodes(views[model.candidates_[name].view])
        parts.append(weight * (model.models_[name].inverse_temperature_ * scores).softmax(1).numpy())
    scaled = sum(parts) ** model.inverse_temperature_
    scaled /= scaled.sum(1, keepdims=True)
    labels = int((noisy.train_mask | noisy.val_mask).sum())
    expected = (scaled * labels + 1 / 3) / (labels + 1)
    np.testing.assert_allclose(model.predict_proba(noisy), expected, rtol=1e-4, atol=1e-6)


def test_weights_follow_the_likelihood() -> None:
    weights = ensembling.compute_softmax_weights_without_negligible(
        {"a": -100.0, "b": -100.0 - np.log(4), "c": -1000.0}
    )
    assert weights == pytest.approx({"a": 0.8, "b": 0.2})
    assert ensembling.compute_softmax_weights_without_negligible(dict.fromkeys("abcd", -5.0)) == pytest.approx(
        dict.fromkeys("abcd", 0.25)
    )


def test_refit_keeps_the_choice_and_forgets_labels_that_are_gone(noisy: Data) -> None:
    model = pignn.make("auto").fit(noisy)
    np.testing.assert_allclose(model.copy_and_refit(noisy).predict_proba(noisy), model.predict_proba(noisy), atol=1e-5)
    part = noisy.clone()
    part.train_mask = noisy.train_mask & (torch.arange(len(noisy.y)) % 5 > 0)
    other = part.clone()
    other.y_true = other.y_true.flip(0)
    one, two = model.copy_and_refit(part), model.copy_and_refit(other)
    np.testing.assert_array_equal(one.predict_proba(noisy), two.predict_proba(noisy))
    assert one.weights_ == model.weights_
    assert np.abs(one.predict_proba(noisy) - model.predict_proba(noisy)).max() > 1e-3


def test_refit_needs_a_fitted_model_and_a_graph_with_the_same_features(noisy: Data) -> None:
    with pytest.raises(errors.NotFittedError, match="not fitted"):
        pignn.make("auto").copy_and_refit(noisy)
    model = pignn.make("auto").fit(noisy)
    wider = noisy.clone()
    wider.x = torch.cat([noisy.x, noisy.x], 1)
    with pytest.raises(errors.DataError, match="64 and 3"):
        model.copy_and_refit(wider)


def test_calibration_error_by_hand() -> None:
    proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    assert calibration_error([0, 1, 1, -1], proba) == pytest.approx((abs(1 - 1.8) + abs(1 - 0.6)) / 3)


def test_validation_labels_choose_and_are_not_learned_from(noisy: Data, tmp_path: Path) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    assert model.score(noisy) > 0.8
    assert "class means (smoothed)" in model.agreement_
    right = model.agreement_[model.chosen_]
    assert right >= max(model.agreement_.values()) - 1e-9
    assert f"'{model.chosen_}' predicts {right:.1%} of them" in model.explanation_
    view = model.candidates_[model.chosen_].view
    inputs = GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    predicted = (
        model.models_[model.chosen_]
        .compute_scores_of_embedded_nodes(model.views_.transform(inputs, [view])[view])
        .argmax(1)
    )
    agrees = predicted[noisy.val_mask] == noisy.y[noisy.val_mask]
    assert float(agrees.double().mean()) == pytest.approx(right)
    for each in model.models_.values():
        assert not noisy.val_mask[each.labeled_].any()
    model.save(tmp_path / "model")
    proba = model.predict_proba(noisy)
    np.testing.assert_array_equal(pignn.load_model(tmp_path / "model").predict_proba(noisy), proba)
    np.testing.assert_allclose(model.copy_and_refit(noisy).predict_proba(noisy), proba, atol=1e-5)
    scrambled = noisy.clone()
    scrambled.y_true = scrambled.y_true.flip(0)
    np.testing.assert_array_equal(pignn.make("auto", labels="noisy-val").fit(scrambled).predict_proba(noisy), proba)


def test_some_candidates_learn_from_a_part_of_the_labels(noisy: Data) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    subsets = {name for name in model.agreement_ if ", part " in name}
    assert len(subsets) == 48
    assert len({name.split(", part")[0].split("(")[1] for name in subsets}) == 1  # all in the best view
    train = noisy.train_mask.nonzero().view(-1)
    for name, each in model.models_.items():
        known = set(each.labeled_.tolist())
        assert known < set(train.tolist()) if name in subsets else known == set(train.tolist())
        assert len(each.posterior_) == len(each.labeled_)
    assert any(name in subsets for name in model.models_)


def test_a_part_of_the_labels_has_every_class() -> None:
    y = torch.tensor([0] * 10 + [1] * 3 + [3])
    given = GivenLabels(torch.arange(14) + 100, y, torch.ones(14), torch.zeros(14, dtype=torch.bool), 4)
    part = given.draw_subset_per_class_keeping_trusted(0.6, 5)
    assert torch.bincount(part.y, minlength=4).tolist() == [6, 2, 0, 1]
    assert torch.equal(y[part.nodes - 100], part.y)
    assert torch.equal(part.nodes, given.draw_subset_per_class_keeping_trusted(0.6, 5).nodes)
    assert not torch.equal(part.nodes, given.draw_subset_per_class_keeping_trusted(0.6, 6).nodes)
    trusted = torch.arange(14) < 5
    half_sure = GivenLabels(given.nodes, y, given.weight, trusted, 4).draw_subset_per_class_keeping_trusted(0.6, 5)
    assert int(half_sure.trusted.sum()) == 5
    assert torch.bincount(half_sure.y, minlength=4).tolist() == [5 + 3, 2, 0, 1]
    many = GivenLabels(torch.arange(25), torch.zeros(25).long(), torch.ones(25), torch.zeros(25, dtype=torch.bool), 1)
    assert len(many.draw_subset_per_class_keeping_trusted(0.6, 0).y) == 15


def test_the_views_are_saved_once(noisy: Data) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    tensors, _ = model._get_tensors_and_metadata()
    assert not any(key.endswith(".components") for key in tensors)
    assert len([key for key in tensors if key.startswith("views.components.")]) == 4


def test_noisy_val_without_validation_labels_is_refused(noisy: Data) -> None:
    noisy.y = torch.where(noisy.val_mask, -1, noisy.y)
    with pytest.raises(errors.DataError, match="no label of a validation node to choose by; use labels='train'"):
        pignn.make("auto", labels="noisy-val").fit(noisy)
