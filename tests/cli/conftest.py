"""Commands run in this process, and real processes where only a real one will do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import pignn.cli

TINY = ("--dataset", "csbm", "--data", "num_nodes=120")


@dataclass
class Result:
    code: int
    out: str
    err: str

    def fails(self, *words: str, code: int = 2) -> None:
        """One line on stderr, nothing on stdout, no traceback; the line has all ``words``."""
        assert self.code == code, (self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("pignn: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err


Command = Callable[..., Result]
Process = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """``pignn`` in this process."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        code = pignn.cli.run([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def train(command: Command) -> Command:
    """``pignn train`` on a tiny graph."""
    return lambda *arguments: command("train", *TINY, *arguments)


@pytest.fixture
def start() -> Iterator[Process]:
    """A Python of its own with text pipes, for a list of arguments; ended with the test, whatever happens."""
    import torch

    begun = []

    def begin(*arguments: object, **options: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # The same number of threads gives the same bits.
            env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
            preexec_fn=_default_signals,
            **options,  # type: ignore[call-overload]
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _default_signals() -> None:
    """A job in the background of a script ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run; only to be read."""
    out = tmp_path_factory.mktemp("trained") / "run"
    arguments = ["train", *TINY, "--noise", "symmetric", "--rate", "0.4", "--epochs", "20", "--json"]
    assert pignn.cli.run([*arguments, "--out", str(out)]) == 0
    return out
