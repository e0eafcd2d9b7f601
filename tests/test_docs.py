"""What the README, the documentation, the tutorials and the examples show must run.

Python blocks of a page are executed in order in one namespace, and `pignn` commands are run in the same folder.
Targets of `make` must exist. Comments right before a block change that: `<!-- no-test: reason -->` skips it,
`<!-- needs-data -->` runs it only where PIGNN_DATA is set, and `<!-- slow -->` only checks that the options of
its commands exist. Tutorials are executed as the site executes them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .forked_python import run_python

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
HAVE_DATA = bool(os.environ.get("PIGNN_DATA"))


@dataclass
class Block:
    language: str
    line: int  # of its first line, from 1
    text: str
    marks: dict[str, str]  # mark and reason

    @property
    def skipped(self) -> bool:
        assert self.marks.get("no-test", "reason"), f"line {self.line}: no-test without a reason"
        return "no-test" in self.marks or ("needs-data" in self.marks and not HAVE_DATA)


def blocks(text: str) -> Iterator[Block]:
    marks: dict[str, str] = {}
    block: Block | None = None
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        fence = re.match(r"\s*```(\w*)", line)
        if block and fence:
            block.text = textwrap.dedent(block.text)
            yield block
            block = None
        elif block:
            block.text += line
        elif fence:
            block, marks = Block(fence[1], number + 1, "", marks), {}
        elif mark := re.fullmatch(r"\s*<!-- (no-test|needs-data|slow)(?:: (.*))? -->\s*", line):
            marks[mark[1]] = mark[2] or ""
        elif line.strip():
            marks = {}


def commands(block: Block) -> Iterator[list[str]]:
    """The commands of a block as words, without the variables that are set before them."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    for line in lines:
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word in ("&&", ";", "|", ">"):
                if words:
                    yield words
                words = []
            elif words or not re.match(r"\w+=", word):
                words.append(word)


def run(arguments: list[str], folder: Path) -> str:
    code, output = run_python(arguments, folder, {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    assert code == 0, f"{shlex.join(arguments)} gave {code}\n{output}"
    return output


def check_command(words: list[str], folder: Path, slow: bool) -> None:
    program, arguments = Path(words[0]).name, words[1:]
    if program == "make":
        assert {word for word in arguments if "=" not in word} <= TARGETS, shlex.join(words)
    elif program == "pignn" and slow:
        options = [word.split("=")[0] for word in arguments if word.startswith("--")]
        first = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
        shown = run(["-m", "pignn", *arguments[:first], "--help"], folder)
        known = set(re.findall(r"--[\w-]+", shown))
        assert set(options) <= known, f"{shlex.join(words)}: no such option among {sorted(known)}"
    elif program == "pignn":
        run(["-m", "pignn", *arguments], folder)


@pytest.fixture(autouse=True)
def _remove_parts_that_pages_register(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages and tutorials add methods, metrics and other parts by name; later tests must not see them."""
    from pignn.core.registry import Registry

    added: list[tuple[Registry[Any], str]] = []
    register = Registry.register

    def register_and_note(self: Registry[Any], name: str, part: Any, summary: str = "") -> Any:
        if sys._getframe(1).f_globals["__name__"] == "__main__":  # a snippet, not a module that is imported
            added.append((self, name))
        return register(self, name, part, summary)

    monkeypatch.setattr(Registry, "register", register_and_note)
    yield
    for registry, name in added:
        del registry._entries[name], registry._objects[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.skipped:
            continue
        if block.language == "python":
            # Empty lines in front make a traceback show the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
        elif block.language in ("bash", "console"):
            for words in commands(block):
                check_command(words, tmp_path, slow="slow" in block.marks)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    if "# needs-data" in example.read_text(encoding="utf-8") and not HAVE_DATA:
        pytest.skip("PIGNN_DATA is not set")
    run([str(example)], tmp_path)


def load_hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hook_{name}", ROOT / "docs" / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.stem)
def test_tutorial_runs(tutorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    cells = load_hook("notebooks").run_notebook(tutorial, tmp_path)
    assert any(output for _, output in cells)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.stem)
def test_tutorial_is_stored_without_outputs(tutorial: Path) -> None:
    cells = json.loads(tutorial.read_text(encoding="utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


def test_command_reference_lists_every_command_with_its_options() -> None:
    page = load_hook("reference").write_cli_page()
    for command in ("train", "audit", "predict", "apply", "convert", "study run", "task score"):
        assert f"## pignn {command}\n" in page
    assert "`--drop-suspects" in page


def test_settings_reference_lists_every_method() -> None:
    from pignn.methods import list_methods

    page = load_hook("reference").write_settings_page()
    for method in list_methods():
        assert f"## {method.name}\n" in page
    assert "| `q` | `0.7` |" in page


def test_api_reference_has_a_page_per_package() -> None:
    hook = load_hook("reference")
    packages = {path.parent.name for path in (ROOT / "src" / "pignn").glob("*/__init__.py")}
    assert set(hook.list_packages()) == packages


def test_file_formats_describe_every_key_and_column() -> None:
    from pignn.auditing import AUDIT_COLUMNS
    from pignn.report.training.summary import TrainingRecord
    from pignn.runs.audit_run import AuditSummary

    page = (ROOT / "docs" / "reference" / "file_formats.md").read_text(encoding="utf-8")
    names = {*TrainingRecord.__struct_fields__, *AuditSummary.__struct_fields__, *AUDIT_COLUMNS.list_names()} - {
        "p"
    }  # a column per class
    assert not [name for name in sorted(names) if f"`{name}`" not in page]


def test_blocks_are_read_as_meant() -> None:
    page = """
        <!-- no-test: because -->

        ```python
        skipped
        ```
        ```python
        if True:
            kept
        ```
        <!-- slow -->
        text in between
        ```console
        $ A=1 pignn train --x \\
            --y && make test ARGS="-k a"  # comment
        output
        ```
    """
    skipped, kept, shell = blocks(page)
    assert skipped.skipped
    assert not kept.skipped
    assert kept.text == "if True:\n    kept\n"
    assert kept.line == 8
    assert shell.marks == {}
    assert list(commands(shell)) == [["pignn", "train", "--x", "--y"], ["make", "test", "ARGS=-k a"]]


def test_a_target_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    check_command(["make", "test", "ARGS=-x"], tmp_path, slow=False)
    with pytest.raises(AssertionError):
        check_command(["make", "tset"], tmp_path, slow=False)
