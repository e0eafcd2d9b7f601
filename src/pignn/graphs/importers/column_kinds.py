"""Guess the kind of feature that a column is, and convert columns to numbers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ..tables.cells import quote_cell_for_message

COLUMN_KINDS = ("number", "category", "text", "date", "vector", "none")
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "?", "-")
MIN_NUMBER_FRACTION = 0.95  # of the filled cells of a column of numbers; the others count as missing, with a warning
SAMPLE_TEXTS = 20_000  # that tell words from names
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?"


class KindGuess(NamedTuple):
    """One of ``COLUMN_KINDS``, and the reason for people."""

    kind: str
    reason: str


def guess_kind(column: pd.Series[Any]) -> KindGuess:
    """Guess how a column is best encoded."""
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return KindGuess("date", "dates")
    if is_numeric(column):
        return _guess_kind_of_numbers(column)
    known = column.dropna()
    if not len(known):
        return KindGuess("none", "empty")
    first = known.iloc[0]
    if isinstance(first, list | tuple | np.ndarray):
        return KindGuess("vector", f"a list of {len(first):,} numbers per node")
    texts = known.astype(str).str.strip()
    texts = texts[~texts.str.lower().isin(MISSING_WORDS)]
    if not len(texts):
        return KindGuess("none", "empty")
    if pd.to_numeric(texts, errors="coerce").notna().mean() >= MIN_NUMBER_FRACTION:
        return _guess_kind_of_numbers(pd.Series(to_float_column(column, "", 1)))
    sample = texts if len(texts) <= SAMPLE_TEXTS else texts.sample(SAMPLE_TEXTS, random_state=0)
    if sample.str.fullmatch(_DATE).all() and texts.str.fullmatch(_DATE).all():
        return KindGuess("date", "dates")
    return _guess_kind_of_texts(texts, sample)


def _guess_kind_of_numbers(column: pd.Series[Any]) -> KindGuess:
    values = column.to_numpy(np.float64, na_value=np.nan)
    known = values[np.isfinite(values)]
    if not len(known):
        return KindGuess("none", "empty")
    if known.min() == known.max():
        missing = len(known) < len(values)
        return KindGuess("number", "numbers") if missing else KindGuess("none", "the same value everywhere")
    if len(values) > 2 and len(known) == len(values) and values[0] in (0, 1) and bool((np.diff(values) == 1).all()):
        return KindGuess("none", "counts the rows")
    return KindGuess("number", "numbers")


def _guess_kind_of_texts(texts: pd.Series[Any], sample: pd.Series[Any]) -> KindGuess:
    different = int(texts.nunique())
    words = float((sample.str.count(r"\s+") + 1).mean())
    rows = len(texts)
    if different == 1:
        return KindGuess("none", "the same value everywhere")
    if words >= 4 and different > 0.2 * rows:
        return KindGuess("text", f"{words:.0f} words per node on average")
    if different <= max(20, min(200, rows // 5)) and different < 0.9 * rows:
        return KindGuess("category", f"{different:,} different values")
    if words >= 2:
        return KindGuess("text", f"{words:.1f} words per node on average")
    if different > 0.5 * rows:
        return KindGuess("none", "nearly every node has a value of its own, as names and addresses do")
    return KindGuess("category", f"{different:,} different values")


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column was read as numbers."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype)


def mark_non_numbers_and_count_filled(column: pd.Series[Any]) -> tuple[np.ndarray, int]:
    """Which filled cells of a column are not numbers, and how many are filled."""
    if is_numeric(column):
        return np.zeros(len(column), bool), int(column.notna().sum())
    text = column.astype(str).str.strip()
    filled = column.notna().to_numpy() & ~text.str.lower().isin(MISSING_WORDS).to_numpy(bool)
    return filled & pd.to_numeric(text, errors="coerce").isna().to_numpy(bool), int(filled.sum())


def format_first_wrong_value(column: pd.Series[Any], is_wrong: np.ndarray, first_row_number: int) -> str:
    """The first wrong value and its row, where the rows begin with number ``first_row_number``."""
    row = int(is_wrong.argmax())
    return f"row {first_row_number + row:,}: {quote_cell_for_message(column.iloc[row])}"


def to_float_column(column: pd.Series[Any], title: str, first_row_number: int) -> np.ndarray:
    """A column as float64, NaN where a value is missing or not a number. Many that are not numbers are an error."""
    if is_numeric(column):
        values = column.to_numpy(np.float64, na_value=np.nan)
    else:
        wrong, filled = mark_non_numbers_and_count_filled(column)
        if wrong.sum() > (1 - MIN_NUMBER_FRACTION) * filled:
            raise DataError(f"{title}, {format_first_wrong_value(column, wrong, first_row_number)} is not a number")
        values = pd.to_numeric(column.astype(str).str.strip(), errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return _clip_and_drop_infinite(values)


def _clip_and_drop_infinite(values: np.ndarray) -> np.ndarray:
    """Infinite values count as missing, and squares of the others stay finite."""
    return np.clip(np.where(np.isinf(values), np.nan, values), -1e100, 1e100)


def to_days_since_1970(column: pd.Series[Any], title: str, first_row_number: int) -> np.ndarray:
    """Dates as days since 1970, NaN where there is none."""
    empty = column.isna().to_numpy()
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.map(lambda value: value.strip() if isinstance(value, str) else value)
        empty = empty | column.astype(str).str.lower().isin(MISSING_WORDS).to_numpy(bool)
    known = column.where(~pd.Series(empty, index=column.index))
    # ISO dates may have a time or none; of others all must look alike.
    dates = pd.to_datetime(known, errors="coerce", utc=True, format="ISO8601")
    if (dates.isna().to_numpy() & ~empty).any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas says that it has to guess
            alike = pd.to_datetime(known, errors="coerce", utc=True)
        dates = alike if alike.notna().sum() > dates.notna().sum() else dates
    wrong = dates.isna().to_numpy() & ~empty
    if wrong.any():
        raise DataError(
            f"{title}, {format_first_wrong_value(column, wrong, first_row_number)} is not a date such as 2024-01-31"
        )
    return ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(np.float64)


def stack_number_lists(column: pd.Series[Any], title: str, list_length: int | None = None) -> np.ndarray:
    """Lists of equally many numbers as rows [N, width], NaN where a list is missing."""
    known = column.notna().to_numpy()
    try:
        rows = np.array([np.asarray(value, np.float64) for value in column[known]], np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{title} must hold lists of equally many numbers") from None
    if rows.ndim != 2 or not rows.shape[1] or (list_length is not None and rows.shape[1] != list_length):
        length = "equally many" if list_length is None else f"{list_length:,}"
        raise DataError(f"{title} must hold lists of {length} numbers")
    matrix = np.full((len(column), rows.shape[1]), np.nan)
    matrix[known] = rows
    return _clip_and_drop_infinite(matrix)
