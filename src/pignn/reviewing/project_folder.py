"""Which folder a review is about, and whether it can be used: told without torch, whose import takes seconds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, OutputError
from ..io.locks import file_lock_context
from ..runs.run_folder import has_finished_or_interrupted_run

HEADER_FILE, DECISIONS_FILE, LOCK_FILE = "project.json", "decisions.sqlite", ".pignn.lock"
DEFAULT_FOLDER = Path("reviews")


def is_project(folder: Path) -> bool:
    return (folder / HEADER_FILE).is_file()


def choose_project_folder(project: str | Path | None, arguments: Mapping[str, Any]) -> Path:
    """The folder that was named, or one that is called like the graph."""
    if project is not None:
        return Path(project)
    source = arguments.get("graph") if arguments.get("graph") is not None else arguments.get("nodes")
    if not isinstance(source, str | Path):
        raise ConfigError("which project? name its folder")
    return DEFAULT_FOLDER / Path(source).stem


def check_folder_is_project(folder: Path) -> None:
    if not is_project(folder):
        raise ConfigError(f"{folder} is no project; name a graph to make one, with --nodes or --dataset")


def check_project_can_be_created(folder: Path) -> None:
    """Refuse a folder that holds something else, or a project already."""
    if is_project(folder):
        raise OutputError(f"{folder} is a project already; open it without naming a graph, or choose another folder")
    if has_finished_or_interrupted_run(folder) or (folder / "audit.json").exists():
        raise OutputError(f"{folder} holds a run or an audit; choose another folder for the project")
    if (folder / DECISIONS_FILE).exists():
        raise OutputError(f"{folder} holds decisions but no project.json; restore it, or choose another folder")


@contextlib.contextmanager
def project_lock_context(folder: Path) -> Iterator[None]:
    """Let one server at a time use a project."""
    message = f"{folder} is open in another `pignn review`; go on there, or end it first"
    with file_lock_context(folder / LOCK_FILE, message):
        yield
