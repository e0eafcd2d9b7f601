"""Edges on their way into a store: divided by ranges into files, then sorted range by range.

An entry is one integer: (row · N + column) · 2 + (0 for an edge as it was read, 1 for its reverse).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from ...core.errors import DataError
from ..edges import compute_run_start_mask, merge_equal_keys_and_sum_weights, sort_keys_with_weights_
from ..tables.cells import parse_edge_weights, quote_cell_for_message, to_numbers_or_nan
from ..tables.edge_columns import EdgeColumns
from ..tables.table import Table
from .output import ProgressBar, StoreFile, write_array_and_get_byte_view
from .result import Conversion


class EdgeChunk(NamedTuple):
    """Some edges as they were read: positions of their ends, weights if there are any, and the part done so far."""

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray | None
    fraction: float


def iter_numbered_edges(table: Table, columns: EdgeColumns, num_nodes: int, memory: int) -> Iterator[EdgeChunk]:
    """Edges that name nodes by their positions 0, 1, 2, ..."""
    title = table.name
    for frame, start, fraction in table.iter_chunks(min(max(memory // 512, 16), 1 << 21)):
        first_row_number = table.first_row_number + start
        a, b = (_parse_node_numbers(frame[name], num_nodes, title, first_row_number) for name in columns[:2])
        weight = None
        if columns.weight is not None:
            weight = parse_edge_weights(
                frame[columns.weight], title, first_row_number, "--weight none (weight='none') leaves weights out"
            )
        yield EdgeChunk(a, b, weight, fraction)


def sort_and_write_edge_files(
    edges: Iterable[EdgeChunk], num_rows: int, folder: Path, conversion: Conversion, memory: int, bar: ProgressBar
) -> list[StoreFile]:
    """Write crow, col and weight. What was changed is counted in ``conversion``. ``num_rows`` is an estimate."""
    num_nodes = conversion.nodes
    max_entries = max(memory // (96 if conversion.weighted else 64), 16)  # that can be sorted at a time
    # Half more files than fit exactly, because the ranges are not equally full.
    num_files = min(3 * num_rows // max_entries + 1, 128)
    ranges = _RangeFiles(folder / "work", "r", 0, num_nodes * num_nodes, num_files, conversion.weighted)
    bar.start_step("edges")
    for a, b, weight, fraction in edges:
        keep = a != b
        conversion.rows_read += len(keep)
        if not keep.all():
            a, b, weight = a[keep], b[keep], None if weight is None else weight[keep]
            conversion.self_loops_dropped += len(keep) - len(a)
        ranges.write_entries_into_ranges((a * num_nodes + b) * 2, weight)
        ranges.write_entries_into_ranges((b * num_nodes + a) * 2 + 1, weight)
        bar.update(fraction)

    bar.start_step("sorting")
    total = 0
    with contextlib.ExitStack() as stack:
        names = ("crow.i64", "col.i32", "weight.f32")[: 3 if conversion.weighted else 2]
        files = [stack.enter_context(StoreFile(folder / name)) for name in names]
        files[0].write(np.zeros(1, np.int64))
        for low, high, key, weight in ranges.iter_ranges_with_keys_and_weights(max_entries):
            pair, weight = _merge_edges_and_count_changes(key, weight, conversion)
            # Rows that end in this range: their ends are where the next row would begin.
            for start in range(low // num_nodes + 1, high // num_nodes + 1, max_entries):
                rows = np.arange(start, min(start + max_entries, high // num_nodes + 1))
                files[0].write(total + np.searchsorted(pair, rows * num_nodes))
            files[1].write(pair % num_nodes)
            if weight is not None:
                files[2].write(weight)
            total += len(pair)
            bar.update(high / (num_nodes * num_nodes))
    conversion.edges = total // 2
    conversion.larger_weight_taken //= 2  # seen from both ends
    return files


def _parse_node_numbers(column: pd.Series[Any], num_nodes: int, title: str, first_row_number: int) -> np.ndarray:
    values = to_numbers_or_nan(column)
    bad = ~((values >= 0) & (values < num_nodes) & (values == np.trunc(values)))
    if bad.any():
        row = int(bad.argmax())
        is_integer = values[row] == np.trunc(values[row])  # not so for NaN
        reason = "is out of range" if is_integer else "is not a whole number"
        raise DataError(
            f"{title}, row {first_row_number + row:,}: node {quote_cell_for_message(column.iloc[row])} {reason}; "
            f"nodes are numbered 0 to {num_nodes - 1}"
        )
    return values.astype(np.int64)


def _merge_edges_and_count_changes(
    pair_keys: np.ndarray, pair_weights: np.ndarray | None, conversion: Conversion
) -> tuple[np.ndarray, np.ndarray | None]:
    """Each pair (row · N + column) once, as `simplify_edges` would have it, and its weight."""
    keys, weights = sort_keys_with_weights_(
        torch.from_numpy(pair_keys), None if pair_weights is None else torch.from_numpy(pair_weights)
    )
    before = int((keys & 1 == 0).sum())
    keys, weights = merge_equal_keys_and_sum_weights(keys, weights)
    read = int((keys & 1 == 0).sum())
    conversion.duplicates_merged += before - read
    pair = keys >> 1
    first = compute_run_start_mask(pair)
    if weights is not None and len(weights):
        # A pair that is there both as read and as a reverse has its twin right behind it.
        twin = torch.cat([weights[1:], weights[:1]])
        alone = torch.cat([first[1:], first.new_ones(1)])
        conversion.larger_weight_taken += int((first & ~alone & (weights != twin)).sum())
        weights = torch.where(alone, weights, torch.maximum(weights, twin))[first]
    pair = pair[first]
    conversion.made_two_way += len(pair) - read
    return pair.numpy(), None if weights is None else weights.numpy()


class _RangeFiles:
    """Entries in files, one per range of pairs; the ranges between ``low`` and ``high`` are equally wide."""

    def __init__(self, folder: Path, name: str, low: int, high: int, num_files: int, weighted: bool) -> None:
        self.width = -(-(high - low) // num_files)
        num_files = -(-(high - low) // self.width)
        self.folder, self.name, self.low, self.high, self.weighted = folder, name, low, high, weighted
        self.dtype = np.dtype([("key", "<i8"), ("weight", "<f4")] if weighted else [("key", "<i8")])
        self.files = [open(folder / f"{name}.{i}", "wb", buffering=0) for i in range(num_files)]  # noqa: SIM115

    def write_entries_into_ranges(self, keys: np.ndarray, weights: np.ndarray | None) -> None:
        part = ((keys >> 1) - self.low) // self.width
        records = np.empty(len(keys), self.dtype)
        records["key"] = keys
        if weights is not None:
            records["weight"] = weights
        if len(self.files) > 1:
            # Stable, so that weights are summed in the order in which they came.
            records = records[np.argsort(part.astype(np.uint8), kind="stable")]
        stop = 0
        for file, count in zip(self.files, np.bincount(part, minlength=len(self.files)).tolist(), strict=True):
            write_array_and_get_byte_view(file, records[stop : stop + count])
            stop += count

    def iter_ranges_with_keys_and_weights(
        self, max_entries: int
    ) -> Iterator[tuple[int, int, np.ndarray, np.ndarray | None]]:
        """(low, high, keys, weights) of each range in turn. One with more than ``max_entries`` is divided again."""
        for part in self.files:
            part.close()
        for i in range(len(self.files)):
            path = self.folder / f"{self.name}.{i}"
            low, high = self.low + i * self.width, min(self.low + (i + 1) * self.width, self.high)
            if path.stat().st_size > max_entries * self.dtype.itemsize and high - low > 1:
                inner = _RangeFiles(self.folder, path.name, low, high, min(16, high - low), self.weighted)
                with open(path, "rb") as file:
                    while len(records := np.fromfile(file, self.dtype, max_entries)):
                        inner.write_entries_into_ranges(records["key"], records["weight"] if self.weighted else None)
                path.unlink()
                yield from inner.iter_ranges_with_keys_and_weights(max_entries)
            else:
                records = np.fromfile(path, self.dtype)
                path.unlink()
                yield low, high, records["key"].copy(), records["weight"].copy() if self.weighted else None
