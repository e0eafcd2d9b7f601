"""Train on what a review decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import runs
from ..auditing import read_decisions, write_spreadsheet_safe_csv
from ..core.errors import ConfigError, DataError
from .exchange import build_decision_table
from .project import open_project
from .project_folder import FOLDER_IN_AUDIT, is_project, project_lock_context
from .review_session import ReviewSession


def write_decisions_and_build_training_arguments(folder: str | Path) -> dict[str, Any]:
    """The arguments of `pignn.train` for the graph of a project with its decisions, whose labels are trusted.

    The decisions are written into the project, as `decisions.csv`. Where noise was added to try a review out, the graph
    is read here, for its labels must be those that were reviewed.
    """
    folder = Path(folder)
    if not is_project(folder) and is_project(folder / FOLDER_IN_AUDIT):
        folder = folder / FOLDER_IN_AUDIT
    if not is_project(folder):
        raise ConfigError(f"{folder} is no project of `pignn review`")
    with project_lock_context(folder):
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
    earlier = graph.pop("decisions", None)  # which the audit knew
    decisions = read_decisions(folder / "decisions.csv")
    if earlier is not None:
        decisions = pd.concat([read_decisions(earlier), decisions], ignore_index=True).fillna("")
    added: dict[str, Any] = {name: graph.pop(name) for name in ("noise", "rate", "seed") if name in graph}
    if "noise" in added:
        graph = {"graph": runs.rebuild_audited_graph({**graph, **added})}
    return {**graph, "decisions": decisions, "new_class": True}
