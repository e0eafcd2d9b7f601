"""Predictions as a table and as a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..io import files
from .spreadsheet import escape_formula

TEXT_COLUMNS = ("node", "given", "predicted")
ROWS_PER_PIECE = 100_000


def build_prediction_table(data: Data, probs: np.ndarray, class_names: Sequence[str]) -> pd.DataFrame:
    """One row per node: its split, given label (empty where there is none), predicted class and probabilities.

    ``disagrees`` marks nodes whose given label is not the predicted class.
    """
    names = np.array(class_names, dtype=object)
    best = probs.argmax(axis=1)
    given = data.y.reshape(-1).cpu().numpy() if data.get("y") is not None else np.full(len(probs), -1)
    split = np.full(len(probs), "", dtype=object)
    for name in ("train", "val", "test"):
        mask = data.get(f"{name}_mask")
        if mask is not None and mask.dim() == 1:
            split[mask.bool().cpu().numpy()] = name
    ids = data.get("node_id")
    labeled = (given >= 0) & (given < len(names))
    columns: dict[str, Any] = {
        "node": np.arange(len(probs)) if ids is None else list(ids),
        **({} if data.get("node_name") is None else {"name": data.node_name}),
        "split": split,
        "given": np.where(labeled, names[np.where(labeled, given, 0)], ""),
        "predicted": names[best],
        "confidence": probs.max(axis=1).round(6),
        "disagrees": (labeled & (given != best)).astype(int),
    }
    by_class = pd.DataFrame(probs.round(6), columns=[f"p_{name}" for name in class_names])
    return pd.concat([pd.DataFrame(columns), by_class], axis=1)


def write_predictions_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a prediction table as CSV. Texts that a spreadsheet would run as formulas get an apostrophe before them."""
    files.write_bytes_atomically(path, _iter_csv_pieces(table))


def _iter_csv_pieces(table: pd.DataFrame) -> Iterator[bytes]:
    for start in range(0, max(len(table), 1), ROWS_PER_PIECE):
        rows = table.iloc[start : start + ROWS_PER_PIECE]
        escaped_columns = {name: rows[name].map(escape_formula) for name in TEXT_COLUMNS if name in rows}
        yield rows.assign(**escaped_columns).to_csv(index=False, header=start == 0, lineterminator="\n").encode()
