"""pignn train: what a run leaves behind, what it prints, and what it refuses to overwrite."""

from __future__ import annotations

import csv
import io
import json
import struct
import warnings

import numpy as np
import pytest
from safetensors.torch import load_file

import pignn

SHORT = ("--epochs", "12", "--warmup", "5", "--noise", "symmetric", "--rate", "0.4")
TABLES = {"predictions.csv", "disagreements.csv", "history.csv"}
WRITTEN = TABLES | {"model", "learning-curve.png", "run.json", "checkpoint.safetensors"}


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_writes_all_its_files(trained):
    assert {path.name for path in trained.iterdir()} == WRITTEN
    assert {path.name for path in (trained / "model").iterdir()} == {"model.safetensors", "model.json"}


def test_auto_is_the_default_unless_a_setting_needs_a_network(train):
    noise = ("--noise", "symmetric", "--rate", "0.4", "--json")
    plain = json.loads(train(*noise).out)
    assert plain["method"] == "auto"
    assert plain["chosen"] in plain["explanation"]
    assert "method_reason" not in plain
    asked = json.loads(train(*noise, "--epochs", "2", "--warmup", "0", "--set", "hidden_channels=4").out)
    assert asked["method"] == "pi-gnn"
    assert "using pi-gnn because epochs, warmup, hidden_channels require a network" in asked["method_reason"]
    assert "method_reason" not in json.loads(train(*noise, "--method", "vanilla", "--epochs", "2").out)


def test_a_resumed_run_keeps_its_method(train, tmp_path):
    noise = ("--noise", "symmetric", "--rate", "0.4")
    assert train(*noise, "--epochs", "3", "--warmup", "0", "--out", tmp_path / "run").code == 0
    train(*noise, "--resume", "--out", tmp_path / "run").fails("warmup was 0")  # as pi-gnn, not as auto
    assert json.loads((tmp_path / "run" / "run.json").read_text())["method"] == "pi-gnn"
    assert train(*noise, "--force", "--out", tmp_path / "run").code == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        *("model", "predictions.csv", "disagreements.csv", "run.json")
    }
    train(*noise, "--resume", "--out", tmp_path / "run").fails("no epochs to continue; --force")


def test_predictions_have_one_row_per_node(trained):
    table = rows(trained / "predictions.csv")
    assert [int(row["node"]) for row in table] == list(range(120))
    assert {row["split"] for row in table} == {"train", "val", "test"}
    for row in table:
        proba = [float(row[f"p_{c}"]) for c in range(4)]
        assert sum(proba) == pytest.approx(1, abs=1e-5)
        assert row["predicted"] == str(int(np.argmax(proba)))
        assert float(row["confidence"]) == max(proba)
        if row["split"] == "test":  # nothing that a user would not have
            assert row["given"] == ""
        else:
            assert row["given"] in "0123"
            assert row["disagrees"] == str(int(row["given"] != row["predicted"]))


def test_predictions_are_those_of_the_model(trained):
    graph = pignn.load("csbm", num_nodes=120)
    predicted = pignn.load_model(trained / "model").predict(graph)
    assert [int(row["predicted"]) for row in rows(trained / "predictions.csv")] == predicted.tolist()
    right = predicted[graph.test_mask] == graph.y[graph.test_mask].numpy()
    assert json.loads((trained / "run.json").read_text())["test_accuracy"] == pytest.approx(right.mean())


def test_history_has_one_row_per_epoch(trained):
    table = rows(trained / "history.csv")
    assert [int(row["epoch"]) for row in table] == list(range(20))
    assert all(float(row["class_loss"]) > 0 for row in table)


def test_run_says_how_it_was_made(trained):
    run = json.loads((trained / "run.json").read_text())
    assert run["dataset"] == "csbm"
    assert run["method"] == "pi-gnn"
    assert (run["noise"], run["rate"], run["seed"]) == ("symmetric", 0.4, 0)
    assert run["graph"]["num_nodes"] == 120
    assert run["settings"]["epochs"] == run["epochs_done"] == 20
    assert run["pignn"] == pignn.__version__
    best = max(float(row["val_accuracy"]) for row in rows(trained / "history.csv"))
    first = [float(row["val_accuracy"]) for row in rows(trained / "history.csv")].index(best)
    assert run["best_epoch"] == first


def test_the_picture_is_a_whole_png(trained):
    content = (trained / "learning-curve.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    assert width > height > 300
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(content))
    assert pixels[..., :3].std() > 0.01  # something is drawn


def test_json_is_all_of_stdout(train, tmp_path):
    result = train(*SHORT, "--json", "--out", tmp_path / "run")
    assert result.code == 0
    assert result.err == ""
    facts = json.loads(result.out)
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts.items() <= run.items()


def test_a_pipe_sees_no_progress(train, tmp_path):
    result = train(*SHORT, "--out", tmp_path / "run")
    assert result.err == f"written to {tmp_path / 'run'}\n"
    assert "test_accuracy" in result.out
    assert not set("\r\x1b━") & set(result.out + result.err)


def test_a_terminal_sees_progress_with_the_time_left(train, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    result = train("--epochs", "12")
    assert "12/12" in result.err
    assert "note: warmup (50) covers all 12 epochs" in result.err
    assert "left" in result.err
    assert "0:00:00" in result.err


def test_without_out_nothing_is_written(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = train(*SHORT)
    assert (result.code, result.err) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_not_overwritten_unasked(train, tmp_path):
    out = tmp_path / "run"
    assert train(*SHORT, "--out", out).code == 0
    before = files(out)
    train(*SHORT, "--seed", "1", "--out", out).fails(str(out), "--resume", "--force")
    assert files(out) == before
    (out / "run.json").unlink()  # an unfinished one is not, either
    train(*SHORT, "--seed", "1", "--out", out).fails(str(out), "--resume", "--force")

    assert train(*SHORT, "--seed", "1", "--out", out, "--force").code == 0
    after = files(out)
    assert after.keys() == before.keys()
    assert after["model/model.safetensors"] != before["model/model.safetensors"]
    assert json.loads(after["run.json"])["seed"] == 1


def test_force_keeps_the_old_run_until_the_new_one_is_whole(train, tmp_path):
    out = tmp_path / "run"
    assert train(*SHORT, "--out", out).code == 0
    before = files(out)
    train("--epochs", "0", "--force", "--out", out).fails("epochs")
    train("--noise", "symmetric", "--rate", "2", "--force", "--out", out).fails("between 0 and 1")
    assert files(out) == before


def test_foreign_files_stay(train, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert train(*SHORT, "--out", tmp_path).code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_model_folder_with_somebody_s_files_is_not_replaced(train, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.tex").write_text("mine")
    train(*SHORT, "--out", tmp_path).fails("thesis.tex")
    assert (tmp_path / "model" / "thesis.tex").read_text() == "mine"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_same_seed_gives_the_same_bytes(train, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert train(*SHORT, "--seed", seed, "--out", tmp_path / name).code == 0
    for name in ("predictions.csv", "model/model.safetensors"):
        a, b, c = ((tmp_path / run / name).read_bytes() for run in "abc")
        assert a == b
        assert a != c


def test_settings_reach_the_method(train, tmp_path):
    more = (
        "--set",
        "hidden_channels=5",
        "--set",
        "class-weight=balanced",
        "--set",
        "dropout=0.25",
        "--set",
        "directed=true",
    )
    flags = ("--method", "vanilla", "--backbone", "sage", "--selection", "last")
    assert train(*SHORT, *flags, *more, "--out", tmp_path).code == 0
    settings = json.loads((tmp_path / "run.json").read_text())["settings"]
    wanted = {"hidden_channels": 5, "class_weight": "balanced", "dropout": 0.25, "directed": True, "backbone": "sage"}
    assert wanted.items() <= settings.items()
    weights = load_file(tmp_path / "model" / "model.safetensors")
    shapes = sorted(tuple(value.shape) for name, value in weights.items() if not name.startswith("feature_scaling."))
    assert shapes == [(4,), (5,), (5, 4), (5, 4), (32, 5), (32, 5)]


def test_true_is_a_name_of_pair_labels(train):
    result = train("--epochs", "2", "--set", "pair-labels=true", "--json")
    assert json.loads(result.out)["settings"]["pair_labels"] == "true"


def test_a_note_says_that_all_nodes_are_given_one_class(train):
    silent = train("--method", "vanilla", "--epochs", "1", "--set", "init=constant", "--json")
    assert "all nodes are given one class" in json.loads(silent.out)["note"]


def test_settings_are_checked_before_a_graph_is_read(command):
    for wrong, words in ((("--epochs", "0"), "epochs"), (("--rate", "2", "--noise", "pair"), "between 0 and 1")):
        command("train", "--dataset", "no such graph", "--method", "pi-gnn", *wrong).fails(words)
    command("audit", "--dataset", "no such graph", "--noise", "pair", "--rate", "2").fails("between 0 and 1")


def test_options_of_the_graph_reach_it(train, command, tmp_path):
    result = train(*SHORT, "--data", "num_features=9", "--data", "num_classes=3", "--out", tmp_path, "--json")
    assert result.code == 0
    model = pignn.load_model(tmp_path / "model")
    assert (model.num_features_, model.num_classes_) == (9, 3)
    assert command("train", "--dataset", "csbm", "--data", "num_features=7", "--epochs", "2", "--json").code == 0


def test_recorded_labels_are_the_given_ones(train, tmp_path):
    graph = pignn.load("csbm", num_nodes=120)
    labels = graph.y.clone()
    labels[graph.train_mask.nonzero().view(-1)[:10]] += 1
    np.savez(tmp_path / "labels.npz", noisy_label=labels.numpy() % 4, clean_label=graph.y.numpy())
    assert train("--epochs", "5", "--noise", tmp_path / "labels.npz", "--out", tmp_path / "run").code == 0
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["noise"] == "recorded"
    assert run["realized_noise"] == pytest.approx(10 / run["labels_given"])
    given = [row["given"] for row in rows(tmp_path / "run" / "predictions.csv") if row["split"] != "test"]
    assert given == [str(int(label) % 4) for label in labels[~graph.test_mask]]


def test_noise_may_be_a_transition_matrix_in_a_file(train, tmp_path):
    np.savetxt(tmp_path / "matrix.csv", np.roll(np.eye(4), 1, axis=1), delimiter=",")
    assert train("--epochs", "5", "--noise", tmp_path / "matrix.csv", "--out", tmp_path / "run").code == 0
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["noise"], run["realized_noise"]) == ("matrix", 1.0)


def test_warnings_of_others_are_silent_and_ours_are_notes(train, monkeypatch):
    from pignn import graphs
    from pignn.core.errors import PignnWarning

    load = graphs.load

    def loud(*arguments, **options):
        warnings.warn("somebody else's", FutureWarning, stacklevel=1)
        warnings.warn("ours", PignnWarning, stacklevel=1)
        return load(*arguments, **options)

    monkeypatch.setattr(graphs, "load", loud)
    before = warnings.showwarning
    result = train("--epochs", "3", "--warmup", "1")
    assert (result.code, result.err) == (0, "note: ours\n")
    assert warnings.showwarning is before


def test_demo_compares_two_methods_and_writes_its_files(command, tmp_path):
    result = command("demo", "--epochs", "3", "--out", tmp_path / "demo")
    assert result.code == 0
    assert "GCN" in result.out
    assert "PI-GNN" in result.out
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    assert made == WRITTEN - {"run.json", "checkpoint.safetensors", "disagreements.csv"}
    history = rows(tmp_path / "demo" / "history.csv")
    assert [row["method"] for row in history] == ["GCN"] * 3 + ["PI-GNN"] * 3
    assert len(rows(tmp_path / "demo" / "predictions.csv")) == 1797

    again = command("demo", "--epochs", "2", "--out", tmp_path / "demo", "--json")  # its own folder it may replace
    assert again.code == 0
    assert again.err == "note: warmup (50) covers all 2 epochs, so pair labels are never used; lower warmup\n"
    assert [row["method"] for row in json.loads(again.out)["methods"]] == ["GCN", "PI-GNN"]


def test_demo_leaves_a_run_of_train_alone(command, trained):
    before = files(trained)
    command("demo", "--epochs", "2", "--out", trained).fails(str(trained))
    assert files(trained) == before


@pytest.mark.parametrize(
    ("flag", "word"),
    [("--drop-suspects", "left out"), ("--relabel-suspects", "suggested"), ("--weight-by-quality", "by quality")],
)
def test_suspects_are_cleaned_before_training(command, flag, word):
    graph = ("--dataset", "csbm", "--data", "num_nodes=300", "--data", "num_classes=3", "--data", "signal=4")
    train = ("train", *graph, "--noise", "symmetric", "--rate", "0.3", "--method", "vanilla")
    plain = json.loads(command(*train, "--epochs", 5, "--json").out)
    facts = json.loads(command(*train, "--epochs", 5, "--json", flag).out)
    assert facts["suspects"] > 0
    assert word in facts["suspects_were"]
    assert facts["labels_given"] == plain["labels_given"]  # the summary is about the labels that came in
    assert facts["labels_disagreed_with"] != plain["labels_disagreed_with"]


def test_one_way_to_clean_at_a_time(command):
    train = ("train", "--dataset", "csbm", "--drop-suspects", "--relabel-suspects")
    result = command(*train)
    assert result.code == 2
    assert "give one" in result.err
