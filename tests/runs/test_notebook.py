"""What results show in a notebook: cards with names of classes, pictures, suspects, and the way to NetworkX."""

from __future__ import annotations

import networkx
import numpy as np
import pandas as pd
import pytest

import pignn
from pignn.core.errors import ConfigError, DataError

CLASSES = {"sport", "politics", "science"}


@pytest.fixture(scope="module")
def noisy():
    data = pignn.load("csbm", num_nodes=240, num_classes=3, signal=2.0)
    data.class_names = ["sport", "politics", "<science>"]
    return pignn.corrupt(data, "symmetric", 0.2, seed=0)


@pytest.fixture(scope="module")
def run(noisy):
    return pignn.train(noisy, "low-density")


@pytest.fixture(scope="module")
def found(noisy):
    return pignn.audit(noisy)


def test_the_card_of_a_run_says_what_it_is_worth_by_names_of_classes(run) -> None:
    html = run._repr_html_()
    for text in ("right for about", "low-density on", "p_given_wrong", "politics", "&lt;science&gt;", "settings"):
        assert text in html, text
    assert "<science>" not in html
    model = run.model._repr_html_()
    assert "low-density, fitted" in model
    assert run.model._repr_mimebundle_()["text/html"] == model
    unfitted = pignn.PIGNN(epochs=3)._repr_html_()
    assert "not fitted yet" in unfitted
    assert "epochs=3" in unfitted


def test_the_card_of_an_audit_has_rate_classes_and_suspects(found) -> None:
    html = found._repr_html_()
    for text in ("estimated wrong", "Given classes", "Most probably wrong", "&lt;science&gt;", "suspects"):
        assert text in html, text


def test_the_card_of_an_import_says_what_was_understood(files) -> None:
    graph = pignn.inspect_graph(**files)
    html = graph._repr_html_()
    assert "sport" in html
    assert "scaled to mean 0" in html
    assert "columns separated by commas" in html


def test_suspects_have_names_and_the_surest_come_first(run, found) -> None:
    table = found.suspects(7)
    assert list(table.columns) == ["node", "given", "suggested", "p_wrong"]
    assert set(table["given"]) <= {"sport", "politics", "<science>"}
    assert len(table) == 7
    assert table["p_wrong"].is_monotonic_decreasing
    mine = run.suspects(7)
    assert list(mine.columns) == ["node", "given", "predicted", "confidence", "p_given_wrong"]
    assert (mine["given"] != mine["predicted"]).all()
    assert mine["p_given_wrong"].is_monotonic_decreasing


def test_suspects_without_an_assessment_are_what_the_model_contradicts(noisy) -> None:
    run = pignn.train(noisy, "low-density", assess=False)
    assert (run.suspects(5)["given"] != run.suspects(5)["predicted"]).all()
    with pytest.raises(ConfigError, match="assess=False"):
        run.plot_transition()


def test_pictures_of_an_audit_hold_its_numbers(found) -> None:
    matrix = found.plot_confusion().axes[0]
    cells = np.array([float(text.get_text().replace(",", "")) for text in matrix.texts]).reshape(3, 3)
    given = found.audit.evidence.class_counts
    assert np.abs(cells.sum(axis=1) - given).max() <= 1.5  # each cell is rounded
    assert matrix.get_ylabel() == "given class"
    axis = found.plot_map().axes[0]
    assert sum(len(dots.get_offsets()) for dots in axis.collections) == len(found.issues)
    assert len(axis.lines[0].get_xdata()) == int(found.issues["suspect"].sum())
    line = found.plot_calibration().axes[0].lines[1]
    truth = found.data.y_true.numpy()[found.issues["node"]]
    last = found.issues["p_wrong"] >= 0.9
    assert line.get_ydata()[-1] == pytest.approx((found.issues["given"] != truth)[last].mean())


def test_calibration_of_an_audit_needs_true_labels(networkx_data) -> None:
    with pytest.raises(ConfigError, match="true labels"):
        pignn.audit(networkx_data, warn=False).plot_calibration()


def test_pictures_of_a_run_hold_its_numbers(run, noisy) -> None:
    by_given, by_truth = run.plot_confusion().axes
    assert [axis.get_title() for axis in (by_given, by_truth)] == [
        "held-out given labels" if not run.fit_facts.learns_from_val else "given labels learned from",
        "true labels of test nodes",
    ]
    right = sum(float(by_truth.texts[4 * c].get_text()) for c in range(3))
    assert right / int(noisy.test_mask.sum()) == pytest.approx(run.summary.test_accuracy)
    assert len(run.plot_transition().axes[0].texts) == 9
    shown = np.array([float(text.get_text()) for text in run.plot_transition().axes[0].texts]).reshape(3, 3)
    assert shown.sum(axis=1) == pytest.approx(np.ones(3), abs=0.02)
    assert {line.get_label() for line in run.plot_calibration().axes[0].lines[1:]} >= {"true labels of test nodes"}
    axis = run.plot_map().axes[0]
    assert sum(len(dots.get_offsets()) for dots in axis.collections) == noisy.num_nodes


def test_a_graph_goes_to_networkx_with_what_was_found(files, tmp_path) -> None:
    found = pignn.audit(**files, warn=False)
    graph = pignn.to_networkx(found.data, found)
    assert set(graph) == set(pd.read_csv("papers.csv")["paper"])
    assert graph.number_of_edges() == found.data.edge_index.shape[1] // 2
    first = found.issues.iloc[0]
    node = graph.nodes[first["id"]]
    assert node["given"] in CLASSES
    assert node["suggested"] == found.audit.class_names[first["suggested"]]
    assert node["p_wrong"] == pytest.approx(first["p_wrong"])
    networkx.write_graphml(graph, tmp_path / "found.graphml")
    again = networkx.read_graphml(tmp_path / "found.graphml")
    assert again.nodes[first["id"]]["suggested"] == node["suggested"]
    run = pignn.train(**files, method="low-density", assess=False)
    networkx.write_gml(pignn.to_networkx(run.data, run), tmp_path / "run.gml")
    assert set(networkx.get_node_attributes(pignn.to_networkx(run.data, run), "predicted").values()) <= CLASSES


def test_mistakes_on_the_way_to_networkx(found, noisy) -> None:
    with pytest.raises(DataError, match="torch_geometric Data"):
        pignn.to_networkx("papers.csv")
    with pytest.raises(ConfigError, match=r"pignn\.audit"):
        pignn.to_networkx(noisy, found.issues)
    with pytest.raises(ConfigError, match="another graph"):
        pignn.to_networkx(pignn.load("csbm", num_nodes=60), found)
