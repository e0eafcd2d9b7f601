"""Callbacks see every epoch, may stop a training, and survive an interruption."""

from __future__ import annotations

import csv
import json

import pytest
import torch

import pignn
from pignn.core.errors import ConfigError, OutputError
from pignn.training.callbacks import CALLBACKS, Callback, CSVLogger, EarlyStopping, JSONLinesLogger, make_callback


class Recorder(Callback):
    """Keep the names of the hooks in the order of their calls."""

    def __init__(self, stop_after=None, fail_after=None):
        self.calls = []
        self.stop_after = stop_after
        self.fail_after = fail_after

    def on_fit_start(self, context):
        self.calls.append(("start", context.method, context.num_epochs, len(context.history)))

    def on_selection_improved(self, context, row):
        self.calls.append(("improved", context.best_epoch))

    def on_epoch_end(self, context, row):
        assert context.history[-1] is row
        self.calls.append(("epoch", row["phase"], row["epoch"]))
        if len(context.history) == self.fail_after:
            raise RuntimeError("as asked for")
        return len(context.history) == self.stop_after

    def on_fit_end(self, context):
        self.calls.append(("end", context.error))


def weights_are_equal(one, other):
    mine, theirs = one.networks_.state_dict(), other.networks_.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


def without_seconds(history):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in history]


def test_hooks_are_called_in_order(noisy):
    recorder = Recorder()
    model = pignn.PIGNN(epochs=4).fit(noisy, callbacks=[recorder])
    kinds = [call[0] for call in recorder.calls]
    assert recorder.calls[0] == ("start", "pi-gnn", 4, 0)
    assert [call for call in recorder.calls if call[0] == "epoch"] == [("epoch", "training", e) for e in range(4)]
    assert kinds[1:3] == ["improved", "epoch"], "the first epoch is the best so far"
    improved = [call[1] for call in recorder.calls if call[0] == "improved"]
    assert improved == sorted(set(improved))
    assert improved[-1] == model.best_epoch_
    assert recorder.calls[-1] == ("end", None)


def test_callbacks_change_no_number(noisy):
    plain = pignn.PIGNN(epochs=6).fit(noisy)
    assert weights_are_equal(pignn.PIGNN(epochs=6).fit(noisy, callbacks=[Recorder(), EarlyStopping(100)]), plain)


def test_the_last_epoch_rule_never_improves(noisy):
    recorder = Recorder()
    pignn.PIGNN(epochs=3, selection="last").fit(noisy, callbacks=[recorder])
    assert "improved" not in [call[0] for call in recorder.calls]


def test_the_end_is_announced_with_the_error(noisy):
    failing, other = Recorder(fail_after=2), Recorder()
    with pytest.raises(RuntimeError, match="as asked for"):
        pignn.PIGNN(epochs=4).fit(noisy, callbacks=[other, failing])
    for recorder in (failing, other):
        assert recorder.calls[-1][0] == "end"
        assert isinstance(recorder.calls[-1][1], RuntimeError)


def test_a_stop_ends_the_phase_and_the_next_one_begins(noisy):
    recorder = Recorder(stop_after=2)
    model = pignn.PIGNN(epochs=4, schedule="pretrain").fit(noisy, callbacks=[recorder])
    assert [(row["phase"], row["epoch"]) for row in model.history_] == [
        *(("estimator", epoch) for epoch in range(2)),
        *(("training", epoch) for epoch in range(4)),
    ]


# ---- early stopping ----


def first_stop(history, patience):
    """The number of epochs after which early stopping must end this history."""
    best, best_epoch = -1.0, -1
    for epoch, row in enumerate(history):
        if row["val_accuracy"] > best:
            best, best_epoch = row["val_accuracy"], epoch
        if epoch - best_epoch >= patience:
            return epoch + 1
    raise AssertionError("it would not stop")


@pytest.mark.parametrize(
    "settings", [{}, {"batch_size": 64, "num_neighbors": (4, 4)}, {"schedule": "pretrain"}], ids=str
)
def test_early_stopping_ends_after_patience_epochs_without_improvement(noisy, settings):
    settings = {"epochs": 60, "warmup": 3, **settings}
    whole = pignn.PIGNN(**settings).fit(noisy)
    selecting = [row for row in whole.history_ if row["phase"] == "training"]
    expected = first_stop(selecting, 5)
    stopped = pignn.PIGNN(**settings, patience=5).fit(noisy)
    by_object = pignn.PIGNN(**settings).fit(noisy, callbacks=[EarlyStopping(5)])
    assert len(stopped.history_) == len(whole.history_) - len(selecting) + expected < len(whole.history_)
    assert len(by_object.history_) == len(stopped.history_)
    assert weights_are_equal(stopped, by_object)
    assert stopped.best_epoch_ == expected - 6


@pytest.mark.parametrize(
    "settings", [{}, {"batch_size": 64, "num_neighbors": (4, 4)}, {"schedule": "pretrain"}], ids=str
)
def test_a_resumed_run_stops_at_the_same_epoch_with_the_same_bits(noisy, tmp_path, settings):
    settings = {"epochs": 30, "warmup": 3, "patience": 6, **settings}
    whole = pignn.PIGNN(**settings).fit(noisy)
    assert len(whole.history_) < len(pignn.PIGNN(**{**settings, "patience": None}).fit(noisy).history_)
    for died_after in range(4, len(whole.history_), 5):
        folder = tmp_path / str(died_after)
        broken = pignn.PIGNN(**settings)
        with pytest.raises(RuntimeError):
            broken.fit(noisy, callbacks=[Recorder(fail_after=died_after)], checkpoint=folder, checkpoint_every=2)
        resumed = pignn.PIGNN(**settings).fit(noisy, checkpoint=folder, resume=True)
        assert without_seconds(resumed.history_) == without_seconds(whole.history_)
        assert weights_are_equal(resumed, whole)
        again = pignn.PIGNN(**settings).fit(noisy, checkpoint=folder, resume=True)
        assert len(again.history_) == len(whole.history_), "a run that was stopped early is done"
        assert weights_are_equal(again, whole)


def test_patience_belongs_to_the_identity_of_a_checkpoint(noisy, tmp_path):
    pignn.PIGNN(epochs=2, patience=3).fit(noisy, checkpoint=tmp_path)
    with pytest.raises(pignn.PignnError, match="patience was 3 and is now 4"):
        pignn.PIGNN(epochs=2, patience=4).fit(noisy, checkpoint=tmp_path, resume=True)


def rows_of(column, values):
    return [{"val_accuracy": 0.5, column: value} for value in values]


@pytest.mark.parametrize(
    ("monitor", "min_delta", "values", "stops_at"),
    [
        ("val_accuracy", 0.0, [0.5, 0.6, 0.6, 0.6], 4),
        ("val_accuracy", 0.0, [0.5, 0.6, None, 0.6, 0.6], 5),
        ("val_accuracy", 0.1, [0.5, 0.55, 0.59], 3),
        ("class_loss", 0.0, [3.0, 2.0, 2.5, 2.1], 4),
        ("class_loss", 0.0, [3.0, 2.0, 1.0, 0.5], None),
    ],
)
def test_what_counts_as_an_improvement(monitor, min_delta, values, stops_at):
    stopping = EarlyStopping(2, monitor, min_delta)
    stops = [i for i, row in enumerate(rows_of(monitor, values), start=1) if stopping.on_epoch_end(None, row)]
    assert (stops or [None])[0] == stops_at


def test_wrong_callbacks_are_one_line(noisy):
    with pytest.raises(ConfigError, match="patience must be an integer of at least 1"):
        EarlyStopping(0)
    with pytest.raises(ConfigError, match="patience must be"):
        pignn.PIGNN(patience=0).fit(noisy)
    with pytest.raises(ConfigError, match="unknown column of the history 'val_acuracy'; did you mean 'val_accuracy'"):
        pignn.PIGNN(epochs=2).fit(noisy, callbacks=[EarlyStopping(1, "val_acuracy")])
    with pytest.raises(ConfigError, match="unknown callback 'cvs'; did you mean 'csv'"):
        pignn.PIGNN(epochs=2).fit(noisy, callbacks=["cvs"])
    with pytest.raises(ConfigError, match=r"callback 'csv' cannot be built .*path"):
        pignn.PIGNN(epochs=2).fit(noisy, callbacks=["csv"])
    with pytest.raises(ConfigError, match="callbacks must be a list"):
        pignn.PIGNN(epochs=2).fit(noisy, callbacks="csv")


# ---- logs ----


@pytest.mark.parametrize("kind", [CSVLogger, JSONLinesLogger])
def test_a_log_holds_the_history_also_after_a_resume(noisy, tmp_path, kind):
    path = tmp_path / "logs" / "history"
    settings = {"epochs": 9, "warmup": 3, "target": "soft"}  # the pair loss is a column from epoch 4 on only
    with pytest.raises(RuntimeError):
        pignn.PIGNN(**settings).fit(
            noisy, callbacks=[kind(path), Recorder(fail_after=8)], checkpoint=tmp_path, checkpoint_every=3
        )
    assert len(read_log(path, kind)) == 8
    model = pignn.PIGNN(**settings).fit(noisy, callbacks=[kind(path)], checkpoint=tmp_path, resume=True)
    assert read_log(path, kind) == [as_text(row, kind) for row in model.history_]


def read_log(path, kind):
    if kind is JSONLinesLogger:
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if value != ""} for row in csv.DictReader(file)]


def as_text(row, kind):
    if kind is JSONLinesLogger:
        return row
    return {key: str(value) for key, value in row.items() if value is not None}


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_a_log_that_cannot_be_written_is_one_line(noisy, tmp_path, name):
    with pytest.raises(OutputError, match="cannot write"):
        pignn.PIGNN(epochs=2).fit(noisy, callbacks=[make_callback(name, path=tmp_path)])


# ---- other packages ----


def test_a_tracker_of_another_package_is_named_and_follows_the_training(noisy, install_package):
    install_package(
        """
        from pignn.training.callbacks import Callback

        RUNS = []

        class Tracker(Callback):
            def on_fit_start(self, context):
                self.run = {"method": context.method, "lr": context.settings["lr"], "rows": []}
                RUNS.append(self.run)

            def on_epoch_end(self, context, row):
                self.run["rows"].append(row["val_accuracy"])

            def on_fit_end(self, context):
                self.run["status"] = "failed" if context.error else "finished"
        """,
        "[pignn.callbacks]\ntracker = other_package:Tracker\n",
    )
    assert "tracker" in CALLBACKS.list_names()
    model = pignn.make("gce", epochs=3, lr=0.02).fit(noisy, callbacks=["tracker"])
    import other_package

    accuracies = [row["val_accuracy"] for row in model.history_]
    assert [{"method": "gce", "lr": 0.02, "rows": accuracies, "status": "finished"}] == other_package.RUNS
