"""pignn study and pignn task, as a user meets them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import typer

from pignn.cli.app import app
from pignn.studies import sweep

PLAN = """
name = "mine"
datasets = [{ name = "csbm", num_nodes = 120, num_classes = 3 }]
noises = ["symmetric:0.2", "flip:0.4"]
seeds = "0-1"
protocol = "paper"
settings = { epochs = 3, hidden_channels = 4 }

[[rows]]
label = "GCN"
method = "vanilla"

[[rows]]
label = "PI-GNN"
method = "pi-gnn"
"""
GROUPS = {
    "study": ("list", "run", "status", "table", "compare", "test", "figure", "export"),
    "task": ("export", "score"),
}


class InProcessPool:
    """Runs in this process."""

    size = 1

    def __init__(self) -> None:
        self.waiting = []

    def submit(self, key, spec):
        self.waiting.append((key, spec))

    def wait_for_results(self, max_seconds):
        from pignn.studies.execute import execute_run_and_catch_errors

        key, spec = self.waiting.pop(0)
        return [(key, execute_run_and_catch_errors(spec))]

    def close(self):
        pass


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "open_local_or_ray_pool", lambda *_: InProcessPool())
    (tmp_path / "mine.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def swept(folder, command):
    assert command("study", "run", "mine.toml").code == 0
    return folder


def options_of(group: str, name: str) -> set[str]:
    command = typer.main.get_command(app).commands[group].commands[name]
    return {flag for parameter in command.params for flag in parameter.opts} | {"--help"}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in GROUPS.items() for name in names])
def test_help_has_examples_that_exist(command, group, name):
    result = command(group, name, "--help")
    assert (result.code, result.err) == (0, "")
    shown = result.out.split("Examples:")[1]
    examples = re.findall(rf"^ +(pignn {group} {name}\b.*)$", shown, re.M)
    assert examples
    for example in examples:
        used = {word.split("=")[0] for word in shlex.split(example) if word.startswith("--")}
        assert used <= options_of(group, name), example


def test_help_and_list_import_nothing_heavy():
    program = """
import sys
import pignn.cli
for arguments in (["study", "--help"], ["study", "run", "--help"], ["study", "list"], ["task", "score", "--help"]):
    assert pignn.cli.run(arguments) == 0, arguments
    heavy = {"torch", "sklearn", "pandas", "scipy", "matplotlib", "numpy", "ray"} & set(sys.modules)
    assert not heavy, (arguments, heavy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_all_studies_are_listed(command):
    assert len(json.loads(command("study", "list", "--json").out)) == 31
    assert "effectiveness" in command("study", "list").out


def test_a_study_is_run_shown_and_not_computed_again(swept, command):
    again = command("study", "run", "mine.toml", "--json")
    assert json.loads(again.out) == {"study": "mine", "planned": 8, "cached": 8, "computed": 0, "failed": 0}
    assert again.err == ""
    table = command("study", "table", "mine").out  # as it was last run in the folder
    assert "csbm num_nodes=120 num_classes=3: accuracy" in table
    assert "protocol paper" in table
    assert re.search(r"PI-GNN +0\.\d{3}\(0\.\d\d\)", table)
    assert "\\toprule" in command("study", "table", "mine.toml", "--format", "latex").out
    assert "8 runs planned, 8 done, 0 failed, 0 to do" in command("study", "status", "mine").out
    more = command("study", "run", "mine.toml", "--seeds", "0-2", "--methods", "vanilla", "--dry-run")
    assert "6 runs planned, 4 are there" in more.err


def test_nothing_but_the_result_is_printed_into_a_pipe(swept, command):
    result = command("study", "run", "mine.toml", "--seeds", "5")
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "4 computed" in result.err


def test_results_are_exported_to_every_kind_of_file(swept, command):
    for name in ("runs.csv", "page.html", "page.md", "tables.tex", "plan.toml"):
        assert command("study", "export", "mine", name).code == 0
        assert (swept / name).stat().st_size > 100
    assert command("study", "figure", "mine", "f.png").code == 0
    assert command("study", "figure", "mine", "f.svg").code == 0
    assert json.loads(command("study", "test", "mine", "--json").out)[0]["reference"] == "PI-GNN"
    command("study", "compare", "mine").fails("the paper has no number")
    # The plan that comes out is the one that went in.
    assert "8 were there, 0 computed" in command("study", "run", "plan.toml").err


def test_tasks_are_exported_and_predictions_scored(swept, command):
    names = json.loads(command("task", "export", "mine", "--to", "tasks", "--json").out)
    np.savez("preds.npz", **{name: np.zeros(120, dtype=int) for name in names})
    assert command("task", "score", "preds.npz", "--name", "other").code == 0
    assert "other" in command("study", "table", "mine").out
    assert "other" in command("study", "test", "mine").out


def test_failed_runs_are_reported_with_their_error(folder, command):
    result = command("study", "run", "mine.toml", "--set", "lr=1e29")
    assert result.code == 1
    assert "8 failed (pignn study status" in result.err
    status = command("study", "status", "mine")
    assert "8 failed" in status.out
    assert "try a smaller learning rate" in status.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nothing"), ("unknown study 'nothing'",)),
        (("run", "absent.toml"), ("cannot read absent.toml",)),
        (("run", "mine.toml", "--methods", "vanila"), ("did you mean 'vanilla'",)),
        (("run", "mine.toml", "--datasets", "corra"), ("did you mean 'cora'",)),
        (("run", "mine.toml", "--noises", "flop:0.2"), ("unknown noise kind 'flop'",)),
        (("run", "mine.toml", "--noises", "flip"), ()),
        (("run", "mine.toml", "--rates", "x"), ("--rates takes numbers",)),
        (("run", "mine.toml", "--rates", "0.9"), ("no noise of rate",)),
        (("run", "mine.toml", "--seeds", "a-b"), ("seeds must look like",)),
        (("run", "mine.toml", "--protocol", "fair"), ("unknown protocol 'fair'",)),
        (("run", "mine.toml", "--workers", "0"), ("workers must be at least 1",)),
        (("run", "mine.toml", "--threads", "0"), ("--threads", "greater than or equal to 1")),
        (("run", "mine.toml", "--rates", "0.2,0.9"), ("no noise of rate", "0.9")),
        (("run", "mine.toml", "--address", "x"), ("give --ray too",)),
        (("table", "mine.toml"), ("run the study first",)),
        (("table", "mine.toml", "--metric", "f2"), ("unknown metric 'f2'",)),
        (("figure", "mine.toml", "f.gif"), ("run the study first",)),
    ],
)
def test_mistakes_are_one_line(folder, command, arguments, words):
    if words:
        command("study", *arguments).fails(*words)
    else:
        assert command("study", *arguments).code == 0  # a kind alone means all its rates in the plan


@pytest.mark.parametrize("option", [("--workers", "0"), ("--threads", "0"), ("--rates", "0.2,0.9")])
def test_a_refused_option_leaves_nothing(folder, command, option):
    before = sorted(folder.rglob("*"))
    command("study", "run", "mine.toml", *option).fails()
    assert sorted(folder.rglob("*")) == before


def test_a_plan_with_a_mistake_names_its_line(folder, command):
    (folder / "mine.toml").write_text(PLAN.replace("seeds =", "sedes ="))
    command("study", "run", "mine.toml").fails("mine.toml, line 5", "did you mean 'seeds'")


def test_a_damaged_store_is_refused(swept, command):
    path = swept / "runs" / "studies" / "runs.sqlite"
    path.write_bytes(b"x" * 5000)
    for name in ("run", "table", "status"):
        command("study", name, "mine.toml").fails("not a results store")
    assert path.read_bytes() == b"x" * 5000
