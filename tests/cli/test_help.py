"""Help is there at once, complete, and shows what works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

import pignn
from pignn.cli.app import app

COMMANDS = ("demo", "train", "compare", "tune", "predict", "audit", "apply", "convert", "datasets", "methods")
HEAVY = ("torch", "torch_geometric", "sklearn", "pandas", "scipy", "matplotlib", "numpy")


def options_of(name: str) -> set[str]:
    command = typer.main.get_command(app).commands[name]
    return {flag for parameter in command.params for flag in parameter.opts} | {"--help"}


def test_help_lists_the_commands(command):
    result = command("--help")
    assert result.code == 0
    assert result.err == ""
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", result.out, re.M)
    assert "pignn demo" in result.out


def test_no_arguments_show_help(command):
    assert command() == command("--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_examples_that_exist(command, name):
    result = command(name, "--help")
    assert result.code == 0
    assert result.err == ""
    examples = re.findall(rf"^ +(pignn {name}\b.*)$", result.out.split("Examples:")[1].split("Options:")[0], re.M)
    assert examples
    for example in examples:
        used = {word.split("=")[0] for word in shlex.split(example) if word.startswith("--")}
        assert used <= options_of(name), example
    for option in options_of(name):
        assert option in result.out


def test_every_declared_setting_of_pi_gnn_is_an_option_of_train():
    from pignn.cli import method_options
    from pignn.core.settings import list_settings

    declared = {f"--{setting.name.replace('_', '-')}" for setting in list_settings(pignn.PIGNN)}
    assert declared <= options_of("train")
    # Help reads a file, because it must not wait for torch: python -m pignn.cli.method_options writes it.
    assert (
        method_options.load_stored_pignn_setting_options() == method_options.build_pignn_setting_options_without_seed()
    )


def test_the_options_of_the_documented_train_command_exist():
    wanted = {"--dataset", "--noise", "--rate", "--method", "--backbone", "--seed", "--out", "--json", "--resume"}
    assert wanted <= options_of("train")


def test_version(command):
    result = command("--version")
    assert (result.code, result.out, result.err) == (0, f"pignn {pignn.__version__}\n", "")


def test_help_and_lists_import_nothing_heavy():
    program = f"""
import sys
import pignn.cli
for arguments in ([], ["--help"], ["--version"], ["datasets"], ["methods"], ["methods", "--json"],
                  *([name, "--help"] for name in {COMMANDS!r})):
    assert pignn.cli.run(arguments) == 0, arguments
    heavy = [name for name in {HEAVY!r} if name in sys.modules]
    assert not heavy, (arguments, heavy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("group", ["study", "task"])
def test_a_group_without_a_command_shows_its_help(command, group):
    result = command(group)
    assert (result.code, result.err) == (0, "")
    assert result.out == command(group, "--help").out


def test_datasets_and_methods_are_listed(command):
    import json

    assert "digits" in command("datasets").out
    assert "pi-gnn" in command("methods").out
    datasets = json.loads(command("datasets", "--json").out)
    assert {"digits", "csbm", "cora", "ogbn-products"} <= {row["name"] for row in datasets}
    assert {row["name"]: row["here"] for row in datasets}["digits"] is True
    assert {"pi-gnn", "vanilla"} <= {row["name"] for row in json.loads(command("methods", "--json").out)}


def run_module(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "pignn", *arguments], stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]


def test_a_terminal_without_our_letters_still_gets_the_table():
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run_module("methods", env=environment, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert b"pi-gnn" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line(unbuffered):
    with open("/dev/full", "w") as full:
        done = run_module("datasets", stdout=full, env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 2
    assert done.stderr == b"pignn: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        done = run_module("datasets", stdout=gone, env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_output_is_no_error():
    shell = f"{sys.executable} -m pignn datasets >&-"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
