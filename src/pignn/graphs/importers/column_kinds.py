"""What kind of feature a column is, and why."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ..tables.cells import format_cell

KINDS = ("number", "category", "text", "date", "vector", "none")
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
NUMBERS = 0.95  # of the cells that are filled: the others count as missing, which is said
SAMPLE = 20_000  # texts that are looked at to tell words from names
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?"


class Guess(NamedTuple):
    """One of `KINDS`, and the reason in words."""

    kind: str
    why: str


def guess(column: pd.Series[Any]) -> Guess:
    """How a column is best made into numbers."""
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Guess("date", "dates")
    if is_numeric(column):
        return _number(column)
    known = column.dropna()
    if not len(known):
        return Guess("none", "empty")
    first = known.iloc[0]
    if isinstance(first, list | tuple | np.ndarray):
        return Guess("vector", f"a list of {len(first):,} numbers a node")
    texts = known.astype(str).str.strip()
    texts = texts[~texts.str.lower().isin(MISSING)]
    if not len(texts):
        return Guess("none", "empty")
    if pd.to_numeric(texts, errors="coerce").notna().mean() >= NUMBERS:
        return _number(pd.Series(numbers(column, "", 1)))
    sample = texts if len(texts) <= SAMPLE else texts.sample(SAMPLE, random_state=0)
    if sample.str.fullmatch(_DATE).all() and texts.str.fullmatch(_DATE).all():
        return Guess("date", "dates")
    return _words(texts, sample)


def _number(column: pd.Series[Any]) -> Guess:
    values = column.to_numpy(np.float64, na_value=np.nan)
    known = values[np.isfinite(values)]
    if not len(known):
        return Guess("none", "empty")
    if known.min() == known.max():
        missing = len(known) < len(values)
        return Guess("number", "numbers") if missing else Guess("none", "the same value everywhere")
    if len(values) > 2 and len(known) == len(values) and values[0] in (0, 1) and bool((np.diff(values) == 1).all()):
        return Guess("none", "counts the rows")
    return Guess("number", "numbers")


def _words(texts: pd.Series[Any], sample: pd.Series[Any]) -> Guess:
    different = int(texts.nunique())
    words = float((sample.str.count(r"\s+") + 1).mean())
    rows = len(texts)
    if different == 1:
        return Guess("none", "the same value everywhere")
    if words >= 4 and different > 0.2 * rows:
        return Guess("text", f"{words:.0f} words a node on average")
    if different <= max(20, min(200, rows // 5)) and different < 0.9 * rows:
        return Guess("category", f"{different:,} different values")
    if words >= 2:
        return Guess("text", f"{words:.1f} words a node on average")
    if different > 0.5 * rows:
        return Guess("none", "nearly every node has a value of its own, as names and addresses do")
    return Guess("category", f"{different:,} different values")


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether it was read as numbers."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype)


def no_numbers(column: pd.Series[Any]) -> tuple[np.ndarray, int]:
    """Which filled cells of a column are no numbers, and how many are filled."""
    if is_numeric(column):
        return np.zeros(len(column), bool), int(column.notna().sum())
    text = column.astype(str).str.strip()
    filled = column.notna().to_numpy() & ~text.str.lower().isin(MISSING).to_numpy(bool)
    return filled & pd.to_numeric(text, errors="coerce").isna().to_numpy(bool), int(filled.sum())


def first_of(column: pd.Series[Any], wrong: np.ndarray, first: int) -> str:
    """The first wrong value and its row, where the first row is number `first`."""
    row = int(wrong.argmax())
    return f"row {first + row:,}: {format_cell(column.iloc[row])}"


def numbers(column: pd.Series[Any], title: str, first: int) -> np.ndarray:
    """A column as float64, NaN where there is no value, and where few cells are no numbers; many are an error."""
    if is_numeric(column):
        values = column.to_numpy(np.float64, na_value=np.nan)
    else:
        wrong, filled = no_numbers(column)
        if wrong.sum() > (1 - NUMBERS) * filled:
            raise DataError(f"{title}, {first_of(column, wrong, first)} is not a number")
        values = pd.to_numeric(column.astype(str).str.strip(), errors="coerce").to_numpy(np.float64, na_value=np.nan)
    # Infinite is as good as not there; and squares of what remains must be finite.
    return np.clip(np.where(np.isinf(values), np.nan, values), -1e100, 1e100)


def days(column: pd.Series[Any], title: str, first: int) -> np.ndarray:
    """Dates as days since 1970, NaN where there is none."""
    empty = column.isna().to_numpy()
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.map(lambda value: value.strip() if isinstance(value, str) else value)
        empty = empty | column.astype(str).str.lower().isin(MISSING).to_numpy(bool)
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
        raise DataError(f"{title}, {first_of(column, wrong, first)} is not a date such as 2024-01-31")
    return ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(np.float64)


def vectors(column: pd.Series[Any], title: str, width: int | None = None) -> np.ndarray:
    """Lists of equally many numbers as rows, [N, width]; NaN where there is none."""
    known = column.notna().to_numpy()
    try:
        rows = np.array([np.asarray(value, np.float64) for value in column[known]], np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{title} must hold lists of equally many numbers") from None
    if rows.ndim != 2 or not rows.shape[1] or (width is not None and rows.shape[1] != width):
        spec = "equally many" if width is None else f"{width:,}"
        raise DataError(f"{title} must hold lists of {spec} numbers")
    found = np.full((len(column), rows.shape[1]), np.nan)
    found[known] = rows
    return np.clip(np.where(np.isinf(found), np.nan, found), -1e100, 1e100)
