"""The method that chooses a method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import backbones, graphs
from pignn.core import errors
from pignn.core.errors import PignnWarning
from pignn.methods import auto
from pignn.methods.auto_candidates import FEATURES_ONLY, SUBSET_CANDIDATES, Candidate
from pignn.methods.core import ensembling
from pignn.methods.core.homophily import estimate_homophily
from pignn.methods.core.labels import GivenLabels, symmetric_transition
from pignn.methods.references import MLP
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
    """Compares a short MLP from fewer labels on."""

    name = "auto"
    min_network_labels = 50
    network_candidates = (Candidate("MLP", MLP, {"epochs": 60}),)


def test_networks_are_compared_if_there_are_many_labels_and_few_edges_within_a_class(tmp_path: Path) -> None:
    clean = graphs.csbm(num_nodes=300, num_classes=3, homophily=0.05, signal=3.0, seed=0)
    data = pignn.corrupt(clean, "symmetric", 0.2, seed=0)
    model = EagerAuto().fit(data)
    assert set(model.agreement_) == {"linear models", "MLP"}
    assert (model.chosen_ == "MLP") is (model.agreement_["MLP"] > model.agreement_["linear models"])
    assert model.score(data) > 0.8
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(pignn.load_model(tmp_path / "model").predict_proba(data), model.predict_proba(data))


class AlwaysNetworks(auto.Auto):
    """Always compares an MLP."""

    low_homophily = np.inf
    network_candidates = (Candidate("MLP", MLP, {"epochs": 100}),)


@pytest.fixture
def crossed() -> Data:
    """Noisy labels that no straight line divides."""
    data = graphs.csbm(num_nodes=900, num_classes=2, signal=0.0, num_features=4, seed=0)
    data.y = (data.x[:, 0] * data.x[:, 1] > 0).long()
    for name, first in (("train", 0), ("val", 300), ("test", 600)):
        data[f"{name}_mask"] = (torch.arange(900) >= first) & (torch.arange(900) < first + 300)
    return pignn.corrupt(data, "symmetric", 0.1, seed=0)


def test_a_network_is_chosen_if_it_agrees_more_often(crossed: Data) -> None:
    model = AlwaysNetworks().fit(crossed)
    assert model.chosen_ == "MLP"
    agreement = model.agreement_["MLP"]
    assert f"chose 'MLP': it predicts {agreement:.1%} of held-out given labels" in model.explanation_
    assert "linear models" in model.explanation_


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
def test_networks_are_compared_if_classes_differ_much_in_size(uneven: Data) -> None:
    model = pignn.make("auto").fit(uneven)
    assert model.chosen_ in [candidate.name for candidate in auto.Auto.network_candidates]
    assert auto.RARE_CLASSES in model.explanation_
    largest = float((uneven.y_true[uneven.test_mask] == 0).double().mean())
    assert model.score(uneven) > largest
    with pytest.warns(PignnWarning, match=auto.RARE_CLASSES):
        linear = pignn.make("auto", networks="never").fit(uneven)
    assert linear.score(uneven) < largest
    assert auto.RARE_CLASSES in linear.fit_facts().warning


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_homophily_is_estimated_in_spite_of_the_noise(share: float) -> None:
    clean = graphs.csbm(num_nodes=2000, num_classes=4, homophily=share, seed=0)
    one, other = clean.y[clean.edge_index]
    truth = float((one == other).double().mean())
    data = pignn.corrupt(clean, "symmetric", 0.4, seed=0, splits=("all",))
    everyone = GivenLabels(
        torch.arange(2000), data.y, torch.ones(2000), torch.zeros(2000, dtype=torch.bool), num_classes=4
    )
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(data))
    found = estimate_homophily(inputs, everyone, symmetric_transition(0.4, 4))
    assert found is not None
    assert abs(found[0] - truth) < min(3 * found[1], 0.1)
    few = estimate_homophily(inputs, everyone.subset(torch.arange(2000) < 200), symmetric_transition(0.4, 4))
    assert few is not None
    assert few[1] > 5 * found[1]  # a hundredth of the links
    nobody = everyone.subset(torch.arange(2000) == 0)
    assert estimate_homophily(inputs, nobody, symmetric_transition(0.4, 4)) is None


def test_the_average_is_that_of_probabilities(noisy: Data) -> None:
    model = pignn.make("auto").fit(noisy)
    assert len(model.weights_) > 1
    assert sum(model.weights_.values()) == pytest.approx(1)
    parts = [weight * model.models_[name].predict_proba(noisy) for name, weight in model.weights_.items()]
    scaled = sum(parts) ** model.inverse_temperature_
    scaled /= scaled.sum(1, keepdims=True)
    labels = int((noisy.train_mask | noisy.val_mask).sum())
    expected = (scaled * labels + 1 / 3) / (labels + 1)
    np.testing.assert_allclose(model.predict_proba(noisy), expected, rtol=1e-4, atol=1e-6)


def test_weights_follow_the_likelihood() -> None:
    weights = ensembling.softmax_weights(
        {"a": -100.0, "b": -100.0 - np.log(4) / ensembling.EVIDENCE_PER_LABEL, "c": -1000.0}
    )
    assert weights == pytest.approx({"a": 0.8, "b": 0.2})
    assert ensembling.softmax_weights(dict.fromkeys("abcd", -5.0)) == pytest.approx(dict.fromkeys("abcd", 0.25))


def test_refit_keeps_the_choice_and_forgets_labels_that_are_gone(noisy: Data) -> None:
    model = pignn.make("auto").fit(noisy)
    np.testing.assert_allclose(model.refit(noisy).predict_proba(noisy), model.predict_proba(noisy), atol=1e-5)
    part = noisy.clone()
    part.train_mask = noisy.train_mask & (torch.arange(len(noisy.y)) % 5 > 0)
    other = part.clone()
    other.y_true = other.y_true.flip(0)
    one, two = model.refit(part), model.refit(other)
    np.testing.assert_array_equal(one.predict_proba(noisy), two.predict_proba(noisy))
    assert one.weights_ == model.weights_
    assert np.abs(one.predict_proba(noisy) - model.predict_proba(noisy)).max() > 1e-3


def test_refit_needs_a_fitted_model_and_a_graph_with_the_same_features(noisy: Data) -> None:
    with pytest.raises(errors.NotFittedError, match="not fitted"):
        pignn.make("auto").refit(noisy)
    model = pignn.make("auto").fit(noisy)
    wider = noisy.clone()
    wider.x = torch.cat([noisy.x, noisy.x], 1)
    with pytest.raises(errors.DataError, match="64 and 3"):
        model.refit(wider)


def test_calibration_error_by_hand() -> None:
    proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    assert calibration_error([0, 1, 1, -1], proba) == pytest.approx((abs(1 - 1.8) + abs(1 - 0.6)) / 3)


def test_validation_labels_choose_and_are_not_learned_from(noisy: Data, tmp_path: Path) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    assert model.score(noisy) > 0.8
    assert "class means" in model.agreement_
    right = model.agreement_[model.chosen_]
    assert right >= max(value for name, value in model.agreement_.items() if name != FEATURES_ONLY.name) - 1e-9
    assert f"'{model.chosen_}' predicts {right:.1%} of them" in model.explanation_
    given = model.models_[model.chosen_].predict(noisy)[noisy.val_mask] == noisy.y[noisy.val_mask].numpy()
    assert given.mean() == pytest.approx(right)
    for each in model.models_.values():
        assert not noisy.val_mask[each.labeled_].any()
    model.save(tmp_path / "model")
    proba = model.predict_proba(noisy)
    np.testing.assert_array_equal(pignn.load_model(tmp_path / "model").predict_proba(noisy), proba)
    np.testing.assert_allclose(model.refit(noisy).predict_proba(noisy), proba, atol=1e-5)
    scrambled = noisy.clone()
    scrambled.y_true = scrambled.y_true.flip(0)
    np.testing.assert_array_equal(pignn.make("auto", labels="noisy-val").fit(scrambled).predict_proba(noisy), proba)


def test_some_candidates_learn_from_a_part_of_the_labels(noisy: Data) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    subsets = {candidate.name for candidate in SUBSET_CANDIDATES}
    assert subsets < set(model.agreement_)
    train = noisy.train_mask.nonzero().view(-1)
    for name, each in model.models_.items():
        known = set(each.labeled_.tolist())
        assert known < set(train.tolist()) if name in subsets else known == set(train.tolist())
        assert len(each.posterior_) == len(each.labeled_)
    assert any(name in subsets for name in model.models_)


def test_a_part_of_the_labels_has_every_class() -> None:
    y = torch.tensor([0] * 10 + [1] * 3 + [3])
    given = GivenLabels(torch.arange(14) + 100, y, torch.ones(14), torch.zeros(14, dtype=torch.bool), 4)
    part = given.sample_fraction(0.6, 5)
    assert torch.bincount(part.y, minlength=4).tolist() == [6, 2, 0, 1]
    assert torch.equal(y[part.nodes - 100], part.y)
    assert torch.equal(part.nodes, given.sample_fraction(0.6, 5).nodes)
    assert not torch.equal(part.nodes, given.sample_fraction(0.6, 6).nodes)
    trusted = torch.arange(14) < 5
    half_sure = GivenLabels(given.nodes, y, given.weight, trusted, 4).sample_fraction(0.6, 5)
    assert int(half_sure.trusted.sum()) == 5
    assert torch.bincount(half_sure.y, minlength=4).tolist() == [5 + 3, 2, 0, 1]
    many = GivenLabels(torch.arange(25), torch.zeros(25).long(), torch.ones(25), torch.zeros(25, dtype=torch.bool), 1)
    assert len(many.sample_fraction(0.6, 0).y) == 15


def test_the_embedding_is_saved_once(noisy: Data) -> None:
    model = pignn.make("auto", labels="noisy-val").fit(noisy)
    tensors, _ = model._get_state()
    embeddings = [key for key in tensors if key.startswith("embedding.")]
    assert len(embeddings) == len({each.alpha for each in model.models_.values()})
    assert not any(key.endswith(".components") for key in tensors)


def test_noisy_val_without_validation_labels_is_refused(noisy: Data) -> None:
    noisy.y = torch.where(noisy.val_mask, -1, noisy.y)
    with pytest.raises(errors.DataError, match="no label of a validation node to choose by; use labels='train'"):
        pignn.make("auto", labels="noisy-val").fit(noisy)


def test_networks_are_judged_by_validation_labels_too(crossed: Data) -> None:
    model = AlwaysNetworks(labels="noisy-val").fit(crossed)
    assert model.chosen_ == "MLP"
    hidden = crossed.clone()
    hidden.y = torch.where(crossed.val_mask, -1, crossed.y)
    again = model.refit(hidden)  # learns without them
    np.testing.assert_allclose(again.predict_proba(crossed), model.predict_proba(crossed), atol=1e-5)
