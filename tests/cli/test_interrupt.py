"""Ctrl-C, SIGTERM and kill -9: what was learnt is kept, and --resume goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time

import pytest
import torch
from safetensors.torch import load_file

import pignn
import pignn.cli
from pignn import graphs
from pignn.io import files
from pignn.training import checkpoint
from pignn.training.callbacks import ProgressBar
from pignn.training.interrupt import DeferredInterrupt

TINY = ("train", "--dataset", "csbm", "--data", "num_nodes=120", "--noise", "symmetric", "--rate", "0.4")
WEIGHTS = "model/model.safetensors"
WRITTEN = {"model", "predictions.csv", "history.csv", "learning-curve.png", "run.json", checkpoint.CHECKPOINT_FILE}


@pytest.fixture(autouse=True)
def handlers():
    """Ours as they are in a terminal, and pytest's back afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def signal_after(monkeypatch):
    """Send a signal to this process during the epoch with this number, counted from 1."""
    update = ProgressBar.on_epoch_end

    def at(epoch, number=signal.SIGINT):
        def send(self, context, row):
            update(self, context, row)
            if len(context.history) == epoch:
                signal.raise_signal(number)

        monkeypatch.setattr(ProgressBar, "on_epoch_end", send)

    yield at
    monkeypatch.undo()


def wait_for(path, process):
    until = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def same_run(a, b):
    """The same model, predictions and history; seconds apart."""
    assert (a / WEIGHTS).read_bytes() == (b / WEIGHTS).read_bytes()
    assert (a / "predictions.csv").read_bytes() == (b / "predictions.csv").read_bytes()
    histories = [json.loads((run / "model" / "model.json").read_text())["history"] for run in (a, b)]
    for history in histories:
        for row in history:
            del row["seconds"]
    assert histories[0] == histories[1]


# ---- in a process of its own ----


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_best_so_far(start, command, tmp_path, number, code):
    out = tmp_path / "run"
    process = start("-m", "pignn", *TINY, "--epochs", "100000", "--checkpoint-every", "10", "--out", out, "--json")
    wait_for(out / checkpoint.CHECKPOINT_FILE, process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    facts = json.loads(stdout)
    done = facts["epochs_done"]
    assert 10 <= done < 100000
    assert stderr == f"pignn: interrupted after {done} epochs; the best so far is in {out}, go on with --resume\n"
    assert {path.name for path in out.iterdir()} - {"checkpoint.before.safetensors"} == WRITTEN
    assert pignn.load_model(out / "model").best_epoch_ == facts["best_epoch"] < done

    total = done + 30
    assert command(*TINY, "--epochs", total, "--out", out, "--resume").code == 0
    assert json.loads((out / "run.json").read_text())["epochs_done"] == total
    assert command(*TINY, "--epochs", total, "--out", tmp_path / "whole").code == 0
    same_run(out, tmp_path / "whole")


def test_after_kill_9_resume_gives_the_same_bits(start, command, tmp_path):
    out, arguments = tmp_path / "run", (*TINY, "--epochs", "500", "--checkpoint-every", "20", "--warmup", "30")
    process = start("-m", "pignn", *arguments, "--out", out)
    wait_for(out / checkpoint.CHECKPOINT_FILE, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (out / "run.json").exists()
    begun = len(checkpoint.read_checkpoint_tensors_and_header(out / checkpoint.CHECKPOINT_FILE)[1]["history"])
    assert 20 <= begun < 500
    command("predict", out, "--dataset", "csbm", "--out", tmp_path / "a.csv").fails(str(out))
    command(*arguments, "--out", out).fails("--resume")

    assert command(*arguments, "--out", out, "--resume").code == 0
    assert command(*arguments, "--out", tmp_path / "whole").code == 0
    same_run(out, tmp_path / "whole")


# ---- in this one, at a known epoch ----


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_epoch_under_way_is_the_last(command, tmp_path, signal_after, number, code):
    signal_after(7, number)
    result = command(*TINY, "--epochs", "50", "--out", tmp_path)
    assert result.code == code
    assert result.err.startswith("pignn: interrupted after 7 epochs")
    assert {path.name for path in tmp_path.iterdir()} - {"checkpoint.before.safetensors"} == WRITTEN
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 8
    # The handlers are the old ones again.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_after_the_last_epoch_is_heard_when_all_is_written(command, tmp_path, monkeypatch):
    write = files.write_csv_records

    def send(*arguments):
        signal.raise_signal(signal.SIGINT)
        write(*arguments)

    monkeypatch.setattr(files, "write_csv_records", send)
    result = command(*TINY, "--epochs", "5", "--method", "vanilla", "--out", tmp_path)
    assert (result.code, result.err) == (
        130,
        f"pignn: interrupted when the training was done; all of it is in {tmp_path}\n",
    )
    assert {path.name for path in tmp_path.iterdir()} == WRITTEN | {"disagreements.csv"}


def test_where_there_is_only_a_checkpoint_it_is_named(command, tmp_path, signal_after):
    signal_after(3)
    result = command(*TINY, "--epochs", "9", "--set", "schedule=pretrain", "--out", tmp_path)
    assert (result.code, result.err) == (
        130,
        f"pignn: interrupted; a checkpoint is in {tmp_path}; --resume continues from it\n",
    )


def test_without_out_there_is_nothing_to_go_on_with(command, signal_after):
    signal_after(7)
    result = command(*TINY, "--epochs", "50", "--json")
    assert (result.code, result.err) == (130, "pignn: interrupted after 7 epochs\n")
    assert json.loads(result.out)["epochs_done"] == 7


KINDS = {
    "pi-gnn": (),
    "vanilla": ("--method", "vanilla"),
    "gat and sage": ("--backbone", "gat", "--estimator", "sage"),
    "soft": ("--target", "soft", "--warmup", "5"),
    "last": ("--selection", "last"),
    "random pairs": ("--pair-labels", "random", "--warmup", "5"),
    "low rank": ("--pair-labels", "low-rank", "--warmup", "5", "--set", "rank=9"),
    "pretrain": ("--set", "schedule=pretrain"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epoch", [1, 11])
def test_resume_is_as_if_nothing_had_happened(command, tmp_path, signal_after, monkeypatch, kind, epoch):
    arguments = (*TINY, *KINDS[kind], "--epochs", "16")
    with monkeypatch.context():
        assert command(*arguments, "--out", tmp_path / "whole").code == 0
    # The estimator of "pretrain" has its epochs first: an interruption in each of the two phases.
    signal_after(epoch + 16 * (kind == "pretrain" and epoch == 11))
    assert command(*arguments, "--out", tmp_path / "run").code == 130
    monkeypatch.undo()
    assert command(*arguments, "--out", tmp_path / "run", "--resume").code == 0
    same_run(tmp_path / "run", tmp_path / "whole")


def test_a_run_that_was_interrupted_twice_is_the_same(command, tmp_path, signal_after):
    arguments = (*TINY, "--epochs", "16")
    signal_after(4)
    assert command(*arguments, "--out", tmp_path / "run").code == 130
    signal_after(9)
    assert command(*arguments, "--out", tmp_path / "run", "--resume").code == 130
    signal_after(0)
    assert command(*arguments, "--out", tmp_path / "run", "--resume").code == 0
    assert command(*arguments, "--out", tmp_path / "whole").code == 0
    same_run(tmp_path / "run", tmp_path / "whole")


def test_a_finished_run_is_continued_for_more_epochs(command, tmp_path):
    assert command(*TINY, "--epochs", "8", "--out", tmp_path / "run").code == 0
    assert command(*TINY, "--epochs", "16", "--out", tmp_path / "run", "--resume").code == 0
    assert command(*TINY, "--epochs", "16", "--out", tmp_path / "whole").code == 0
    for name in (WEIGHTS, "predictions.csv"):  # of the history, the eighth epoch was a last one and has its losses
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_resume_of_nothing_begins(command, tmp_path):
    assert command(*TINY, "--epochs", "3", "--out", tmp_path / "run", "--resume").code == 0


def test_resume_of_a_finished_run_changes_nothing(command, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    assert command(*TINY, "--epochs", "20", "--out", tmp_path / "run", "--resume").code == 0
    same_run(tmp_path / "run", trained)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("lr was None and is now 0.1", ("--set", "lr=0.1")),
        ("backbone was 'gcn' and is now 'sage'", ("--backbone", "sage")),
        ("method was 'pi-gnn' and is now 'vanilla'", ("--method", "vanilla")),
        ("seed was 0 and is now 1", ("--seed", "1")),
        ("data was", ("--data", "degree=5")),
        ("data was", ("--split-seed", "1")),
        ("data was", ("--rate", "0.2")),
    ],
)
def test_other_settings_are_refused_by_name(command, trained, tmp_path, said, arguments):
    run = shutil.copytree(trained, tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    command(*TINY, "--epochs", "30", "--out", run, "--resume", *arguments).fails("cannot resume", said)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_fewer_epochs_than_are_done(command, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    command(*TINY, "--epochs", "10", "--out", run, "--resume").fails("epochs", "20")


def test_other_epochs_of_a_pretrained_estimator(command, tmp_path):
    """Where the second phase begins depends on their number."""
    arguments = (*TINY, "--set", "schedule=pretrain", "--out", tmp_path)
    assert command(*arguments, "--epochs", "8").code == 0
    command(*arguments, "--epochs", "16", "--resume").fails("epochs")


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


def flip_header(content):
    at = content.index(b"identity") + 3
    return content[:at] + b"x" + content[at + 1 :]


@pytest.mark.parametrize("spoil", [cut, flip, flip_header, lambda content: b"", lambda content: b"hello"])
def test_a_damaged_checkpoint(command, trained, tmp_path, spoil):
    path = shutil.copytree(trained, tmp_path / "run") / checkpoint.CHECKPOINT_FILE
    path.write_bytes(spoil(path.read_bytes()))
    before = path.read_bytes()
    command(*TINY, "--epochs", "30", "--out", tmp_path / "run", "--resume").fails(str(path), "damaged")
    assert path.read_bytes() == before


def test_a_model_in_the_place_of_a_checkpoint(command, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    shutil.copy(run / WEIGHTS, run / checkpoint.CHECKPOINT_FILE)
    command(*TINY, "--epochs", "30", "--out", run, "--resume").fails("not a checkpoint")


def test_a_checkpoint_of_another_format(command, trained, tmp_path, monkeypatch):
    run = shutil.copytree(trained, tmp_path / "run")
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.FORMAT + 1)
    command(*TINY, "--epochs", "30", "--out", run, "--resume").fails(f"format {checkpoint.FORMAT - 1}")


def test_a_checkpoint_has_all_of_the_state(trained):
    names = set(load_file(trained / checkpoint.CHECKPOINT_FILE))
    for part in ("network.classifier.", "network.estimator.", "optimizer.classifier.", "optimizer.estimator.", "best."):
        assert any(name.startswith(part) for name in names), part
    assert "random.cpu.0" in names


# ---- before the loop, and other circumstances ----


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_first_epoch(capsys, tmp_path, monkeypatch, number, code):
    def load(*_, **__):
        signal.raise_signal(number)
        time.sleep(1)
        raise AssertionError("the signal was not heard")

    monkeypatch.setattr(graphs, "load", load)
    with pytest.raises(SystemExit) as leave:
        pignn.cli.main([*TINY, "--out", str(tmp_path / "new" / "run")])
    assert leave.value.code == code
    assert tuple(capsys.readouterr()) == ("", "pignn: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_is_interrupted(command, tmp_path, signal_after, number, code):
    signal_after(3, number)
    result = command("demo", "--epochs", "10", "--out", tmp_path / "demo")
    assert result.code == code
    assert result.err.splitlines()[1:] == ["pignn: interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_the_second_signal_acts_as_usual():
    with DeferredInterrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with DeferredInterrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.signal is None
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_training_in_a_thread_needs_no_signals():
    graph = pignn.corrupt(pignn.load("csbm", num_nodes=120), "symmetric", 0.4)
    model = pignn.PIGNN(epochs=3)
    thread = threading.Thread(target=model.fit, args=(graph,))
    thread.start()
    thread.join()
    assert len(model.history_) == 3


def test_the_user_s_random_numbers_are_left_alone(command, tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert command(*TINY, "--epochs", "3", "--out", tmp_path).code == 0
    assert command(*TINY, "--epochs", "6", "--out", tmp_path, "--resume").code == 0
    assert torch.equal(torch.get_rng_state(), before)


def test_files_have_the_rights_that_the_user_s_umask_gives(trained):
    mask = os.umask(0)
    os.umask(mask)
    for path in trained.rglob("*"):
        wanted = (0o777 if path.is_dir() else 0o666) & ~mask
        assert path.stat().st_mode & 0o777 == wanted, path
