"""Features, labels and masks on their way into a store."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError
from ...core.text import pluralize
from ..checks import MAX_MAGNITUDE
from ..tables.arrays import ArrayOrFile, load_array
from ..tables.cells import MAX_CLASSES, encode_labels, format_cell, is_number_text, to_numbers
from ..tables.table import Table
from .output import Bar, File, write

MOST_NODES = 2**31 - 1  # an entry (row, column, direction) is one integer of 64 bits
_IDS = ("id", "node", "node_id", "")  # the last is how pandas writes the numbers of rows
_BITS = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}


def feature_columns(
    table: Table, label: str | None, masks: dict[str, str], wanted: Sequence[str] | None, use: bool
) -> list[str]:
    """Those columns of the node file that are features."""
    if not table.has_header:
        raise DataError(f"{table.name} needs a header: a first row with the names of its columns")
    taken = {table.check_column(name) for name in (label, *masks.values()) if name is not None}
    if not use:
        if wanted:
            raise ConfigError("features are given twice: as an array (features) and as columns of the node file")
        return []
    if wanted is None:
        return [name for name in table.columns if name not in taken and name.lower() not in _IDS]
    chosen = []
    for pattern in wanted:
        found = [name for name in table.columns if fnmatchcase(name, pattern) and name not in taken]
        chosen += found or [table.check_column(pattern)]
        if not found:
            raise ConfigError(f"column '{pattern}' is a label or a mask, not a feature")
    return list(dict.fromkeys(chosen))


@dataclass
class Nodes:
    """What belongs to the nodes, one file after the other."""

    folder: Path
    memory: int
    bar: Bar
    features: int = 0
    files: list[File] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)  # where it was told, how many nodes
    classes: dict[str, int] = field(default_factory=dict)  # label as text → number in order of appearance
    label_title: str = ""

    def count(self, told: int | None) -> int:
        """The number of nodes, if everybody agrees."""
        if told is not None:
            self.lengths["num_nodes"] = told
        if not self.lengths:
            raise ConfigError("how many nodes are there? give features, a node file, labels or num_nodes")
        name, nodes = next(iter(self.lengths.items()))
        for other, length in self.lengths.items():
            if length != nodes:
                raise DataError(f"{name} has {pluralize(nodes, 'node')}, {other} has {length:,}; they must be the same")
        if nodes < 1:
            raise DataError(f"{name} has no nodes")
        if nodes > MOST_NODES:
            raise DataError(f"{name} has {nodes:,} nodes; a store holds {MOST_NODES:,} at most")
        return nodes

    def read_table(self, table: Table, columns: list[str], label: str | None, masks: dict[str, str]) -> None:
        """Features, labels and masks that are columns of a node file."""
        self.bar.step("nodes")
        title, done = table.name, 0
        text = [*([label] if label is not None else []), *masks.values()]
        used = {*columns, *text}
        ids = next((name for name in table.columns if name.lower() in _IDS and name not in used), None)
        with contextlib.ExitStack() as stack:
            x = stack.enter_context(self._file("x.f32")) if columns else None
            y = stack.enter_context(open(self._codes, "wb")) if label is not None else None
            files = {name: stack.enter_context(self._file(f"{name}.u8")) for name in masks}
            for frame, first, share in table.iter_chunks(self._rows(len(table.columns)), text):
                if ids is not None:
                    _check_ids(frame[ids], title, first, table.first_row + first)
                if x is not None:
                    x.write(_columns(frame[columns], title, first))
                if y is not None:
                    write(y, self._labels(frame[label], f"{title}, column '{label}'"))
                for name, file in files.items():
                    file.write(_mask(frame[masks[name]], f"{title}, column '{masks[name]}'", first))
                done += len(frame)
                self.bar.at(share)
        self.features = len(columns)
        self.lengths[title] = done

    def read_features(self, features: ArrayOrFile) -> None:
        """Features that are an array."""
        title, whole = _named(features, "features")
        if whole.ndim != 2 or whole.dtype.kind not in "biuf":
            raise DataError(
                f"{title} must be numbers of shape [nodes, features], not {whole.dtype} {list(whole.shape)}"
            )
        if not whole.shape[1]:
            raise DataError(f"{title} has no columns; give every node at least one feature")
        self.lengths[title], self.features = whole.shape
        with self._file("x.f32") as file:
            for first, part in self._slices(features, "features", self.features):
                with np.errstate(over="ignore"):
                    x = part.astype(np.float32)
                if (bad := _unusable(x)) is not None:
                    where = f"node {first + bad[0]}, column {bad[1]}"
                    kind = f"value beyond {MAX_MAGNITUDE:g}" if np.isfinite(x[bad]) else "NaN or infinite value"
                    raise DataError(f"{title} has a {kind} at {where}; replace or drop it")
                file.write(x)

    def read_labels(self, labels: ArrayOrFile) -> None:
        """Labels that are an array."""
        title = self._flat(labels, "labels", "one label a node", "iufU")
        with open(self._codes, "wb") as file:
            for _, part in self._slices(labels, "labels"):
                write(file, self._labels(pd.Series(part.reshape(-1)), title))

    def read_mask(self, name: str, mask: ArrayOrFile) -> None:
        """A mask that is an array."""
        title = self._flat(mask, name, "0 or 1 for each node", "biuf")
        with self._file(f"{name}.u8") as file:
            for first, part in self._slices(mask, name):
                file.write(_mask(pd.Series(part.reshape(-1)), title, first))

    def finish_labels(self) -> tuple[list[str] | None, int]:
        """Write y: labels that are whole numbers keep them, names are numbered by the alphabet."""
        if not self._codes.exists():
            return None, 0
        names, title = list(self.classes), self.label_title
        if not names:
            raise DataError(f"{title} has no label at all; leave it out")
        others = [name for name in names if not re.fullmatch(r"-?[0-9]+", name)]
        if not others:
            codes = [int(name) for name in names]
            if min(codes) < 0:
                raise DataError(f"{title} has the label {min(codes)}; labels are 0, 1, 2, ..., or -1 for none")
            if max(codes) >= max(self.count(None), 1000):
                raise DataError(f"{title}: the largest label is {max(codes)}; number the classes 0, 1, 2, ...")
            class_names = [str(c) for c in range(max(codes) + 1)]
        elif all(map(is_number_text, others)):
            raise DataError(f"{title} has the label {others[0]}; labels are whole numbers from 0, or names")
        else:
            class_names = sorted(names)
            place = {name: i for i, name in enumerate(class_names)}
            codes = [place[name] for name in names]
        final, labelled = np.array([*codes, -1]), 0
        with self._file("y.i64") as file, open(self._codes, "rb") as read:
            while block := read.read(8 * self._rows(4)):
                y = final[np.frombuffer(block, np.int64)]
                labelled += int((y >= 0).sum())
                file.write(y)
        return class_names, labelled

    @property
    def _codes(self) -> Path:
        """Labels by number in order of appearance: what they are is known when all were seen."""
        return self.folder / "work" / "y"

    def _labels(self, column: pd.Series[Any], title: str) -> np.ndarray:
        codes, texts = encode_labels(column)
        known, self.label_title = self.classes, title
        found = [-1 if text in ("", "-1") else known.setdefault(text, len(known)) for text in texts]
        if len(known) > MAX_CLASSES:
            raise DataError(f"{title} has more than {MAX_CLASSES:,} different values; is it the label?")
        return np.array([*found, -1])[codes]

    def _file(self, name: str) -> File:
        self.files.append(File(self.folder / name))
        return self.files[-1]

    def _rows(self, width: int) -> int:
        """Rows of so many numbers that fit into memory, parsing included."""
        return min(max(self.memory // (64 * max(width, 1)), 16), 1 << 21)

    def _flat(self, value: ArrayOrFile, name: str, what: str, kinds: str) -> str:
        """How to call an array of one value a node, if it is one."""
        title, whole = _named(value, name)
        if whole.ndim == 0 or whole.size != len(whole) or whole.dtype.kind not in kinds:
            raise DataError(f"{title} must be {what}, not {whole.dtype} {list(whole.shape)}")
        self.lengths[title] = len(whole)
        return title

    def _slices(self, value: ArrayOrFile, name: str, width: int = 4) -> Iterator[tuple[int, np.ndarray]]:
        """Some rows at a time; a file is mapped anew for each, so that what was read does not stay in memory."""
        self.bar.step(name)
        length, rows = len(load_array(value)), self._rows(width)
        for start in range(0, length, rows):
            yield start, np.asarray(load_array(value)[start : start + rows])
            self.bar.at((start + rows) / length)


def _named(value: ArrayOrFile, name: str) -> tuple[str, np.ndarray]:
    return name if isinstance(value, np.ndarray) else str(value), load_array(value)


def _check_ids(column: pd.Series[Any], title: str, node: int, row: int) -> None:
    """Whether nodes are numbered in order; the first of these is `node`, in row number `row`."""
    wrong = to_numbers(column) != np.arange(node, node + len(column))
    if wrong.any():
        at = int(wrong.argmax())
        raise DataError(
            f"{title}, row {row + at:,}: {column.name} is {format_cell(column.iloc[at])}, but rows are nodes "
            f"0, 1, 2, ... in this order; number the nodes from 0 and sort the file"
        )


def _columns(frame: pd.DataFrame, title: str, first: int) -> np.ndarray:
    """Columns as features."""
    x = np.empty(frame.shape, np.float32)
    with np.errstate(over="ignore"):
        for i, (_, column) in enumerate(frame.items()):
            x[:, i] = column if column.dtype == np.bool_ else to_numbers(column)
    if (bad := _unusable(x)) is not None:
        row, i = bad
        kind = "too large a number" if np.isfinite(x[bad]) else "not a finite number"
        raise DataError(
            f"{title}: column '{frame.columns[i]}' is {kind} at node {first + row} "
            f"({format_cell(frame.iloc[row, i])}); replace it, or choose the features with columns"
        )
    return x


def _unusable(x: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the first value that is not finite, or so large that nothing can be computed with it."""
    usable = np.abs(x) < MAX_MAGNITUDE
    if usable.all():
        return None
    row, column = np.argwhere(~usable)[0].tolist()
    return row, column


def _mask(column: pd.Series[Any], title: str, first: int) -> np.ndarray:
    codes, texts = encode_labels(column)
    bits = np.array([*(_BITS.get(text.lower(), 2) for text in texts), 0], np.uint8)[codes]
    if bits.max(initial=0) > 1:
        row = int(bits.argmax())
        raise DataError(f"{title}: a mask is 0 or 1, not {format_cell(column.iloc[row])} (node {first + row})")
    return bits
