"""Fitting, for all settings that there are; and that no truth gets in."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

import pignn
from pignn import backbones, graphs, pairs
from pignn.core.errors import ConfigError, DataError, ModelFileError, NotFittedError, PignnError, PignnWarning

FAST = {"epochs": 12, "warmup": 3}


def weights(model):
    return {name: value.clone() for name, value in model.networks_.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("name", [info.name for info in pignn.list_methods()])
def test_methods_follow_the_scikit_learn_contract(name, noisy):
    noisy.trusted_mask = noisy.train_mask & (noisy.y == noisy.y_true)
    model = pignn.make(name, seed=3)
    assert clone(model).get_params() == model.get_params()
    assert clone(model) is not model
    model.set_params(seed=5, **{key: value for key, value in FAST.items() if key in model.get_params()})
    assert model.get_params()["seed"] == 5
    assert "seed=5" in repr(model)
    assert model.fit(noisy) is model
    assert model.predict(noisy).shape == (240,)
    proba = model.predict_proba(noisy)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-5)
    assert (proba.argmax(1) == model.predict(noisy)).all()
    assert model.embed(noisy).shape == (240, 3)


@pytest.mark.parametrize("target", pairs.PAIR_TARGETS.list_names())
@pytest.mark.parametrize("source", pairs.PAIR_LABEL_SOURCES.list_names())
def test_every_target_with_every_source_of_pair_labels(noisy, target, source):
    model = pignn.PIGNN(pair_labels=source, target=target, rank=20, **FAST)
    if (target, source) == ("soft", "self"):
        with pytest.warns(PignnWarning, match="has no gradient"):
            model.fit(noisy)
    else:
        model.fit(noisy)
    assert ("estimator" in model.networks_) == (source == "estimated")
    assert np.isfinite(model.embed(noisy)).all()
    first, last = model.history_[0], model.history_[-1]
    assert np.isfinite(last["pair_loss"])
    # Soft: β = 0 during warm-up; masked and plain connectivity: the structure loss from the start.
    assert ("pair_loss" in first) == (target == "masked" or source == "connectivity")


def test_warmup_has_one_epoch_more_than_its_number(noisy):
    model = pignn.PIGNN(target="soft", warmup=4, epochs=8).fit(noisy)
    assert [i for i, row in enumerate(model.history_) if "pair_loss" not in row] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("estimator", ["gcn", "gat", "sage"])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
def test_classifier_and_estimator_may_have_different_backbones(noisy, backbone, estimator):
    model = pignn.PIGNN(backbone=backbone, estimator=estimator, epochs=40, warmup=10).fit(noisy)
    names = {"gcn": backbones.GCN, "gat": backbones.GAT, "sage": backbones.GraphSAGE}
    assert isinstance(model.networks_["classifier"], names[backbone])
    assert isinstance(model.networks_["estimator"], names[estimator])
    assert model.score(noisy) > 0.6


def test_one_step_equals_the_formulas_of_the_paper(noisy):
    """One epoch by hand: same weights, same dropout, Adam; estimator by S, classifier by CE + masked loss."""
    settings = {"preset": "paper", "epochs": 1, "warmup": -1, "selection": "last", "seed": 7, "dropout": 0.0}
    model = pignn.PIGNN(**settings).fit(noisy)
    torch.manual_seed(7)
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    classifier, estimator = (backbones.build("gcn", 32, 3, hidden_channels=16, dropout=0.0) for _ in range(2))
    optimizers = [torch.optim.Adam(n.parameters(), lr=0.01, weight_decay=5e-4) for n in (estimator, classifier)]
    n = 240
    a = torch.zeros(n, n)
    a[noisy.edge_index[0], noisy.edge_index[1]] = 1
    q = a.sum()
    w, c = (n * n - q) / q, n * n / (2 * (n * n - q))
    plus = a + torch.eye(n)
    softplus = nn.functional.softplus
    h_e, h_t = estimator(inputs), classifier(inputs)
    z_e, z_t = h_e @ h_e.t(), h_t @ h_t.t()
    p = torch.sigmoid(z_e).detach()
    (c / n**2 * (plus * w * softplus(-z_e) + (1 - plus) * softplus(z_e)).sum()).backward()
    nodes = noisy.train_mask
    class_loss = nn.functional.cross_entropy(h_t[nodes], noisy.y[nodes])
    pair = c / n**2 * (plus * w * p * softplus(-z_t) + (1 - plus) * (1 - p) * softplus(z_t)).sum()
    (class_loss + pair).backward()
    for optimizer in optimizers:
        optimizer.step()
    for name, network in (("classifier", classifier), ("estimator", estimator)):
        for key, value in network.state_dict().items():
            torch.testing.assert_close(model.networks_[name].state_dict()[key], value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.history_[0]["pair_loss"], pair.item(), rtol=1e-4, atol=0)
    torch.testing.assert_close(model.history_[0]["class_loss"], class_loss.item(), rtol=1e-4, atol=0)


def test_beta_replaces_c_in_the_classifier_only(noisy):
    rows = {}
    for beta in ("auto", 0.25, 0.0):
        model = pignn.PIGNN(beta=beta, epochs=1, dropout=0.0).fit(noisy)
        rows[beta] = model.history_[0]
    c = pairs.PairGraph(noisy.edge_index, 240).c
    assert rows[0.0]["pair_loss"] == 0
    assert rows[0.25]["pair_loss"] == pytest.approx(rows["auto"]["pair_loss"] * 0.25 / c, rel=1e-5)
    assert rows[0.25]["estimator_loss"] == rows["auto"]["estimator_loss"]


def test_sampled_pairs_leave_weights_and_dropout_as_they_are(noisy):
    """So that sampled and exact runs of one seed differ by the pairs alone: with all partners, not at all."""
    exact = pignn.PIGNN(pairs="exact", **FAST).fit(noisy)
    everybody = pignn.PIGNN(pairs="sampled", num_negatives=239, **FAST).fit(noisy)
    some = pignn.PIGNN(pairs="sampled", num_negatives=20, **FAST).fit(noisy)
    assert np.allclose(exact.embed(noisy), everybody.embed(noisy), atol=1e-2)
    assert not np.allclose(exact.embed(noisy), some.embed(noisy), atol=1e-4)
    assert same(weights(some), weights(pignn.PIGNN(pairs="sampled", num_negatives=20, **FAST).fit(noisy)))
    fewer = pignn.PIGNN(pairs="sampled", num_negatives=20, edge_fraction=0.5, **FAST).fit(noisy)
    assert not same(weights(some), weights(fewer))


def test_auto_pairs_are_exact_if_that_is_cheap(noisy):
    model = pignn.PIGNN(epochs=2).fit(noisy)
    assert model.pairs_ == "exact"
    assert "240² pairs would take about" in model.pairs_explanation_
    from pignn.methods.core.pair_regularizer import choose_pair_mode_and_reason

    assert choose_pair_mode_and_reason(100_000, 400)[0] == "sampled"
    assert "111 minutes" in choose_pair_mode_and_reason(100_000, 400)[1]


def test_pretrain_freezes_the_estimator(noisy):
    model = pignn.PIGNN(schedule="pretrain", epochs=5).fit(noisy)
    assert [row["phase"] for row in model.history_] == ["estimator"] * 5 + ["training"] * 5
    assert all("class_loss" not in row for row in model.history_[:5])
    assert all("estimator_loss" not in row and "pair_loss" in row for row in model.history_[5:])
    longer = pignn.PIGNN(schedule="pretrain", epochs=5, beta=0.0).fit(noisy)
    assert same(
        {k: v for k, v in weights(model).items() if k.startswith("estimator")},
        {k: v for k, v in weights(longer).items() if k.startswith("estimator")},
    )


def test_the_same_seed_gives_the_same_numbers_and_another_does_not(noisy):
    state = torch.get_rng_state()
    a = pignn.PIGNN(seed=1, **FAST).fit(noisy)
    assert torch.equal(torch.get_rng_state(), state), "the caller's random state was touched"
    torch.rand(7)
    b = pignn.PIGNN(seed=1, **FAST).fit(noisy)
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(pignn.PIGNN(seed=2, **FAST).fit(noisy)))


def test_the_same_numbers_and_predictions_in_another_process(noisy, tmp_path):
    model = pignn.PIGNN(seed=1, **FAST).fit(noisy)
    model.save(tmp_path / "model")
    code = (
        "import numpy as np, pignn, sys\n"
        "clean = pignn.graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0)\n"
        "noisy = pignn.corrupt(clean, 'symmetric', 0.3, seed=0)\n"
        "fitted = pignn.PIGNN(seed=1, epochs=12, warmup=3).fit(noisy)\n"
        "loaded = pignn.load_model(sys.argv[1])\n"
        "np.savez(sys.argv[2], fitted=fitted.embed(noisy), loaded=loaded.embed(noisy))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "out.npz")], check=True)
    with np.load(tmp_path / "out.npz") as out:
        assert np.array_equal(out["fitted"], model.embed(noisy))
        assert np.array_equal(out["loaded"], model.embed(noisy))


@pytest.mark.parametrize("selection", ["noisy-val", "last"])
@pytest.mark.parametrize("source", [s for s in pairs.PAIR_LABEL_SOURCES if s != "true"])
def test_no_true_label_reaches_training_or_selection(noisy, selection, source):
    assert (noisy.y[noisy.test_mask] == -1).all()
    scrambled = noisy.clone()
    scrambled.y_true = noisy.y_true[torch.randperm(240, generator=torch.Generator().manual_seed(0))]
    settings = {"selection": selection, "pair_labels": source, "rank": 20, **FAST}
    a, b = (pignn.PIGNN(**settings).fit(data) for data in (noisy, scrambled))
    assert same(weights(a), weights(b))
    assert a.best_epoch_ == b.best_epoch_
    without = noisy.clone()
    del without.y_true
    assert same(weights(a), weights(pignn.PIGNN(**settings).fit(without)))


def test_clean_val_reads_true_labels_of_validation_nodes_only(noisy):
    settings = {"selection": "clean-val", **FAST}
    a = pignn.PIGNN(**settings).fit(noisy)
    others = noisy.clone()
    others.y_true = torch.where(noisy.val_mask, noisy.y_true, (noisy.y_true + 1) % 3)
    assert same(weights(a), weights(pignn.PIGNN(**settings).fit(others)))
    validation = [row["val_accuracy"] for row in a.history_]
    assert a.best_epoch_ == int(np.argmax(validation)), "the first of the best is kept"
    predicted = torch.as_tensor(a.predict(noisy))[noisy.val_mask]
    assert (predicted == noisy.y_true[noisy.val_mask]).float().mean().item() == pytest.approx(max(validation))


def test_noisy_val_is_scored_on_given_labels(noisy):
    model = pignn.make("vanilla", **{"epochs": 12}).fit(noisy)
    predicted = torch.as_tensor(model.predict(noisy))[noisy.val_mask]
    best = max(row["val_accuracy"] for row in model.history_)
    assert (predicted == noisy.y[noisy.val_mask]).float().mean().item() == pytest.approx(best)


def test_without_validation_labels_the_last_epoch_is_kept(noisy):
    noisy.y = torch.where(noisy.train_mask, noisy.y, -1)
    with pytest.warns(PignnWarning, match="the last epoch is kept"):
        model = pignn.PIGNN(**FAST).fit(noisy)
    assert model.best_epoch_ == 11
    assert model.selection_ == "last"


def test_oracles_are_refused_without_true_labels(noisy):
    del noisy.y_true
    with pytest.raises(DataError, match="clean-val"):
        pignn.PIGNN(selection="clean-val").fit(noisy)
    with pytest.raises(DataError, match="pair_labels='true'"):
        pignn.PIGNN(pair_labels="true").fit(noisy)


def test_declared_classes_count_even_if_noise_took_the_last_one(noisy):
    noisy.class_names = ["a", "b", "c", "nobody has this"]
    with pytest.warns(PignnWarning, match="nobody has this"):
        model = pignn.make("vanilla", epochs=2).fit(noisy)
    assert model.embed(noisy).shape == (240, 4)
    assert model.class_names_[3] == "nobody has this"


def test_label_weight_and_class_weight_enter_the_loss(noisy):
    settings = {"epochs": 1, "dropout": 0.0, "selection": "last", "feature_scaling": "none"}
    plain = pignn.make("vanilla", **settings).fit(noisy).history_[0]["class_loss"]
    nodes = noisy.train_mask.nonzero().view(-1)
    torch.manual_seed(0)
    h = backbones.build("gcn", 32, 3, dropout=0.0)(backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy)))[
        nodes
    ]
    y = noisy.y[nodes]
    each = nn.functional.cross_entropy(h, y, reduction="none")
    assert plain == pytest.approx(each.mean().item(), rel=1e-5)

    weight = torch.rand(240)
    noisy.label_weight = weight
    loss = pignn.make("vanilla", class_weight=[1.0, 2.0, 0.5], **settings).fit(noisy).history_[0]["class_loss"]
    total = weight[nodes] * torch.tensor([1.0, 2.0, 0.5])[y]
    assert loss == pytest.approx(((total * each).sum() / total.sum()).item(), rel=1e-5)

    del noisy.label_weight
    loss = pignn.make("vanilla", class_weight="balanced", **settings).fit(noisy).history_[0]["class_loss"]
    by_class = torch.stack([each[y == c].mean() for c in range(3)]).mean()
    assert loss == pytest.approx(by_class.item(), rel=1e-5)


def test_a_label_of_weight_zero_is_like_no_label(noisy):
    ignored = noisy.train_mask.nonzero().view(-1)[:10]
    noisy.label_weight = torch.ones(240)
    noisy.label_weight[ignored] = 0
    a = pignn.make("vanilla", **{"epochs": 12}).fit(noisy)
    noisy.y[ignored] = (noisy.y[ignored] + 1) % 3
    assert same(weights(a), weights(pignn.make("vanilla", epochs=12).fit(noisy)))


def test_edge_weights_matter_except_to_attention(noisy):
    plain = pignn.make("vanilla", epochs=3).fit(noisy).embed(noisy)
    noisy.edge_weight = 1.0 + noisy.edge_index.sum(0) % 3
    model = pignn.make("vanilla", epochs=3).fit(noisy)
    assert not np.allclose(plain, model.embed(noisy))
    with pytest.warns(PignnWarning, match="makes no use of edge_weight"):
        pignn.make("vanilla", backbone="gat", epochs=1).fit(noisy)


def test_changes_to_the_edges_are_warned_about(noisy):
    one_way = noisy.edge_index[:, noisy.edge_index[0] < noisy.edge_index[1]]
    noisy.edge_index = torch.cat([one_way, torch.tensor([[3], [3]])], dim=1)
    with pytest.warns(PignnWarning) as caught:
        a = pignn.PIGNN(**FAST).fit(noisy)
    texts = " ".join(str(w.message) for w in caught)
    assert "dropped 1 self-loop" in texts
    assert "two-way" in texts
    with pytest.warns(PignnWarning, match="self-loop"):
        directed = pignn.PIGNN(directed=True, **FAST).fit(noisy)
    assert not same(weights(a), weights(directed))


def test_one_of_several_splits_is_chosen_by_split_index(noisy):
    two = noisy.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        two[name] = torch.stack([noisy[name], noisy[name].flip(0)], dim=1)
    with pytest.raises(DataError, match="split_index"):
        pignn.PIGNN(**FAST).fit(two)
    model = pignn.PIGNN(**FAST).fit(two, split_index=0)
    assert same(weights(model), weights(pignn.PIGNN(**FAST).fit(noisy)))
    assert model.score(two, split_index=0) == model.score(noisy)
    with pytest.raises(DataError, match="split_index"):
        model.score(two)


def test_score_compares_with_the_truth_or_the_given_labels(noisy):
    model = pignn.PIGNN(**FAST).fit(noisy)
    right = model.predict(noisy) == noisy.y_true.numpy()
    assert model.score(noisy) == pytest.approx(right[noisy.test_mask.numpy()].mean())
    assert model.score(noisy, split="all") == pytest.approx(right.mean())
    for metric in ("balanced_accuracy", "macro_f1", "average_precision"):
        assert 0 < model.score(noisy, metric=metric) <= 1
    with pytest.raises(ConfigError, match="did you mean 'test'"):
        model.score(noisy, split="tes")


def test_a_model_is_saved_and_loaded(noisy, tmp_path):
    model = pignn.PIGNN(estimator="sage", **FAST).fit(noisy)
    model.save(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model")
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    assert again.get_json_compatible_settings() == model.get_json_compatible_settings()
    assert again.history_ == model.history_
    assert np.array_equal(again.embed(noisy), model.embed(noisy))
    other = graphs.csbm(num_nodes=100, num_classes=3, seed=9)
    assert again.predict(other).shape == (100,)
    model.save(tmp_path / "model")  # a second time, over the first
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def mlp(inputs, outputs):
    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)

        def forward(self, x, edge_index):
            return self.linear(x)

    return Mlp()


def test_a_callable_can_be_the_backbone(noisy, tmp_path):
    model = pignn.PIGNN(backbone=mlp, **FAST).fit(noisy)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"load_model\(path, backbone=...\)"):
        pignn.load_model(tmp_path / "model")
    again = pignn.load_model(tmp_path / "model", backbone=mlp)
    assert np.array_equal(again.embed(noisy), model.embed(noisy))


def test_predictions_need_a_fitted_model_and_the_same_features(noisy):
    with pytest.raises(NotFittedError, match="call fit"):
        pignn.PIGNN().predict(noisy)
    with pytest.raises(NotFittedError, match="call fit"):
        pignn.PIGNN().save("nowhere")
    model = pignn.make("vanilla", epochs=1).fit(noisy)
    with pytest.raises(DataError, match="fitted on 32 features, this graph has 5"):
        model.predict(graphs.csbm(num_nodes=100, num_classes=3, num_features=5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backbone": "gnc"}, "did you mean 'gcn'"),
        ({"estimator": "gatt"}, "did you mean 'gat'"),
        ({"pair_labels": "estimate"}, "did you mean 'estimated'"),
        ({"target": "hard"}, "unknown target 'hard'"),
        ({"selection": "cleanval"}, "did you mean 'clean-val'"),
        ({"schedule": "pretrained"}, "did you mean 'pretrain'"),
        ({"init": "xavier"}, "unknown init"),
        ({"pairs": "exakt"}, "did you mean 'exact'"),
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"epochs": 2.5}, "epochs must be an integer"),
        ({"epochs": "many"}, "epochs must be an integer"),
        ({"warmup": -2}, "warmup must be"),
        ({"lr": -0.1}, "lr must be"),
        ({"lr": float("nan")}, "lr must be"),
        ({"lr": "fast"}, "lr must be"),
        ({"beta": "much"}, "beta must be"),
        ({"beta": -1.0}, "beta must be"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"hidden_channels": 0}, "hidden_channels must be"),
        ({"num_layers": 0}, "num_layers must be"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"class_weight": [1.0]}, "class_weight must be 3 numbers"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"num_layers": "two"}, "num_layers must be"),
        ({"dropout": "half"}, "dropout must be"),
        ({"directed": "yes"}, "directed must be true or false"),
        ({"backbone": 3}, "a backbone is a name or a callable"),
        ({"class_weight": {"a": 1}}, "class_weight must be"),
        ({"selection": 1}, "unknown selection '1'"),
        ({"edge_fraction": 0}, "edge_fraction must be a number above 0"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "x"}, "seed must be"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(noisy, settings, message):
    with pytest.raises(PignnError, match=message) as caught:
        pignn.PIGNN(**settings).fit(noisy)
    assert "\n" not in str(caught.value)


def test_unknown_methods_and_settings_are_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="unknown method 'pi-gn'; did you mean 'pi-gnn'"):
        pignn.make("pi-gn")
    assert pignn.make("PIGNN").name == "pi-gnn"
    assert pignn.make("GraphSAGE").get_params()["backbone"] == "sage"
    with pytest.raises(ConfigError, match="unknown setting 'epoch'; did you mean 'epochs'"):
        pignn.make("pi-gnn", epoch=3)


def test_a_diverging_loss_is_reported(noisy):
    with pytest.raises(PignnError, match="try a smaller learning rate"):
        pignn.make("vanilla", lr=1e25, epochs=50).fit(noisy)


def test_settings_may_be_numpy_numbers(noisy, tmp_path):
    settings = {"seed": np.int64(3), "epochs": np.int32(4), "lr": np.float32(0.01), "directed": np.bool_(False)}
    model = pignn.PIGNN(device=torch.device("cpu"), **settings).fit(noisy, checkpoint=tmp_path / "state")
    model.save(tmp_path / "model")
    assert np.array_equal(pignn.load_model(tmp_path / "model").embed(noisy), model.embed(noisy))


def test_settings_that_change_after_fit_are_not_saved(noisy, tmp_path):
    model = pignn.PIGNN(epochs=2).fit(noisy)
    model.set_params(backbone="gat")
    model.save(tmp_path / "model")
    assert pignn.load_model(tmp_path / "model").backbone == "gcn"


def test_backbones_that_do_not_fit_are_refused_in_one_line(noisy, tmp_path):
    with pytest.raises(ConfigError, match=r"the backbone gives \[240, 7\]; nodes × classes is \[240, 3\]"):
        pignn.PIGNN(backbone=lambda a, b: mlp(a, b + 4), epochs=2).fit(noisy)
    with pytest.raises(ConfigError, match=r"called with \(in_channels, out_channels\)"):
        pignn.PIGNN(backbone=lambda a: None, epochs=2).fit(noisy)
    with pytest.raises(ConfigError, match="builds a torch module, not int"):
        pignn.PIGNN(backbone=lambda a, b: 3, epochs=2).fit(noisy)
    pignn.PIGNN(backbone=functools.partial(mlp), epochs=2).fit(noisy).save(tmp_path / "model")


def test_the_number_of_layers_can_be_set(noisy):
    assert pignn.PIGNN(num_layers=3, epochs=2).fit(noisy).embed(noisy).shape == (240, 3)


def test_score_accepts_the_masks_that_fit_accepts(noisy):
    model = pignn.PIGNN(epochs=3).fit(noisy)
    expected = model.score(noisy)
    odd = noisy.clone()
    odd.y_true, odd.test_mask = noisy.y_true.numpy(), noisy.test_mask[:, None]
    assert model.score(odd) == expected
    given = model.score(noisy, split="val", against="given")
    assert given == pytest.approx(max(row["val_accuracy"] for row in model.history_))
    odd.test_mask = noisy.test_mask[:50]
    with pytest.raises(DataError, match="test_mask has 50 entries"):
        model.score(odd)
    odd.test_mask = torch.stack([noisy.test_mask] * 3, dim=1)
    with pytest.raises(DataError, match="split_index 7 is out of range"):
        model.score(odd, split_index=7)


def test_the_truth_does_not_say_how_many_classes_there_are(noisy):
    del noisy.class_names
    noisy.y_true = noisy.y_true + 7
    with pytest.raises(DataError, match="labels are 0 to 2"):
        pignn.PIGNN(epochs=2).fit(noisy)


def test_a_checkpoint_is_refused_if_the_labels_of_an_oracle_changed(noisy, tmp_path):
    pignn.PIGNN(epochs=2, selection="clean-val").fit(noisy, checkpoint=tmp_path)
    noisy.y_true = noisy.y_true.flip(0)
    with pytest.raises(ModelFileError, match="data was"):
        pignn.PIGNN(epochs=3, selection="clean-val").fit(noisy, checkpoint=tmp_path, resume=True)


def test_a_link_to_a_model_stays_a_link(noisy, tmp_path):
    (tmp_path / "link").symlink_to("real")
    model = pignn.PIGNN(**FAST).fit(noisy)
    for _ in range(2):
        model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
