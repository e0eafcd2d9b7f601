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
from ...core.text import format_count
from ..tables.arrays import ArrayOrFile, load_array
from ..tables.cells import (
    MAX_CLASSES,
    MAX_MAGNITUDE,
    factorize_labels,
    is_number_text,
    quote_cell_for_message,
    to_numbers_or_nan,
)
from ..tables.table import Table
from .output import ProgressBar, StoreFile, write_array_and_get_bytes

MAX_NODES = 2**31 - 1  # an entry (row, column, direction) is one integer of 64 bits
_ID_NAMES = ("id", "node", "node_id", "")  # the last is how pandas writes the numbers of rows
_FLAG_VALUES = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}


def choose_feature_columns(
    table: Table,
    label_column: str | None,
    mask_columns: dict[str, str],
    patterns: Sequence[str] | None,
    are_features_in_table: bool,
) -> list[str]:
    """The columns of a node file that are features: those that match the patterns, else all without another role."""
    if not table.has_header:
        raise DataError(f"{table.name} needs a header: a first row with the names of its columns")
    roles = {
        table.check_column_and_get_name(name) for name in (label_column, *mask_columns.values()) if name is not None
    }
    if not are_features_in_table:
        if patterns:
            raise ConfigError("features are given twice: as an array (features) and as columns of the node file")
        return []
    if patterns is None:
        return [name for name in table.columns if name not in roles and name.lower() not in _ID_NAMES]
    chosen = []
    for pattern in patterns:
        names = [name for name in table.columns if fnmatchcase(name, pattern) and name not in roles]
        chosen += names or [table.check_column_and_get_name(pattern)]
        if not names:
            raise ConfigError(f"column '{pattern}' is a label or a mask, not a feature")
    return list(dict.fromkeys(chosen))


@dataclass
class NodeWriter:
    """Writes features, labels and masks, one file after the other."""

    folder: Path
    memory: int
    bar: ProgressBar
    num_features: int = 0
    files: list[StoreFile] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)  # number of nodes by who tells it
    classes: dict[str, int] = field(default_factory=dict)  # label as text → number in order of appearance
    label_title: str = ""

    def check_and_count_nodes(self, declared_num_nodes: int | None) -> int:
        """The number of nodes, on which all inputs must agree."""
        if declared_num_nodes is not None:
            self.lengths["num_nodes"] = declared_num_nodes
        if not self.lengths:
            raise ConfigError("how many nodes are there? give features, a node file, labels or num_nodes")
        name, nodes = next(iter(self.lengths.items()))
        for other, length in self.lengths.items():
            if length != nodes:
                raise DataError(
                    f"{name} has {format_count(nodes, 'node')}, {other} has {length:,}; they must be the same"
                )
        if nodes < 1:
            raise DataError(f"{name} has no nodes")
        if nodes > MAX_NODES:
            raise DataError(f"{name} has {nodes:,} nodes; a store holds {MAX_NODES:,} at most")
        return nodes

    def write_table_columns(
        self, table: Table, feature_columns: list[str], label_column: str | None, mask_columns: dict[str, str]
    ) -> None:
        """Features, labels and masks that are columns of a node file."""
        self.bar.start_step("nodes")
        title, done = table.name, 0
        text = [*([label_column] if label_column is not None else []), *mask_columns.values()]
        used = {*feature_columns, *text}
        ids = next((name for name in table.columns if name.lower() in _ID_NAMES and name not in used), None)
        with contextlib.ExitStack() as stack:
            x = stack.enter_context(self._create_store_file("x.f32")) if feature_columns else None
            y = stack.enter_context(open(self._label_codes_path, "wb")) if label_column is not None else None
            files = {name: stack.enter_context(self._create_store_file(f"{name}.u8")) for name in mask_columns}
            for frame, first, fraction in table.iter_chunks(self._count_rows_that_fit_memory(len(table.columns)), text):
                if ids is not None:
                    _check_ids_are_row_numbers(frame[ids], title, first, table.first_row_number + first)
                if x is not None:
                    x.write(_parse_features(frame[feature_columns], title, first))
                if y is not None:
                    write_array_and_get_bytes(
                        y, self._encode_labels(frame[label_column], f"{title}, column '{label_column}'")
                    )
                for name, file in files.items():
                    file.write(_parse_mask(frame[mask_columns[name]], f"{title}, column '{mask_columns[name]}'", first))
                done += len(frame)
                self.bar.update(fraction)
        self.num_features = len(feature_columns)
        self.lengths[title] = done

    def write_features(self, features: ArrayOrFile) -> None:
        """Features that are an array."""
        title, array = _get_title_and_load_array(features, "features")
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise DataError(
                f"{title} must be numbers of shape [nodes, features], not {array.dtype} {list(array.shape)}"
            )
        if not array.shape[1]:
            raise DataError(f"{title} has no columns; give every node at least one feature")
        self.lengths[title], self.num_features = array.shape
        with self._create_store_file("x.f32") as file:
            for first, part in self._iter_row_chunks_with_starts(features, "features", self.num_features):
                with np.errstate(over="ignore"):
                    x = part.astype(np.float32)
                if (bad := _find_first_unusable_position(x)) is not None:
                    where = f"node {first + bad[0]}, column {bad[1]}"
                    kind = f"value beyond {MAX_MAGNITUDE:g}" if np.isfinite(x[bad]) else "NaN or infinite value"
                    raise DataError(f"{title} has a {kind} at {where}; replace or drop it")
                file.write(x)

    def write_label_codes(self, labels: ArrayOrFile) -> None:
        """Labels that are an array."""
        title = self._check_node_array_and_get_title(labels, "labels", "one label per node", "iufU")
        with open(self._label_codes_path, "wb") as file:
            for _, part in self._iter_row_chunks_with_starts(labels, "labels"):
                write_array_and_get_bytes(file, self._encode_labels(pd.Series(part.reshape(-1)), title))

    def write_mask(self, name: str, mask: ArrayOrFile) -> None:
        """A mask that is an array."""
        title = self._check_node_array_and_get_title(mask, name, "0 or 1 for each node", "biuf")
        with self._create_store_file(f"{name}.u8") as file:
            for first, part in self._iter_row_chunks_with_starts(mask, name):
                file.write(_parse_mask(pd.Series(part.reshape(-1)), title, first))

    def write_labels_and_get_class_names_and_count(self) -> tuple[list[str] | None, int]:
        """Write y. Labels that are integers keep their numbers, names are numbered by the alphabet."""
        if not self._label_codes_path.exists():
            return None, 0
        names, title = list(self.classes), self.label_title
        if not names:
            raise DataError(f"{title} has no label at all; leave it out")
        non_integers = [name for name in names if not re.fullmatch(r"-?[0-9]+", name)]
        if not non_integers:
            codes = [int(name) for name in names]
            if min(codes) < 0:
                raise DataError(f"{title} has the label {min(codes)}; labels are 0, 1, 2, ..., or -1 for none")
            if max(codes) >= max(self.check_and_count_nodes(None), 1000):
                raise DataError(f"{title}: the largest label is {max(codes)}; number the classes 0, 1, 2, ...")
            class_names = [str(c) for c in range(max(codes) + 1)]
        elif all(map(is_number_text, non_integers)):
            raise DataError(f"{title} has the label {non_integers[0]}; labels are whole numbers from 0, or names")
        else:
            class_names = sorted(names)
            positions = {name: i for i, name in enumerate(class_names)}
            codes = [positions[name] for name in names]
        final_codes, num_labeled = np.array([*codes, -1]), 0
        with self._create_store_file("y.i64") as file, open(self._label_codes_path, "rb") as read:
            while block := read.read(8 * self._count_rows_that_fit_memory(4)):
                y = final_codes[np.frombuffer(block, np.int64)]
                num_labeled += int((y >= 0).sum())
                file.write(y)
        return class_names, num_labeled

    @property
    def _label_codes_path(self) -> Path:
        """Labels by number in order of appearance: what they are is known when all were seen."""
        return self.folder / "work" / "y"

    def _encode_labels(self, column: pd.Series[Any], title: str) -> np.ndarray:
        codes, texts = factorize_labels(column)
        classes, self.label_title = self.classes, title
        numbers = [-1 if text in ("", "-1") else classes.setdefault(text, len(classes)) for text in texts]
        if len(classes) > MAX_CLASSES:
            raise DataError(f"{title} has more than {MAX_CLASSES:,} different values; is it the label?")
        return np.array([*numbers, -1])[codes]

    def _create_store_file(self, name: str) -> StoreFile:
        self.files.append(StoreFile(self.folder / name))
        return self.files[-1]

    def _count_rows_that_fit_memory(self, width: int) -> int:
        """How many rows of ``width`` numbers fit into memory, parsing included."""
        return min(max(self.memory // (64 * max(width, 1)), 16), 1 << 21)

    def _check_node_array_and_get_title(
        self, array_or_file: ArrayOrFile, name: str, expected_text: str, dtype_kinds: str
    ) -> str:
        """Check an array with one value per node; returns its title."""
        title, array = _get_title_and_load_array(array_or_file, name)
        if array.ndim == 0 or array.size != len(array) or array.dtype.kind not in dtype_kinds:
            raise DataError(f"{title} must be {expected_text}, not {array.dtype} {list(array.shape)}")
        self.lengths[title] = len(array)
        return title

    def _iter_row_chunks_with_starts(
        self, array_or_file: ArrayOrFile, step_title: str, row_width: int = 4
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Some rows at a time; a file is mapped anew for each, so that what was read does not stay in memory."""
        self.bar.start_step(step_title)
        length, rows = len(load_array(array_or_file)), self._count_rows_that_fit_memory(row_width)
        for start in range(0, length, rows):
            yield start, np.asarray(load_array(array_or_file)[start : start + rows])
            self.bar.update((start + rows) / length)


def _get_title_and_load_array(array_or_file: ArrayOrFile, name: str) -> tuple[str, np.ndarray]:
    return name if isinstance(array_or_file, np.ndarray) else str(array_or_file), load_array(array_or_file)


def _check_ids_are_row_numbers(column: pd.Series[Any], title: str, first_node: int, first_row_number: int) -> None:
    """Check that nodes are numbered in order, beginning with ``first_node``."""
    wrong = to_numbers_or_nan(column) != np.arange(first_node, first_node + len(column))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{title}, row {first_row_number + row:,}: {column.name} is {quote_cell_for_message(column.iloc[row])}, "
            f"but rows are nodes 0, 1, 2, ... in this order; number the nodes from 0 and sort the file"
        )


def _parse_features(frame: pd.DataFrame, title: str, first_node: int) -> np.ndarray:
    x = np.empty(frame.shape, np.float32)
    with np.errstate(over="ignore"):
        for i, (_, column) in enumerate(frame.items()):
            x[:, i] = column if column.dtype == np.bool_ else to_numbers_or_nan(column)
    if (bad := _find_first_unusable_position(x)) is not None:
        row, i = bad
        kind = "too large a number" if np.isfinite(x[bad]) else "not a finite number"
        raise DataError(
            f"{title}: column '{frame.columns[i]}' is {kind} at node {first_node + row} "
            f"({quote_cell_for_message(frame.iloc[row, i])}); replace it, or choose the features with columns"
        )
    return x


def _find_first_unusable_position(x: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the first value that is not finite, or so large that nothing can be computed with it."""
    usable = np.abs(x) < MAX_MAGNITUDE
    if usable.all():
        return None
    row, column = np.argwhere(~usable)[0].tolist()
    return row, column


def _parse_mask(column: pd.Series[Any], title: str, first_node: int) -> np.ndarray:
    codes, texts = factorize_labels(column)
    flags = np.array([*(_FLAG_VALUES.get(text.lower(), 2) for text in texts), 0], np.uint8)[codes]
    if flags.max(initial=0) > 1:
        row = int(flags.argmax())
        raise DataError(
            f"{title}: a mask is 0 or 1, not {quote_cell_for_message(column.iloc[row])} (node {first_node + row})"
        )
    return flags
