"""The page of a training: right numbers, said for what they are, for every kind of method."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
import pignn.cli
from pignn import graphs
from pignn.core.errors import DataError, NotFittedError
from pignn.report import build_training_page
from pignn.report.training import TrainingSummary
from pignn.report.training.scores import MAX_DRAWN_NODES, LabelComparison, compare_with_labels, project_nodes
from pignn.training.metrics import calibration_error

from .reading import HOSTILE, Elements, admitted

ALL = (
    ("pi-gnn", {"epochs": 5, "warmup": 1}),
    ("dividemix", {"epochs": 4, "warm_epochs": 2}),
    ("auto", {}),
    ("prototypes", {}),
    ("label-propagation", {}),
    ("ica", {}),
)


def words(page: str) -> str:
    """What a page says, without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S))


@pytest.mark.parametrize(("name", "settings"), ALL, ids=[name for name, _ in ALL])
def test_every_kind_of_method_has_a_training_page(noisy: Data, name: str, settings: dict[str, int]) -> None:
    model = pignn.make(name, **settings).fit(noisy)
    page = build_training_page(model, noisy)
    assert page == build_training_page(model, noisy)
    assert admitted(page) == 1
    tags = [tag for tag, _ in Elements(page).elements]
    assert "script" not in tags
    epochs = hasattr(model, "history_")
    assert page.count("Agreement and accuracy by epoch") == epochs
    assert page.count(f"&#39;{name}&#39; does not learn in epochs") == (not epochs)
    text = words(page)
    assert f"accuracy on test nodes {100 * model.score(noisy):.1f} %" in text
    assert "agreement, not accuracy" in text
    learned = int(noisy.train_mask.sum() + noisy.val_mask.sum() * (name == "auto"))
    assert f"learned from {learned} given labels" in text
    assert ("agreement with held-out labels" in text) == (name != "auto")


def test_without_true_labels_no_accuracy_is_shown(noisy: Data) -> None:
    del noisy["y_true"]
    model = pignn.make("prototypes").fit(noisy)
    text = words(build_training_page(model, noisy))
    assert "accuracy unknown" in text
    assert "true labels of test nodes" not in text.lower().replace("no true labels of test nodes are known", "")
    assert "wrong given labels" not in text


def test_true_labels_do_not_change_the_comparison_with_given_ones(noisy: Data) -> None:
    model = pignn.make("prototypes").fit(noisy)
    other = noisy.clone()
    other.y_true = (other.y_true + 1) % 3
    scores = model.embed(noisy)
    one, two = (compare_with_labels(graph, scores, learns_from_val=False) for graph in (noisy, other))
    for name in ("learned", "held_out"):
        assert getattr(one, name).count_confusion() == getattr(two, name).count_confusion()
    assert one.test is not None
    assert two.test is not None
    assert one.test.share != two.test.share


def test_the_page_says_how_the_epoch_was_selected(noisy: Data) -> None:
    for rule, said in (("clean-val", "an oracle"), ("noisy-val", "slightly too high"), ("last", "last epoch was kept")):
        model = pignn.make("vanilla", epochs=3, selection=rule).fit(noisy)
        page = build_training_page(model, noisy)
        assert said in words(page)
        assert ("accuracy on true validation labels" in page) == (rule == "clean-val")
        assert f"selected: {model.best_epoch_}<" in page


def test_an_oracle_is_named_as_such(noisy: Data) -> None:
    model = pignn.make("pi-gnn", epochs=3, warmup=1, pair_labels="true").fit(noisy)
    assert "Pair labels were made from true labels: an oracle." in words(build_training_page(model, noisy))


def test_counts_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import confusion_matrix

    rng = np.random.default_rng(0)
    labels, proba = rng.integers(0, 4, 300), rng.dirichlet(np.ones(4), 300)
    comparison = LabelComparison(labels, proba)
    matrix = confusion_matrix(labels, proba.argmax(1), labels=range(4))
    assert comparison.count_confusion() == matrix.tolist()
    assert comparison.share == pytest.approx(np.trace(matrix) / 300)
    bins = comparison.compute_calibration_bins().values()
    assert sum(n for _, _, n in bins) == 300
    expected = sum(n * abs(x - y) for x, y, n in bins) / 300
    assert (
        comparison.calibration_error
        == pytest.approx(expected)
        == pytest.approx(calibration_error(labels, proba, num_bins=10))
    )


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    proba = np.tile([0.6, 0.4], (60, 1))
    covered = 0
    for _ in range(2_000):
        low, high = LabelComparison((rng.random(60) > 0.8).astype(np.int64), proba).interval
        covered += low <= 0.8 <= high
    assert 0.92 < covered / 2_000 < 0.98


def test_similar_nodes_are_placed_together_and_few_are_drawn() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 5_000)
    scores = (6.0 * np.eye(3)[group] + rng.normal(0, 0.3, (5_000, 3))).astype(np.float32)
    where = project_nodes(scores)
    assert len(where.nodes) == len(set(where.nodes.tolist())) == MAX_DRAWN_NODES
    assert where.variance_share == pytest.approx(1)  # three classes have two dimensions
    middles = np.stack([where.xy[group[where.nodes] == c].mean(0) for c in range(3)])
    nearest = ((where.xy[:, None] - middles) ** 2).sum(-1).argmin(1)
    assert (nearest == group[where.nodes]).all()
    np.testing.assert_array_equal(project_nodes(scores).xy, where.xy)
    # A shift of all scores of a node means nothing; minus infinity is a probability of 0.
    shifted = scores + rng.normal(0, 5, (5_000, 1)).astype(np.float32)
    np.testing.assert_allclose(project_nodes(shifted).xy, where.xy, atol=1e-3)
    scores[0, 1] = -np.inf
    assert np.isfinite(project_nodes(scores).xy).all()


def test_two_classes_are_placed_on_a_line() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    where = project_nodes(scores)
    assert where.is_flat
    order = np.argsort(scores[:, 1] - scores[:, 0])
    steps = np.diff(where.xy[order, 0])
    assert (steps >= -1e-9).all() or (steps <= 1e-9).all()
    assert np.ptp(where.xy[:, 1]) <= 1


def test_hostile_names_stay_text(noisy: Data) -> None:
    plain = noisy.clone()
    plain.class_names = ["a long name", "another name", "the third name"]
    model = pignn.make("prototypes").fit(plain)
    wanted = [(tag, sorted(attrs)) for tag, attrs in Elements(build_training_page(model, plain)).elements]
    for names in (HOSTILE[:3], HOSTILE[3:6], HOSTILE[6:9], HOSTILE[9:12], ["half \ud800 pair", "b" * 9, "ü" * 10_000]):
        evil = noisy.clone()
        evil.class_names, evil.name = list(names), names[0]
        page = build_training_page(
            pignn.make("prototypes").fit(evil),
            evil,
            title=names[1],
            summary=TrainingSummary(dataset=None, method="prototypes", seed=0, note=names[2]),
        )
        page.encode()
        found = Elements(page).elements
        assert [(tag, sorted(attrs)) for tag, attrs in found if tag != "li"] == [
            one for one in wanted if one[0] != "li"
        ]
        assert not [name for _, attrs in found for name in attrs if name.startswith("on") or name == "style"]


def test_a_page_stays_small_with_many_nodes_classes_and_epochs() -> None:
    data = pignn.corrupt(graphs.csbm(6_000, 60, num_features=16, degree=4), "symmetric", 0.2)
    model = pignn.make("vanilla", epochs=2).fit(data)
    row = model.history_[-1]
    model.history_ = [row | {"epoch": epoch} for epoch in range(20_000)]
    page = build_training_page(model, data)
    assert len(page.encode()) < 400_000
    assert "The 40 largest disagreements" in page


def test_mistakes_are_refused_in_one_line(noisy: Data) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        build_training_page(pignn.make("prototypes"), noisy)
    model = pignn.make("prototypes").fit(noisy)
    noisy.class_names = ["a", "b", "c", "d"]
    with pytest.raises(DataError, match="knows 3 classes, this graph has 4"):
        build_training_page(model, noisy)


def test_warnings_about_the_graph_are_on_the_page(noisy: Data) -> None:
    noisy.test_mask = noisy.test_mask | noisy.train_mask
    with pytest.warns(pignn.PignnWarning, match="both train_mask and test_mask"):
        model = pignn.make("prototypes").fit(noisy)
    assert "in both train_mask and test_mask: test scores will be too high." in build_training_page(model, noisy)


def test_a_page_for_one_of_several_splits(noisy: Data) -> None:
    model = pignn.make("prototypes").fit(noisy)
    several = noisy.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        several[name] = torch.stack([~noisy[name], noisy[name]], dim=1)
    assert build_training_page(model, several, split_index=1) == build_training_page(model, noisy)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = [
        "train",
        "--dataset",
        "csbm",
        "--data",
        "num_nodes=200",
        "--noise",
        "symmetric",
        "--rate",
        "0.2",
        "--epochs",
        "4",
    ]
    out = tmp_path / "run"
    assert pignn.cli.run([*to, "--warmup", "1", "--out", str(out), "--report"]) == 0
    assert str(out / "report.html") in capsys.readouterr().err
    page = (out / "report.html").read_text(encoding="utf-8")
    run = json.loads((out / "run.json").read_text())
    text = words(page)
    assert f"accuracy on test nodes {100 * run['test_accuracy']:.1f} %" in text
    assert f"selected epoch {run['best_epoch']}" in text
    assert f"seconds {run['seconds']:.6g}" in text
    assert str(tmp_path) not in page
    # A run without a report does not keep that of the run it replaces.
    assert pignn.cli.run([*to, "--warmup", "1", "--out", str(out), "--force"]) == 0
    assert not (out / "report.html").exists()


def test_a_report_of_the_users_own_is_kept(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    to = ["train", "--dataset", "csbm", "--data", "num_nodes=200", "--method", "prototypes", "--out", str(tmp_path)]
    assert pignn.cli.run(to) == 0
    assert (tmp_path / "report.html").read_text() == "mine"


def test_a_report_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert pignn.cli.run(["train", "--dataset", "csbm", "--report"]) == 2
    assert "--report needs --out, the folder for report.html" in capsys.readouterr().err


def test_an_audit_before_the_training_is_mentioned(tmp_path: Path) -> None:
    to = [
        "train",
        "--dataset",
        "csbm",
        "--data",
        "num_nodes=300",
        "--noise",
        "pair",
        "--rate",
        "0.2",
        "--drop-suspects",
    ]
    assert pignn.cli.run([*to, "--method", "prototypes", "--out", str(tmp_path), "--report"]) == 0
    run = json.loads((tmp_path / "run.json").read_text())
    text = words((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert f"An audit came first: {run['suspects']:,} suspects were left out." in text
