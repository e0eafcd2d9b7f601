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
from ...core.progress import ShowProgress
from ..tables.arrays import ArrayOrFile, PathLike, is_array_or_npy_path
from ..tables.edge_columns import choose_edge_columns
from ..tables.reader import open_edge_table, open_table
from ..tables.table import Table
from ..tables.text_files import parse_delimiter
from .external_sort import iter_numbered_edges, sort_and_write_edge_files
from .node_ids import IdDatabase, id_database_context
from .node_table import NodeTable, check_features_given_once, memory_map_edge_files
from .nodes import NodeWriter
from .output import ProgressBar, StoreFile, check_folder_can_take_store, new_or_replaced_store_folder_context
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
    id: str | None = None,
    train: ArrayOrFile | None = None,
    val: ArrayOrFile | None = None,
    test: ArrayOrFile | None = None,
    columns: Sequence[str] | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    drop_unknown: bool = False,
    num_nodes: int | None = None,
    memory: int = 1 << 30,
    force: bool = False,
    progress: ShowProgress = None,
) -> Conversion:
    """Convert files of any size to a graph store, whole or not at all; :func:`open_graph_store` reads it.

    Args:
        out: folder to write.
        edges: CSV, TSV, JSON lines (also .gz or .zst) or Parquet, one edge per row; or a folder or pattern such as
            "edges/*.parquet" of such files; or .npy of shape [E, 2] or [2, E]; or arrays [n, 2] that come one after the
            other.
        nodes: a table as `edges`, with a header: one node per row.
        features: .npy of shape [N, F], or an array. Default: the `columns` of `nodes`, encoded as `read_graph` does.
        labels: .npy of N labels, numbers from 0 or names, or an array; -1 for none.
        label: column of `nodes` with the labels; -1 or empty for none.
        id: column of `nodes` with the ids that `edges` uses. Default: `id`, `node` or `node_id`; without such a column,
            or without `nodes`, edges have the numbers of nodes, 0 to N - 1.
        train: column of `nodes`, .npy file or array, of 0 and 1. Likewise `val` and `test`.
        columns: columns of `nodes` that are features, as names or patterns ("x*", "note:text"). Default: all others.
        source: column of `edges`: its name or, without a header, its position from 0. Default: `source` or the first.
        target: likewise. Default: `target` or the second.
        weight: likewise. Default: `weight` or, without a header, the third of three. "none" leaves it out.
        delimiter: between the columns of text files. Default: detected.
        drop_unknown: leave out edges to unknown nodes, which are an error otherwise.
        num_nodes: number of nodes; required if nothing else tells it.
        memory: number of bytes to stay within, about.
        force: replace an existing store.
        progress: show a progress bar, or a function of (stage, done, total, seconds_left). Default: on a terminal only.
    """
    return _check_inputs_and_write_store(_Inputs(**locals()))


@dataclass(frozen=True)
class _Inputs:
    """The arguments of :func:`convert`."""

    out: PathLike
    edges: PathLike | Iterable[np.ndarray]
    nodes: PathLike | None
    features: ArrayOrFile | None
    labels: ArrayOrFile | None
    label: str | None
    id: str | None
    train: ArrayOrFile | None
    val: ArrayOrFile | None
    test: ArrayOrFile | None
    columns: Sequence[str] | None
    source: str | None
    target: str | None
    weight: str | None
    delimiter: str | None
    drop_unknown: bool
    num_nodes: int | None
    memory: int
    force: bool
    progress: ShowProgress

    @property
    def masks_by_name(self) -> dict[str, Any]:
        return {name: mask for name in MASK_NAMES if (mask := getattr(self, name)) is not None}

    @property
    def mask_columns_by_name(self) -> dict[str, str]:
        """The masks that are columns of the node file."""
        return {name: str(mask) for name, mask in self.masks_by_name.items() if not is_array_or_npy_path(mask)}

    def check_options_fit_together(self) -> None:
        if self.memory < 1:
            raise ConfigError(f"memory must be a positive number of bytes, not {self.memory}")
        if self.label is not None and self.labels is not None:
            raise ConfigError("labels are given twice: as a column (label) and as a file (labels)")
        check_folder_can_take_store(Path(self.out), self.force)
        if self.nodes is None and (self.label or self.id or self.mask_columns_by_name or self.columns):
            others = next(iter(self.mask_columns_by_name), "columns")
            option = "label" if self.label is not None else "id" if self.id is not None else others
            raise ConfigError(f"{option} names a column of a node file, but there is none; give it as nodes")


def _check_inputs_and_write_store(inputs: _Inputs) -> Conversion:
    inputs.check_options_fit_together()
    delimiter = parse_delimiter(inputs.delimiter)
    check_features_given_once(inputs.columns, inputs.features is not None)
    node_table = None
    if inputs.nodes is not None:
        table = open_table(inputs.nodes, delimiter, with_encoding_check=False)
        node_table = NodeTable(
            table, inputs.id, inputs.label, inputs.mask_columns_by_name, inputs.columns, inputs.memory
        )
    edge_table = open_edge_table(inputs.edges, delimiter, with_encoding_check=False)
    choose_edge_columns(edge_table, inputs.source, inputs.target, inputs.weight)
    with (
        new_or_replaced_store_folder_context(Path(inputs.out)) as folder,
        ProgressBar(inputs.progress) as bar,
        id_database_context(folder / "work", inputs.memory) as ids,
    ):
        writer = NodeWriter(folder, inputs.memory, bar)
        if node_table is not None:
            node_table.write_ids_labels_and_masks(writer, ids, with_feature_sample=inputs.features is None)
        _write_feature_label_and_mask_arrays(inputs, writer)
        conversion = Conversion(str(inputs.out), nodes=writer.check_lengths_and_get_num_nodes(inputs.num_nodes))
        conversion.class_names, conversion.labeled = writer.write_labels_and_get_class_names_and_num_labeled()
        conversion.classes = len(conversion.class_names or [])
        if ids.num_ids:
            writer.files += ids.write_id_files_unless_range(folder)
        writer.files += _write_edges_and_list_files(inputs, edge_table, ids, folder, conversion, bar)
        if node_table is not None and inputs.features is None:
            edges = memory_map_edge_files(folder, conversion.nodes)
            encoder = node_table.fit_feature_encoder_and_warn_of_leaks(_map_labels_or_none(folder), *edges)
            node_table.encode_and_write_features(writer, encoder, *edges)
            conversion.column_notes = encoder.column_notes
        conversion.features = writer.num_features
        conversion.bytes = sum(file.bytes for file in writer.files)
        _write_header(folder / HEADER_NAME, conversion, writer.files)
    return conversion


def _write_feature_label_and_mask_arrays(inputs: _Inputs, writer: NodeWriter) -> None:
    """Features, labels and masks that are arrays."""
    if inputs.features is not None:
        writer.write_feature_array(inputs.features)
    if inputs.labels is not None:
        writer.write_label_array_codes(inputs.labels)
    for name, mask in inputs.masks_by_name.items():
        if name not in inputs.mask_columns_by_name:
            writer.write_mask_array(name, mask)


def _write_edges_and_list_files(
    inputs: _Inputs, table: Table, ids: IdDatabase, folder: Path, conversion: Conversion, bar: ProgressBar
) -> list[StoreFile]:
    """Write the edges, which name nodes by their ids, or by their numbers where they have none."""
    if inputs.drop_unknown and not ids.num_ids:
        raise ConfigError("drop_unknown is about ids, and the nodes have none; name their column with --id (id=)")
    are_named = ids.num_ids > 0 and (inputs.drop_unknown or not ids.is_range)
    if are_named:
        bar.start_step("ids of edges")
        ids.turn_header_of_known_nodes_into_edge_in_place(table)
    columns = choose_edge_columns(table, inputs.source, inputs.target, inputs.weight)
    conversion.weighted = columns.weight is not None
    chunks = (
        ids.iter_edges_as_positions(table, columns, conversion, inputs.drop_unknown)
        if are_named
        else iter_numbered_edges(table, columns, conversion.nodes, inputs.memory)
    )
    return sort_and_write_edge_files(chunks, table.num_rows, folder, conversion, inputs.memory, bar)


def _map_labels_or_none(folder: Path) -> np.ndarray | None:
    path = folder / "y.i64"
    return np.memmap(path, "<i8", "r") if path.exists() else None


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
