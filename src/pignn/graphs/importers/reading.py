"""A graph of the user's own, from files or objects, as PyG's `Data`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError
from ..tables.arrays import PathLike
from ..tables.formats import is_graph_file
from ..tables.reader import open_table
from . import file_readers as files
from .build_data import build_data
from .edges import read_edges
from .features import FeatureEncoder
from .graph_files import GraphFile
from .ids import NAMES, Ids
from .import_spec import Features, ImportSpec, RawGraph, check_columns
from .origin import Origin


def read_graph(
    nodes: PathLike | pd.DataFrame,
    edges: PathLike | pd.DataFrame | None = None,
    *,
    label: str | None = None,
    id: str | None = None,
    features: Features = None,
    trusted: str | None = None,
    source: str | None = None,
    edge_columns: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    drop_unknown: bool = False,
    directed: bool = False,
    val: float = 0.0,
    seed: int = 0,
    encoder: FeatureEncoder | None = None,
    class_names: Sequence[str] | None = None,
) -> Data:
    """A graph from files: `x`, `edge_index`, `y` (-1 where there is no label), masks, `node_id` and `class_names`.

    `train_mask` are the labelled nodes. `data.encoder` is what was learnt to make features of columns, `data.origin`
    where everything came from; :func:`~pignn.graphs.summarize_import` shows both.

    Args:
        nodes: one node a row: CSV, TSV, JSON lines (each also .gz) or Parquet. Or a file with everything in it: .npz,
            PyG's .pt, .graphml, .gml.
        edges: one edge a row: as `nodes`, or .npy of shape [E, 2] with numbers of rows.
        label: column with the labels, names or numbers; empty or -1 for none.
        id: column with the ids that `edges` uses; `id` or `node_id` if absent, else nodes are numbered by rows from 0.
        features: columns, as a list or "age,x*"; all others if absent. `"note:text"` says what kind a column is:
            number, category, text, date, vector or none. `"structure"` is what can be told from the graph alone, and
            what is taken where there are no features. Or a file: .npy or .npz (one row a node), or a table with the
            same ids.
        trusted: column that says which labels were verified, 1 or 0.
        source: column that says who or what gave a label.
        edge_columns: of `edges`: from, to and perhaps weight, as a list or "from,to"; found by their names or order if
            absent.
        delimiter: between the columns of text files; guessed if absent.
        drop_unknown: leave out edges to nodes that are not there, which are an error otherwise.
        directed: keep the direction of edges; else the graph is made simple and undirected here.
        val: share of the labelled nodes to hold out as `val_mask`, of each class, at random by `seed`.
        encoder: of a trained model, to make the same features for other nodes and graphs.
        class_names: of a trained model, in its order.
    """
    spec = ImportSpec(
        label,
        id,
        features,
        trusted,
        source,
        edge_columns,
        delimiter,
        drop_unknown,
        directed,
        val,
        seed,
        encoder,
        class_names,
    )
    if isinstance(nodes, pd.DataFrame):
        if edges is None:
            raise ConfigError("the edges are missing; give them as a data frame or file")
        return build_data(_from_frame(nodes, edges, spec, "nodes", Origin("nodes")), spec, "graph")
    name = Path(nodes).name.partition(".")[0]
    if is_graph_file(nodes):
        if edges is not None:
            raise ConfigError(f"{nodes} holds a whole graph; leave the edges out")
        return build_data(from_whole(files.read_graph_file(Path(nodes)), spec, str(nodes)), spec, name)
    if edges is None:
        if not Path(nodes).exists():
            raise DataError(f"cannot read {nodes}: no such file")
        raise ConfigError(f"{nodes} holds nodes only: give the edges, with --edges FILE (edges=)")
    return build_data(_from_table(nodes, edges, spec), spec, name)


def from_whole(whole: GraphFile, spec: ImportSpec, title: str) -> RawGraph:
    """A graph that came in one piece; columns that say by their names what they are, are that."""
    spec.as_trained(list(whole.frame.columns))
    spec.id = whole.id if spec.id is None else spec.id
    spec.label = whole.label if spec.label is None else spec.label
    if whole.trusted is not None:
        if spec.label is None or whole.label not in (None, spec.label):  # it speaks of other labels
            whole.frame = whole.frame.drop(columns=whole.trusted)
        elif spec.trusted is None:
            spec.trusted = whole.trusted
    check_columns(whole.frame, spec, title)
    ids = _ids(whole.frame, spec.id, title)
    raw = RawGraph(whole.frame, ids, whole.ends, whole.weight, _origin(spec, title, None), whole.x)
    raw.masks, raw.class_names = whole.masks, whole.class_names
    raw.y_true, raw.label_weight = whole.y_true, whole.label_weight
    return raw


def _from_table(nodes: PathLike, edges: Any, spec: ImportSpec) -> RawGraph:
    table = open_table(nodes, spec.delimiter)
    spec.as_trained(table.columns)
    if spec.id is None:
        spec.id = next((name for name in table.columns if table.has_header and name.lower() in NAMES), None)
    text = [name for name in spec.roles() if name in table.columns]
    frame = table.read_dataframe(text)
    origin = Origin(str(nodes), sha256=table.sha256, header=table.has_header, delimiter=table.delimiter)
    origin.read.append(f"nodes: {table.describe()}")
    return _from_frame(frame, edges, spec, str(nodes), origin)


def _from_frame(frame: pd.DataFrame, edges: Any, spec: ImportSpec, title: str, origin: Origin) -> RawGraph:
    frame = frame.reset_index(drop=True)
    frame.columns = frame.columns.astype(str)
    if not frame.columns.is_unique:
        raise DataError(f"{title} has two columns named '{frame.columns[frame.columns.duplicated()][0]}'; rename one")
    if not len(frame):
        raise DataError(f"{title} has no rows")
    spec.as_trained(list(frame.columns))
    if spec.id is None:
        spec.id = next((name for name in frame.columns if name.lower() in NAMES), None)
    check_columns(frame, spec, title)
    if spec.encoder is not None and spec.features is None:  # before the edges, which fit no other table either
        spec.encoder.check_columns(frame.columns, title)
    ids = _ids(frame, spec.id, title, origin.first_row)
    how = f"ids are column '{spec.id}'" if spec.id else "no column of ids: nodes are numbered by their rows, from 0"
    origin = _origin(spec, title, edges if isinstance(edges, str | os.PathLike) else None, origin)
    origin.read.append(f"nodes: {how}")
    found = read_edges(
        edges,
        ids,
        frame,
        columns=spec.edge_columns,
        delimiter=spec.delimiter,
        drop_unknown=spec.drop_unknown,
    )
    origin.read += found.notes
    return RawGraph(frame, ids, found.ends, found.weight, origin)


def _origin(spec: ImportSpec, title: str, edges: Any, origin: Origin | None = None) -> Origin:
    origin = origin or Origin(title)
    origin.edges = None if edges is None else str(edges)
    origin.id, origin.label, origin.trusted, origin.source = spec.id, spec.label, spec.trusted, spec.source
    return origin


def _ids(frame: pd.DataFrame, column: str | None, title: str, first: int = 1) -> Ids:
    if column is None:
        return Ids.counting(len(frame), title)
    return Ids.of(frame[column], f"{title}, column '{column}'", first)
