"""How people write numbers and dates. The style is decided for a whole column, then all its cells are read by it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

MISSING_WORDS = (
    *("", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "--", ".", "..", "–", "—", "n.a.", "n.a", "k.a.", "nat"),
    *("<na>", "#n/a", "#na", "#null!", "#value!", "#div/0!", "#ref!", "#num!", "(null)", "\\n", "missing"),
    *("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "∞", "-∞"),  # which no network can learn from
)
_MISSING = frozenset(MISSING_WORDS)
MIN_FRACTION = 0.95  # of the filled cells of a column of numbers or dates; the others count as missing, with a warning
SAMPLE_VALUES = 20_000  # different values that decide
MAX_PLACEHOLDERS = 3  # repeated words that stand for missing numbers
_NAMED_CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|US\\$|R\\$|A\\$|C\\$|Rs\\.?|kr\\.?|zł"
_CURRENCY = rf"[$€£¥₹₽₩₺₪₴฿]|{_NAMED_CURRENCIES}"
_MAGNITUDES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "mn": 1e6, "Mio": 1e6, "bn": 1e9, "Mrd": 1e9}
_USUAL_UNIT = re.compile(rf"{_CURRENCY}|[mck]?m|[mk]?g|t|m?l|m?s|min|h|days?|years?", re.IGNORECASE)
_SCALES = {"%": 0.01, "‰": 0.001}
_MAGNITUDE = rf"Mio|Mrd|mn|bn|[kKMGT](?=\s*(?:m|g|l|B|b|W|Wh|Hz|V|J|Pa|cal|{_CURRENCY})?\s*\)?$)"
_SHAPE = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-]?)\s*(?P<prefix>{_CURRENCY})?\s*(?P<inner>[+-]?)"
    r"(?P<body>[0-9][0-9., ']*|[.,][0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?\s*"
    rf"(?P<magnitude>{_MAGNITUDE})?\.?\s*(?P<suffix>{_CURRENCY}|[%‰°][a-zA-Z]?|[^\W\d_][^\d,;:()\-]{{0,11}})?\s*"
    r"(?P<minus>-)?\s*(?P<close>\))?"
)
# Groups of three digits, or as in India.
_BODIES = {
    mark: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}([{other} '])[0-9]{{3}}(?:\1[0-9]{{3}})*"
        rf"|[1-9][0-9]?(?:[{other}][0-9]{{2}})+[{other}][0-9]{{3}})(?:[{mark}][0-9]*)?|[{mark}][0-9]+"
    )
    for mark, other in ((".", ","), (",", "."))
}


class ValueStyle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the cells of a column are written.

    ``decimal`` is the decimal mark of numbers, ``unit`` what stands before or behind them, ``order`` that of day, month
    and year in dates (``"ymd"``, ``"dmy"`` or ``"mdy"``). ``placeholders`` are words for a missing value.
    """

    decimal: str = "."
    unit: str = ""
    order: str = "ymd"
    placeholders: tuple[str, ...] = ()

    def describe(self, column_kind: str) -> str:
        """What is not self-evident, for people; empty if nothing is."""
        parts = [{"dmy": "day first", "mdy": "month first"}.get(self.order, "") if column_kind == "date" else ""]
        parts += ["decimal commas"] if self.decimal == "," else []
        parts += [f"in {self.unit}"] if self.unit else []
        parts += [f"'{word}' as missing" for word in self.placeholders]
        return ", ".join(part for part in parts if part)


PLAIN = ValueStyle()


class StyleGuess(NamedTuple):
    """A style, the share of the filled cells that it reads, and what to tell people if another one reads them too."""

    style: ValueStyle
    fraction: float
    doubt: str = ""
    is_evidence: bool = False  # for other columns of the table: written in this style and no other


def to_clean_texts_or_empty(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts of plain characters without blanks or quotes around them; empty where a value is missing."""
    texts = [
        "" if missing else _clean_text(text)
        for text, missing in zip(column.astype(str), column.isna().to_numpy(), strict=True)
    ]
    return pd.Series(texts, column.index, dtype=object)


def _clean_text(text: str) -> str:
    text = text.strip(" \t\r\n'\"\u00a0\u202f")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("’", "'").strip()
    return "" if text.lower() in _MISSING else text


class NumberText(NamedTuple):
    """A text that has the shape of a number. Values are NaN if a decimal point, or comma, is not how it is written."""

    value_by_decimal_mark: dict[str, float]  # "." and ","
    has_mark: bool  # a point or a comma
    unit: str
    magnitude: str
    written_unit: str  # with a magnitude that stands before it


@lru_cache(maxsize=1 << 16)
def _parse_number_text_or_none(text: str) -> NumberText | None:
    match = _SHAPE.fullmatch(text)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    body, magnitude = match["body"].rstrip(" '"), match["magnitude"] or ""
    is_negative = match["open"] or match["minus"] or match["sign"] == "-" or match["inner"] == "-"
    scale = _MAGNITUDES.get(magnitude, 1.0) * (-1.0 if is_negative else 1.0)
    values = {}
    for mark, other in ((".", ","), (",", ".")):
        digits = body.translate(str.maketrans(mark, ".", f" '{other}")) + (match["exponent"] or "")
        values[mark] = float(digits) * scale if _BODIES[mark].fullmatch(body) else math.nan
    unit = (match["prefix"] or match["suffix"] or "").strip(" .")
    unit = unit if len(unit) < 4 else unit.rstrip("s")  # 1 day, 2 days
    has_mark = "." in body or "," in body
    return NumberText(values, has_mark, unit, magnitude, (magnitude if match["suffix"] else "") + unit)


def guess_number_style(texts: pd.Series[Any], decimal_hint: str = "") -> StyleGuess:
    """The style of texts from :func:`to_clean_texts_or_empty`. ``decimal_hint``: the mark in the rest of the table."""
    counts = _count_sampled_texts(texts)
    parsed = {text: number for text in counts.index if (number := _parse_number_text_or_none(text)) is not None}
    sizes = {text: int(counts[text]) for text in parsed}
    readable = {
        mark: [text for text, number in parsed.items() if not math.isnan(number.value_by_decimal_mark[mark])]
        for mark in ".,"
    }
    totals = {mark: sum(sizes[text] for text in readable[mark]) for mark in ".,"}
    marked = [text for text in readable["."] if parsed[text].has_mark]
    is_open = totals["."] == totals[","] and bool(marked)
    decimal = (decimal_hint or ".") if is_open else "." if totals["."] >= totals[","] else ","
    good = readable[decimal]
    units = Counter[str]()
    for text in good:
        units[parsed[text].unit] += sizes[text]
    unit = next((name for name, size in units.items() if name and 2 * size > totals[decimal]), "")
    named = [name for name in units if name]
    if not unit and len(named) == 1 and _USUAL_UNIT.fullmatch(named[0]):  # 1.75 m beside 1.82, but not 12a beside 14
        unit = named[0]
    good = [text for text in good if parsed[text].unit in ("", unit)]
    if unit:  # kg, where g is the unit
        written = Counter[str]()
        for text in good:
            written[parsed[text].written_unit] += sizes[text] if parsed[text].unit else 0
        unit = max(sorted(written), key=lambda name: written[name])
    fraction = sum(sizes[text] for text in good) / max(int(counts.sum()), 1)
    doubt = ""
    if is_open and not decimal_hint:
        doubt = f"'{marked[0]}' is read as {parsed[marked[0]].value_by_decimal_mark['.']:.12g}"
    style = ValueStyle(decimal, unit)
    style, fraction = _add_placeholders_and_update_fraction(style, fraction, counts, counts.index.isin(good))
    return StyleGuess(style, fraction, doubt, any(parsed[text].has_mark for text in good) and not is_open)


def _add_placeholders_and_update_fraction(
    style: ValueStyle, fraction: float, counts: pd.Series[Any], is_number: np.ndarray
) -> tuple[ValueStyle, float]:
    """Words that come back among many different numbers stand for missing ones."""
    words = counts[~is_number]
    is_repeated = 0 < len(words) <= MAX_PLACEHOLDERS and int(words.min()) > 1
    if 0.5 <= fraction < MIN_FRACTION and is_repeated and int(is_number.sum()) > 10:
        return msgspec.structs.replace(style, placeholders=tuple(map(str, words.index))), 1.0
    return style, fraction


def list_units_or_empty(texts: pd.Series[Any]) -> list[str]:
    """The units in a column of which most cells are a number and a unit; empty if it is no such column."""
    counts = _count_sampled_texts(texts)
    units = {text: n.magnitude + n.unit for text in counts.index if (n := _parse_number_text_or_none(text)) is not None}
    filled = [text for text, unit in units.items() if unit]
    names = list(dict.fromkeys(units[text] for text in filled))
    return names if len(names) <= 5 and counts[filled].sum() >= MIN_FRACTION * counts.sum() else []


def parse_numbers_or_nan(texts: pd.Series[Any], style: ValueStyle) -> np.ndarray:
    """Texts as numbers, NaN where the style does not read them. A cell without a unit has that of the column."""
    if style.placeholders:
        texts = texts.mask(texts.isin(style.placeholders), "")
    values = np.full(len(texts), np.nan)
    if style.decimal == "." and not style.unit:
        values = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64, copy=True, na_value=np.nan)
    rest = np.isnan(values) & texts.ne("").to_numpy()
    if rest.any():
        codes, different = pd.factorize(texts[rest])
        of_unit = _parse_number_text_or_none(f"1 {style.unit}")
        unit, magnitude = ("", "") if of_unit is None else (of_unit.unit, of_unit.magnitude)

        def read(text: str) -> float:
            number = _parse_number_text_or_none(text)
            if number is None or number.unit not in ("", unit):
                return math.nan
            return number.value_by_decimal_mark[style.decimal] / (
                _MAGNITUDES.get(magnitude, 1.0) if number.unit else 1.0
            )

        values[rest] = np.array([read(text) for text in different])[codes] * _SCALES.get(style.unit, 1.0)
    return values


def _count_sampled_texts(texts: pd.Series[Any]) -> pd.Series[Any]:
    """How often each text of a sample occurs, without empty ones."""
    filled = texts[texts != ""]
    filled = filled if len(filled) <= SAMPLE_VALUES else filled.sample(SAMPLE_VALUES, random_state=0)
    return filled.value_counts(sort=False)


# ---- dates ----

_MONTHS = (
    *("jan ene gen", "feb fev", "mar mrz mrt", "apr avr abr", "may mai mei mag", "jun juin giu"),
    *("jul juil lug", "aug aou ago", "sep set", "oct okt ott out", "nov", "dec dez dic"),
)
_MONTH_NUMBERS = {word: i for i, words in enumerate(_MONTHS, start=1) for word in words.split()}
_TIME = (
    r"(?:(?:^|[T ,]+)(?P<hour>\d{1,3}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[aApP]\.?[mM]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,\s+)?"
_NAME = r"(?P<month>[^\W\d_]{3,10})\.?"
# The parts a, b, c are in the order of the style, year, month and day have their names.
_DATES = tuple(
    re.compile(_WEEKDAY + pattern + _TIME)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})-(?P<month>\d{2})",
        r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{2})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[. -]*(?:de )?{_NAME}[,. -]*(?:de )?(?P<year>\d{{4}}|\d{{2}})",
        rf"{_NAME} *(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? +(?P<year>\d{{4}})",
        rf"{_NAME}[ -]*(?P<year>\d{{4}})",
        "",  # a time of day
    )
)
_DATE_PARTS = ("year", "month", "day", "a", "b", "c", "mark", "hour", "minute", "second", "half", "zone")


def guess_date_style(texts: pd.Series[Any], order_hint: str = "") -> StyleGuess:
    """Order of day, month and year in texts of :func:`to_clean_texts_or_empty`; ``order_hint``: that of the table."""
    counts = _count_sampled_texts(texts)
    parts = _split_date_texts_into_parts(counts.index)
    has_open_order = parts["a"].notna().to_numpy()
    if not (has_open_order.any() or parts[["year", "hour"]].notna().any(axis=None)):
        return StyleGuess(PLAIN, 0.0)
    fractions = {
        order: float(counts.to_numpy()[~np.isnan(_combine_parts_into_days(parts, order))].sum() / max(counts.sum(), 1))
        for order in (("dmy", "mdy", "ymd") if has_open_order.any() else ("ymd",))
    }
    if not has_open_order.any():
        return StyleGuess(PLAIN, fractions["ymd"])
    best = max(fractions.values())
    orders = [order for order, fraction in fractions.items() if fraction == best and (order != "ymd" or best == 0)]
    orders = orders or ["ymd"]
    has_dots = not (parts["mark"].isin(["/", "-"]) & has_open_order).any()  # where people write dots, days come first
    order = orders[0] if len(orders) == 1 else "dmy" if has_dots else order_hint or "mdy"
    doubt = ""
    if len(orders) > 1 and not order_hint and not has_dots:
        example = str(counts.index[has_open_order][0])
        doubt = f"'{example}' is read with the {'day' if order == 'dmy' else 'month'} first"
    return StyleGuess(ValueStyle(order=order), fractions[order], doubt, len(orders) == 1)


def parse_dates_as_days(texts: pd.Series[Any], style: ValueStyle) -> np.ndarray:
    """Dates as days since 1970, a time of day as a part of a day; NaN where the style does not read them."""
    codes, different = pd.factorize(texts)
    return _combine_parts_into_days(_split_date_texts_into_parts(different), style.order)[codes]


def _split_date_texts_into_parts(texts: Any) -> pd.DataFrame:
    rows = []
    for text in texts:
        match = next((match for date in _DATES if text and (match := date.fullmatch(text))), None)
        rows.append({} if match is None else match.groupdict())
    return pd.DataFrame(rows, index=range(len(rows)), columns=list(_DATE_PARTS), dtype=object)


def _combine_parts_into_days(parts: pd.DataFrame, order: str) -> np.ndarray:
    names = dict(zip(order, ("a", "b", "c"), strict=True))
    year, day = (_to_floats_or_nan(parts[name].fillna(parts[names[name[0]]])) for name in ("year", "day"))
    month = _parse_month_numbers(parts["month"].fillna(parts[names["m"]]))
    is_short = parts["year"].fillna(parts[names["y"]]).str.len() == 2
    year = np.where(is_short, year + np.where(year < 70, 2000, 1900), year)
    has_date, hour = ~np.isnan(year), _to_floats_or_nan(parts["hour"])
    day = np.where(has_date & np.isnan(day) & parts["a"].isna(), 1, day)
    is_valid = has_date & (month >= 1) & (month <= 12) & (day >= 1) & (year > 0)
    months = np.where(is_valid, (year - 1970) * 12 + month - 1, 0).astype(np.int64).astype("datetime64[M]")
    dates = months.astype("datetime64[D]") + np.where(is_valid, day - 1, 0).astype(np.int64)
    is_valid &= dates.astype("datetime64[M]") == months  # not the 31st of June
    half = parts["half"].fillna("").str[:1].str.lower()
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    seconds = hour * 3600 + _to_floats_or_nan(parts["minute"]) * 60
    seconds = (
        seconds
        + np.nan_to_num(_to_floats_or_nan(parts["second"].str.replace(",", ".")))
        - _parse_utc_offset_seconds(parts["zone"])
    )
    days = np.where(is_valid, dates.astype(np.int64) + np.nan_to_num(seconds) / 86400, np.nan)
    return np.where(has_date | np.isnan(hour), days, seconds / 86400)


def _to_floats_or_nan(column: pd.Series[Any]) -> np.ndarray:
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _parse_month_numbers(column: pd.Series[Any]) -> np.ndarray:
    """Months by number, or by name in several languages."""
    names = column.fillna("").str.lower().str.normalize("NFKD").str.encode("ascii", "ignore").str.decode("ascii")
    by_name = names.str[:4].map(_MONTH_NUMBERS).fillna(names.str[:3].map(_MONTH_NUMBERS))
    return np.where(by_name.notna(), by_name.astype(float), _to_floats_or_nan(column))


def _parse_utc_offset_seconds(column: pd.Series[Any]) -> np.ndarray:
    digits = column.fillna("").str.replace(":", "").str.extract(r"([+-])(\d{2})(\d{2})")
    offset = _to_floats_or_nan(digits[1]) * 3600 + _to_floats_or_nan(digits[2]) * 60
    return np.nan_to_num(np.where(digits[0] == "-", -offset, offset))
