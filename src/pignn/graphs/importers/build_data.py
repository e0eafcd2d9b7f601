"""A graph as it came in made into PyG's `Data`: features, labels and masks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError, PignnWarning
from ...core.text import pluralize
from ..edges import simplify_edges
from ..splits import rank_within_class
from ..tables.arrays import load_array
from ..tables.formats import file_suffix
from ..tables.reader import open_table
from . import file_readers as files
from . import labels
from .column_kinds import MISSING, is_numeric
from .features import FeatureEncoder, Rows, parse_feature_spec
from .ids import Ids
from .import_spec import ImportSpec, RawGraph

STRUCTURE = "structure"
LOOK = 1000  # rows that tell a column of many values


def build_data(raw: RawGraph, spec: ImportSpec, name: str) -> Data:
    """The graph with features, labels and masks."""
    nodes, title = len(raw.ids), raw.origin.nodes
    ends = torch.from_numpy(np.ascontiguousarray(raw.ends))
    weight = None if raw.weight is None else torch.from_numpy(raw.weight)
    simple = simplify_edges(ends, nodes, weight)
    row, col = simple.edge_index.numpy()
    crow = np.concatenate([[0], np.bincount(row, minlength=nodes).cumsum()])
    if not spec.directed:
        ends, weight = simple.edge_index, simple.edge_weight
        raw.origin.read += [f"edges: {note}" for note in simple.notes]
    data = Data(edge_index=ends, y=torch.full((nodes,), -1))
    _label(data, raw, spec, title)
    rows = Rows(raw.frame, title, crow, col, raw.x, raw.origin.first_row)
    if spec.encoder is None:
        encoder = _learnt(rows, spec, raw)
        _leaks(rows.frame, encoder.needed, data.y.numpy())
        data.x = encoder.transform(rows)
    else:
        encoder = spec.encoder
        _same_features(rows, spec, raw)
        data.x = encoder.transform(rows)
        if new := encoder.unknown(rows, data.x.numpy()):
            _warn(f"{title}: {new}; the model has not learnt from such")
    raw.origin.missing = _missing(rows.frame, encoder.needed)
    if weight is not None:
        data.edge_weight = weight
        if weight.numel() and not bool(weight.any()):
            _warn(f"{raw.origin.edges or title}: all weights of edges are 0, so no neighbour counts; leave them out")
    _masks(data, raw, spec)
    data.node_id, data.name = raw.ids.values, name
    data.encoder, data.origin = encoder, raw.origin
    return data


def _learnt(rows: Rows, spec: ImportSpec, raw: RawGraph) -> FeatureEncoder:
    """An encoder for the features of the spec."""
    taken, columns = spec.roles(), [str(name) for name in rows.frame.columns]
    kinds: dict[str, str] = {}
    structure = False
    chosen = [name for name in columns if name not in taken]
    features = spec.features
    if isinstance(features, str | os.PathLike | np.ndarray):
        chosen = _from_file(rows, features, raw)
    elif features is not None:
        names = list(features)
        structure = STRUCTURE in names and STRUCTURE not in columns
        names = [name for name in names if not (structure and name == STRUCTURE)]
        chosen, kinds = parse_feature_spec(names, columns, taken)
        rows.x = None
    elif raw.x is not None:
        chosen = []
    encoder = FeatureEncoder.learn(rows, chosen, kinds, structure=structure)
    encoder.reading = {name: getattr(spec, name) for name in ("id", "label", "trusted", "source")}
    encoder.reading["structure"] = structure
    return encoder


def _same_features(rows: Rows, spec: ImportSpec, raw: RawGraph) -> None:
    """Features for a trained model: those of a file, if one is named; its columns are known."""
    if isinstance(spec.features, str | os.PathLike | np.ndarray):
        _from_file(rows, spec.features, raw)
    elif spec.features is not None:
        raise ConfigError("the model knows its columns: leave the features out, or name a file with them")


def _from_file(rows: Rows, features: Any, raw: RawGraph) -> list[str]:
    """Put features from an array or file beside the nodes; the columns that came with them."""
    name = "features" if isinstance(features, np.ndarray) else str(features)
    kind = file_suffix(name)
    if isinstance(features, np.ndarray) or kind in (".npy", ".npz"):
        x = files.matrix(Path(name)) if kind == ".npz" else load_array(features)
        if x.ndim != 2 or x.dtype.kind not in "biuf" or len(x) != rows.nodes or not x.shape[1]:
            raise DataError(
                f"{name} must be numbers of shape [{rows.nodes}, features], one row a node, "
                f"not {x.dtype} {list(x.shape)}"
            )
        rows.x = x
        return []
    table = open_table(name)
    column = raw.origin.id if raw.origin.id in table.columns else table.columns[0]
    frame = table.read_dataframe([column])
    ids = Ids.of(frame[column], f"{name}, column '{column}'", table.first_row)
    place = ids.positions(pd.Series(raw.ids.values))
    if (place < 0).any():
        first = raw.ids.values[int((place < 0).argmax())]
        raise DataError(f"{name}: {pluralize(int((place < 0).sum()), 'node')} not there, first '{first}'")
    frame = frame.drop(columns=column).iloc[place].reset_index(drop=True)
    rows.frame = frame
    rows.x = None
    raw.origin.read.append(f"features: {table.describe()}, ids are column '{column}'")
    return list(frame.columns)


def _label(data: Data, raw: RawGraph, spec: ImportSpec, title: str) -> None:
    known = spec.class_names
    if spec.label is not None:
        column, where = raw.frame[spec.label], f"{title}, column '{spec.label}'"
        if (names := raw.class_names) is not None and is_numeric(column):
            data.y = labels.numbered(column.to_numpy(np.float64, na_value=-1), names, where, known)
            data.class_names = names if known is None else list(known)
        else:
            data.y, data.class_names = labels.classes(column, where, known)
            # Declared classes stay, those without a label too, in their order.
            if known is None and names is not None and set(data.class_names) <= set(names):
                data.y, data.class_names = labels.classes(column, where, names)
    elif known is not None:
        data.class_names = list(known)
    labelled = data.y >= 0
    if spec.trusted is not None:
        where = f"{title}, column '{spec.trusted}'"
        trusted = labels.trusted(raw.frame[spec.trusted], where, raw.origin.first_row)
        if bare := int((trusted & ~labelled).sum()):
            _warn(f"{title}: {pluralize(bare, 'node')} trusted but without a label; there is nothing to trust")
        data.trusted_mask = trusted & labelled
    if spec.source is not None:
        who, data.source_names = labels.sources(raw.frame[spec.source], f"{title}, column '{spec.source}'")
        data.label_source = torch.where(labelled, who, -1)
    if raw.label_weight is not None:
        data.label_weight = torch.from_numpy(raw.label_weight)
    if raw.y_true is not None:
        data.y_true = _truth(raw, data.get("class_names"), known, f"{title}, 'y_true'")


def _truth(raw: RawGraph, names: Sequence[str] | None, known: Sequence[str] | None, title: str) -> Tensor:
    """True labels as positions among the classes of the given ones."""
    assert raw.y_true is not None
    if raw.class_names is not None:
        other = names if names is not None and list(names) != raw.class_names else known
        return labels.numbered(raw.y_true, raw.class_names, title, other)
    if names is None:
        return torch.from_numpy(raw.y_true)
    place = {name: i for i, name in enumerate(names)} | {"-1": -1}
    values, codes = np.unique(raw.y_true, return_inverse=True)
    if known is None and (new := [str(value) for value in values if str(value) not in place]):
        raise DataError(f"{title} has class {new[0]}, which no given label has; save class_names along with the graph")
    return torch.from_numpy(np.array([place.get(str(value), -1) for value in values], dtype=np.int64)[codes])


def _masks(data: Data, raw: RawGraph, spec: ImportSpec) -> None:
    """Labelled nodes train, unless the graph came with masks or some are to be held out."""
    labelled, nothing = data.y >= 0, torch.zeros(len(data.y), dtype=torch.bool)
    given = {name: torch.from_numpy(mask) for name, mask in raw.masks.items()}
    data.train_mask = given.get("train_mask", labelled)
    data.val_mask, data.test_mask = given.get("val_mask", nothing), given.get("test_mask", nothing.clone())
    splits = {mask.shape[1]: name for name, mask in given.items() if mask.dim() > 1}
    if len(splits) > 1:
        told = " and ".join(f"{name} has {pluralize(number, 'split')}" for number, name in splits.items())
        raise DataError(f"{told}; masks need one column for each split, all of them")
    if not spec.val:
        return
    if "val_mask" in given or data.train_mask.dim() > 1:
        raise ConfigError("the graph comes with masks of its own; leave val out")
    order = torch.randperm(len(data.y), generator=torch.Generator().manual_seed(spec.seed))
    y = torch.where(data.train_mask & labelled, data.y, -1)
    sizes = torch.bincount(y[y >= 0], minlength=1)
    held = (sizes * spec.val).round().long().minimum((sizes - 1).clamp(min=0))
    data.val_mask = (y >= 0) & (rank_within_class(y, order) < held[y.clamp(min=0)])
    data.train_mask = data.train_mask & ~data.val_mask


def _missing(frame: pd.DataFrame, columns: list[str]) -> dict[str, int]:
    return {name: count for name in columns if (count := int(_is_empty(frame[name]).sum()))}


def _is_empty(column: pd.Series[Any]) -> np.ndarray:
    empty = column.isna()
    if not is_numeric(column) and pd.api.types.is_string_dtype(column.dtype):
        empty |= column.astype(str).str.strip().str.lower().isin(MISSING)
    return empty.to_numpy(bool)


def _leaks(frame: pd.DataFrame, columns: list[str], y: np.ndarray) -> None:
    """Say so where a column is the label under another name, on the rows that have both."""
    labelled = y >= 0
    classes, some = len(np.unique(y[labelled])), np.flatnonzero(labelled)[:LOOK]
    if classes < 2:
        return
    for name in columns:
        column = frame[name]
        if column.dtype == object and column.map(type).isin([list, tuple, np.ndarray]).any():
            continue
        if column.iloc[some].nunique() > classes + len(MISSING):  # most features: no need to go through all rows
            continue
        both = labelled & ~_is_empty(column)
        codes, values = pd.factorize(column[both])
        pairs = np.unique(codes * (int(y.max()) + 1) + y[both])
        each = len(values) == classes == len(pairs) == len(np.unique(y[both]))
        if each and 2 * both.sum() >= labelled.sum():  # few rows agree by chance
            _warn(f"column '{name}' is the label under another name; leave it out of the features")


def _warn(message: str) -> None:
    warnings.warn(message, PignnWarning, stacklevel=4)
