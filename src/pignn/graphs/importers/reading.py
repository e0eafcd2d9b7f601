"""Read a graph from files or data frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError
from ..tables.arrays import PathLike
from ..tables.formats import has_graph_suffix
from ..tables.reader import STANDARD_INPUT, open_table
from ..tables.table import FrameTable, Table
from .build_data import build_data
from .edges import read_edges
from .feature_encoder import FeatureEncoder
from .graph_files import read_raw_graph_file
from .import_spec import Features, ImportSpec
from .node_ids import ID_NAMES, NodeIds
from .raw_graph import RawGraph


def read_graph(
    nodes: PathLike | pd.DataFrame,
    edges: PathLike | pd.DataFrame | None = None,
    *,
    label: str | Sequence[str] | None = None,
    id: str | None = None,
    features: Features = None,
    trusted: str | None = None,
    source: str | None = None,
    votes: PathLike | pd.DataFrame | None = None,
    name: str | None = None,
    edge_columns: str | Sequence[str] | None = None,
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
        nodes: one node per row: CSV, TSV, JSON lines (each also .gz or .zst), Parquet, `-` for standard input, or a
            data frame. Or a file with a whole graph: .npz, PyG's .pt, .graphml, .gml.
        edges: one edge per row, as `nodes`; or .npy of shape [E, 2] with row numbers.
        label: column of the labels, names or numbers; empty or -1 for none. Several columns, as a list or "a,b", are
            labels of several annotators.
        id: column of the ids that `edges` uses. Default: `id` or `node_id`, else rows are numbered from 0.
        features: columns, as a list or "age,x*". Default: all others. `"note:text"` sets the kind of a column: number,
            category, text, date, vector or none. `"structure"` adds features of the graph alone, which are also used
            where there are no others. Or a file: .npy or .npz (one row per node), or a table with the same ids.
        trusted: column that says which labels were verified, 1 or 0.
        source: column that says who or what gave a label.
        votes: labels of several annotators, one per row: columns node (or the column of ids), annotator, label and
            perhaps confidence, above 0 and at most 1. `label` then is one more annotator. See `data.votes`.
        name: column with names of the nodes for people, which tables and pages show beside the ids.
        edge_columns: columns of `edges`: from, to and perhaps weight, as a list or "from,to". Default: by their names
            or order.
        delimiter: between the columns of text files. Default: detected.
        drop_unknown: leave out edges to unknown nodes, which are an error otherwise.
        directed: keep the direction of edges. Otherwise the graph is made simple and undirected.
        val: fraction of the labeled nodes of each class to hold out as `val_mask`, drawn by `seed`.
        seed: random seed for `val`.
        encoder: encoder of a trained model, for the same features.
        class_names: classes of a trained model, in its order.
    """
    options = {name: value for name, value in locals().items() if name not in ("nodes", "edges")}
    return _import_graph(nodes, edges, ImportSpec(**options))


def _import_graph(nodes: PathLike | pd.DataFrame, edges: PathLike | pd.DataFrame | None, spec: ImportSpec) -> Data:
    if isinstance(nodes, pd.DataFrame):
        if edges is None:
            raise ConfigError("the edges are missing; give them as a data frame or file")
        return build_data(*_read_raw_graph_and_complete_spec(FrameTable("nodes", nodes), edges, spec), "graph")
    name = Path(nodes).name.partition(".")[0]
    if has_graph_suffix(nodes):
        if edges is not None:
            raise ConfigError(f"{nodes} holds a whole graph; leave the edges out")
        return build_data(*assign_roles_and_complete_spec(read_raw_graph_file(Path(nodes)), spec), name)
    if edges is None:
        if not Path(nodes).exists():
            raise DataError(f"cannot read {nodes}: no such file")
        raise ConfigError(f"{nodes} holds nodes only: give the edges, with --edges FILE (edges=)")
    return build_data(*_read_raw_graph_and_complete_spec(open_table(nodes, spec.delimiter), edges, spec), name)


def assign_roles_and_complete_spec(raw_graph: RawGraph, spec: ImportSpec) -> tuple[RawGraph, ImportSpec]:
    """Give columns of a whole graph the roles that the spec, the trained model or their names say."""
    columns = list(raw_graph.frame.columns)
    spec = spec.resolve_vote_columns(columns)
    spec = spec.with_default_roles(columns, {"id": raw_graph.id, "label": raw_graph.label})
    if spec.name is None and raw_graph.name not in spec.map_columns_to_roles():
        spec = spec.with_default_roles(columns, {"name": raw_graph.name})
    if raw_graph.trusted is not None:
        if spec.label is None or raw_graph.label not in (None, spec.label):  # it is about other labels
            raw_graph.frame = raw_graph.frame.drop(columns=raw_graph.trusted)
        else:
            spec = spec.with_default_roles(columns, {"trusted": raw_graph.trusted})
    spec.check_column_roles(list(raw_graph.frame.columns), raw_graph.title)
    _set_node_ids_and_roles_in_place(raw_graph, spec)
    return raw_graph, spec


def _read_raw_graph_and_complete_spec(
    nodes: Table, edges: PathLike | pd.DataFrame, spec: ImportSpec
) -> tuple[RawGraph, ImportSpec]:
    """Read a table of nodes and one of edges."""
    id_column = next((name for name in nodes.columns if nodes.has_header and name.lower() in ID_NAMES), None)
    spec = spec.resolve_vote_columns(nodes.columns).with_default_roles(nodes.columns, {"id": id_column})
    if len(set(nodes.columns)) < len(nodes.columns):
        twice = next(name for name in nodes.columns if nodes.columns.count(name) > 1)
        raise DataError(f"{nodes.name} has two columns named '{twice}'; rename one")
    if isinstance(nodes, FrameTable) and not nodes.num_rows:
        raise DataError(f"{nodes.name} has no rows")
    frame = nodes.read_dataframe([name for name in spec.map_columns_to_roles() if name in nodes.columns])
    spec.check_column_roles(list(frame.columns), nodes.name)
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
    origin.notes += [] if isinstance(nodes, FrameTable) else [f"nodes: {nodes.describe_layout()}"]
    origin.notes.append(f"nodes: {ids}")
    imported = read_edges(edges, raw_graph.ids, frame, spec)
    raw_graph.ends, raw_graph.weight = imported.ends, imported.weight
    origin.notes += imported.notes
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
