"""pignn.train: every ability of the command, from Python, and one inference per run."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from torch_geometric.data import Data

import pignn
import pignn.cli
from pignn import runs
from pignn.core.errors import ConfigError, OutputError
from pignn.training.callbacks import Callback

SHORT = {"epochs": 6, "warmup": 2}


def read_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()
    }


def drop_times(content):
    """run.json and model.json without the seconds that training took."""
    record = json.loads(content)
    record.pop("seconds", None)
    for row in record.get("history", []):
        row.pop("seconds", None)
    return record


class InterruptAfter(Callback):
    """Send SIGINT to this process at the end of an epoch, counted from 1."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, context, row):
        if len(context.history) == self.epoch:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def handlers():
    """Ctrl-C as in a terminal, and pytest's own handler afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_graph_gives_a_run_that_summarizes_itself(noisy):
    run = pignn.train(noisy, method="auto")
    assert run.summary.method == "auto"
    assert run.summary.chosen in run.summary.explanation
    assert run.summary.test_accuracy == run.model.score(noisy)
    assert run.summary.test_macro_f1 == run.model.score(noisy, metric="macro_f1")
    np.testing.assert_array_equal(run.predictions.probs, run.model.predict_proba(noisy))
    np.testing.assert_array_equal(run.predictions.predicted_classes, run.model.predict(noisy))
    assert "test accuracy" in run._repr_html_()


def test_the_summary_has_no_keys_that_do_not_apply(noisy):
    summary = pignn.train(noisy, "prototypes").summary.to_dict()
    assert "epochs_done" not in summary
    assert "suspects" not in summary
    assert summary["labels_given"] == int((noisy.y >= 0).sum())


@pytest.mark.parametrize("method", ["pi-gnn", "vanilla", "auto", "prototypes", "label-propagation"])
def test_one_inference_serves_the_summary_all_files_and_the_page(noisy, inferences, tmp_path, method):
    settings = SHORT if method in ("pi-gnn", "vanilla") else {}
    if method == "auto":
        pignn.train(noisy, method, assess=False)  # what it asks of its candidates while it fits does not count
        fitting = len(inferences) - 1
        inferences.clear()
    else:
        fitting = 0
    run = pignn.train(noisy, method, settings=settings, out=tmp_path / "run", report=True, assess=False)
    run.summary, run.predictions.table, run._repr_html_()
    run.report()
    run.save(tmp_path / "copy", report=True)
    assert len(inferences) - fitting == 1


def test_the_files_of_the_command_and_of_python_are_equal(files, tmp_path):
    arguments = ["--nodes", "papers.csv", "--edges", "citations.csv", "--id", "paper", "--label", "topic"]
    flags = [*arguments, "--val", "0.2", "--epochs", "6", "--warmup", "2", "--seed", "1", "--report", "--json"]
    assert pignn.cli.run(["train", *flags, "--out", "command"]) == 0
    pignn.train(**files, val=0.2, settings=SHORT, seed=1, out="python", report=True)
    command, python = read_files("command"), read_files("python")
    assert command.keys() == python.keys()
    for name in ("predictions.csv", "model/model.safetensors", "model/card.md", "model/features.json"):
        assert command[name] == python[name]
    record = drop_times(python["run.json"])
    expected = drop_times(command["run.json"])
    options = record.pop("graph"), expected.pop("graph")
    assert record["assessment"].pop("seconds") > 0
    assert expected["assessment"].pop("seconds") > 0
    assert record == expected
    assert options[0].items() <= options[1].items()
    assert drop_times(command["model/model.json"]) == drop_times(python["model/model.json"])


def test_files_and_a_networkx_graph_give_the_same_predictions(files, networkx_data):
    by_files = pignn.train(**files, method="prototypes").predictions.table.set_index("node")
    by_object = pignn.train(networkx_data, method="prototypes").predictions.table.set_index("node")
    assert by_files["predicted"].to_dict() == by_object["predicted"].loc[by_files.index].to_dict()


@pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")
def test_a_notebook_flow_from_an_object_to_new_predictions(networkx_data, tmp_path):
    run = pignn.train(networkx_data, clean="relabel", method="prototypes", out=tmp_path / "run", report=True)
    assert run.summary.suspects == int(run.audit.issues["suspect"].sum())
    assert run.summary.import_summary["nodes"] == 120
    assert (tmp_path / "run" / "model" / "card.md").exists()
    assert (tmp_path / "run" / "report.html").read_text().startswith("<!doctype html>")
    again = pignn.predict(tmp_path / "run", networkx_data)
    assert again.table.equals(run.predictions.table)


def test_history_is_plotted_as_a_matplotlib_figure(noisy):
    run = pignn.train(noisy, "vanilla", settings={"epochs": 4})
    assert isinstance(run.plot_history(), Figure)
    assert list(run.history["epoch"]) == [0, 1, 2, 3]
    with pytest.raises(ConfigError, match="does not train in epochs"):
        pignn.train(noisy, "prototypes").plot_history()


def test_the_page_is_text_and_a_file(noisy, tmp_path):
    run = pignn.train(noisy, "prototypes")
    assert run.report(tmp_path / "page.html") == (tmp_path / "page.html").read_text()


def test_a_method_with_settings_is_used_as_it_is(noisy):
    model = pignn.PIGNN(epochs=3, warmup=0, hidden_channels=5)
    run = pignn.train(noisy, model)
    assert run.model is model
    assert run.summary.settings["hidden_channels"] == 5
    with pytest.raises(ConfigError, match="epochs is given beside a method"):
        pignn.train(noisy, model, settings={"epochs": 4})


def test_settings_of_networks_choose_pi_gnn_and_say_so(noisy):
    run = pignn.train(noisy, settings=SHORT)
    assert run.summary.method == "pi-gnn"
    assert run.summary.method_reason.startswith("using pi-gnn because epochs, warmup require a network")
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        pignn.train(noisy, settings={"epoch": 3})


def test_noise_is_added_to_a_graph_only_if_asked_for(noisy):
    clean = noisy.clone()
    clean.y = noisy.y_true
    del clean.y_true, clean.noise
    assert pignn.train(clean, "prototypes").summary.noise is None
    summary = pignn.train(clean, "prototypes", noise="symmetric", rate=0.3, seed=0).summary
    assert summary.noise == "symmetric"
    assert summary.realized_noise > 0.1
    with pytest.raises(ConfigError, match="takes no rate"):
        pignn.train(clean, rate=0.3)


@pytest.mark.parametrize("clean", ["drop", "relabel", "weight"])
def test_suspects_of_an_audit_are_cleaned_first(noisy, clean):
    run = pignn.train(noisy, "prototypes", clean=clean)
    changed = ("label_weight" in run.training_data) if clean == "weight" else not run.training_data.y.equal(noisy.y)
    assert changed
    assert run.data.y.equal(noisy.y)
    with pytest.raises(ConfigError, match="unknown way to clean 'dropp'; did you mean 'drop'"):
        pignn.train(noisy, "prototypes", clean="dropp")


def test_a_run_is_replaced_or_continued_only_if_asked_for(noisy, tmp_path):
    pignn.train(noisy, settings=SHORT, out=tmp_path)
    before = read_files(tmp_path)
    with pytest.raises(OutputError, match="resume=True continues it, force=True replaces it"):
        pignn.train(noisy, settings=SHORT, out=tmp_path)
    assert read_files(tmp_path) == before
    longer = pignn.train(noisy, settings=SHORT | {"epochs": 9}, out=tmp_path, resume=True)
    whole = pignn.train(noisy, settings=SHORT | {"epochs": 9})
    np.testing.assert_array_equal(longer.predictions.logits, whole.predictions.logits)
    pignn.train(noisy, "prototypes", out=tmp_path, force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"model", "predictions.csv", "disagreements.csv", "run.json"}


def test_a_saved_run_does_not_replace_files_unasked(noisy, tmp_path):
    run = pignn.train(noisy, "prototypes")
    (tmp_path / "predictions.csv").write_text("mine")
    with pytest.raises(OutputError, match=r"predictions.csv exists already; force=True"):
        run.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]
    run.save(tmp_path, force=True)
    assert pignn.load_model(tmp_path).class_names_ == run.model.class_names_


def test_a_saved_run_leaves_no_checkpoint_of_the_run_before(noisy, tmp_path):
    pignn.train(noisy, settings=SHORT, out=tmp_path)
    pignn.train(noisy, settings=SHORT | {"epochs": 3}).save(tmp_path, force=True)
    assert not list(tmp_path.glob("checkpoint*"))


def test_an_interrupt_carries_the_run_with_the_best_classifier_so_far(noisy, tmp_path, handlers):
    with pytest.raises(runs.TrainingInterrupted) as caught:
        pignn.train(noisy, settings={"epochs": 20}, out=tmp_path, callbacks=[InterruptAfter(4)])
    run = caught.value.run
    assert (caught.value.signal, caught.value.finished) == (signal.SIGINT, False)
    assert run.summary.epochs_done == 4
    assert json.loads((tmp_path / "run.json").read_text())["epochs_done"] == 4
    assert pignn.train(noisy, settings={"epochs": 20}, out=tmp_path, resume=True).summary.epochs_done == 20


def test_an_interrupt_before_the_classifier_learns_names_the_checkpoint(noisy, tmp_path, handlers):
    with pytest.raises(KeyboardInterrupt) as caught:
        pignn.train(noisy, settings={"epochs": 5, "schedule": "pretrain"}, out=tmp_path, callbacks=[InterruptAfter(2)])
    assert caught.value.__notes__ == [f"a checkpoint is in {tmp_path}; resume=True continues from it"]


def test_a_run_that_fails_leaves_no_folder(files, tmp_path):
    with pytest.raises(ConfigError, match="topc"):
        pignn.train(**files | {"label": "topc"}, out=tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "which graph"),
        ({"graph": "papers.csv"}, "not the name of a dataset; read your own graph with nodes="),
        ({"graph": "digits", "report": True}, "report=True needs out="),
        ({"graph": "digits", "resume": True}, "resume=True needs out="),
        ({"graph": "digits", "out": "x", "resume": True, "force": True}, "give one of them"),
        ({"graph": "digits", "checkpoint_every": 0}, "checkpoint_every must be at least 1"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        pignn.train(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_options_of_files_do_not_apply_to_a_graph(noisy):
    with pytest.raises(ConfigError, match="label does not apply to a graph that is loaded already"):
        pignn.train(noisy, label="topic")


def test_several_splits_of_a_graph_are_reduced_to_one(noisy):
    several = noisy.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        several[name] = several[name][:, None].repeat(1, 2)
    run = pignn.train(several, "prototypes", split_index=1)
    assert run.data.train_mask.equal(noisy.train_mask)
    assert several.train_mask.dim() == 2  # the user's graph stays as it is
    with pytest.warns(pignn.PignnWarning, match="2 splits: using the first"):
        pignn.train(several, "prototypes")


def test_options_of_a_dataset_reach_it():
    run = pignn.train("csbm", "prototypes", num_nodes=90, dataset_options={"seed": 4}, noise="pair", rate=0.2)
    assert run.data.num_nodes == 90
    assert run.source.to_json_dict() == {"num_nodes": 90, "seed": 4}
    assert run.summary.noise == "pair"


def test_callbacks_follow_the_epochs(noisy):
    epochs = []

    class Count(Callback):
        def on_epoch_end(self, context, row):
            epochs.append(row["epoch"])

    pignn.train(noisy, settings=SHORT, callbacks=[Count()])
    assert epochs == list(range(6))
    with pytest.raises(ConfigError, match="'prototypes' has none"):
        pignn.train(noisy, "prototypes", callbacks=[Count()])


def test_a_graph_needs_no_validation_and_test_masks(noisy):
    bare = Data(x=noisy.x, edge_index=noisy.edge_index, y=noisy.y, train_mask=noisy.train_mask)
    run = pignn.train(bare, "prototypes")
    assert run.summary.test_accuracy is None
    assert "val_mask" not in bare
    assert pignn.predict(run.model, bare).table["predicted"].equals(run.predictions.table["predicted"])
