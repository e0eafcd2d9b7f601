"""Read a graph from files or data frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError, PignnWarning
from ..tables.arrays import PathLike
from ..tables.formats import has_graph_suffix
from ..tables.local_copies import find_web_address_or_none, get_path_or_local_copy
from ..tables.reader import STANDARD_INPUT, list_table_files, open_table
from ..tables.table import FrameTable, Table
from .edges import read_edges
from .feature_encoder import FeatureEncoder, select_feature_columns_and_kinds
from .graph_files import read_raw_graph_file
from .import_spec import STRUCTURE, Features, ImportSpec
from .labels import parse_labels_and_class_names, parse_trusted_mask
from .node_ids import ID_NAMES, NodeIds
from .raw_graph import RawGraph
from .votes import read_raw_votes_from_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

MAX_CHECKED_BYTES = 1 << 24  # of files that are read twice, to tell mistakes before torch is imported


def read_graph(
    nodes: PathLike | pd.DataFrame,
    edges: PathLike | pd.DataFrame | None = None,
    *,
    label: str | Sequence[str] | None = None,
    id: str | None = None,
    features: Features = None,
    text_model: PathLike | None = None,
    trusted: str | None = None,
    source: str | None = None,
    votes: PathLike | pd.DataFrame | None = None,
    name: str | None = None,
    truth: str | None = None,
    edge_columns: str | Sequence[str] | None = None,
    edge_types: str | None = None,
    delimiter: str | None = None,
    drop_unknown: bool = False,
    directed: bool = False,
    val: float = 0.0,
    seed: int = 0,
    encoder: FeatureEncoder | None = None,
    class_names: Sequence[str] | None = None,
) -> Data:
    """Read a graph: `x`, `edge_index`, `y` (-1 where there is no label), masks, `node_id` and `class_names`.

    Labeled nodes are in `train_mask`. :func:`~pignn.graphs.summarize_import` shows what was read and encoded.

    Args:
        nodes: one node per row: CSV, TSV, JSON lines (each also .gz or .zst), Parquet, `-` for standard input, an
            address (https://, s3://), or a data frame. Or a file with a whole graph: .npz, PyG's .pt, .graphml, .gml.
        edges: one edge per row, as `nodes`; or .npy of shape [E, 2] with row numbers.
        label: column of the labels, names or numbers; empty or -1 for none. Several columns, as a list or "a,b", are
            labels of several annotators.
        id: column of the ids that `edges` uses. Default: `id` or `node_id`, else rows are numbered from 0.
        features: columns, as a list or "age,x*". Default: all others. `"note:text"` sets the kind of a column: number,
            category, text, date, vector or none. `"structure"` adds features of the graph alone, which are also used
            where there are no others. Or a file: .npy or .npz (one row per node), or a table with the same ids.
        text_model: folder of a sentence-transformers model; texts become its embeddings in place of TF-IDF.
        trusted: column that says which labels were verified, 1 or 0.
        source: column that says who or what gave a label.
        votes: labels of several annotators, one per row: columns node (or the column of ids), annotator, label and
            perhaps confidence, above 0 and at most 1. `label` then is one more annotator. See `data.votes`.
        name: column with names of the nodes for people, which tables and pages show beside the ids.
        truth: column with true labels, where some are known: predictions are scored with them, and nothing learns them.
        edge_columns: columns of `edges`: from, to and perhaps weight, as a list or "from,to". Default: by their names
            or order.
        edge_types: column of `edges` with their types and, as in "relation:cites=1,mentions=0.5", what each weighs:
            types that are not named are left out. Default: all count alike.
        delimiter: between the columns of text files. Default: detected.
        drop_unknown: leave out edges to unknown nodes, which are an error otherwise.
        directed: keep the direction of edges. Otherwise the graph is made simple and undirected.
        val: fraction of the labeled nodes of each class to hold out as `val_mask`, drawn by the random `seed`.
        encoder: encoder of a trained model, for the same features.
        class_names: classes of a trained model, in its order.
    """
    options = {name: value for name, value in locals().items() if name not in ("nodes", "edges")}
    from .build_data import build_data

    name = "graph" if isinstance(nodes, pd.DataFrame) else Path(nodes).name.partition(".")[0]
    return build_data(*_read_raw_graph_and_complete_spec(nodes, edges, ImportSpec(**options)), name)


def check_graph_files_can_be_read(nodes: PathLike, edges: PathLike | None, spec: ImportSpec) -> None:
    """Raise what reading these files would raise about files, columns, ids and labels, without torch.

    Of large files only the headers are read, as they will be read once more. Warnings are left to that reading too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PignnWarning)
        files = [
            file for path in (nodes, edges) if path and os.path.exists(path) for file in list_table_files(Path(path))
        ]
        if sum(map(os.path.getsize, files)) > MAX_CHECKED_BYTES:
            if not has_graph_suffix(nodes):
                table = open_table(nodes, spec.delimiter, with_encoding_check=False)
                spec.copy_with_label_names_as_vote_columns(table.columns).check_role_columns_exist_and_differ(
                    table.columns, table.name
                )
            return
        raw_graph, spec = _read_raw_graph_and_complete_spec(nodes, edges, spec)
        columns = [str(name) for name in raw_graph.frame.columns]
        if spec.features is not None and spec.feature_file_or_array is None:
            names = [str(name) for name in spec.features if name != STRUCTURE or STRUCTURE in columns]  # type: ignore[union-attr]
            select_feature_columns_and_kinds(names, columns, spec.map_columns_to_roles())
        title = f"{raw_graph.title}, column "
        if spec.label is not None and raw_graph.class_names is None and not spec.has_votes:
            parse_labels_and_class_names(raw_graph.frame[spec.label], f"{title}'{spec.label}'", spec.class_names)
        if spec.votes is not None:
            read_raw_votes_from_table(raw_graph, spec)
        if spec.trusted is not None:
            row = raw_graph.origin.first_row_number
            parse_trusted_mask(raw_graph.frame[spec.trusted], f"{title}'{spec.trusted}'", row)


def _read_raw_graph_and_complete_spec(
    nodes: PathLike | pd.DataFrame, edges: PathLike | pd.DataFrame | None, spec: ImportSpec
) -> tuple[RawGraph, ImportSpec]:
    """Read a graph from two tables, or from one file that holds all of it."""
    if isinstance(nodes, pd.DataFrame):
        if edges is None:
            raise ConfigError("the edges are missing; give them as a data frame or file")
        return _read_tables_and_complete_spec(FrameTable("nodes", nodes), edges, spec)
    if has_graph_suffix(nodes):
        if edges is not None:
            raise ConfigError(f"{nodes} holds a whole graph; leave the edges out")
        return assign_roles_in_place_and_complete_spec(read_raw_graph_file(get_path_or_local_copy(nodes)), spec)
    if edges is None:
        if not Path(nodes).exists() and find_web_address_or_none(nodes) is None:
            raise DataError(f"cannot read {nodes}: no such file")
        raise ConfigError(f"{nodes} holds nodes only: give the edges, with --edges FILE (edges=)")
    return _read_tables_and_complete_spec(open_table(nodes, spec.delimiter), edges, spec)


def assign_roles_in_place_and_complete_spec(raw_graph: RawGraph, spec: ImportSpec) -> tuple[RawGraph, ImportSpec]:
    """Give columns of a whole graph the roles that the spec, the trained model or their names say."""
    columns = list(raw_graph.frame.columns)
    spec = spec.copy_with_label_names_as_vote_columns(columns)
    spec = spec.copy_with_default_roles(columns, {"id": raw_graph.id, "label": raw_graph.label})
    if spec.name is None and raw_graph.name not in spec.map_columns_to_roles():
        spec = spec.copy_with_default_roles(columns, {"name": raw_graph.name})
    if raw_graph.trusted is not None:
        if spec.label is None or raw_graph.label not in (None, spec.label):  # it is about other labels
            raw_graph.frame = raw_graph.frame.drop(columns=raw_graph.trusted)
        else:
            spec = spec.copy_with_default_roles(columns, {"trusted": raw_graph.trusted})
    spec.check_role_columns_exist_and_differ(list(raw_graph.frame.columns), raw_graph.title)
    _set_node_ids_and_roles_in_place(raw_graph, spec)
    return raw_graph, spec


def _read_tables_and_complete_spec(
    nodes: Table, edges: PathLike | pd.DataFrame, spec: ImportSpec
) -> tuple[RawGraph, ImportSpec]:
    """Read a table of nodes and one of edges."""
    id_column = next((name for name in nodes.columns if nodes.has_header and name.lower() in ID_NAMES), None)
    spec = spec.copy_with_label_names_as_vote_columns(nodes.columns).copy_with_default_roles(
        nodes.columns, {"id": id_column}
    )
    if len(set(nodes.columns)) < len(nodes.columns):
        twice = next(name for name in nodes.columns if nodes.columns.count(name) > 1)
        raise DataError(f"{nodes.name} has two columns named '{twice}'; rename one")
    if isinstance(nodes, FrameTable) and not nodes.num_rows:
        raise DataError(f"{nodes.name} has no rows")
    frame = nodes.read_dataframe([name for name in spec.map_columns_to_roles() if name in nodes.columns])
    spec.check_role_columns_exist_and_differ(list(frame.columns), nodes.name)
    if spec.encoder is not None and spec.features is None:  # before the edges, which fit no other table either
        spec.encoder.check_has_columns(frame.columns, nodes.name)
    raw_graph = RawGraph(nodes.name, frame, ends=np.empty((2, 0), np.int64))
    origin = raw_graph.origin
    origin.sha256, origin.has_header, origin.delimiter = nodes.sha256, nodes.has_header, nodes.delimiter
    origin.edges = str(edges) if isinstance(edges, str | os.PathLike) else None
    if nodes.name == (STANDARD_INPUT if origin.edges == "-" else origin.edges):
        raise ConfigError(f"nodes and edges are both {nodes.name}; each needs a table of its own")
    _set_node_ids_and_roles_in_place(raw_graph, spec)
    ids = f"ids are column '{spec.id}'" if spec.id else "no column of ids: nodes are numbered by their rows, from 0"
    layout = "" if isinstance(nodes, FrameTable) else nodes.describe_layout()
    imported = read_edges(edges, raw_graph.ids, frame, spec)
    raw_graph.ends, raw_graph.weight = imported.ends, imported.weight
    edge_notes = [note for note in imported.notes if note != f"edges: {layout}"]
    described = "nodes" if len(edge_notes) == len(imported.notes) else "nodes and edges"
    origin.notes += [*([f"{described}: {layout}"] if layout else []), f"nodes: {ids}", *edge_notes]
    return raw_graph, spec


def _set_node_ids_and_roles_in_place(raw_graph: RawGraph, spec: ImportSpec) -> None:
    """Set the ids of the nodes, and in the origin the columns with a role."""
    origin = raw_graph.origin
    origin.id, origin.label, origin.trusted, origin.source = spec.id, spec.label, spec.trusted, spec.source
    if spec.id is None:
        raw_graph.ids = NodeIds.from_rows(raw_graph.num_nodes, raw_graph.title)
    else:
        column, title = raw_graph.frame[spec.id], f"{raw_graph.title}, column '{spec.id}'"
        raw_graph.ids = NodeIds.from_column(column, title, origin.first_row_number)
