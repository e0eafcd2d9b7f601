"""What every method that trains must do, built in or brought by another package."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest
import torch

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.core.settings import list_settings
from pignn.methods.core.network import NetworkMethod
from pignn.methods.factory import resolve_method_class
from pignn.training.callbacks import Callback

NAMES = [info.name for info in pignn.list_methods()]
NETWORKS = [name for name in NAMES if issubclass(resolve_method_class(name), NetworkMethod)]
WHOLE = [name for name in NETWORKS if resolve_method_class(name).needs_whole_graph]  # no mini-batches
WITHOUT_BACKBONE = ["planetoid-t", "dnd-net", "rncgln", "r2lp"]
SHORT = {
    "pretrain_epochs": 4,
    "posterior_epochs": 4,
    "context_epochs": 4,
    "warm_epochs": 4,
    "start": 3,
    "refresh": 2,
    "epochs": 12,
    "warmup": 3,
}


@pytest.fixture
def noisy():
    """A small graph with 30 % wrong labels and two trusted ones per class."""
    clean = graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)
    return pignn.corrupt(graphs.copy_with_random_trusted_labels(clean, 2), "symmetric", 0.3, seed=0)


def quick(name, **settings):
    known = resolve_method_class(name)._get_param_names()
    return pignn.make(name, **{key: value for key, value in SHORT.items() if key in known} | settings)


@pytest.mark.parametrize("backbone", ["gat", "sage", "appnp", "sgc", "mlp"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in WITHOUT_BACKBONE])
def test_every_method_learns_with_every_backbone(name, backbone, noisy):
    model = quick(name, backbone=backbone).fit(noisy)
    assert np.isfinite(model.predict_proba(noisy)).all()
    rows = [row for row in model.history_ if row.get("phase", "training") == "training"]
    losses = [row["class_loss"] for row in rows]
    if name in ("dividemix",):  # its loss is another one after the warm-up
        assert max(row["train_agreement"] for row in rows) > 0.5
    else:
        assert np.mean(losses[-3:]) < np.mean(losses[:3])


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in WHOLE])
def test_every_network_method_trains_in_batches(name, noisy):
    model = quick(name, batch_size=16, num_neighbors=(5, 5)).fit(noisy)
    assert np.isfinite(model.predict_proba(noisy)).all()
    assert model.history_[-1]["class_loss"] != model.history_[-2]["class_loss"]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_method_takes_the_pair_regularizer(name, noisy):
    model = quick(name, pairs="exact").fit(noisy)
    assert "estimator" in model.networks_
    assert model.history_[-1]["pair_loss"] > 0
    plain = quick(name, pairs=None).fit(noisy)
    assert not np.array_equal(plain.embed(noisy), model.embed(noisy))


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_predicts_the_same_bit_for_bit(name, noisy, tmp_path):
    model = quick(name).fit(noisy)
    model.save(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model")
    assert np.array_equal(again.embed(noisy), model.embed(noisy))


@pytest.mark.parametrize("settings", [{}, {"pairs": "exact"}, {"batch_size": 32}], ids=["plain", "pairs", "batches"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_resumed_run_ends_like_an_uninterrupted_one(name, settings, noisy, tmp_path):
    if name in WHOLE and "batch_size" in settings:
        with pytest.raises(ConfigError, match="no mini-batches"):
            quick(name, **settings).fit(noisy)
        return
    if name == "gce":
        settings = {**settings, "truncated": True}
    whole = quick(name, **settings).fit(noisy)

    class OutOfMemory(Callback):
        def on_epoch_end(self, context, row):
            if len(context.history) == 10:  # after three checkpoints
                raise MemoryError

    with pytest.raises(MemoryError):
        quick(name, **settings).fit(noisy, callbacks=[OutOfMemory()], checkpoint=tmp_path, checkpoint_every=3)
    resumed = quick(name, **settings).fit(noisy, checkpoint=tmp_path, resume=True)
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(resumed.networks_.state_dict()[key], value), key


@pytest.mark.parametrize("name", NAMES)
def test_no_method_reads_a_true_label(name, noisy):
    first = quick(name).fit(noisy).predict_proba(noisy)
    noisy.y_true = noisy.y_true.roll(7)
    assert np.array_equal(quick(name).fit(noisy).predict_proba(noisy), first)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_better_than_chance(name, noisy):
    settings = {"epochs": 100} if "epochs" in resolve_method_class(name)._get_param_names() else {}
    if name == "planetoid-t":  # a random embedding has to be learned first
        settings |= {"context_epochs": 100}
    # Features alone say little about this graph's classes: chance is 0.33.
    assert quick(name, **settings).fit(noisy).score(noisy) > (0.4 if name in ("mlp", "ica", "rncgln") else 0.6)


@pytest.mark.parametrize("name", NAMES)
def test_few_labels_give_finite_probabilities(name, noisy):
    """Few labels are no reason for NaN."""
    nodes = [int(((noisy.y == c) & noisy.train_mask).nonzero()[0]) for c in range(3)]
    few = noisy.clone()
    few.train_mask = torch.zeros_like(noisy.train_mask)
    few.train_mask[nodes] = True
    few.trusted_mask = few.train_mask.clone()
    assert np.isfinite(quick(name).fit(few).predict_proba(few)).all()
    alike = noisy.clone()
    alike.y = torch.where(noisy.train_mask & (noisy.y == 2), 1, noisy.y)  # no training node carries class 2
    with pytest.warns(pignn.PignnWarning, match="class"):
        assert np.isfinite(quick(name).fit(alike).predict_proba(alike)).all()


def test_transductive_methods_refuse_other_graphs(noisy):
    other = graphs.csbm(num_nodes=100, num_classes=3, seed=9)
    for name in ("label-propagation", "planetoid-t"):
        with pytest.raises(DataError, match="knows the 240 nodes it was fitted to"):
            quick(name).fit(noisy).predict(other)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_declared_and_its_default_fits(name):
    kind = resolve_method_class(name)
    assert kind.name == name
    declared = {each.name: each for each in list_settings(kind)}
    assert set(declared) == set(kind._get_param_names())
    assert all(each.help and each.constraint.describe() is not None for each in declared.values())
    kind().check_settings()


def test_lpm_needs_trusted_labels(noisy):
    del noisy.trusted_mask
    with pytest.raises(DataError, match="trusted_mask"):
        quick("lpm").fit(noisy)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("gce", {"q": 0.0}, "q must be a number above 0 and at most 1"),
        ("forward", {"transition": [[1.0, 0.0], [0.0, 1.0]]}, "transition has 2 rows, and there are 3 classes"),
        ("forward", {"transition": [[0.5, 0.0], [0.0, 1.0]]}, "must sum to 1"),
        ("co-teaching", {"forget_rate": 1.0}, "forget_rate must be"),
        ("jocor", {"agreement": 2.0}, "agreement must be"),
        ("dividemix", {"threshold": 1.5}, "threshold must be"),
        ("t-revision", {"percentile": 101.0}, "percentile must be"),
        ("label-propagation", {"alpha": 1.0}, "alpha must be"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(noisy, name, settings, message):
    with pytest.raises(ConfigError, match=message):
        quick(name, **settings).fit(noisy)


def test_a_method_of_another_package_works_like_a_built_in_one(noisy, tmp_path, monkeypatch):
    """Found through its entry point alone, as after `pip install`."""
    (tmp_path / "otherwise.py").write_text(
        textwrap.dedent(
            """
            from dataclasses import dataclass
            from pignn.methods import NetworkMethod

            @dataclass(kw_only=True, eq=False, repr=False)
            class Absolute(NetworkMethod):
                '''Mean absolute error.'''

                def pointwise(self, logits, y):
                    return 1 - logits.softmax(-1).gather(1, y[:, None]).view(-1)
            """
        )
    )
    about = tmp_path / "otherwise-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: otherwise\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pignn.methods]\nabsolute = otherwise:Absolute\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "absolute" in [info.name for info in pignn.list_methods()]
    model = pignn.make("absolute", epochs=30, pairs="exact", backbone="sage").fit(noisy, checkpoint=tmp_path / "state")
    model.save(tmp_path / "model")
    assert np.array_equal(pignn.load_model(tmp_path / "model").embed(noisy), model.embed(noisy))
    from typer.testing import CliRunner

    from pignn.cli.app import app

    runner = CliRunner()
    assert "absolute" in runner.invoke(app, ["methods"]).output
    train = ["train", "--dataset", "csbm", "--noise", "symmetric", "--rate", "0.3", "--method", "absolute"]
    result = runner.invoke(app, [*train, "--epochs", "2", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    sys.modules.pop("otherwise", None)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lpm"])
def test_labels_of_weight_zero_change_what_is_learned(name, noisy):
    wrong = noisy.train_mask & (noisy.y != noisy.y_true)
    weighed, bare = noisy.clone(), noisy.clone()
    weighed.label_weight = torch.where(wrong, 0.0, 1.0)
    one, other = (quick(name).fit(data).predict_proba(noisy) for data in (bare, weighed))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_the_class_of_a_label_of_weight_zero_does_not_matter(name, noisy):
    """Not in the loss, nor in an estimate of the noise, a ranking of losses or a choice of pairs."""
    ignored = (noisy.train_mask & ~noisy.trusted_mask).nonzero().view(-1)[::4]
    noisy.label_weight = torch.ones(240)
    noisy.label_weight[ignored] = 0
    one = quick(name).fit(noisy).predict_proba(noisy)
    noisy.y[ignored] = (noisy.y[ignored] + 1) % 3
    assert np.array_equal(one, quick(name).fit(noisy).predict_proba(noisy))


@pytest.mark.parametrize("name", NETWORKS)
def test_class_weights_count_from_the_first_epoch(name, noisy):
    plain, other = (
        quick(name, epochs=2, selection="last", class_weight=weight).fit(noisy).embed(noisy)
        for weight in (None, [20.0, 1.0, 1.0])
    )
    assert np.abs(plain - other).max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_changes_to_the_edges_are_warned_about_by_every_method(name, noisy):
    noisy.edge_index = torch.cat([noisy.edge_index, torch.tensor([[0], [0]])], dim=1)
    with pytest.warns(PignnWarning, match="edges: dropped 1 self-loop"):
        quick(name).fit(noisy)


@pytest.mark.parametrize("clamped", [True, False])
def test_labels_of_weight_zero_do_not_propagate(noisy, clamped):
    wrong = noisy.train_mask & (noisy.y != noisy.y_true)
    weighed, without = noisy.clone(), noisy.clone()
    weighed.label_weight = torch.where(wrong, 0.0, 1.0)
    without.train_mask = noisy.train_mask & ~wrong
    one, other = (
        pignn.make("label-propagation", clamped=clamped).fit(data).predict_proba(noisy) for data in (weighed, without)
    )
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_a_method_is_a_classifier_to_scikit_learn(noisy):
    from sklearn.base import is_classifier

    model = pignn.make("prototypes")
    assert is_classifier(model)
    assert not hasattr(model, "classes_")  # before fit
    model.fit(noisy)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == noisy.x.shape[1]
    assert set(model.predict(noisy)) <= set(model.classes_)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_whose_epochs_are_all_done_is_resumed_and_saved(name, noisy, tmp_path):
    """As after a crash between the last epoch and the writing of the model."""
    one = quick(name).fit(noisy, checkpoint=tmp_path)
    again = quick(name).fit(noisy, checkpoint=tmp_path, resume=True)
    again.save(tmp_path / "model")
    assert np.array_equal(pignn.load_model(tmp_path / "model").embed(noisy), one.embed(noisy))


@pytest.mark.filterwarnings("ignore:estimated .* the labels cannot tell")
@pytest.mark.parametrize("name", NAMES)
def test_validation_labels_of_weight_zero_are_not_read(name, noisy):
    ignored = noisy.val_mask.nonzero().view(-1)[::2]
    noisy.label_weight = torch.ones(240)
    noisy.label_weight[ignored] = 0
    one = quick(name).fit(noisy).predict_proba(noisy)
    noisy.y[ignored] = (noisy.y[ignored] + 1) % 3
    assert np.array_equal(one, quick(name).fit(noisy).predict_proba(noisy))


@pytest.mark.parametrize("name", ["vanilla", "prototypes", "label-propagation", "auto"])
def test_a_warning_points_at_the_line_that_calls_fit(name, noisy):
    noisy.edge_index = torch.cat([noisy.edge_index, torch.tensor([[0], [0]])], dim=1)
    with pytest.warns(PignnWarning, match="edges:") as heard:
        quick(name).fit(noisy)
    assert heard[0].filename == __file__
