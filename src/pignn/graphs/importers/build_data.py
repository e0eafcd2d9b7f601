"""A graph as read becomes PyG's `Data`: features, labels and masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError, warn_user
from ...core.text import format_count
from ...io.safe_readers import read_npz
from ..edges import simplify_edges
from ..splits import rank_within_class
from ..tables.arrays import load_or_map_array
from ..tables.formats import get_format_suffix
from ..tables.reader import open_table
from .column_kinds import compute_missing_mask, does_first_filled_cell_hold_list, is_numeric_column
from .feature_encoder import FeatureEncoder, select_feature_columns_and_kinds
from .graph_arrays import find_features_or_raise
from .import_spec import ROLES, STRUCTURE, ImportSpec
from .labels import (
    check_label_numbers_and_map_to_model_classes,
    parse_labels_and_class_names,
    parse_sources_and_names,
    parse_trusted_mask,
)
from .node_ids import NodeIds
from .raw_graph import RawGraph
from .votes import check_options_fit_votes, set_votes_and_labels_in_place

LEAK_SAMPLE_ROWS, MISSING_SPELLINGS = 1000, 8  # that tell a column of many values, missing ones aside


def build_data(raw_graph: RawGraph, spec: ImportSpec, name: str) -> Data:
    """Build the graph with features, labels and masks."""
    ends = torch.from_numpy(np.ascontiguousarray(raw_graph.ends))
    weight = None if raw_graph.weight is None else torch.from_numpy(raw_graph.weight)
    simple = simplify_edges(ends, raw_graph.num_nodes, weight)
    row, raw_graph.col = simple.edge_index.numpy()
    raw_graph.crow = np.concatenate([[0], np.bincount(row, minlength=raw_graph.num_nodes).cumsum()])
    if not spec.directed:
        ends, weight = simple.edge_index, simple.edge_weight
        raw_graph.origin.notes += [f"edges: {note}" for note in simple.notes]
    data = Data(edge_index=ends, y=torch.full((raw_graph.num_nodes,), -1))
    _set_labels_in_place(data, raw_graph, spec)
    raw_graph, columns = _add_features_and_get_columns(raw_graph, spec)
    if spec.encoder is None:
        encoder = _fit_feature_encoder(raw_graph, spec, columns)
        warn_if_columns_leak_labels(raw_graph.frame, encoder.input_columns, data.y.numpy())
        data.x = encoder.encode(raw_graph)
    else:
        encoder = spec.encoder
        if spec.text_model is not None:
            encoder.set_sentence_model_folder(str(spec.text_model))
        data.x = encoder.encode(raw_graph)
        if text := encoder.describe_unseen_values_or_empty(raw_graph, data.x.numpy()):
            warn_user(f"{raw_graph.title}: {text}; the model has not learned from such")
    columns_read = list(encoder.column_kinds or encoder.input_columns)
    raw_graph.origin.missing = _count_missing_per_column(raw_graph.frame, columns_read)
    if weight is not None:
        data.edge_weight = weight
        if weight.numel() and not bool(weight.any()):
            warn_user(
                f"{raw_graph.origin.edges or raw_graph.title}: all weights of edges are 0, so no neighbor counts; "
                "leave them out"
            )
    _set_masks_in_place(data, raw_graph, spec)
    data.node_id, data.name = raw_graph.ids.values, name
    if spec.name is not None:
        names = raw_graph.frame[spec.name]
        data.node_name = names.astype(str).where(names.notna(), "").to_numpy(object)
    data.encoder, data.origin = encoder, raw_graph.origin
    return data


def _fit_feature_encoder(
    raw_graph: RawGraph, spec: ImportSpec, columns_of_features_file: list[str] | None
) -> FeatureEncoder:
    """Fit an encoder on the features of the spec. ``columns_of_features_file`` are those of a file of features."""
    roles, all_columns = spec.map_columns_to_roles(), [str(name) for name in raw_graph.frame.columns]
    columns, kinds = columns_of_features_file, dict[str, str]()
    use_structure = False
    if columns is None and spec.features is not None:
        names = [str(name) for name in spec.features]  # type: ignore[union-attr]
        use_structure = STRUCTURE in names and STRUCTURE not in all_columns
        names = [name for name in names if not (use_structure and name == STRUCTURE)]
        columns, kinds = select_feature_columns_and_kinds(names, all_columns, roles)
        raw_graph = copy_raw_graph_with_changes(raw_graph, x=None)
    elif columns is None:
        columns = [] if raw_graph.x is not None else [name for name in all_columns if name not in roles]
    text_model = None if spec.text_model is None else str(spec.text_model)
    encoder = FeatureEncoder.fit(
        raw_graph, columns, kinds, with_structural_features=use_structure, text_model=text_model
    )
    encoder.roles = {role: getattr(spec, role) for role in ROLES} | {"structure": use_structure}
    return encoder


def copy_raw_graph_with_changes(raw_graph: RawGraph, **changes: Any) -> RawGraph:
    """A copy with some fields changed, which keeps ids, origin and edges."""
    copy = replace(raw_graph, **changes)
    copy.ids, copy.origin, copy.crow, copy.col = raw_graph.ids, raw_graph.origin, raw_graph.crow, raw_graph.col
    return copy


def _add_features_and_get_columns(raw_graph: RawGraph, spec: ImportSpec) -> tuple[RawGraph, list[str] | None]:
    """Put features from a file or array beside the nodes; returns its columns, None where there is no such file."""
    features = spec.feature_file_or_array
    if features is None:
        if spec.encoder is not None and spec.features is not None:
            raise ConfigError("the model knows its columns: leave the features out, or name a file with them")
        return raw_graph, None
    title = "features" if isinstance(features, np.ndarray) else str(features)
    if isinstance(features, np.ndarray) or get_format_suffix(title) in (".npy", ".npz"):
        is_npz = get_format_suffix(title) == ".npz"
        x = find_features_or_raise(read_npz(Path(title)), title) if is_npz else load_or_map_array(features)
        if x.ndim != 2 or x.dtype.kind not in "biuf" or len(x) != raw_graph.num_nodes or not x.shape[1]:
            expected = f"numbers of shape [{raw_graph.num_nodes}, features], one row per node"
            raise DataError(f"{title} must be {expected}, not {x.dtype} {list(x.shape)}")
        return copy_raw_graph_with_changes(raw_graph, x=x), []
    table = open_table(title)
    column = raw_graph.origin.id if raw_graph.origin.id in table.columns else table.columns[0]
    frame = table.read_dataframe([column])
    ids = NodeIds.from_column(frame[column], f"{title}, column '{column}'", table.first_row_number)
    positions = ids.find_positions_or_minus_one(pd.Series(raw_graph.ids.values))
    if (positions < 0).any():
        first = raw_graph.ids.values[int((positions < 0).argmax())]
        missing = format_count(int((positions < 0).sum()), "node")
        raise DataError(f"{title}: {missing} not there, first '{first}'")
    frame = frame.drop(columns=column).iloc[positions].reset_index(drop=True)
    raw_graph.origin.notes.append(f"features: {table.describe_layout()}, ids are column '{column}'")
    return copy_raw_graph_with_changes(raw_graph, frame=frame, x=None), list(frame.columns)


def _set_labels_in_place(data: Data, raw_graph: RawGraph, spec: ImportSpec) -> None:
    model_classes = spec.class_names
    if spec.has_votes:
        check_options_fit_votes(spec)
    if spec.label is not None:
        _set_given_labels_in_place(data, raw_graph, spec.label, model_classes)
    elif model_classes is not None:
        data.class_names = list(model_classes)
    is_labeled = data.y >= 0
    if spec.trusted is not None:
        title = f"{raw_graph.title}, column '{spec.trusted}'"
        column = raw_graph.frame[spec.trusted]
        trusted = torch.from_numpy(parse_trusted_mask(column, title, raw_graph.origin.first_row_number))
        if count := int((trusted & ~is_labeled).sum()):
            warn_user(
                f"{raw_graph.title}: {format_count(count, 'node')} trusted but without a label; "
                "there is nothing to trust"
            )
        data.trusted_mask = trusted & is_labeled
    if spec.source is not None:
        column, title = raw_graph.frame[spec.source], f"{raw_graph.title}, column '{spec.source}'"
        label_source, data.source_names = parse_sources_and_names(column, title)
        data.label_source = torch.where(is_labeled, torch.from_numpy(label_source), -1)
    if spec.has_votes:
        set_votes_and_labels_in_place(data, raw_graph, spec)
    if raw_graph.label_weight is not None:
        data.label_weight = torch.from_numpy(raw_graph.label_weight)
    if spec.truth is not None:
        title = f"{raw_graph.title}, column '{spec.truth}'"
        data.y_true = parse_labels_and_class_names(raw_graph.frame[spec.truth], title, data.get("class_names"))[0]
    elif raw_graph.y_true is not None:
        data.y_true = _map_true_labels_to_class_positions(
            raw_graph, raw_graph.y_true, data.get("class_names"), model_classes
        )


def _set_given_labels_in_place(
    data: Data, raw_graph: RawGraph, label: str, model_classes: Sequence[str] | None
) -> None:
    column, title, names = raw_graph.frame[label], f"{raw_graph.title}, column '{label}'", raw_graph.class_names
    if names is not None and is_numeric_column(column):
        numbers = check_label_numbers_and_map_to_model_classes(
            column.to_numpy(np.float64, na_value=-1), names, title, model_classes
        )
        data.y = torch.from_numpy(numbers)
        data.class_names = names if model_classes is None else list(model_classes)
        return
    y, data.class_names = parse_labels_and_class_names(column, title, model_classes)
    # Declared classes stay in their order, also those without a label.
    if model_classes is None and names is not None and set(data.class_names) <= set(names):
        y, data.class_names = parse_labels_and_class_names(column, title, names)
    data.y = torch.from_numpy(y)


def _map_true_labels_to_class_positions(
    raw_graph: RawGraph, y_true: np.ndarray, names: Sequence[str] | None, model_classes: Sequence[str] | None
) -> Tensor:
    """True labels as positions among the classes of the given ones."""
    title = f"{raw_graph.title}, 'y_true'"
    if raw_graph.class_names is not None:
        others = names if names is not None and list(names) != raw_graph.class_names else model_classes
        return torch.from_numpy(
            check_label_numbers_and_map_to_model_classes(y_true, raw_graph.class_names, title, others)
        )
    if names is None:
        return torch.from_numpy(y_true)
    positions = {name: i for i, name in enumerate(names)} | {"-1": -1}
    values, codes = np.unique(y_true, return_inverse=True)
    if model_classes is None and (new := [str(value) for value in values if str(value) not in positions]):
        raise DataError(f"{title} has class {new[0]}, which no given label has; save class_names along with the graph")
    return torch.from_numpy(np.array([positions.get(str(value), -1) for value in values], dtype=np.int64)[codes])


def _set_masks_in_place(data: Data, raw_graph: RawGraph, spec: ImportSpec) -> None:
    """Labeled nodes train, unless the graph brings masks. Some are held out for validation if the spec says so."""
    is_labeled, nothing = data.y >= 0, torch.zeros(len(data.y), dtype=torch.bool)
    masks = {name: torch.from_numpy(mask) for name, mask in raw_graph.masks.items()}
    data.train_mask = masks.get("train_mask", is_labeled)
    data.val_mask, data.test_mask = masks.get("val_mask", nothing), masks.get("test_mask", nothing.clone())
    splits = {mask.shape[1]: name for name, mask in masks.items() if mask.dim() > 1}
    if len(splits) > 1:
        listing = " and ".join(f"{name} has {format_count(number, 'split')}" for number, name in splits.items())
        raise DataError(f"{listing}; all masks need one column per split")
    if not spec.val:
        return
    if "val_mask" in masks or data.train_mask.dim() > 1:
        raise ConfigError("the graph comes with masks of its own; leave val out")
    order = torch.randperm(len(data.y), generator=torch.Generator().manual_seed(spec.seed))
    y = torch.where(data.train_mask & is_labeled, data.y, -1)
    sizes = torch.bincount(y[y >= 0], minlength=1)
    num_held_out = (sizes * spec.val).round().long().minimum((sizes - 1).clamp(min=0))
    data.val_mask = (y >= 0) & (rank_within_class(y, order) < num_held_out[y.clamp(min=0)])
    data.train_mask = data.train_mask & ~data.val_mask


def _count_missing_per_column(frame: pd.DataFrame, columns: list[str]) -> dict[str, int]:
    return {
        name: count for name in columns if name in frame and (count := int(compute_missing_mask(frame[name]).sum()))
    }


def warn_if_columns_leak_labels(frame: pd.DataFrame, columns: list[str], y: np.ndarray) -> None:
    """Warn if a column is the label under another name, on the rows that have both."""
    is_labeled = y >= 0
    num_classes, sample = len(np.unique(y[is_labeled])), np.flatnonzero(is_labeled)[:LEAK_SAMPLE_ROWS]
    if num_classes < 2:
        return
    for name in columns:
        column = frame[name]
        if does_first_filled_cell_hold_list(column):
            continue
        if column.iloc[sample].nunique() > num_classes + MISSING_SPELLINGS:  # most features: no need for all rows
            continue
        has_both = is_labeled & ~compute_missing_mask(column)
        codes, values = pd.factorize(column[has_both])
        pairs = np.unique(codes * (int(y.max()) + 1) + y[has_both])
        is_one_to_one = len(values) == num_classes == len(pairs) == len(np.unique(y[has_both]))
        if is_one_to_one and 2 * has_both.sum() >= is_labeled.sum():  # few rows agree by chance
            warn_user(f"column '{name}' is the label under another name; leave it out of the features")
