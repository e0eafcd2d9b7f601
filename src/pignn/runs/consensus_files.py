"""The files of a consensus, beside those of the audit or training that it belongs to."""

from __future__ import annotations

import json
from pathlib import Path

from torch_geometric.data import Data

from ..auditing import Consensus, write_spreadsheet_safe_csv
from .graph_source import GraphSource

CONSENSUS_FILES = ("consensus.csv", "annotators.csv", "confusions.csv", "votes.csv", "questions.csv")
NUM_QUESTIONS = 100


def list_consensus_files(source: GraphSource) -> list[str]:
    """The files that a run with this graph writes because of votes."""
    label = source.options.get("label")
    has_votes = source.graph.get("votes") is not None if isinstance(source.graph, Data) else False
    has_columns = not isinstance(label, str | None) or "," in (label or "")
    return list(CONSENSUS_FILES) if has_votes or has_columns or source.options.get("votes") is not None else []


def write_or_remove_consensus_files(folder: Path, consensus: Consensus | None, record: str) -> None:
    """Write the tables of a consensus into a folder that was checked.

    Without a consensus, those of an earlier run are removed. ``record`` is the file that says whether it had votes:
    a file of the same name that is somebody else's stays.
    """
    if consensus is None:
        if _has_votes(folder / record):
            for name in CONSENSUS_FILES:
                (folder / name).unlink(missing_ok=True)
        return
    questions = consensus.suggest_questions(NUM_QUESTIONS)
    annotators, confusions = consensus.annotator_table, consensus.confusion_table
    parts = (consensus.table, annotators, confusions, consensus.vote_table, questions)
    for name, table in zip(CONSENSUS_FILES, parts, strict=True):
        write_spreadsheet_safe_csv(folder / name, table)


def _has_votes(record: Path) -> bool:
    try:
        content = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("votes") is not None
