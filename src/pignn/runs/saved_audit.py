"""The findings of an audit that was saved, for a training or a review of the same graph."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..auditing import format_prob_column_name
from ..core.errors import DataError
from ..graphs.checks import parse_node_ids_or_none
from ..report.spreadsheet import unescape_formula
from .early_checks import check_review_files_exist

COLUMNS = ("node", "given", "suggested", "p_wrong", "suspect", "trusted")


class SavedNoise(msgspec.Struct):
    """The estimated share of wrong labels."""

    rate: float


class SavedAuditHeader(msgspec.Struct):
    """What audit.json says about the noise, and how the audit was made."""

    noise: SavedNoise
    folds: int = 5
    notes: list[str] = msgspec.field(default_factory=list)
    arguments: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class SavedAudit:
    """Findings as :func:`pignn.auditing.clean_labels` takes them, with the probabilities of each class as p_0, ..."""

    issues: pd.DataFrame
    noise: SavedNoise
    folds: int
    notes: list[str]


def read_audit_arguments_or_none(folder: Path) -> dict[str, Any] | None:
    """The arguments of the graph that was audited, as `rebuild_audited_graph` takes them; None for one in memory."""
    return _read_header(folder).arguments


def _read_header(folder: Path) -> SavedAuditHeader:
    check_review_files_exist(folder, None)
    try:
        return msgspec.json.decode((folder / "audit.json").read_bytes(), type=SavedAuditHeader)
    except (OSError, msgspec.DecodeError):
        raise DataError(f"{folder} is damaged: audit.json cannot be read; audit again") from None


def read_saved_audit(folder: Path, data: Data) -> SavedAudit:
    """Read the folder of an audit of this graph. Labels that are trusted by now are no suspects any more."""
    header = _read_header(folder)
    names = [str(name) for name in data.get("class_names") or range(int(data.y.max()) + 1)]
    prob_columns = [format_prob_column_name(name) for name in names]
    try:
        rows = list(csv.DictReader(io.StringIO((folder / "suspects.csv").read_text("utf-8-sig"), newline="")))
        table = pd.DataFrame([[unescape_formula(row[name]) for name in COLUMNS] for row in rows], columns=list(COLUMNS))
        table[["p_wrong", "suspect", "trusted"]] = table[["p_wrong", "suspect", "trusted"]].astype(float)
        probs = [[float(row.get(name) or 0) for name in prob_columns] for row in rows]
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        raise DataError(f"{folder} is damaged: suspects.csv cannot be read; audit again") from None
    ids = parse_node_ids_or_none(data)
    numbers = pd.Series(
        np.arange(data.num_nodes or 0), index=list(map(str, range(data.num_nodes or 0) if ids is None else ids))
    )
    codes = pd.Series(np.arange(len(names)), index=names)
    columns = {"node": numbers, "given": codes, "suggested": codes}
    found = {name: table[name].map(known) for name, known in columns.items()}
    unknown = found["node"].isna() | found["given"].isna() | found["suggested"].isna()
    before = data.y if data.get("y_before") is None else data.y_before.where(data.y_before >= 0, data.y)
    differs = ~unknown & (before.numpy()[found["node"].fillna(0).astype(int)] != found["given"])
    if (unknown | differs).any() or len(table) != int((before >= 0).sum()):
        row = table[unknown | differs].head(1)
        first = f", first '{row['node'].iloc[0][:40]}'" if len(row) else ""
        raise DataError(
            f"{folder} is an audit of other labels: {int((unknown | differs).sum())} of {len(table)} do not fit this "
            f"graph{first}; give the graph that was audited, or audit this one"
        )
    issues = table.assign(**{name: values.astype(np.int64) for name, values in found.items()})
    columns_of_probs = [f"p_{c}" for c in range(len(names))]
    issues[columns_of_probs] = np.array(probs, dtype=np.float64).reshape(-1, len(names))
    trusted = issues["trusted"].to_numpy() > 0
    if data.get("trusted_mask") is not None:
        trusted = trusted | data.trusted_mask.numpy()[issues["node"]]
    p_wrong = issues["p_wrong"].where(~trusted, 0.0)
    return SavedAudit(
        issues.assign(trusted=trusted, suspect=(issues["suspect"] > 0) & ~trusted, p_wrong=p_wrong),
        header.noise,
        header.folds,
        header.notes,
    )
