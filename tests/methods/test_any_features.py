"""Networks train whatever the features look like, with the paper's settings on request, and say when they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import pignn
from pignn.backbones import FeatureScaling, GraphInputs
from pignn.core.errors import PignnError, PignnWarning
from pignn.graphs import copy_checked_graph
from pignn.methods.core import network
from pignn.methods.core.collapse import are_predictions_collapsed
from pignn.methods.core.edge_evidence import EdgeEvidence, estimate_edge_evidence
from pignn.methods.core.labels import GivenLabels
from pignn.methods.core.learner import Task
from pignn.training.callbacks import Callback

BACKBONES = ("gcn", "gat", "sage", "appnp", "sgc", "mlp")
NUM_CLASSES = 4


def make_words(y: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Words, a tenth of them typical of a class."""
    rate = torch.full((len(y), 200), 0.04)
    for c in range(NUM_CLASSES):
        rate[y == c, 20 * c : 20 * c + 20] = 0.4
    return (torch.rand(rate.shape, generator=generator) < rate).float()


def make_dense(y: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    centers = torch.randn(NUM_CLASSES, 48, generator=generator)
    return centers[y] + torch.randn(len(y), 48, generator=generator)


def put_outliers(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[::50, ::7] = 1e9
    return x


FEATURES = {
    "counts of 1e4": lambda y, g: make_words(y, g) * 1e4 * torch.rand(len(y), 200, generator=g),
    "values of 1e-6": lambda y, g: make_words(y, g) * 1e-6,
    "ids": lambda y, g: torch.eye(len(y)),
    "standardized": lambda y, g: torch.nn.functional.normalize(make_dense(y, g), dim=0) * len(y) ** 0.5,
    "embeddings": lambda y, g: torch.nn.functional.normalize(make_dense(y, g), dim=1),
    "dense far from 0": lambda y, g: 1e5 + 10 * make_dense(y, g),
    "dense with outliers": lambda y, g: put_outliers(make_dense(y, g)),
    "words with outliers": lambda y, g: put_outliers(make_words(y, g)),
    "an income beside words": lambda y, g: torch.cat([make_words(y, g), 5e4 * torch.rand(len(y), 1, generator=g)], 1),
}


def make_problem(features: str, seed: int = 0) -> pignn.graphs.Data:
    generator = torch.Generator().manual_seed(seed)
    data = pignn.graphs.csbm(num_nodes=400, num_classes=NUM_CLASSES, num_features=8, homophily=0.8, degree=6.0, seed=3)
    data.x = FEATURES[features](data.y, generator)
    return pignn.corrupt(data, "symmetric", 0.2, seed=seed)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_backbone_trains_on_every_kind_of_features(backbone, features):
    if backbone == "mlp" and features == "ids":
        pytest.skip("an id says nothing about the class of another node")
    data = make_problem(features)
    model = pignn.make("vanilla", backbone=backbone, epochs=80).fit(data, progress=False)
    predicted = torch.as_tensor(model.predict(data))
    train = data.train_mask
    assert (predicted[train] == data.y[train]).float().mean() > 0.5
    assert torch.bincount(predicted, minlength=NUM_CLASSES).max() < 0.6 * len(predicted)
    assert model.score(data) > 0.4
    assert not model.collapse_


@pytest.mark.parametrize("method", ["pi-gnn", "co-teaching", "dividemix", "gce"])
@pytest.mark.parametrize("features", ["counts of 1e4", "values of 1e-6", "dense with outliers"])
def test_methods_train_on_features_of_any_size(method, features):
    data = make_problem(features)
    model = pignn.make(method, epochs=60).fit(data, progress=False)
    assert model.score(data) > 0.4


def test_a_factor_changes_nothing():
    data = make_problem("counts of 1e4")
    other = data.clone()
    other.x = data.x * 1e-9
    first, second = (pignn.make("vanilla", epochs=5).fit(d, progress=False).predict_proba(d) for d in (data, other))
    np.testing.assert_allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("features", ["counts of 1e4", "standardized", "an income beside words"])
def test_sparse_chunked_and_dense_scalings_agree(features):
    data = copy_checked_graph(make_problem(features))
    scaling = FeatureScaling.fit(data.x, "auto")
    inputs = GraphInputs.from_data(data).copy_with_scaling(scaling)
    weight = torch.randn(data.x.shape[1], 3, generator=torch.Generator().manual_seed(0))
    expected = scaling.apply(data.x) @ weight
    for each in (inputs.features, inputs.copy_for_chunked_inference().copy_with_scaling(scaling).features):
        torch.testing.assert_close(each @ weight, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(inputs.select_features(torch.tensor([5, 2])), inputs.x[[5, 2]])


def test_auto_scaling_follows_its_rule():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(400) % NUM_CLASSES
    kinds = {name: FeatureScaling.fit(make(y, generator), "auto").kind for name, make in FEATURES.items()}
    assert {name for name, kind in kinds.items() if kind == "columns"} == {
        name for name in FEATURES if name in ("standardized", "embeddings") or name.startswith("dense")
    }
    words = make_words(y, generator)
    assert FeatureScaling.fit(words, "auto").scale is None
    assert FeatureScaling.fit(words, "columns").center is None  # sparse features stay sparse
    assert FeatureScaling.fit(words, "none") is None


@pytest.mark.parametrize("batch_size", [None, 64])
@pytest.mark.parametrize("features", ["standardized", "an income beside words"])
def test_scaling_is_saved_and_applied_to_other_graphs(features, batch_size, tmp_path):
    data, other = make_problem(features), make_problem(features, seed=1)
    other.x = other.x[:, :] * 3 + 1  # statistics of its own would undo this
    model = pignn.make("vanilla", epochs=5, batch_size=batch_size).fit(data, progress=False)
    model.save(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model")
    for graph in (data, other):
        np.testing.assert_array_equal(model.embed(graph), again.embed(graph))


@pytest.mark.parametrize("method", ["vanilla", "pi-gnn", "co-teaching"])
def test_the_paper_preset_is_what_the_settings_spell_out(method):
    data = make_problem("counts of 1e4")
    data.x = data.x / 1e4
    settings = {"epochs": 6, "warmup": 2}
    by_preset = pignn.make(method, preset="paper", **settings).fit(data, progress=False)
    explicit = {"hidden_channels": 16, "feature_scaling": "none"}
    if method == "co-teaching":
        explicit["ramp"] = 10
    if method == "pi-gnn":
        num_nodes, num_edges = data.num_nodes, GraphInputs.from_data(copy_checked_graph(data)).adj.num_entries
        explicit["beta"] = num_nodes**2 / (2 * (num_nodes**2 - num_edges))
    by_settings = pignn.make(method, **settings, **explicit).fit(data, progress=False)
    np.testing.assert_array_equal(by_preset.embed(data), by_settings.embed(data))
    assert pignn.make(method, **settings).fit(data, progress=False).networks_["classifier"] is not None


def fit_collapsing(epochs: int = 20, **options) -> pignn.Vanilla:
    """A training that cannot but collapse: steps of no size, from weights that prefer one class."""
    data = make_problem("counts of 1e4")
    return pignn.make("vanilla", lr=0.0, init="constant", epochs=epochs, selection="last").fit(
        data, progress=False, **options
    )


def test_a_collapse_is_answered_and_said():
    with pytest.warns(PignnWarning, match="collapsed .* restarted twice .* still is"):
        model = fit_collapsing()
    assert "collapsed" in model.get_fit_facts().warning


class DivergingAtFirst(pignn.Vanilla):
    """The loss is not a number as long as steps are large."""

    max_lr = 0.005  # of vanilla GCN: 0.01

    def objective(self, step):
        return super().objective(step) * (float("nan") if self.current_lr > self.max_lr and step.epoch > 2 else 1)

    def make_optimizer(self, name, network):
        optimizer = super().make_optimizer(name, network)
        self.group = optimizer.param_groups[0]
        return optimizer

    @property
    def current_lr(self):
        return self.group["lr"]


def test_a_loss_that_is_not_a_number_is_answered_and_said():
    data = make_problem("standardized")
    with pytest.warns(PignnWarning, match="a loss was not finite.* restarted once with a smaller lr$"):
        model = DivergingAtFirst(epochs=30).fit(data, progress=False)
    assert model.score(data) > 0.4
    model.max_lr = -1.0
    with pytest.raises(PignnError, match=r"the class loss is nan at epoch \d+; try a smaller learning rate"):
        model.fit(data, progress=False)


class StopInSecondAttempt(Callback):
    """Fails in the middle of the second attempt, as a crash does."""

    num_starts = 0

    def on_fit_start(self, context):
        self.num_starts += 1

    def on_epoch_end(self, context, row):
        if self.num_starts == 2 and row["epoch"] == 12:
            raise RuntimeError("crash")


def test_a_restarted_training_resumes_to_the_same_result(tmp_path, monkeypatch):
    data = make_problem("standardized")
    monkeypatch.setattr(  # the first attempt has the full learning rate
        network,
        "has_classifier_collapsed",
        lambda learner: learner.optimizers["classifier"].param_groups[0]["lr"] > 0.005,
    )
    with pytest.warns(PignnWarning, match=r"restarted once with a smaller lr$"):
        expected = pignn.PIGNN(epochs=20, warmup=5).fit(data, progress=False)
    options = {"checkpoint": tmp_path, "checkpoint_every": 5, "progress": False}
    with pytest.raises(RuntimeError, match="crash"):
        pignn.PIGNN(epochs=20, warmup=5).fit(data, callbacks=[StopInSecondAttempt()], **options)
    with pytest.warns(PignnWarning, match="restarted once"):
        resumed = pignn.PIGNN(epochs=20, warmup=5).fit(data, resume=True, **options)
    np.testing.assert_array_equal(resumed.embed(data), expected.embed(data))
    assert len(resumed.history_) == 20


def test_the_paper_preset_never_restarts():
    data = make_problem("counts of 1e4")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PignnWarning)
        model = pignn.make("vanilla", preset="paper", lr=0.0, init="constant", epochs=20, selection="last")
        assert model.fit(data, progress=False).collapse_ == ""


def test_a_collapse_is_judged_by_given_labels():
    y = torch.arange(40) % NUM_CLASSES
    labels = GivenLabels(torch.arange(40), y, torch.ones(40), y > 9, NUM_CLASSES)
    task = Task(None, y=y, nodes=labels.nodes, weight=y, num_classes=NUM_CLASSES, trusted=y > 9, given_labels=labels)
    assert are_predictions_collapsed(torch.zeros(40, dtype=torch.int64), task)
    assert not are_predictions_collapsed(y, task)
    mostly_one = torch.cat([y, torch.zeros(200, dtype=torch.int64)])
    assert not are_predictions_collapsed(mostly_one, task)  # the labels are fitted: one class is frequent


def test_a_pair_loss_without_weight_leaves_the_backbone_alone(monkeypatch):
    data = make_problem("standardized")
    monkeypatch.setattr(network, "estimate_edge_evidence", lambda *_: EdgeEvidence(-0.1, 0.05))
    model = pignn.PIGNN(epochs=5, warmup=1).fit(data, progress=False)
    alone = pignn.make("vanilla", epochs=5).fit(data, progress=False)
    np.testing.assert_array_equal(model.embed(data), alone.embed(data))


@pytest.mark.parametrize(("homophily", "low", "high"), [(0.8, 1.0, 1.0), (0.05, 0.0, 0.3)])
def test_pairs_step_aside_where_edges_do_not_tell_of_classes(homophily, low, high):
    data = pignn.graphs.csbm(
        num_nodes=1500, num_classes=5, num_features=32, homophily=homophily, signal=2.5, degree=8.0, seed=0
    )
    data = pignn.corrupt(data, "symmetric", 0.3, seed=0)
    checked = copy_checked_graph(data)
    evidence = estimate_edge_evidence(GraphInputs.from_data(checked), checked.y, 5)
    assert low <= evidence.pair_loss_share <= high
    model = pignn.PIGNN(epochs=3, warmup=0).fit(data, progress=False)
    assert ("edges tell little" in model.get_fit_facts().pairs) == (evidence.pair_loss_share < 1)
    full = pignn.PIGNN(epochs=3, warmup=0, preset="paper").fit(data, progress=False)
    assert "edges tell little" not in full.get_fit_facts().pairs
