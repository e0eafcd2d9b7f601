"""Guess the kind of feature that a column is, and convert columns to numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ..tables.cells import quote_cell_for_message
from ..tables.styles import (
    MIN_FRACTION,
    PLAIN,
    StyleGuess,
    ValueStyle,
    guess_date_style,
    guess_number_style,
    list_units_or_empty,
    parse_dates_as_days,
    parse_numbers_or_nan,
    to_clean_texts_or_empty,
)

COLUMN_KINDS = ("number", "category", "text", "date", "vector", "none")
SAMPLE_TEXTS = 20_000  # that tell words from names
MAX_CODES = 20  # different values of a category that may well be numbers and letters
MIN_REPEATED_FRACTION = 0.3  # of the rows of a category, in which another row has the same value
# Scripts without blanks between words: Thai, Lao, Khmer and Burmese, kana, Chinese characters.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_CODE = r"[0-9]{4,}"


class KindGuess(NamedTuple):
    """One of ``COLUMN_KINDS``, the reason for people, and how the cells are written."""

    kind: str
    reason: str
    style: ValueStyle = PLAIN
    doubt: str = ""  # what a person should know: another reading, or numbers that are not read as such
    is_evidence: bool = False  # of the style of the table


def guess_column_kinds(
    frame: pd.DataFrame, columns: list[str], given_kinds: Mapping[str, str], decimal_hint: str = ""
) -> dict[str, KindGuess]:
    """Guess the kinds of columns that are not given. What one column leaves open, the others tell if they can.

    ``decimal_hint`` is the decimal mark that is usual in such a file, if no column tells.
    """

    def guess(name: str, *hints: str) -> KindGuess:
        return (
            guess_column_kind(frame[name], *hints)
            if name not in given_kinds
            else _guess_style_for_given_kind(frame[name], given_kinds[name], *hints)
        )

    guesses = {name: guess(name) for name in columns}
    if open_columns := [name for name, each in guesses.items() if each.doubt]:
        known = [each for each in guesses.values() if each.is_evidence]
        decimals = Counter(each.style.decimal for each in known if each.kind == "number")
        decimals["."] += sum(_has_fractions(frame[name]) for name in columns)
        orders = Counter(each.style.order for each in known if each.kind == "date")
        decimal = max(decimals, key=lambda mark: decimals[mark]) if any(decimals.values()) else decimal_hint
        order = orders.most_common(1)[0][0] if orders else "dmy" if decimal == "," else ""
        guesses |= {name: guess(name, decimal, order) for name in open_columns}
    return guesses


def guess_column_kind(column: pd.Series[Any], decimal_hint: str = "", order_hint: str = "") -> KindGuess:
    """Guess how a column is best encoded. The hints are the decimal mark and order of dates in other columns."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return KindGuess("date", "dates")
    if is_numeric_column(column):
        return _guess_kind_of_numbers(column)
    if does_first_filled_cell_hold_list(column):
        first: Any = column.at[column.first_valid_index()]
        return KindGuess("vector", f"a list of {len(first):,} numbers per node")
    texts = to_clean_texts_or_empty(column)
    texts = texts[texts != ""]
    if not len(texts):
        return KindGuess("none", "empty")
    sample = texts if len(texts) <= SAMPLE_TEXTS else texts.sample(SAMPLE_TEXTS, random_state=0)
    if sample.str.fullmatch(_CODE).all() and sample.str.startswith("0").any() and sample.str.len().nunique() == 1:
        guess = _guess_kind_of_texts(texts, sample)
        return guess._replace(reason=f"{guess.reason}, codes with leading zeros")
    number = guess_number_style(texts, decimal_hint)
    if number.fraction >= MIN_FRACTION:
        values = pd.Series(parse_numbers_or_nan(to_clean_texts_or_empty(column), number.style))
        return _guess_kind_of_numbers(values)._replace(
            style=number.style, doubt=number.doubt, is_evidence=number.is_evidence
        )
    date = guess_date_style(texts, order_hint)
    if date.fraction >= MIN_FRACTION:
        return KindGuess("date", "dates", date.style, date.doubt, date.is_evidence)
    guess = _guess_kind_of_texts(texts, sample)
    if len(units := list_units_or_empty(texts)) > 1 and guess.kind != "category":
        guess = KindGuess("none", f"numbers in several units ({', '.join(units)})")
    return guess._replace(doubt=_describe_unused_numbers_or_empty(texts, number, date, guess.kind, units))


def _guess_style_for_given_kind(
    column: pd.Series[Any], kind: str, decimal_hint: str = "", order_hint: str = ""
) -> KindGuess:
    """The style of a column whose kind is given."""
    guess = KindGuess(kind, "as given")
    if kind == "number" and not is_numeric_column(column):
        found = guess_number_style(to_clean_texts_or_empty(column), decimal_hint)
    elif kind == "date" and not pd.api.types.is_datetime64_any_dtype(column.dtype):
        found = guess_date_style(_format_cells_for_date_parsing(column), order_hint)
    else:
        return guess
    return guess._replace(style=found.style, doubt=found.doubt, is_evidence=found.is_evidence)


def _describe_unused_numbers_or_empty(
    texts: pd.Series[Any], number: StyleGuess, date: StyleGuess, kind: str, units: list[str]
) -> str:
    """Say so where most cells are numbers or dates, and yet the column is not taken for such."""
    found, noun = max((number, "numbers"), (date, "dates"), key=lambda pair: pair[0].fraction)
    taken = "left out" if kind == "none" else f"taken for a {kind}"
    if len(units) > 1:
        return f"its numbers are in several units ({', '.join(units)}), so it is {taken}; convert them to one"
    is_code = kind == "category" and texts.nunique() <= min(MAX_CODES, len(texts) / 2)
    if found.fraction < 0.5 or is_code:
        return ""
    parse = parse_numbers_or_nan if noun == "numbers" else parse_dates_as_days
    others = texts[np.isnan(parse(texts, found.style))].head(1).map(quote_cell_for_message)
    return (
        f"{found.fraction:.0%} of its values are {noun}, but others{' such as '.join(['', *others])} are not, so it is "
        f"{taken}; leave such cells empty"
    )


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
    if known.min() > 19000000 and known.max() < 21000000 and len(known) >= 5:  # 20240131
        texts = _format_cells_for_date_parsing(pd.Series(known))
        if not np.isnan(parse_dates_as_days(texts, PLAIN)).any():
            return KindGuess("date", "dates")
    return KindGuess("number", "numbers")


def _guess_kind_of_texts(texts: pd.Series[Any], sample: pd.Series[Any]) -> KindGuess:
    counts = texts.value_counts()
    different, rows = len(counts), len(texts)
    words = float((sample.str.count(r"\s+") + 1 + sample.str.count(f"[{UNSPACED}]") / 2).mean())
    if different == 1:
        return KindGuess("none", "the same value everywhere")
    if words >= 4 and different > 0.2 * rows:
        return KindGuess("text", f"{words:.0f} words per node on average")
    if different <= max(20, min(200, rows // 5)) and different < 0.9 * rows:
        return KindGuess("category", f"{different:,} different values")
    if words >= 2:
        return KindGuess("text", f"{words:.1f} words per node on average")
    if counts[counts > 1].sum() < MIN_REPEATED_FRACTION * rows:
        return KindGuess("none", "nearly every node has a value of its own, as names and addresses do")
    return KindGuess("category", f"{different:,} different values")


def _has_fractions(column: pd.Series[Any]) -> bool:
    """Whether a column was read as numbers with decimal points."""
    return column.dtype.kind == "f" and bool((column % 1 > 0).any())


def is_numeric_column(column: pd.Series[Any]) -> bool:
    """Whether a column was read as numbers."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype)


def compute_missing_mask(column: pd.Series[Any]) -> np.ndarray:
    """Which cells are empty, or hold a word for a missing value."""
    if column.dtype.kind in "biufmM" or does_first_filled_cell_hold_list(column):
        return column.isna().to_numpy(bool)
    return to_clean_texts_or_empty(column).eq("").to_numpy(bool)


def does_first_filled_cell_hold_list(column: pd.Series[Any]) -> bool:
    """Whether the first cell that is filled holds several values."""
    first = column.first_valid_index()
    return first is not None and isinstance(column.at[first], list | tuple | np.ndarray)


class ParsedColumn(NamedTuple):
    """Numbers, or days since 1970, NaN where there are none; which filled cells are wrong; and how many are filled."""

    values: np.ndarray
    is_wrong: np.ndarray
    num_filled: int
    style: ValueStyle


def parse_number_or_date_column(column: pd.Series[Any], kind: str, style: ValueStyle | None = None) -> ParsedColumn:
    """Read a column of numbers or dates in this style, or in its own where the style does not fit."""
    if (values := _convert_typed_column_or_none(column, kind, style)) is not None:
        return ParsedColumn(values, np.zeros(len(column), bool), int(column.notna().sum()), style or PLAIN)
    guess, parse = (
        (guess_date_style, parse_dates_as_days) if kind == "date" else (guess_number_style, parse_numbers_or_nan)
    )
    texts = _format_cells_for_date_parsing(column) if kind == "date" else to_clean_texts_or_empty(column)

    def read(style: ValueStyle) -> ParsedColumn:
        filled = texts.ne("").to_numpy() & ~texts.isin(style.placeholders).to_numpy()
        values = parse(texts, style)
        return ParsedColumn(values, filled & np.isnan(values), int(filled.sum()), style)

    parsed = read(style or guess(texts).style)
    if style is not None and has_too_many_wrong_cells(parsed) and (other := guess(texts)).fraction >= MIN_FRACTION:
        return read(other.style)
    return parsed


def has_too_many_wrong_cells(parsed: ParsedColumn) -> bool:
    """Whether a column is not what it was taken for."""
    return bool(parsed.is_wrong.sum() > (1 - MIN_FRACTION) * parsed.num_filled)


def _convert_typed_column_or_none(column: pd.Series[Any], kind: str, style: ValueStyle | None) -> np.ndarray | None:
    """A column that was read as numbers or dates already; None if it is text."""
    if kind == "date" and pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = pd.to_datetime(column, utc=True)
        return ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(np.float64)
    if kind == "number" and is_numeric_column(column):
        return column.to_numpy(np.float64, na_value=np.nan) * (0.01 if style and style.unit == "%" else 1.0)
    return None


def format_first_wrong_value(column: pd.Series[Any], is_wrong: np.ndarray, first_row_number: int) -> str:
    """The first wrong value and its row, where the rows begin with number ``first_row_number``."""
    row = int(is_wrong.argmax())
    return f"row {first_row_number + row:,}: {quote_cell_for_message(column.iloc[row])}"


def replace_infinite_by_nan_and_clip(values: np.ndarray) -> np.ndarray:
    """Infinite values count as missing, and squares of the others stay finite."""
    return np.clip(np.where(np.isinf(values), np.nan, values), -1e100, 1e100)


def _format_cells_for_date_parsing(column: pd.Series[Any]) -> pd.Series[Any]:
    if is_numeric_column(column):  # 20240131
        column = column.map("{:.0f}".format).where(np.isfinite(column.astype(float)))
    return to_clean_texts_or_empty(column)


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
    return replace_infinite_by_nan_and_clip(matrix)
