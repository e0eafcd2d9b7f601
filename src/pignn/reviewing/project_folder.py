"""Which folder a review is about, and whether it can be used: told without torch, whose import takes seconds."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, DataError, OutputError
from ..io.locks import file_lock_context
from ..runs.early_checks import build_json_arguments_or_none, is_graph_store
from ..runs.run_folder import has_finished_or_interrupted_run

HEADER_FILE, DECISIONS_FILE, LOCK_FILE = "project.json", "decisions.sqlite", ".pignn.lock"
DEFAULT_FOLDER, FOLDER_IN_AUDIT = Path("reviews"), "review"
PATH_ARGUMENTS = ("nodes", "edges", "votes", "text_model", "root", "decisions", "features", "noise")


def is_project(folder: Path) -> bool:
    return (folder / HEADER_FILE).is_file()


@dataclass(frozen=True)
class ReviewSource:
    """What is to be reviewed: a project that is there, or what a new one is made of.

    Args:
        folder: of the project.
        arguments: the graph, as `pignn.audit` takes it; empty if none was named.
        audit_folder: an audit that was saved, of which the project is made.
    """

    folder: Path
    arguments: Mapping[str, Any]
    audit_folder: Path | None = None

    @property
    def is_new(self) -> bool:
        return not is_project(self.folder)

    def check_can_be_opened_or_created(self) -> None:
        """Refuse a folder that holds something else, a project of another graph, and nothing at all."""
        if not self.is_new:
            self._check_arguments_are_those_of_project()
        elif not self.arguments and self.audit_folder is None:
            raise ConfigError(f"{self.folder} is no project; name a graph to make one, with --nodes or --dataset")
        else:
            check_project_can_be_created(self.folder)

    def _check_arguments_are_those_of_project(self) -> None:
        given = build_json_arguments_or_none(self.arguments)
        if not given:
            return  # nothing was named; of a graph in memory, the labels are compared when the project is opened
        given, known = copy_with_absolute_paths(given), _read_graph_arguments(self.folder)
        names = sorted(name for name in {*given, *known} if given.get(name) != known.get(name))
        if names:
            there, here = (str(each.get(names[0], "nothing"))[:80] for each in (known, given))
            raise OutputError(
                f"{self.folder} is a project already, of another graph or other options ({names[0]}: {there} there, "
                f"{here} here); choose another folder, or open it without naming a graph"
            )


def find_review_source(project: str | Path | None, arguments: Mapping[str, Any]) -> ReviewSource:
    """What `pignn review` was given: a project, an audit, a graph store, or a graph and perhaps a folder for it."""
    is_graph_named = any(arguments.get(name) is not None for name in ("graph", "nodes"))
    arguments = {name: each for name, each in arguments.items() if each is not None} if is_graph_named else {}
    if project is None:
        return ReviewSource(_name_project_after_graph(arguments), arguments)
    folder = Path(project)
    if is_project(folder):
        return ReviewSource(folder, arguments)
    if (folder / "audit.json").is_file():
        return ReviewSource(folder / FOLDER_IN_AUDIT, arguments, folder)
    if not arguments and (folder / "store.json").is_file():
        arguments = {"graph": os.path.join(".", project)}
        return ReviewSource(_name_project_after_graph(arguments), arguments)
    return ReviewSource(folder, arguments)


def _name_project_after_graph(arguments: Mapping[str, Any]) -> Path:
    source = arguments.get("graph") if arguments.get("graph") is not None else arguments.get("nodes")
    if not isinstance(source, str | Path):
        raise ConfigError("which project? name its folder")
    return DEFAULT_FOLDER / Path(source).stem


def copy_with_absolute_paths(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a graph, readable from every folder."""
    result = dict(arguments)
    for name in PATH_ARGUMENTS:
        if isinstance(result.get(name), str | Path) and os.path.exists(result[name]):
            result[name] = os.path.abspath(result[name])
    if isinstance(result.get("graph"), str | Path) and is_graph_store(str(result["graph"])):
        result["graph"] = os.path.abspath(result["graph"])
    return result


def _read_graph_arguments(folder: Path) -> dict[str, Any]:
    """Those of project.json; empty of a graph in memory."""
    try:
        return json.loads((folder / HEADER_FILE).read_bytes()).get("graph") or {}
    except (OSError, ValueError, AttributeError):
        raise DataError(f"{folder / HEADER_FILE} is damaged; restore it from a copy") from None


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
