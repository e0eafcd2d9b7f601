"""A graph as it came in made into PyG's `Data`: features, labels and masks."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...errors import ConfigError, DataError, PignnWarning
from ..disk.tables import as_array
from ..edges import simple_edges
from ..splits import _rank
from ..wording import counted
from . import files, labels
from .columns import MISSING, is_numeric
from .features import Encoder, Rows, told
from .ids import Ids
from .tables import how_read, kind_of, open_table, read_frame
from .wanted import Came, Wanted

STRUCTURE = "structure"


def made(came: Came, wanted: Wanted, name: str) -> Data:
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


def _learnt(rows: Rows, wanted: Wanted, came: Came) -> Encoder:
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


def _same_features(rows: Rows, wanted: Wanted, came: Came) -> None:
    """Features for a trained model: those of a file, if one is named; its columns are known."""
    if isinstance(wanted.features, str | os.PathLike | np.ndarray):
        _from_file(rows, wanted.features, came)
    elif wanted.features is not None:
        raise ConfigError("the model knows its columns: leave the features out, or name a file with them")


def _from_file(rows: Rows, features: Any, came: Came) -> list[str]:
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


def _label(data: Data, came: Came, wanted: Wanted, title: str) -> None:
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


def _masks(data: Data, came: Came, wanted: Wanted) -> None:
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
