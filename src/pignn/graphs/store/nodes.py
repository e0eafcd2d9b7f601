"""Features, labels and masks on their way into a store."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError
from ...core.text import format_count
from ..importers.labels import check_are_plausible_classes_and_warn, sort_class_names
from ..tables.arrays import ArrayOrFile, load_or_map_array
from ..tables.cells import (
    MAX_CLASSES,
    MAX_MAGNITUDE,
    factorize_labels,
    is_number_text,
    quote_cell_for_message,
)
from .output import ProgressBar, StoreFile, write_array_and_get_byte_view

MAX_NODES = 2**31 - 1  # an entry (row, column, direction) is one integer of 64 bits
_FLAG_VALUES = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}


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
    are_labels_named: bool = False  # a column of labels, which are names even if they are numbers

    def check_lengths_and_get_num_nodes(self, declared_num_nodes: int | None) -> int:
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

    @contextlib.contextmanager
    def label_code_writer_context(self, has_labels: bool) -> Iterator[Callable[[pd.Series[Any], str], None] | None]:
        """A function that takes a column with the labels of some more nodes, and its title; None without labels."""
        if not has_labels:
            yield None
            return
        self.are_labels_named = True
        with open(self._label_codes_path, "wb") as file:
            yield lambda column, title: (
                write_array_and_get_byte_view(file, self._encode_labels_and_add_classes(column, title)),
                None,
            )[1]

    @contextlib.contextmanager
    def mask_files_context(self, names: Iterable[str]) -> Iterator[dict[str, StoreFile]]:
        """The files of some masks."""
        with contextlib.ExitStack() as stack:
            yield {name: stack.enter_context(self.open_and_register_store_file(f"{name}.u8")) for name in names}

    def write_feature_array(self, features: ArrayOrFile) -> None:
        """Features that are an array."""
        title, array = _get_title_and_load_array(features, "features")
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise DataError(
                f"{title} must be numbers of shape [nodes, features], not {array.dtype} {list(array.shape)}"
            )
        if not array.shape[1]:
            raise DataError(f"{title} has no columns; give every node at least one feature")
        self.lengths[title], self.num_features = array.shape
        with self.open_and_register_store_file("x.f32") as file:
            for first, part in self._iter_row_chunks_with_starts(features, "features", self.num_features):
                with np.errstate(over="ignore"):
                    x = part.astype(np.float32)
                if (bad := _find_first_unusable_position_or_none(x)) is not None:
                    where = f"node {first + bad[0]}, column {bad[1]}"
                    kind = f"value beyond {MAX_MAGNITUDE:g}" if np.isfinite(x[bad]) else "NaN or infinite value"
                    raise DataError(f"{title} has a {kind} at {where}; replace or drop it")
                file.write(x)

    def write_label_array_codes(self, labels: ArrayOrFile) -> None:
        """Labels that are an array."""
        title = self._check_array_record_length_and_get_title(labels, "labels", "one label per node", "iufU")
        with open(self._label_codes_path, "wb") as file:
            for _, part in self._iter_row_chunks_with_starts(labels, "labels"):
                write_array_and_get_byte_view(
                    file, self._encode_labels_and_add_classes(pd.Series(part.reshape(-1)), title)
                )

    def write_mask_array(self, name: str, mask: ArrayOrFile) -> None:
        """A mask that is an array."""
        title = self._check_array_record_length_and_get_title(mask, name, "0 or 1 for each node", "biuf")
        with self.open_and_register_store_file(f"{name}.u8") as file:
            for first, part in self._iter_row_chunks_with_starts(mask, name):
                file.write(parse_mask_as_uint8(pd.Series(part.reshape(-1)), title, first))

    def write_labels_and_get_class_names_and_num_labeled(self) -> tuple[list[str] | None, int]:
        """Write y. Labels of an array that are integers keep their numbers, others are numbered by their order."""
        if not self._label_codes_path.exists():
            return None, 0
        names = list(self.classes)
        class_names = sort_class_names(names) if self.are_labels_named else self._list_class_names_of_array(names)
        positions = {name: i for i, name in enumerate(class_names)}
        codes = [positions[name] for name in names]
        final_codes, num_labeled = np.array([*codes, -1]), 0
        with self.open_and_register_store_file("y.i64") as file, open(self._label_codes_path, "rb") as read:
            while block := read.read(8 * self._count_rows_that_fit_memory(4)):
                y = final_codes[np.frombuffer(block, np.int64)]
                num_labeled += int((y >= 0).sum())
                file.write(y)
        if self.are_labels_named:
            check_are_plausible_classes_and_warn(class_names, num_labeled, self.label_title)
        return class_names, num_labeled

    def _list_class_names_of_array(self, names: list[str]) -> list[str]:
        title = self.label_title
        if not names:
            raise DataError(f"{title} has no label at all; leave it out")
        non_integers = [name for name in names if not re.fullmatch(r"-?[0-9]+", name)]
        if non_integers:
            if all(map(is_number_text, non_integers)):
                raise DataError(f"{title} has the label {non_integers[0]}; labels are whole numbers from 0, or names")
            return sorted(names)
        codes = [int(name) for name in names]
        if min(codes) < 0:
            raise DataError(f"{title} has the label {min(codes)}; labels are 0, 1, 2, ..., or -1 for none")
        if max(codes) >= max(self.check_lengths_and_get_num_nodes(None), 1000):
            raise DataError(f"{title}: the largest label is {max(codes)}; number the classes 0, 1, 2, ...")
        return [str(c) for c in range(max(codes) + 1)]

    @property
    def _label_codes_path(self) -> Path:
        """Labels by number in order of appearance: what they are is known when all were seen."""
        return self.folder / "work" / "y"

    def _encode_labels_and_add_classes(self, column: pd.Series[Any], title: str) -> np.ndarray:
        codes, texts = factorize_labels(column)
        classes, self.label_title = self.classes, title
        numbers = [-1 if text in ("", "-1") else classes.setdefault(text, len(classes)) for text in texts]
        if len(classes) > MAX_CLASSES:
            raise DataError(f"{title} has more than {MAX_CLASSES:,} different values; is it the label?")
        return np.array([*numbers, -1])[codes]

    def open_and_register_store_file(self, name: str) -> StoreFile:
        self.files.append(StoreFile(self.folder / name))
        return self.files[-1]

    def _count_rows_that_fit_memory(self, width: int) -> int:
        """How many rows of ``width`` numbers fit into memory, parsing included."""
        return min(max(self.memory // (64 * max(width, 1)), 16), 1 << 21)

    def _check_array_record_length_and_get_title(
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
        length, rows = len(load_or_map_array(array_or_file)), self._count_rows_that_fit_memory(row_width)
        for start in range(0, length, rows):
            yield start, np.asarray(load_or_map_array(array_or_file)[start : start + rows])
            self.bar.update((start + rows) / length)


def _get_title_and_load_array(array_or_file: ArrayOrFile, name: str) -> tuple[str, np.ndarray]:
    return name if isinstance(array_or_file, np.ndarray) else str(array_or_file), load_or_map_array(array_or_file)


def _find_first_unusable_position_or_none(x: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the first value that is not finite, or so large that nothing can be computed with it."""
    usable = np.abs(x) < MAX_MAGNITUDE
    if usable.all():
        return None
    row, column = np.argwhere(~usable)[0].tolist()
    return row, column


def parse_mask_as_uint8(column: pd.Series[Any], title: str, first_node: int) -> np.ndarray:
    codes, texts = factorize_labels(column)
    flags = np.array([*(_FLAG_VALUES.get(text.lower(), 2) for text in texts), 0], np.uint8)[codes]
    if flags.max(initial=0) > 1:
        row = int(flags.argmax())
        raise DataError(
            f"{title}: a mask is 0 or 1, not {quote_cell_for_message(column.iloc[row])} (node {first_node + row})"
        )
    return flags
