"""Columns about labels: the class, whether it was verified, and who gave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError, warn_user
from ...core.text import format_count
from ..tables.cells import MAX_CLASSES, factorize_labels, quote_cell_for_message

NO_LABEL = ("", "-1")
MANY_CLASSES = 20  # from here on, classes with few labels each look like something else
FEW_LABELS = 5
_MISSING_WORDS = {"nan", "null", "n/a", "na", "none", "?", "-", "unknown", "unlabelled", "unlabeled"}
_FLAG_VALUES = {"1": 1, "true": 1, "yes": 1, "y": 1, "t": 1, "0": 0, "false": 0, "no": 0, "n": 0, "f": 0, "": 0}


def parse_labels_and_class_names(
    column: pd.Series[Any], title: str, model_classes: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str]]:
    """Given labels as class numbers, -1 where there is none, and the names of the classes.

    Names are in alphabetical order, or in numerical order if all are integers. With the classes of a trained model,
    labels of other classes count as none.
    """
    codes, values = _encode_texts_as_codes(column, title)
    names = sort_class_names(values)
    num_labeled = int((np.array([*(value not in NO_LABEL for value in values), False])[codes]).sum())
    if model_classes is None:
        check_are_plausible_classes_and_warn(names, num_labeled, title)
    else:
        _warn_if_model_lacks_classes(names, model_classes, title)
        names = list(model_classes)
    return _map_codes_to_positions(codes, values, names), names


def check_label_numbers_and_map_to_model_classes(
    values: np.ndarray, names: list[str], title: str, model_classes: Sequence[str] | None = None
) -> np.ndarray:
    """Labels that are positions in a list of names, as in a `Data`, or in that of a trained model."""
    if bool(((values < -1) | (values >= len(names)) | (values != np.trunc(values))).any()):
        raise DataError(f"{title}: labels must be -1 to {len(names) - 1}, as there are {len(names)} class names")
    y = values.astype(np.int64)
    if model_classes is None:
        _warn_if_class_names_similar(names, title)
        return y
    _warn_if_model_lacks_classes([names[i] for i in np.unique(y[y >= 0])], model_classes, title)
    return _map_codes_to_positions(y, names, model_classes)


def _map_codes_to_positions(codes: np.ndarray, values: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Codes of values as positions of these values in `names`, -1 for those that are not there and for -1."""
    positions = {name: i for i, name in enumerate(names)}
    return np.array([*(positions.get(value, -1) for value in values), -1])[codes]


def _warn_if_model_lacks_classes(names: list[str], model_classes: Sequence[str], title: str) -> None:
    if new := [name for name in names if name not in model_classes]:
        noun = "class" if len(new) == 1 else "classes"
        warn_user(f"{title}: the model has no {noun} {_format_names(new)}; taken for no label")


def _warn_if_class_names_similar(names: list[str], title: str) -> None:
    """Warn about classes that a person would read as one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault("".join(name.split()).casefold(), []).append(name)
    if similar := [name for group in groups.values() if len(group) > 1 for name in group]:
        listing = _format_names(similar)
        warn_user(f"{title}: the classes {listing} differ in case or blanks only; write them alike if they are one")


def sort_class_names(values: list[str]) -> list[str]:
    """The classes among the distinct values of a column: alphabetically, or by number if all are integers."""
    return sorted({value for value in values if value not in NO_LABEL}, key=_choose_int_or_text_sort_key(values))


def check_are_plausible_classes_and_warn(names: list[str], num_labeled: int, title: str) -> None:
    """Refuse what cannot be classes, and say what may be none."""
    if not names:
        raise DataError(f"{title} has no label at all; is it the right column?")
    nodes = format_count(num_labeled, "labeled node")
    if len(names) > MAX_CLASSES or len(names) > max(num_labeled / 2, 20):
        raise DataError(f"{title} has {len(names):,} different values on {nodes}; is it the label?")
    if len(names) > MANY_CLASSES and num_labeled < FEW_LABELS * len(names):
        warn_user(
            f"{title}: {len(names):,} classes on {nodes}, fewer than {FEW_LABELS} labels each on average; is it the "
            "label, or a column of ids?"
        )
    if suspicious := [name for name in names if name.lower() in _MISSING_WORDS]:
        warn_user(
            f"{title}: {_format_names(suspicious)} taken for a class; leave the cell empty where there is no label"
        )
    _warn_if_class_names_similar(names, title)


def _choose_int_or_text_sort_key(values: list[str]) -> Any:
    are_integers = all(
        value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 19 for value in values if value
    )
    return int if are_integers else str


def parse_trusted_mask(column: pd.Series[Any], title: str, first_row_number: int) -> np.ndarray:
    """Which labels were verified. ``first_row_number`` is the number of the first row."""
    codes, values = _encode_texts_as_codes(column, title)
    flags = np.array([*(_FLAG_VALUES.get(value.lower(), 2) for value in values), 0])[codes]
    if flags.max(initial=0) > 1:
        row = int(flags.argmax())
        raise DataError(
            f"{title}, row {first_row_number + row:,}: 1 or 0, yes or no expected, "
            f"not {quote_cell_for_message(column.iloc[row])}"
        )
    return flags.astype(bool)


def parse_sources_and_names(column: pd.Series[Any], title: str) -> tuple[np.ndarray, list[str]]:
    """Who gave each label, as numbers, -1 where nobody is named; and the names in alphabetical order."""
    codes, values = _encode_texts_as_codes(column, title)
    names = sorted({value for value in values if value})
    if len(names) > MAX_CLASSES:
        raise DataError(f"{title} has {len(names):,} different values; does it say who gave a label?")
    return _map_codes_to_positions(codes, values, names), names


def _encode_texts_as_codes(column: pd.Series[Any], title: str) -> tuple[np.ndarray, list[str]]:
    try:
        return factorize_labels(column)
    except TypeError:  # lists
        raise DataError(f"{title} holds lists, and one value per node is expected") from None


def _format_names(names: list[str], max_names: int = 5) -> str:
    rest = f" and {len(names) - max_names:,} more" if len(names) > max_names else ""
    return ", ".join(map(quote_cell_for_message, names[:max_names])) + rest
