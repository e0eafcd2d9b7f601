"""A graph of the user's own, from files or objects, as PyG's `Data`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ... import settings
from ...errors import ConfigError, DataError, PignnWarning, unknown
from ..disk.tables import PathLike, as_array, delimiter_named
from ..edges import simple_edges
from ..splits import _rank
from ..wording import counted
from . import files, labels
from .columns import MISSING, is_numeric
from .edges import read_edges
from .features import Encoder, Rows, told
from .ids import NAMES, Ids
from .origin import Origin
from .tables import SUFFIXES, how_read, kind_of, open_table, read_frame
from .whole import Whole

Features: TypeAlias = str | os.PathLike[str] | Sequence[str] | np.ndarray | None
STRUCTURE = "structure"


@dataclass
class Wanted:
    """What a graph is to be made of; see :func:`read_graph`."""

    label: str | None = None
    id: str | None = None
    features: Features = None
    trusted: str | None = None
    source: str | None = None
    edge_columns: Sequence[str] | None = None
    delimiter: str | None = None
    drop_unknown: bool = False
    directed: bool = False
    val: float = 0.0
    seed: int = 0
    encoder: Encoder | None = None
    class_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        settings.number("val", self.val, below=1.0)
        settings.seed("seed", self.seed)
        self.delimiter = delimiter_named(self.delimiter)
        if isinstance(self.features, str) and not _is_file(self.features):
            self.features = [name.strip() for name in self.features.split(",") if name.strip()]

    def roles(self) -> dict[str, str]:
        """Columns that are no features, and what they are."""
        named = {"id": self.id, "label": self.label, "label's trust": self.trusted, "label's source": self.source}
        return {column: role for role, column in named.items() if column is not None}

    def as_trained(self, columns: Sequence[str]) -> None:
        """Take the columns that a model was trained with, where nothing else is said and they are there."""
        reading: Mapping[str, Any] = self.encoder.reading if self.encoder else {}
        for name in ("id", "label", "trusted", "source"):
            if getattr(self, name) is None and reading.get(name) in columns:
                setattr(self, name, reading[name])


@dataclass
class _Came:
    """A graph as it came in."""

    frame: pd.DataFrame
    ids: Ids
    ends: np.ndarray
    weight: np.ndarray | None
    origin: Origin
    x: np.ndarray | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    class_names: list[str] | None = None
    y_true: np.ndarray | None = None


def read_graph(
    nodes: PathLike | pd.DataFrame,
    edges: PathLike | pd.DataFrame | None = None,
    *,
    label: str | None = None,
    id: str | None = None,
    features: Features = None,
    trusted: str | None = None,
    source: str | None = None,
    edge_columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    drop_unknown: bool = False,
    directed: bool = False,
    val: float = 0.0,
    seed: int = 0,
    encoder: Encoder | None = None,
    class_names: Sequence[str] | None = None,
) -> Data:
    """A graph from files: `x`, `edge_index`, `y` (-1 where there is no label), masks, `node_id` and `class_names`.

    `train_mask` are the labelled nodes. `data.encoder` is what was learnt to make features of columns, `data.origin`
    where everything came from; :func:`~pignn.graphs.understood` shows both.

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
        edge_columns: of `edges`: from, to and perhaps weight; found by their names or order if absent.
        delimiter: between the columns of text files; guessed if absent.
        drop_unknown: leave out edges to nodes that are not there, which are an error otherwise.
        directed: keep the direction of edges; else the graph is made simple and undirected here.
        val: share of the labelled nodes to hold out as `val_mask`, of each class, at random by `seed`.
        encoder: of a trained model, to make the same features for other nodes and graphs.
        class_names: of a trained model, in its order.
    """
    wanted = Wanted(
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
        return made(_from_frame(nodes, edges, wanted, "nodes", Origin("nodes")), wanted, "graph")
    name = Path(nodes).name.partition(".")[0]
    if kind_of(nodes) in files.SUFFIXES:
        if edges is not None:
            raise ConfigError(f"{nodes} holds a whole graph; leave the edges out")
        return made(from_whole(files.read_whole(Path(nodes)), wanted, str(nodes)), wanted, name)
    if edges is None:
        raise ConfigError(f"{nodes} holds nodes only: give the edges, with --edges FILE (edges=)")
    return made(_from_table(nodes, edges, wanted), wanted, name)


def from_whole(whole: Whole, wanted: Wanted, title: str) -> _Came:
    """A graph that came in one piece; columns that say by their names what they are, are that."""
    wanted.as_trained(list(whole.frame.columns))
    wanted.id = whole.id if wanted.id is None else wanted.id
    wanted.label = whole.label if wanted.label is None else wanted.label
    _check_columns(whole.frame, wanted, title)
    ids = _ids(whole.frame, wanted.id, title, len(whole.frame))
    came = _Came(whole.frame, ids, whole.ends, whole.weight, _origin(wanted, title, None), whole.x)
    came.masks, came.class_names, came.y_true = whole.masks, whole.class_names, whole.y_true
    return came


def _from_table(nodes: PathLike, edges: Any, wanted: Wanted) -> _Came:
    table, digest = open_table(nodes, wanted.delimiter, of_nodes=True)
    wanted.as_trained(table.columns)
    if wanted.id is None:
        wanted.id = next((name for name in table.columns if table.header and name.lower() in NAMES), None)
    text = [name for name in wanted.roles() if name in table.columns]
    frame = read_frame(table, text)
    origin = Origin(str(nodes), sha256=digest, header=table.header, delimiter=getattr(table, "delimiter", None))
    origin.read.append(f"nodes: {how_read(table)}")
    return _from_frame(frame, edges, wanted, str(nodes), origin)


def _from_frame(frame: pd.DataFrame, edges: Any, wanted: Wanted, title: str, origin: Origin) -> _Came:
    frame = frame.reset_index(drop=True)
    frame.columns = frame.columns.astype(str)
    if not frame.columns.is_unique:
        raise DataError(f"{title} has two columns named '{frame.columns[frame.columns.duplicated()][0]}'; rename one")
    if not len(frame):
        raise DataError(f"{title} has no rows")
    wanted.as_trained(list(frame.columns))
    if wanted.id is None:
        wanted.id = next((name for name in frame.columns if name.lower() in NAMES), None)
    _check_columns(frame, wanted, title)
    ids = _ids(frame, wanted.id, title, len(frame))
    how = f"ids are column '{wanted.id}'" if wanted.id else "no column of ids: nodes are numbered by their rows, from 0"
    origin = _origin(wanted, title, edges if isinstance(edges, str | os.PathLike) else None, origin)
    origin.read.append(f"nodes: {how}")
    found = read_edges(
        edges,
        ids,
        frame,
        columns=wanted.edge_columns,
        delimiter=wanted.delimiter,
        drop_unknown=wanted.drop_unknown,
    )
    origin.read += found.notes
    return _Came(frame, ids, found.ends, found.weight, origin)


def made(came: _Came, wanted: Wanted, name: str) -> Data:
    """The graph with features, labels and masks."""
    nodes, title = len(came.ids), came.origin.nodes
    ends = torch.from_numpy(np.ascontiguousarray(came.ends))
    weight = None if came.weight is None else torch.from_numpy(came.weight)
    simple = simple_edges(ends, nodes, weight)
    row, col = simple.edge_index.numpy()
    crow = np.concatenate([[0], np.bincount(row, minlength=nodes).cumsum()])
    if not wanted.directed:
        ends, weight = simple.edge_index, simple.edge_weight
        came.origin.read += [f"edges: {note}" for note in simple.notes]
    data = Data(edge_index=ends, y=torch.full((nodes,), -1))
    _label(data, came, wanted, title)
    rows = Rows(came.frame, title, crow, col, came.x)
    encoder = wanted.encoder or _learnt(rows, wanted, came)
    if wanted.encoder is not None:
        _same_features(rows, wanted, came)
    data.x = encoder.transform(rows)
    came.origin.missing = _missing(rows.frame, encoder.needed)
    if weight is not None:
        data.edge_weight = weight
    _masks(data, came, wanted)
    data.node_id, data.name = came.ids.values, name
    data.encoder, data.origin = encoder, came.origin
    return data


# ---- parts ----


def _origin(wanted: Wanted, title: str, edges: Any, origin: Origin | None = None) -> Origin:
    origin = origin or Origin(title)
    origin.edges = None if edges is None else str(edges)
    origin.id, origin.label, origin.trusted, origin.source = wanted.id, wanted.label, wanted.trusted, wanted.source
    return origin


def _check_columns(frame: pd.DataFrame, wanted: Wanted, title: str) -> None:
    for option in ("id", "label", "trusted", "source"):
        column = getattr(wanted, option)
        if column is not None and column not in frame.columns:
            raise unknown(f"{option} column of {title}", column, list(frame.columns))
    given = [column for column in (wanted.id, wanted.label, wanted.trusted, wanted.source) if column is not None]
    for column in given:
        if given.count(column) > 1 and column in (wanted.id, wanted.trusted):
            raise ConfigError(f"column '{column}' cannot be two things; it is the {wanted.roles()[column]}")
    if (wanted.trusted or wanted.source) and wanted.label is None:
        raise ConfigError("trusted and source are about labels: say with label which column has them")


def _ids(frame: pd.DataFrame, column: str | None, title: str, nodes: int) -> Ids:
    if column is None:
        return Ids.counting(nodes, title)
    return Ids.of(frame[column], f"{title}, column '{column}'")


def _is_file(text: str) -> bool:
    return kind_of(text) in (".npy", ".npz", *SUFFIXES) and Path(text).exists()


def _learnt(rows: Rows, wanted: Wanted, came: _Came) -> Encoder:
    """An encoder for the features that are wanted."""
    taken, columns = wanted.roles(), [str(name) for name in rows.frame.columns]
    kinds: dict[str, str] = {}
    structure = False
    chosen = [name for name in columns if name not in taken]
    features = wanted.features
    if isinstance(features, str | os.PathLike | np.ndarray):
        chosen = _from_file(rows, features, came)
    elif features is not None:
        names = list(features)
        structure = STRUCTURE in names and STRUCTURE not in columns
        names = [name for name in names if not (structure and name == STRUCTURE)]
        chosen, kinds = told(names, columns, taken)
        rows.x = None
    elif came.x is not None:
        chosen = []
    encoder = Encoder.learn(rows, chosen, kinds, structure=structure)
    encoder.reading = {name: getattr(wanted, name) for name in ("id", "label", "trusted", "source")}
    encoder.reading["structure"] = structure
    if wanted.label is not None:
        _leaks(rows.frame, encoder.needed, wanted.label)
    return encoder


def _same_features(rows: Rows, wanted: Wanted, came: _Came) -> None:
    """Features for a trained model: those of a file, if one is named; its columns are known."""
    if isinstance(wanted.features, str | os.PathLike | np.ndarray):
        _from_file(rows, wanted.features, came)
    elif wanted.features is not None:
        raise ConfigError("the model knows its columns: leave the features out, or name a file with them")


def _from_file(rows: Rows, features: Any, came: _Came) -> list[str]:
    """Put features from an array or file beside the nodes; the columns that came with them."""
    name = "features" if isinstance(features, np.ndarray) else str(features)
    kind = kind_of(name)
    if isinstance(features, np.ndarray) or kind in (".npy", ".npz"):
        x = files.matrix(Path(name)) if kind == ".npz" else as_array(features)
        if x.ndim != 2 or x.dtype.kind not in "biuf" or len(x) != rows.nodes or not x.shape[1]:
            raise DataError(
                f"{name} must be numbers of shape [{rows.nodes}, features], one row a node, "
                f"not {x.dtype} {list(x.shape)}"
            )
        rows.x = x
        return []
    table, _ = open_table(name, None, of_nodes=True)
    column = came.origin.id if came.origin.id in table.columns else table.columns[0]
    frame = read_frame(table, [column])
    place = Ids.of(frame[column], f"{name}, column '{column}'").positions(pd.Series(came.ids.values))
    if (place < 0).any():
        first = came.ids.values[int((place < 0).argmax())]
        raise DataError(f"{name}: {counted(int((place < 0).sum()), 'node')} not there, first '{first}'")
    frame = frame.drop(columns=column).iloc[place].reset_index(drop=True)
    rows.frame = frame
    rows.x = None
    came.origin.read.append(f"features: {how_read(table)}, ids are column '{column}'")
    return list(frame.columns)


def _label(data: Data, came: _Came, wanted: Wanted, title: str) -> None:
    known = wanted.class_names
    if wanted.label is not None:
        column, where = came.frame[wanted.label], f"{title}, column '{wanted.label}'"
        if known is None and came.class_names is not None and is_numeric(column):
            data.y, data.class_names = _numbered(column, came.class_names, where)
        else:
            data.y, data.class_names = labels.classes(column, where, known)
    elif known is not None:
        data.class_names = list(known)
    labelled = data.y >= 0
    if wanted.trusted is not None:
        trusted = labels.trusted(came.frame[wanted.trusted], f"{title}, column '{wanted.trusted}'")
        if bare := int((trusted & ~labelled).sum()):
            _warn(f"{title}: {counted(bare, 'node')} trusted but without a label; there is nothing to trust")
        data.trusted_mask = trusted & labelled
    if wanted.source is not None:
        who, data.source_names = labels.sources(came.frame[wanted.source], f"{title}, column '{wanted.source}'")
        data.label_source = torch.where(labelled, who, -1)
    if came.y_true is not None:
        data.y_true = torch.from_numpy(came.y_true)


def _numbered(column: pd.Series[Any], names: list[str], where: str) -> tuple[Tensor, list[str]]:
    """Labels that are positions in a list of names, as in a `Data`."""
    values = column.to_numpy(np.float64, na_value=-1)
    if bool(((values < -1) | (values >= len(names)) | (values != np.trunc(values))).any()):
        raise DataError(f"{where}: labels must be -1 to {len(names) - 1}, as there are {len(names)} class names")
    return torch.from_numpy(values.astype(np.int64)), names


def _masks(data: Data, came: _Came, wanted: Wanted) -> None:
    """Labelled nodes train, unless the graph came with masks or some are to be held out."""
    labelled, nothing = data.y >= 0, torch.zeros(len(data.y), dtype=torch.bool)
    given = {name: torch.from_numpy(mask) for name, mask in came.masks.items()}
    data.train_mask = given.get("train_mask", labelled)
    data.val_mask, data.test_mask = given.get("val_mask", nothing), given.get("test_mask", nothing.clone())
    if not wanted.val:
        return
    if "val_mask" in given or data.train_mask.dim() > 1:
        raise ConfigError("the graph comes with masks of its own; leave val out")
    order = torch.randperm(len(data.y), generator=torch.Generator().manual_seed(wanted.seed))
    y = torch.where(data.train_mask & labelled, data.y, -1)
    sizes = torch.bincount(y[y >= 0], minlength=1)
    held = (sizes * wanted.val).round().long().minimum((sizes - 1).clamp(min=0))
    data.val_mask = (y >= 0) & (_rank(y, order) < held[y.clamp(min=0)])
    data.train_mask = data.train_mask & ~data.val_mask


def _missing(frame: pd.DataFrame, columns: list[str]) -> dict[str, int]:
    found = {}
    for name in columns:
        column = frame[name]
        empty = column.isna()
        if not is_numeric(column) and pd.api.types.is_string_dtype(column.dtype):
            empty |= column.astype(str).str.strip().str.lower().isin(MISSING)
        if count := int(empty.sum()):
            found[name] = count
    return found


def _leaks(frame: pd.DataFrame, columns: list[str], label: str) -> None:
    """Say so where a column is the label under another name."""
    if label not in frame.columns:
        return
    known = frame[label].notna().to_numpy()
    y, classes = pd.factorize(frame[label][known])
    if len(classes) < 2:
        return
    for name in columns:
        column = frame[name][known]
        if column.dtype.kind == "f" or (
            column.dtype == object and column.map(type).isin([list, tuple, np.ndarray]).any()
        ):
            continue
        codes, values = pd.factorize(column)
        if len(values) == len(classes) == len(np.unique(codes * len(classes) + y)) and (codes >= 0).all():
            _warn(f"column '{name}' is the label under another name; leave it out of the features")


def _warn(message: str) -> None:
    warnings.warn(message, PignnWarning, stacklevel=4)
