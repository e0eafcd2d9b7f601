"""Train on what a review decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..auditing import write_spreadsheet_safe_csv
from ..core.errors import ConfigError, DataError
from .exchange import build_decision_table
from .project import open_project, project_lock_context
from .review_session import ReviewSession


def write_decisions_and_build_training_arguments(folder: str | Path) -> dict[str, Any]:
    """The arguments of `pignn.train` for the graph of a project with its decisions, whose labels are trusted.

    The decisions are written into the project, as `decisions.csv`.
    """
    folder = Path(folder)
    with project_lock_context(folder) if (folder / "project.json").is_file() else _raise_no_project(folder):
        session = ReviewSession(open_project(folder))
        try:
            graph = session.project.header.graph
            if graph is None:
                raise ConfigError(
                    f"the graph of {folder} was given as an object; use pignn.train(graph, decisions=...) in Python"
                )
            table = build_decision_table(session)
            if not table["decision"].isin(["relabel", "keep"]).any():
                raise DataError(f"nothing is decided in {folder} yet; run pignn review {folder}")
            write_spreadsheet_safe_csv(folder / "decisions.csv", table)
        finally:
            session.close()
    return {**graph, "decisions": folder / "decisions.csv"}


def _raise_no_project(folder: Path) -> Any:
    raise ConfigError(f"{folder} is no project of `pignn review`")
