"""Models for other tools: a folder for the Hub with a card that promises nothing, and a file of torch.export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from torch_geometric.nn.models import GCN as PyGGCN

import pignn
from pignn.core.errors import ConfigError, ModelFileError, OutputError
from pignn.runs import write_hub_folder


@pytest.fixture(scope="module")
def noisy():
    return pignn.corrupt(pignn.load("csbm", num_nodes=240, num_classes=3, signal=2.0), "symmetric", 0.2, seed=0)


def test_the_card_of_own_tables_has_agreement_and_noise_and_no_accuracy(files, tmp_path) -> None:
    run = pignn.train(**files, method="low-density", out="runs/mine")
    folder = write_hub_folder("runs/mine", tmp_path / "hub", repo_id="me/papers", license="mit")
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "features.json", "model.json", "model.safetensors"
    ]  # fmt: skip
    card = ModelCard.load(folder / "README.md")
    assert card.data.library_name == "pignn"
    assert card.data.license == "mit"
    assert card.data.eval_results is None
    text = card.text
    assert run.summary.data_fingerprint in text
    assert "accuracy by true labels: unknown" in text
    worth = run.summary.assessment
    assert f"{worth['agreement'] * 100:.1f}\u00a0% of {worth['labels']}" in text
    assert f"{worth['noise_rate'] * 100:.1f}\u00a0%" in text
    assert str(tmp_path) not in text
    predictions = pignn.predict(folder, **{name: files[name] for name in ("nodes", "edges")})
    assert (predictions.predicted_classes == run.predictions.predicted_classes).all()


def test_the_card_has_accuracy_where_true_labels_are_known(noisy, tmp_path) -> None:
    run = pignn.train(noisy, "low-density", assess=False)
    card = ModelCard.load(write_hub_folder(run, tmp_path / "hub") / "README.md")
    assert card.data.eval_results[0].metric_value == pytest.approx(run.summary.test_accuracy, abs=1e-4)
    assert "corrupted on purpose: symmetric, rate 0.2" in card.text
    assert "was not estimated" in card.text


def test_a_hostile_name_of_a_class_stays_text_in_the_card(noisy, tmp_path) -> None:
    data = noisy.clone()
    data.class_names = ["a", "---\nlicense: x", "<script>"]
    run = pignn.train(data, "low-density", assess=False)
    card = ModelCard.load(write_hub_folder(run, tmp_path / "hub") / "README.md")
    assert card.data.license is None
    assert "<script>" not in card.text


class FakeApi:
    """The Hub as a folder."""

    root: Path
    calls: list[tuple]

    def __init__(self, token=None):
        FakeApi.calls = [("token", token)]

    def create_repo(self, repo_id, private, exist_ok):
        FakeApi.calls.append(("create", repo_id, private, exist_ok))
        return f"https://hub/{repo_id}"

    def upload_folder(self, repo_id, folder_path, commit_message):
        shutil.copytree(folder_path, FakeApi.root / repo_id)


def test_a_model_goes_to_the_hub_and_comes_back(noisy, tmp_path, monkeypatch) -> None:
    FakeApi.root = tmp_path
    monkeypatch.setattr("huggingface_hub.HfApi", FakeApi)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda repo_id, **_: str(tmp_path / repo_id))
    run = pignn.train(noisy, "vanilla", settings={"epochs": 3}, assess=False)
    assert pignn.push_to_hub(run, "me/model", private=True) == "https://hub/me/model"
    assert FakeApi.calls[1] == ("create", "me/model", True, True)
    again = pignn.load_model(pignn.from_hub("me/model"))
    assert np.array_equal(again.predict(noisy), run.model.predict(noisy))


def test_what_the_hub_refuses_is_one_line(noisy, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelFileError, match="cannot get a b/c"):
        pignn.from_hub("a b/c")
    with pytest.raises(ModelFileError, match=r"network") as caught:
        pignn.from_hub("nobody/nothing")
    assert "\n" not in str(caught.value)
    run = pignn.train(noisy, "low-density", assess=False)
    with pytest.raises(OutputError, match="cannot push"):
        pignn.push_to_hub(run, "nobody/nothing")
    run.model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"run\.json"):
        write_hub_folder(tmp_path / "model", tmp_path / "hub")


@pytest.mark.parametrize("backbone", ["gcn", "sage", "appnp", "sgc", "gin", "tuned", "mlp", "pyg"])
def test_an_exported_network_gives_the_logits_of_the_model_on_any_graph(backbone, noisy, tmp_path) -> None:
    choice = (lambda i, o: PyGGCN(i, 8, 2, o)) if backbone == "pyg" else backbone
    model = pignn.Vanilla(backbone=choice, epochs=3).fit(noisy, progress=False)
    path = pignn.export_network(model, tmp_path / "network.pt2")
    facts = {"pignn.json": ""}
    program = torch.export.load(path, extra_files=facts).module()
    assert json.loads(facts["pignn.json"])["class_names"] == model.class_names_
    other = pignn.load("csbm", num_nodes=90, num_classes=3, signal=2.0, seed=4)
    edges = pignn.graphs.simplify_edges(other.edge_index, 90).edge_index
    logits = program(other.x, edges, torch.ones(edges.shape[1])).numpy()
    np.testing.assert_allclose(logits, model.embed(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gin"])
def test_an_exported_network_reads_weights(backbone, noisy) -> None:
    from pignn.runs.export import build_and_verify_exported_program

    model = pignn.PIGNN(backbone=backbone, epochs=2, warmup=1, feature_scaling="columns").fit(noisy, progress=False)
    graph = noisy.clone()
    simple = pignn.graphs.simplify_edges(graph.edge_index, graph.num_nodes)
    row, col = simple.edge_index
    graph.edge_index, graph.edge_weight = simple.edge_index, 1.0 + ((row + col) % 5).float()
    logits = build_and_verify_exported_program(model).module()(graph.x, graph.edge_index, graph.edge_weight).numpy()
    np.testing.assert_allclose(logits, model.embed(graph), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_exported_exactly_is_said(noisy, tmp_path) -> None:
    path = tmp_path / "network.pt2"
    with pytest.raises(ConfigError, match=r"attention of 'gat'.*pignn serve"):
        pignn.export_network(pignn.Vanilla(backbone="gat", epochs=2).fit(noisy, progress=False), path)
    with pytest.raises(ConfigError, match=r"not one network.*pignn serve"):
        pignn.export_network(pignn.make("low-density").fit(noisy), path)
    with pytest.raises(ConfigError, match=r"\.pt2"):
        pignn.export_network(pignn.make("low-density").fit(noisy), tmp_path / "network.onnx")
    path.write_text("mine")
    with pytest.raises(OutputError, match="force=True"):
        pignn.export_network(pignn.make("low-density").fit(noisy), path)
