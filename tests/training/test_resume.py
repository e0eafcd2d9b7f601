"""An interrupted training goes on to exactly what it would have been."""

from __future__ import annotations

import contextlib
import json
import os
import signal

import pytest
import torch

import pignn
from pignn.core.errors import ModelFileError, OutputError, PignnWarning
from pignn.io import files
from pignn.training import checkpoint
from pignn.training.callbacks import Callback


class Stop(Exception):
    pass


class DieAfter(Callback):
    """Let the training die as if the process had been killed at the end of an epoch, before a checkpoint of it."""

    def __init__(self, epochs):
        self.epochs = epochs

    def on_epoch_end(self, context, row):
        if len(context.history) == self.epochs + 1:
            raise Stop


class SendSignal(Callback):
    """Interrupt the training in an epoch, counted from 1."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, context, row):
        if len(context.history) == self.epoch:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("died_after", [7, 13, 25])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"schedule": "pretrain"},
        {"backbone": "gat", "estimator": "sage"},
        {"pair_labels": "random", "target": "soft"},
        {"selection": "last"},
    ],
    ids=str,
)
def test_a_resumed_training_is_bit_identical(noisy, tmp_path, settings, died_after):
    settings = {"epochs": 16, "warmup": 5, **settings}
    whole = pignn.PIGNN(**settings).fit(noisy)
    broken = pignn.PIGNN(**settings)
    with pytest.raises(Stop) if died_after < len(whole.history_) else contextlib.nullcontext():
        broken.fit(noisy, callbacks=[DieAfter(died_after)], checkpoint=tmp_path, checkpoint_every=3)
    torch.rand(5)
    again = pignn.PIGNN(**settings).fit(noisy, checkpoint=tmp_path, resume=True)
    assert again.best_epoch_ == whole.best_epoch_
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(again.networks_.state_dict()[key], value), key
    without_time = [{k: v for k, v in row.items() if k != "seconds"} for row in again.history_]
    assert without_time == [{k: v for k, v in row.items() if k != "seconds"} for row in whole.history_]


def test_a_finished_training_may_be_resumed_with_more_epochs(noisy, tmp_path):
    pignn.PIGNN(epochs=6).fit(noisy, checkpoint=tmp_path)
    longer = pignn.PIGNN(epochs=9).fit(noisy, checkpoint=tmp_path, resume=True)
    whole = pignn.PIGNN(epochs=9).fit(noisy)
    assert len(longer.history_) == 9
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(longer.networks_.state_dict()[key], value)


def test_other_settings_or_data_are_refused(noisy, tmp_path):
    pignn.PIGNN(epochs=2).fit(noisy, checkpoint=tmp_path)
    with pytest.raises(ModelFileError, match=r"lr was None and is now 0\.5"):
        pignn.PIGNN(epochs=2, lr=0.5).fit(noisy, checkpoint=tmp_path, resume=True)
    noisy.x = noisy.x + 1
    with pytest.raises(ModelFileError, match="data was"):
        pignn.PIGNN(epochs=2).fit(noisy, checkpoint=tmp_path, resume=True)


def test_resume_without_a_checkpoint_starts_anew(noisy, tmp_path):
    assert len(pignn.PIGNN(epochs=2).fit(noisy, checkpoint=tmp_path, resume=True).history_) == 2


def test_damaged_checkpoints_are_refused(noisy, tmp_path):
    pignn.PIGNN(epochs=2).fit(noisy, checkpoint=tmp_path)
    path = tmp_path / checkpoint.CHECKPOINT_FILE
    content = bytearray(path.read_bytes())
    path.write_bytes(content[:-100])
    with pytest.raises(ModelFileError, match="damaged"):
        checkpoint.read_checkpoint_tensors_and_header(path)
    content[-10] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="checksum"):
        checkpoint.read_checkpoint_tensors_and_header(path)


@pytest.fixture
def ctrl_c():
    """Heard, even where the tests themselves run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_the_best_so_far_and_is_raised_again(noisy, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    model = pignn.PIGNN(epochs=50)
    with pytest.raises(KeyboardInterrupt):
        model.fit(noisy, callbacks=[SendSignal(5)], checkpoint=tmp_path)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(model.history_) == 5
    assert model.predict(noisy).shape == (240,)
    resumed = pignn.PIGNN(epochs=8).fit(noisy, checkpoint=tmp_path, resume=True)
    whole = pignn.PIGNN(epochs=8).fit(noisy)
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(resumed.networks_.state_dict()[key], value)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_the_classifier_has_begun_leaves_no_model(noisy, tmp_path):
    model = pignn.PIGNN(epochs=5, schedule="pretrain")
    with pytest.raises(KeyboardInterrupt):
        model.fit(noisy, callbacks=[SendSignal(1)], checkpoint=tmp_path)
    assert not hasattr(model, "history_")
    assert checkpoint.has_checkpoint(tmp_path)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(noisy, tmp_path):
    whole = pignn.PIGNN(epochs=12).fit(noisy)
    with pytest.raises(Stop):
        pignn.PIGNN(epochs=12).fit(noisy, callbacks=[DieAfter(9)], checkpoint=tmp_path, checkpoint_every=3)
    newest = tmp_path / checkpoint.CHECKPOINT_FILE
    newest.write_bytes(newest.read_bytes()[:-50])
    with pytest.warns(PignnWarning, match="resuming from the checkpoint before it"):
        resumed = pignn.PIGNN(epochs=12).fit(noisy, checkpoint=tmp_path, resume=True)
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(resumed.networks_.state_dict()[key], value)


def test_a_checkpoint_is_also_due_by_the_clock(noisy, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "write_checkpoint_from_all_processes", lambda *_: written.append(1))
    pignn.PIGNN(epochs=4).fit(noisy, checkpoint=tmp_path, checkpoint_every=100, checkpoint_minutes=0.0)
    assert len(written) == 4


def test_a_failed_write_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    files.write_json(path, {"a": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot write .*file\.json: No space left on device"):
        files.write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]
