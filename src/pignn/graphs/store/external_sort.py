"""Edges on their way into a store: divided by ranges into files, then sorted range by range.

An entry is one integer: (row · N + column) · 2 + (0 for an edge as it was read, 1 for its reverse).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from ...core.errors import DataError
from ..edges import mark_first_of_runs, merge_duplicates, sort_keys
from ..tables.cells import format_cell, parse_edge_weights, to_numbers
from ..tables.edge_columns import EdgeColumns
from ..tables.table import Table
from .output import Bar, File, write

if TYPE_CHECKING:
    from .conversion import Conversion


def write_edges(
    table: Table, columns: EdgeColumns, folder: Path, done: Conversion, memory: int, bar: Bar
) -> list[File]:
    """crow, col and weight; what was changed is counted in `done`."""
    n, title = done.nodes, table.name
    done.weighted = columns.weight is not None
    most = max(memory // (96 if done.weighted else 64), 16)  # entries that can be sorted at a time
    number = min(3 * table.num_rows // most + 1, 128)  # half as many again as fit exactly: ranges are not equally full
    ranges = _Ranges(folder / "work", "r", 0, n * n, number, done.weighted)
    bar.step("edges")
    for frame, start, share in table.iter_chunks(min(max(memory // 512, 16), 1 << 21)):
        first = table.first_row + start
        a, b = (_ids(frame[name], n, title, first) for name in columns[:2])
        weight = None
        if columns.weight is not None:
            weight = parse_edge_weights(
                frame[columns.weight], title, first, "--weight none (weight='none') leaves weights out"
            )
        keep = a != b
        done.rows_read += len(keep)
        if not keep.all():
            a, b, weight = a[keep], b[keep], None if weight is None else weight[keep]
            done.self_loops_dropped += len(keep) - len(a)
        ranges.add((a * n + b) * 2, weight)
        ranges.add((b * n + a) * 2 + 1, weight)
        bar.at(share)

    bar.step("sorting")
    total = 0
    with contextlib.ExitStack() as stack:
        names = ("crow.i64", "col.i32", "weight.f32")[: 3 if done.weighted else 2]
        files = [stack.enter_context(File(folder / name)) for name in names]
        files[0].write(np.zeros(1, np.int64))
        for low, high, key, weight in ranges.sorted(most):
            pair, weight = _merged(key, weight, done)
            # Rows that end in this range: their ends are where the next row would begin.
            for start in range(low // n + 1, high // n + 1, most):
                rows = np.arange(start, min(start + most, high // n + 1))
                files[0].write(total + np.searchsorted(pair, rows * n))
            files[1].write(pair % n)
            if weight is not None:
                files[2].write(weight)
            total += len(pair)
            bar.at(high / (n * n))
    done.edges = total // 2
    done.larger_weight_taken //= 2  # seen from both ends
    return files


def _ids(column: pd.Series[Any], nodes: int, title: str, first: int) -> np.ndarray:
    values = to_numbers(column)
    bad = ~((values >= 0) & (values < nodes) & (values == np.trunc(values)))
    if bad.any():
        row = int(bad.argmax())
        whole = values[row] == np.trunc(values[row])  # not so for NaN
        reason = "is out of range" if whole else "is not a whole number"
        raise DataError(
            f"{title}, row {first + row:,}: node {format_cell(column.iloc[row])} {reason}; "
            f"nodes are numbered 0 to {nodes - 1}"
        )
    return values.astype(np.int64)


def _merged(key: np.ndarray, weight: np.ndarray | None, done: Conversion) -> tuple[np.ndarray, np.ndarray | None]:
    """Each pair (row · N + column) once, as `simplify_edges` would have it, and its weight."""
    keys, weights = sort_keys(torch.from_numpy(key), None if weight is None else torch.from_numpy(weight))
    before = int((keys & 1 == 0).sum())
    keys, weights = merge_duplicates(keys, weights)
    read = int((keys & 1 == 0).sum())
    done.duplicates_merged += before - read
    pair = keys >> 1
    first = mark_first_of_runs(pair)
    if weights is not None and len(weights):
        # A pair that is there both as read and as a reverse has its twin right behind it.
        twin = torch.cat([weights[1:], weights[:1]])
        alone = torch.cat([first[1:], first.new_ones(1)])
        done.larger_weight_taken += int((first & ~alone & (weights != twin)).sum())
        weights = torch.where(alone, weights, torch.maximum(weights, twin))[first]
    pair = pair[first]
    done.made_two_way += len(pair) - read
    return pair.numpy(), None if weights is None else weights.numpy()


class _Ranges:
    """Entries in files, one for each of `number` equal ranges of pairs between `low` and `high`."""

    def __init__(self, folder: Path, name: str, low: int, high: int, number: int, weighted: bool) -> None:
        self.width = -(-(high - low) // number)
        number = -(-(high - low) // self.width)
        self.folder, self.name, self.low, self.high, self.weighted = folder, name, low, high, weighted
        self.dtype = np.dtype([("key", "<i8"), ("weight", "<f4")] if weighted else [("key", "<i8")])
        self.files = [open(folder / f"{name}.{i}", "wb", buffering=0) for i in range(number)]  # noqa: SIM115

    def add(self, key: np.ndarray, weight: np.ndarray | None) -> None:
        part = ((key >> 1) - self.low) // self.width
        records = np.empty(len(key), self.dtype)
        records["key"] = key
        if weight is not None:
            records["weight"] = weight
        if len(self.files) > 1:
            # Stable, so that weights are summed in the order in which they came.
            records = records[np.argsort(part.astype(np.uint8), kind="stable")]
        stop = 0
        for file, count in zip(self.files, np.bincount(part, minlength=len(self.files)).tolist(), strict=True):
            write(file, records[stop : stop + count])
            stop += count

    def sorted(self, most: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray | None]]:
        """(low, high, keys, weights) of each range in turn; one with more than `most` entries is divided again."""
        for file in self.files:
            file.close()
        for i in range(len(self.files)):
            path = self.folder / f"{self.name}.{i}"
            low, high = self.low + i * self.width, min(self.low + (i + 1) * self.width, self.high)
            if path.stat().st_size > most * self.dtype.itemsize and high - low > 1:
                inner = _Ranges(self.folder, path.name, low, high, min(16, high - low), self.weighted)
                with open(path, "rb") as whole:
                    while len(records := np.fromfile(whole, self.dtype, most)):
                        inner.add(records["key"], records["weight"] if self.weighted else None)
                path.unlink()
                yield from inner.sorted(most)
            else:
                records = np.fromfile(path, self.dtype)
                path.unlink()
                yield low, high, records["key"].copy(), records["weight"].copy() if self.weighted else None
