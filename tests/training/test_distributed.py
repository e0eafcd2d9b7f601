"""Several processes of one training, as torchrun starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

import pignn

TRAIN = [
    *("-m", "pignn", "train", "--dataset", "csbm", "--data", "num_nodes=200", "--noise", "symmetric", "--rate", "0.2"),
    *("--batch-size", "50", "--warmup", "2", "--set", "num_neighbors=[4,4]"),
]


def torchrun(*arguments, processes=2, options=(), wait=True, **kwargs):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **kwargs,
    )
    if not wait:
        return process
    out, error = process.communicate(timeout=170)
    return subprocess.CompletedProcess(command, process.returncode, out, error)


GRADIENT = """
import sys, torch
import pignn
from pignn import graphs
from pignn.training import distributed, loop
from pignn.training.loop import Phase, TrainingLoop

def gradients(learner, batches):
    for network in learner.networks.values():
        network.train()
        network.zero_grad()
    phase = Phase("training", 5)
    sum(sum(learner.compute_losses(phase, 4, b, needs_value=True).values()) for b in batches).backward()
    return torch.cat([p.grad.view(-1) for n in learner.networks.values() for p in n.parameters()])

data = graphs.copy_checked_graph(pignn.corrupt(graphs.csbm(num_nodes=200, seed=0), "symmetric", 0.2))
method = pignn.PIGNN(batch_size=40, num_neighbors=(100, 100), dropout=0.0, warmup=2)
method.pairs_ = "batch"
with distributed.process_group_context():
    rank, size = distributed.get_rank_and_world_size()
    torch.manual_seed(0)
    learner = method._build_learner(*method._build_task_and_regularizer(data, torch.device("cpu")))
    phase = Phase("training", 5)
    if size == 2:
        batch = next(learner.iter_batches(phase, 0))
        gradients(learner, [batch])
        distributed.average_gradients_over_processes(learner.networks.values())
        flat = torch.cat([p.grad.view(-1) for n in learner.networks.values() for p in n.parameters()])
        torch.save(flat, f"{sys.argv[1]}/rank{rank}.pt")
    else:
        whole = []
        for rank in range(2):
            distributed.get_rank_and_world_size = lambda rank=rank: (rank, 2)
            whole.append(next(learner.iter_batches(phase, 0)))
        torch.save(gradients(learner, whole) / 2, f"{sys.argv[1]}/one.pt")
"""


def test_two_processes_give_the_gradient_of_the_mean_of_their_losses(tmp_path):
    script = tmp_path / "gradient.py"
    script.write_text(GRADIENT)
    done = torchrun(script, tmp_path)
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, script, tmp_path], check=True)
    one, first, second = (torch.load(tmp_path / f"{name}.pt") for name in ("one", "rank0", "rank1"))
    assert torch.equal(first, second)
    assert one.abs().max() > 1e-3
    torch.testing.assert_close(first, one, rtol=1e-5, atol=1e-7)


def test_training_by_two_processes(tmp_path):
    done = torchrun(*TRAIN, "--epochs", 12, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)  # only the first process speaks
    assert facts["test_accuracy"] > 0.5
    assert pignn.load_model(tmp_path / "run" / "model").num_classes_ == 4
    again = torchrun(*TRAIN, "--epochs", 12, "--out", tmp_path / "again", "--json")
    for name in ("predictions.csv", "model/model.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), again.stderr


STOP_EARLY = """
import sys, torch
import pignn
from pignn import graphs
from pignn.training import distributed
from pignn.training.callbacks import Callback

class StopOnSecondProcess(Callback):
    runs_on_all_processes = True
    def on_epoch_end(self, context, row):
        return distributed.get_rank_and_world_size()[0] == 1 and row["epoch"] == 3

data = pignn.corrupt(graphs.csbm(num_nodes=200, seed=0), "symmetric", 0.2)
settings = {"batch_size": 50, "num_neighbors": (4, 4), "epochs": 40, "warmup": 2}
with distributed.process_group_context():
    rank = distributed.get_rank_and_world_size()[0]
    model = pignn.PIGNN(**settings, patience=3).fit(data)
    by_second = pignn.PIGNN(**settings).fit(data, callbacks=[StopOnSecondProcess()])
    weights = torch.cat([p.view(-1) for p in model.networks_.parameters()])
    result = len(model.history_), model.best_epoch_, len(by_second.history_), weights
    torch.save(result, f"{sys.argv[1]}/rank{rank}.pt")
"""


def test_two_processes_stop_at_the_same_epoch(tmp_path):
    script = tmp_path / "stop_early.py"
    script.write_text(STOP_EARLY)
    done = torchrun(script, tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = (torch.load(tmp_path / f"rank{rank}.pt") for rank in (0, 1))
    assert first[:3] == second[:3]
    assert torch.equal(first[3], second[3])
    assert first[0] == first[1] + 4 < 40, "three epochs after the best one"
    assert first[2] == 4, "one process asks, both stop"


def children(process):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True)
    return [int(pid) for pid in found.stdout.split()]


@pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="needs ps")
def test_a_process_that_dies_is_replaced_and_the_run_goes_on(tmp_path):
    arguments = [*TRAIN, "--epochs", 40, "--checkpoint-every", 2, "--json", "--out"]
    whole = torchrun(*arguments, tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    process = torchrun(*arguments, tmp_path / "run", options=("--max-restarts=2",), wait=False)
    until = time.monotonic() + 90
    while not (tmp_path / "run" / "checkpoint.safetensors").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(children(process)[-1], signal.SIGKILL)
    error = process.communicate(timeout=170)[1]
    assert process.returncode == 0, error
    mine, theirs = (pignn.load_model(tmp_path / name / "model").networks_.state_dict() for name in ("run", "whole"))
    assert all(torch.equal(mine[key], theirs[key]) for key in theirs)


def test_without_a_restart_a_dead_process_takes_the_others_along(tmp_path):
    script = tmp_path / "die.py"
    script.write_text(
        "import os\n"
        "from pignn.training import loop\n"
        "real = loop.TrainingLoop._run_step_and_get_losses\n"
        "def step(self, *a):\n"
        "    if os.environ['RANK'] == '1' and len(self.history) == 3: os._exit(9)\n"
        "    return real(self, *a)\n"
        "loop.TrainingLoop._run_step_and_get_losses = step\n"
        "from pignn.cli import main\n"
        f"main({TRAIN[2:]!r} + ['--epochs', '1000'])\n"
    )
    done = torchrun(script)
    assert done.returncode != 0
    assert "pignn: another process of this training is gone" in done.stderr


def test_a_missing_process_is_reported_in_one_line(tmp_path):
    environment = {
        **os.environ,
        **{
            "RANK": "0",
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29717",
            "PIGNN_JOIN_SECONDS": "3",
        },
    }
    done = subprocess.run(
        [sys.executable, *TRAIN, "--epochs", "2"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("pignn:")]
    assert len(lines) == 1
    assert "not all 2 processes met within 3 seconds" in lines[0]
    assert "Traceback" not in done.stderr


def test_whole_graph_steps_cannot_be_shared(tmp_path):
    arguments = [a for a in TRAIN if a not in ("--batch-size", "50")]
    done = torchrun(*arguments, "--epochs", 2)
    assert done.returncode != 0
    assert "set batch_size" in done.stderr
