"""Convert files of any size to a graph store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..._version import __version__
from ...core.errors import ConfigError
from ..tables.arrays import ArrayOrFile, PathLike, is_array_or_npy_path
from ..tables.edge_columns import choose_edge_columns
from ..tables.reader import open_edge_table, open_table
from ..tables.text_files import parse_delimiter
from .external_sort import sort_and_write_edge_files
from .nodes import NodeWriter, choose_feature_columns
from .output import ProgressBar, StoreFile, check_out_folder, open_new_store_folder
from .result import Conversion
from .store import FORMAT, HEADER_NAME, MASK_NAMES, FileHeader, StoreHeader


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
    """Convert files of any size to a graph store, whole or not at all; :func:`open_graph_store` reads it.

    Args:
        out: folder to write.
        edges: CSV, TSV, JSON lines (also .gz or .zst) or Parquet, one edge per row; or .npy of shape [E, 2] or [2, E];
            or arrays [n, 2] that come one after the other. Nodes are numbered 0 to N - 1.
        nodes: a table as `edges`, with a header: one node per row, in order.
        features: .npy of shape [N, F], or an array. Default: the `columns` of `nodes`.
        labels: .npy of N labels, or an array; -1 for none.
        label: column of `nodes` with the labels, numbers from 0 or names; -1 or empty for none.
        train: column of `nodes`, .npy file or array, of 0 and 1. Likewise `val` and `test`.
        columns: columns of `nodes` that are features, as names or patterns ("x*"). Default: all others, except `id`,
            `node` and `node_id`, which must count 0, 1, 2, ...
        source: column of `edges`: its name or, without a header, its position from 0. Default: `source` or the first.
        target: likewise. Default: `target` or the second.
        weight: likewise. Default: `weight` or, without a header, the third of three. "none" leaves it out.
        delimiter: between the columns of text files. Default: detected.
        num_nodes: number of nodes; required if nothing else tells it.
        memory: number of bytes to stay within, about.
        force: replace an existing store.
        progress: show a progress bar. Default: on a terminal only.
    """
    return _check_and_convert_inputs(_Inputs(**locals()))


@dataclass(frozen=True)
class _Inputs:
    """The arguments of :func:`convert`."""

    out: PathLike
    edges: PathLike | Iterable[np.ndarray]
    nodes: PathLike | None
    features: ArrayOrFile | None
    labels: ArrayOrFile | None
    label: str | None
    train: ArrayOrFile | None
    val: ArrayOrFile | None
    test: ArrayOrFile | None
    columns: Sequence[str] | None
    source: str | None
    target: str | None
    weight: str | None
    delimiter: str | None
    num_nodes: int | None
    memory: int
    force: bool
    progress: bool | None

    @property
    def masks(self) -> dict[str, Any]:
        return {name: mask for name in MASK_NAMES if (mask := getattr(self, name)) is not None}

    @property
    def mask_columns(self) -> dict[str, str]:
        """The masks that are columns of the node file."""
        return {name: str(mask) for name, mask in self.masks.items() if not is_array_or_npy_path(mask)}

    def check(self) -> None:
        if self.memory < 1:
            raise ConfigError(f"memory must be a positive number of bytes, not {self.memory}")
        if self.label is not None and self.labels is not None:
            raise ConfigError("labels are given twice: as a column (label) and as a file (labels)")
        check_out_folder(Path(self.out), self.force)
        if self.nodes is None and (self.label is not None or self.mask_columns or self.columns):
            option = "label" if self.label is not None else next(iter(self.mask_columns), "columns")
            raise ConfigError(f"{option} names a column of a node file, but there is none; give it as nodes")


def _check_and_convert_inputs(inputs: _Inputs) -> Conversion:
    inputs.check()
    delimiter = parse_delimiter(inputs.delimiter)
    node_table = None if inputs.nodes is None else open_table(inputs.nodes, delimiter, with_encoding_check=False)
    edge_table = open_edge_table(inputs.edges, delimiter, with_encoding_check=False)
    edge_columns = choose_edge_columns(edge_table, inputs.source, inputs.target, inputs.weight)
    mask_columns = inputs.mask_columns
    with open_new_store_folder(Path(inputs.out)) as folder, ProgressBar(inputs.progress) as bar:
        writer = NodeWriter(folder, inputs.memory, bar)
        if node_table is not None:
            use_columns = inputs.features is None
            columns = choose_feature_columns(node_table, inputs.label, mask_columns, inputs.columns, use_columns)
            writer.write_table_columns(node_table, columns, inputs.label, mask_columns)
        if inputs.features is not None:
            writer.write_features(inputs.features)
        if inputs.labels is not None:
            writer.write_label_codes(inputs.labels)
        for name, mask in inputs.masks.items():
            if name not in mask_columns:
                writer.write_mask(name, mask)
        conversion = Conversion(
            str(inputs.out), nodes=writer.check_and_count_nodes(inputs.num_nodes), features=writer.num_features
        )
        conversion.class_names, conversion.labeled = writer.write_labels_and_get_class_names_and_count()
        conversion.classes = len(conversion.class_names or [])
        files = writer.files + sort_and_write_edge_files(
            edge_table, edge_columns, folder, conversion, inputs.memory, bar
        )
        conversion.bytes = sum(file.bytes for file in files)
        _write_header(folder / HEADER_NAME, conversion, files)
    return conversion


def _write_header(path: Path, conversion: Conversion, files: list[StoreFile]) -> None:
    header = StoreHeader(
        FORMAT,
        __version__,
        conversion.nodes,
        2 * conversion.edges,
        conversion.features,
        conversion.classes,
        conversion.class_names,
        conversion.weighted,
        {file.name: FileHeader(file.bytes, file.crc32) for file in files},
    )
    with StoreFile(path) as file:
        file.write(np.frombuffer(msgspec.json.format(msgspec.json.encode(header), indent=1), np.uint8))
