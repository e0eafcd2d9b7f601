"""Labels of several annotators: columns of the nodes, one per annotator, or a table with one vote per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError, build_unknown_name_error, warn_user
from ...core.text import format_count
from ..tables.cells import quote_cell_for_message, to_numbers_or_nan
from ..tables.reader import open_table
from ..tables.table import FrameTable, Table
from .import_spec import ImportSpec
from .labels import parse_labels_and_class_names, parse_sources_and_names
from .node_ids import ID_NAMES
from .raw_graph import RawGraph

if TYPE_CHECKING:
    from torch_geometric.data import Data

ANNOTATOR, LABEL, CONFIDENCE = "annotator", "label", "confidence"


@dataclass
class RawVotes:
    """Votes as read: `frame` has node (a row of the nodes, -1 if unknown), annotator, label and confidence."""

    title: str
    frame: pd.DataFrame


def set_votes_and_labels_in_place(data: Data, raw_graph: RawGraph, spec: ImportSpec) -> None:
    """Set `votes`, `annotators`, perhaps `vote_confidence`, `class_names`, and `y` to the most frequent vote."""
    import torch

    from ..votes import parse_votes_annotators_and_classes

    trusted = data.get("trusted_mask")
    parts = [_build_votes_of_one_annotator(raw_graph, column) for column in spec.vote_columns]
    if spec.votes is not None:
        parts.append(read_raw_votes_from_table(raw_graph, spec))
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    title = " and ".join(dict.fromkeys(part.title for part in parts))
    labels, class_names = parse_labels_and_class_names(frame[LABEL], title, spec.class_names)
    frame[LABEL] = labels
    known = None
    if trusted is not None:  # the only column of labels comes first; where somebody verified it, it is no vote
        known = torch.where(trusted, torch.from_numpy(labels[: len(trusted)]), -1)
        frame = frame[~np.append(trusted.numpy(), np.zeros(len(frame) - len(trusted), dtype=bool))]
    annotators, names = parse_sources_and_names(frame[ANNOTATOR], title)
    if spec.vote_columns:  # in the order of the columns, which settles ties
        order = [*spec.vote_columns, *(name for name in names if name not in spec.vote_columns)]
        position = np.array([order.index(name) for name in names] + [-1])
        annotators, names = position[annotators], order
    frame = frame.assign(**{ANNOTATOR: annotators})
    frame, notes = _drop_unusable_and_repeated_votes_with_notes(frame, title, names)
    data.votes = torch.from_numpy(frame[["node", ANNOTATOR, LABEL]].to_numpy(np.int64, copy=True))
    data.annotators, data.class_names = names, class_names
    if bool((frame[CONFIDENCE] < 1).any()):
        data.vote_confidence = torch.from_numpy(frame[CONFIDENCE].to_numpy(np.float32, copy=True))
    votes, _, _ = parse_votes_annotators_and_classes(data, raw_graph.num_nodes)
    given = torch.from_numpy(votes.choose_plurality_classes())
    data.y = given if known is None else torch.where(known >= 0, known, given)
    voted = format_count(int((votes.count_per_node() > 0).sum()), "node")
    voters = format_count(len(names), "annotator")
    note = f"votes: {len(votes):,} of {voters} on {voted}; a label is the most frequent vote"
    if ties := len(votes.find_tied_node_indices()):
        note += f", at {format_count(ties, 'tie')} that of the first annotator"
    raw_graph.origin.notes += [note, *notes]


def _build_votes_of_one_annotator(raw_graph: RawGraph, column: str) -> RawVotes:
    """A column of the nodes as votes of one annotator."""
    frame = pd.DataFrame({"node": np.arange(raw_graph.num_nodes), ANNOTATOR: column, LABEL: raw_graph.frame[column]})
    frame[CONFIDENCE] = 1.0
    return RawVotes(raw_graph.title, frame)


def read_raw_votes_from_table(raw_graph: RawGraph, spec: ImportSpec) -> RawVotes:
    votes = spec.votes
    assert votes is not None
    table: Table = FrameTable("votes", votes) if isinstance(votes, pd.DataFrame) else open_table(votes, spec.delimiter)
    names = {name.lower(): name for name in reversed(table.columns)}
    if not table.has_header:
        raise DataError(f"{table.name} has no header; its columns must be called node, annotator, label (, confidence)")
    node = spec.id if spec.id in table.columns else next((names[name] for name in ID_NAMES if name in names), None)
    if node is None:
        raise build_unknown_name_error(f"column of {table.name}", "node", table.columns)
    for name in (ANNOTATOR, LABEL):
        if name not in names:
            raise build_unknown_name_error(f"column of {table.name}", name, table.columns)
    read = table.read_dataframe([node, names[ANNOTATOR], names[LABEL]])
    frame = pd.DataFrame({"node": raw_graph.ids.find_positions_or_minus_one(read[node])})
    frame[ANNOTATOR], frame[LABEL] = read[names[ANNOTATOR]], read[names[LABEL]]
    unknown = np.flatnonzero(frame["node"] < 0)
    if len(unknown):
        first = quote_cell_for_message(read[node].iloc[unknown[0]])
        number = f"{len(unknown):,} of {format_count(len(read), 'vote')}"
        message = f"{table.name}: {number} on nodes that are not there, first {first}"
        if not spec.drop_unknown:
            raise DataError(f"{message}; drop_unknown leaves them out")
        warn_user(f"{message}; left out")
    nameless = np.flatnonzero(frame[ANNOTATOR].isna() | (frame[ANNOTATOR].astype(str).str.strip() == ""))
    if len(nameless):
        row = table.first_row_number + nameless[0]
        raise DataError(f"{table.name}: {format_count(len(nameless), 'vote')} without an annotator, first row {row:,}")
    confidence = read[names[CONFIDENCE]] if CONFIDENCE in names else None
    frame[CONFIDENCE] = 1.0 if confidence is None else _parse_confidence_or_ones(confidence, table)
    return RawVotes(table.name, frame)


def _parse_confidence_or_ones(column: pd.Series[Any], table: Table) -> np.ndarray:
    """Numbers above 0 and at most 1. An empty cell is 1."""
    values = to_numbers_or_nan(column).astype(np.float64)
    is_empty = (column.isna() | (column.astype(str).str.strip() == "")).to_numpy(bool)
    values = np.where(is_empty, 1.0, values)
    bad = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(bad):
        cell = quote_cell_for_message(column.iloc[bad[0]])
        raise DataError(
            f"{table.name}, row {table.first_row_number + bad[0]:,}: a confidence is above 0 and at most 1, not {cell}"
        )
    return values


def _drop_unusable_and_repeated_votes_with_notes(
    frame: pd.DataFrame, title: str, annotators: list[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out votes on unknown nodes or without a label; of several by one annotator on one node, keep the last."""
    notes = []
    frame = frame[frame["node"] >= 0]
    is_empty = frame[LABEL] < 0
    if is_empty.any():
        notes.append(f"votes: {int(is_empty.sum()):,} without a label left out")
        frame = frame[~is_empty]
    repeated = frame.duplicated(["node", ANNOTATOR], keep="last")
    if repeated.any():
        kept = frame.drop_duplicates(["node", ANNOTATOR], keep="last")
        both = frame[repeated].merge(kept, on=["node", ANNOTATOR], suffixes=("", "_kept"))
        changed = int((both[LABEL] != both[f"{LABEL}_kept"]).sum())
        first = annotators[int(frame[ANNOTATOR][repeated].iloc[0])][:40]
        warn_user(
            f"{title}: {format_count(int(repeated.sum()), 'vote')} repeated, first by '{first}'; the last one counts"
            + (f" ({changed:,} had another label)" if changed else "")
        )
        frame = kept
    if frame.empty:
        raise DataError(f"{title} has no vote at all")
    return frame.reset_index(drop=True), notes


def check_options_fit_votes(spec: ImportSpec) -> None:
    """Refuse options that are about one label where there are several."""
    if spec.source is not None:
        raise ConfigError("source says who gave a label, and so do votes; leave source out")
    if spec.trusted is not None and len(spec.vote_columns) != 1:
        raise ConfigError("trusted is about one label column beside votes: name it with label, or leave trusted out")
