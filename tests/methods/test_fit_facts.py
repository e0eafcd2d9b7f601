"""What a fitted method says about its training."""

from __future__ import annotations

import pytest

import pignn
from pignn.core.errors import NotFittedError


@pytest.fixture(scope="module")
def noisy():
    return pignn.corrupt(pignn.load("csbm", num_nodes=90, num_classes=3), "symmetric", 0.2, seed=0)


def test_an_unfitted_method_has_no_facts():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        pignn.make("vanilla").get_fit_facts()


def test_a_network_tells_how_it_was_trained(noisy, tmp_path):
    model = pignn.make("pi-gnn", epochs=4, warmup=1, seed=3).fit(noisy, progress=False)
    facts = model.get_fit_facts()
    assert (facts.method, facts.seed, facts.settings["warmup"]) == ("pi-gnn", 3, 1)
    assert facts.pairs is not None
    assert facts.pairs.startswith("exact: all 90² pairs")
    assert (facts.selection, facts.best_epoch) == ("noisy-val", model.best_epoch_)
    assert (facts.epochs_done, facts.history) == (4, model.history_)
    assert facts.kept_in_warmup == (model.best_epoch_ <= 1)
    assert not facts.uses_true_labels
    assert (facts.chosen, facts.explanation, facts.stopped_by, facts.warning) == (None, None, None, None)
    model.save(tmp_path / "model")
    loaded = pignn.load_model(tmp_path / "model").get_fit_facts()
    assert (loaded.selection, loaded.best_epoch, loaded.history) == (facts.selection, facts.best_epoch, facts.history)


def test_an_oracle_is_named(noisy):
    model = pignn.make("pi-gnn", epochs=3, warmup=0, pair_labels="true").fit(noisy, progress=False)
    assert model.get_fit_facts().uses_true_labels


def test_settings_are_those_of_the_fit(noisy):
    model = pignn.make("denoised").fit(noisy)
    model.l2 = 7.0
    assert model.get_fit_facts().settings["l2"] == 1.0


def test_auto_tells_what_it_chose(noisy):
    facts = pignn.make("auto", networks="never").fit(noisy).get_fit_facts()
    assert facts.chosen in facts.weights
    assert facts.explanation is not None
    assert facts.chosen in facts.explanation
    assert facts.learns_from_val
    assert facts.history == []
    assert facts.epochs_done is None


@pytest.mark.parametrize(
    ("method", "settings", "learns_from_val", "repeats"),
    [
        ("prototypes", {}, False, False),
        ("prototypes", {"labels": "train+val"}, True, False),
        ("label-propagation", {}, False, True),
        ("label-propagation", {"clamped": False}, False, False),
    ],
)
def test_which_labels_are_learned_from_and_given_back(noisy, method, settings, learns_from_val, repeats):
    facts = pignn.make(method, **settings).fit(noisy).get_fit_facts()
    assert (facts.learns_from_val, facts.repeats_given_labels) == (learns_from_val, repeats)
    assert facts.estimates_noise == (method == "prototypes")
