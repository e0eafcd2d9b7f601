"""Cells and columns of a table as numbers, and as texts for messages."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError
from .styles import guess_number_style, parse_numbers_or_nan, to_clean_texts_or_empty

MAX_CLASSES = 10_000
MAX_MAGNITUDE = 1e18  # of a feature or weight: squares and sums of larger ones are infinite in float32


def is_number_text(text: str) -> bool:
    """Whether a text can be read as a number, perhaps with a decimal comma."""
    try:
        float(text.replace(",", ".", 1))
    except ValueError:
        return False
    return True


def to_numbers_or_nan(column: pd.Series[Any]) -> np.ndarray:
    """A column as numbers, NaN where there is none."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy()
    texts = to_clean_texts_or_empty(column)
    return parse_numbers_or_nan(texts, guess_number_style(texts).style)


def parse_edge_weights(column: pd.Series[Any], title: str, first_row_number: int, advice: str) -> np.ndarray:
    """A column of weights, all finite and not negative. ``advice`` tells how to read the edges without weights."""
    with np.errstate(over="ignore"):
        values = to_numbers_or_nan(column).astype(np.float32)
    bad = ~((values >= 0) & (values < MAX_MAGNITUDE))
    if bad.any():
        row = int(bad.argmax())
        rule = f"below {MAX_MAGNITUDE:g}" if np.isfinite(values[row]) and values[row] > 0 else "finite and not negative"
        cell = quote_cell_for_message(column.iloc[row])
        raise DataError(f"{title}, row {first_row_number + row:,}: a weight must be {rule}, not {cell}; {advice}")
    return values


def factorize_labels(column: pd.Series[Any]) -> tuple[np.ndarray, list[str]]:
    """The distinct values as texts, and the code of each row: -1 where the value is missing."""
    codes, values = pd.factorize(column)
    return codes, [_format_label_text(value) for value in values]


def _format_label_text(value: Any) -> str:
    """3, 3.0, "3" and "3.0" are one label."""
    text = str(value).strip()
    with contextlib.suppress(ValueError, OverflowError):
        if text[-2:] == ".0" or isinstance(value, float | np.floating):
            number = float(text)
            return str(int(number)) if number == int(number) else text
    return text


def quote_cell_for_message(value: Any) -> str:
    """A value of a table as messages show it."""
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    text = repr(str(value))
    return "empty" if missing else text if len(text) < 40 else text[:36] + "...'"
