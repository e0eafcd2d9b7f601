"""Making a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._version import __version__
from ...core.errors import ConfigError
from ...core.text import pluralize
from ..tables.arrays import ArrayOrFile, PathLike, is_array
from ..tables.edge_columns import choose_edge_columns
from ..tables.reader import open_edges, open_table
from ..tables.text_files import parse_delimiter
from .external_sort import write_edges
from .nodes import Nodes, feature_columns
from .output import Bar, File, check_out, unfinished
from .store import FORMAT, HEADER, MASKS


@dataclass
class Conversion:
    """What a conversion read, changed and wrote; `edges` counts both directions of an edge once."""

    out: str
    nodes: int = 0
    edges: int = 0
    features: int = 0
    classes: int = 0
    class_names: list[str] | None = None
    weighted: bool = False
    rows_read: int = 0
    self_loops_dropped: int = 0
    duplicates_merged: int = 0
    made_two_way: int = 0
    larger_weight_taken: int = 0
    labelled: int = 0
    bytes: int = 0

    @property
    def notes(self) -> list[str]:
        """What was changed, in words."""
        changes = {
            f"dropped {pluralize(self.self_loops_dropped, 'self-loop')}": self.self_loops_dropped,
            f"merged {pluralize(self.duplicates_merged, 'duplicate edge')}": self.duplicates_merged,
            f"made {pluralize(self.made_two_way, 'one-way edge')} two-way": self.made_two_way,
            f"took the larger weight of {pluralize(self.larger_weight_taken, 'edge')} whose two directions differ": (
                self.larger_weight_taken
            ),
        }
        return [words for words, number in changes.items() if number]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)


def convert(
    out: PathLike,
    *,
    edges: PathLike | Iterable[np.ndarray],
    nodes: PathLike | None = None,
    features: ArrayOrFile | None = None,
    labels: ArrayOrFile | None = None,
    label: str | None = None,
    train: ArrayOrFile | None = None,
    val: ArrayOrFile | None = None,
    test: ArrayOrFile | None = None,
    columns: Sequence[str] | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    num_nodes: int | None = None,
    memory: int = 1 << 30,
    force: bool = False,
    progress: bool | None = None,
) -> Conversion:
    """Make a store from files of any size, whole or not at all; see :func:`open_graph_store` for how to read it.

    Args:
        out: folder to make.
        edges: CSV, TSV (also with .gz) or Parquet, one edge a row; or .npy of shape [E, 2] or [2, E]; or arrays
            [n, 2] that come one after the other. Nodes are numbered 0 to N - 1.
        nodes: CSV, TSV or Parquet with a header, one node a row, in order.
        features: .npy of shape [N, F], or an array. Else the `columns` of `nodes`.
        labels: .npy of N labels, or an array; -1 for none.
        label: column of `nodes` with the labels, numbers from 0 or names; -1 or empty for none.
        train: column of `nodes`, .npy file or array, of 0 and 1.
        val: as `train`.
        test: as `train`.
        columns: of `nodes` that are features, as names or patterns ("x*"); all that are nothing else if absent. A
            column `id`, `node` or `node_id` is no feature: it must count 0, 1, 2, ...
        source: column of `edges`, its name or, without a header, its position from 0; `source` or the first if absent.
        target: likewise; `target` or the second if absent.
        weight: likewise; `weight` or, where there is no header, the third of three if absent. "none" leaves it out.
        delimiter: between the columns of text files; guessed if absent.
        num_nodes: needed only where there is nothing else to tell it.
        memory: bytes to stay within, about.
        force: replace a store that is there.
        progress: a bar; `None` shows it on a terminal only.
    """
    if memory < 1:
        raise ConfigError(f"memory must be a positive number of bytes, not {memory}")
    if label is not None and labels is not None:
        raise ConfigError("labels are given twice: as a column (label) and as a file (labels)")
    folder = Path(out)
    check_out(folder, force)
    masks = {name: mask for name, mask in zip(MASKS, (train, val, test), strict=True) if mask is not None}
    in_table = {name: str(mask) for name, mask in masks.items() if not is_array(mask)}
    if nodes is None and (label is not None or in_table or columns):
        what = "label" if label is not None else next(iter(in_table), "columns")
        raise ConfigError(f"{what} names a column of a node file, but there is none; give it as nodes")
    delimiter = parse_delimiter(delimiter)
    table = None if nodes is None else open_table(nodes, delimiter, check_encoding=False)
    rows = open_edges(edges, delimiter, check_encoding=False)
    chosen = choose_edge_columns(rows, source, target, weight)

    with unfinished(folder) as made, Bar(progress) as bar:
        parts = Nodes(made, memory, bar)
        if table is not None:
            parts.read_table(table, feature_columns(table, label, in_table, columns, features is None), label, in_table)
        if features is not None:
            parts.read_features(features)
        if labels is not None:
            parts.read_labels(labels)
        for name, mask in masks.items():
            if name not in in_table:
                parts.read_mask(name, mask)
        done = Conversion(str(out), nodes=parts.count(num_nodes), features=parts.features)
        done.class_names, done.labelled = parts.finish_labels()
        done.classes = len(done.class_names or [])
        files = parts.files + write_edges(rows, chosen, made, done, memory, bar)
        header = {
            "format": FORMAT,
            "pignn": __version__,
            "nodes": done.nodes,
            "entries": 2 * done.edges,
            "features": done.features,
            "classes": done.classes,
            "class_names": done.class_names,
            "weighted": done.weighted,
            "files": {file.name: {"bytes": file.bytes, "crc32": file.crc} for file in files},
        }
        done.bytes = sum(file.bytes for file in files)
        with File(made / HEADER) as file:
            file.write(np.frombuffer(json.dumps(header, indent=1, ensure_ascii=False).encode(), np.uint8))
    return done
