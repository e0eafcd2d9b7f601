"""Every mistake is told in one line that says what to do: no traceback, no silence."""

from __future__ import annotations

import re
import shlex

import pytest

from .mistakes import list_mistakes, write_files

ADVICE = re.compile(
    r"did you mean|known:|;|--\w|must be|needs|takes|between|is not|not a|give|choose|see pignn|at least|columns are"
)
MISTAKES = list_mistakes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    write_files(folder)
    return folder


@pytest.mark.parametrize(("text", "word"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_is_told_in_one_line(command, folder, monkeypatch, text, word):
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    result = command(*shlex.split(text.replace("{p}", str(folder))))
    assert result.code == 2, result
    lines = [line for line in result.err.splitlines() if line.startswith("pignn: ")]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert word in lines[0], lines[0]
    assert ADVICE.search(lines[0]), lines[0]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before, "a mistake leaves no files"


def test_there_are_enough_of_them():
    assert len(MISTAKES) >= 160
