"""Columns that say something about labels: which class, whether verified, who gave it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ...core.errors import DataError, PignnWarning
from ...core.text import pluralize
from ..tables.cells import MAX_CLASSES, encode_labels, format_cell

NONE = ("", "-1")
MANY, FEW = 20, 5  # classes, and labels of each, from which on a column looks like something else
_DOUBTFUL = {"nan", "null", "n/a", "na", "none", "?", "-", "unknown", "unlabelled", "unlabeled"}
_BITS = {"1": 1, "true": 1, "yes": 1, "y": 1, "t": 1, "0": 0, "false": 0, "no": 0, "n": 0, "f": 0, "": 0}


def classes(column: pd.Series[Any], title: str, known: Sequence[str] | None = None) -> tuple[Tensor, list[str]]:
    """Given labels as numbers, -1 where there is none, and the names of the classes.

    Names are in alphabetical order, or by size if all are whole numbers; with `known` those of a model: labels that
    it does not know count as none.
    """
    codes, values = _values(column, title)
    found = sorted({value for value in values if value not in NONE}, key=_rank(values))
    labelled = int((np.array([*(value not in NONE for value in values), False])[codes]).sum())
    if known is None:
        _check(found, labelled, title)
        names = found
    else:
        names = list(known)
        _say_what_is_new(found, names, title)
    place = {name: i for i, name in enumerate(names)}
    numbers = np.array([*(place.get(value, -1) for value in values), -1])
    return torch.from_numpy(numbers[codes]), names


def numbered(values: np.ndarray, names: list[str], title: str, known: Sequence[str] | None = None) -> Tensor:
    """Labels that are positions in a list of names, as in a `Data`; with `known` as positions among a model's."""
    if bool(((values < -1) | (values >= len(names)) | (values != np.trunc(values))).any()):
        raise DataError(f"{title}: labels must be -1 to {len(names) - 1}, as there are {len(names)} class names")
    y = values.astype(np.int64)
    if known is None:
        _say_what_is_alike(names, title)
        return torch.from_numpy(y)
    _say_what_is_new([names[i] for i in np.unique(y[y >= 0])], known, title)
    place = {name: i for i, name in enumerate(known)}
    return torch.from_numpy(np.array([*(place.get(name, -1) for name in names), -1])[y])


def _say_what_is_new(found: list[str], known: Sequence[str], title: str) -> None:
    if new := [name for name in found if name not in known]:
        _warn(f"{title}: the model has no {'class' if len(new) == 1 else 'classes'} {_some(new)}; taken for no label")


def _say_what_is_alike(names: list[str], title: str) -> None:
    """Classes that a person would read as one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault("".join(name.split()).casefold(), []).append(name)
    if alike := [name for group in groups.values() if len(group) > 1 for name in group]:
        _warn(f"{title}: the classes {_some(alike)} differ in case or blanks only; write them alike if they are one")


def _check(found: list[str], labelled: int, title: str) -> None:
    if not found:
        raise DataError(f"{title} has no label at all; is it the right column?")
    if len(found) > MAX_CLASSES or len(found) > max(labelled / 2, 20):
        raise DataError(
            f"{title} has {len(found):,} different values on {pluralize(labelled, 'labelled node')}; is it the label?"
        )
    if len(found) > MANY and labelled < FEW * len(found):
        _warn(
            f"{title}: {len(found):,} classes on {pluralize(labelled, 'labelled node')}, fewer than {FEW} labels each "
            "on average; is it the label, or a column of ids?"
        )
    if doubtful := [name for name in found if name.lower() in _DOUBTFUL]:
        _warn(f"{title}: {_some(doubtful)} taken for a class; leave the cell empty where there is no label")
    _say_what_is_alike(found, title)


def _rank(values: list[str]) -> Any:
    whole = all(
        value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 19 for value in values if value
    )
    return int if whole else str


def trusted(column: pd.Series[Any], title: str, first: int) -> Tensor:
    """Which labels were verified; `first` is the number of the first row."""
    codes, values = _values(column, title)
    bits = np.array([*(_BITS.get(value.lower(), 2) for value in values), 0])[codes]
    if bits.max(initial=0) > 1:
        row = int(bits.argmax())
        raise DataError(
            f"{title}, row {first + row:,}: 1 or 0, yes or no expected, not {format_cell(column.iloc[row])}"
        )
    return torch.from_numpy(bits.astype(bool))


def sources(column: pd.Series[Any], title: str) -> tuple[Tensor, list[str]]:
    """Who gave each label, as numbers, -1 where that is not said; and their names in alphabetical order."""
    codes, values = _values(column, title)
    names = sorted({value for value in values if value})
    if len(names) > MAX_CLASSES:
        raise DataError(f"{title} has {len(names):,} different values; does it say who gave a label?")
    place = {name: i for i, name in enumerate(names)}
    return torch.from_numpy(np.array([*(place.get(value, -1) for value in values), -1])[codes]), names


def _values(column: pd.Series[Any], title: str) -> tuple[np.ndarray, list[str]]:
    try:
        return encode_labels(column)
    except TypeError:  # lists
        raise DataError(f"{title} holds lists, and one value a node is expected") from None


def _some(names: list[str], most: int = 5) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(format_cell, names[:most])) + rest


def _warn(message: str) -> None:
    warnings.warn(message, PignnWarning, stacklevel=4)
