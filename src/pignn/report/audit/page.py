"""audit.html: the numbers and suspects of an audit as JSON inside one page, and the script that shows them.

Text from outside is data in a JSON block. Nothing in it can end the block, and the script inserts it as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, Literal

import numpy as np
import pandas as pd
from markupsafe import Markup
from torch_geometric.data import Data

from ...graphs.checks import parse_node_ids_or_none
from ..page import build_document
from ..rendering import clip_text, format_number
from .decision_columns import DECISION_COLUMNS, REVIEW_COLUMNS
from .overview import AuditOverview

SHARED_SCRIPTS = ("elements.js", "neighborhood.js")  # that another page can use, if it has `data`
SCRIPTS = ("helpers.js", *SHARED_SCRIPTS, "overview.js", "decisions.js", "suspect_detail.js", "suspect_list.js")
MAX_SUSPECTS = 10_000
# Bytes of the parts of a page, which together stay below 15 MB.
MAX_SUSPECT_BYTES, MAX_NEIGHBORHOOD_BYTES, MAX_CELL_BYTES = 3_500_000, 4_500_000, 6_000_000
MAX_CELL_CHARS, MAX_NODE_ID_CHARS = 4_000, 60
MAX_NODE_COLUMNS, MAX_FEATURES = 50, 12
MAX_LIKELY_CLASSES, MIN_LIKELY_PROB = 5, 0.0005
NUM_BINS = 20

# A JSON string may hold these as escapes, so that nothing in it is markup, whoever reads it.
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class PageColumn:
    """How the page shows one column of the audit's table."""

    heading: str
    kind: Literal["probability", "share", "number", "text", "category"]
    total: str | None = None  # the column with the number that a share refers to
    is_minor: bool = True  # not in the list on a narrow screen


@dataclass(frozen=True, eq=False)
class AuditPageContent:
    """Everything that the page of an audit shows."""

    title: str
    overview: AuditOverview
    class_names: Sequence[str]
    transition: Any  # the estimated transition matrix
    classes: Sequence[Mapping[str, Any]]  # one row per given class
    sources: Sequence[Mapping[str, Any]]  # one row per label source
    issues: pd.DataFrame  # the table of the audit
    columns: Mapping[str, PageColumn]  # those of the table that the page shows, by name
    graph: Data
    # Describes the surroundings of some nodes; None leaves them out.
    find_neighborhoods: Callable[[Any], Sequence[Mapping[str, Any]]] | None = None
    review: pd.DataFrame | None = None  # labels to review, with part, stratum and inclusion probability
    node_table: pd.DataFrame | None = None  # what to show of each node, one row per node; by default its features
    apply_command: str = ""  # applies the decisions; by default the page shows a pattern of it


def build_audit_page(content: AuditPageContent) -> str:
    """The page as text of one HTML file."""
    data = encode_json_for_script(_build_page_data(content))
    data = data[:-1] + f',"key":"{hashlib.sha256(data.encode()).hexdigest()[:20]}"}}'
    script = '"use strict";\n(() => {\n' + "".join(map(read_asset, SCRIPTS)) + "})();\n"
    body = Markup(read_asset("page.html"))
    return build_document("Audit of labels", body, style=read_asset("page.css"), script=script, data=Markup(data))


def _build_page_data(content: AuditPageContent) -> dict[str, Any]:
    """The content by the names that the script reads."""
    issues, review, find = content.issues, content.review, content.find_neighborhoods
    selected = _select_reviewed_and_top_suspects(issues, review)
    columns = {name: column for name, column in content.columns.items() if name in issues}
    has_categories = [name for name, column in columns.items() if column.kind == "category"]
    categories = {name: sorted({str(value) for value in issues[name]}) for name in has_categories}
    suspects = _encode_suspects_by_column(selected, columns, categories)
    nodes = selected["node"].to_numpy()[: len(suspects["node"])]
    counts, edges = np.histogram(issues["p_wrong"], bins=NUM_BINS, range=(0, 1))
    neighborhoods, named_nodes = _encode_neighborhoods_and_their_nodes(
        [] if find is None else find(nodes), content.graph
    )
    return {
        "title": content.title,
        "overview": asdict(content.overview),
        "class_names": list(content.class_names),
        "transition": np.round(content.transition, 4).tolist(),
        "flagged_confusion": _count_flagged_by_given_and_suggested(issues, len(content.class_names)),
        "by_class": content.classes,
        "by_source": content.sources,
        "histogram": {"counts": counts.tolist(), "edges": np.round(edges, 4).tolist()},
        "columns": [{"name": name, **asdict(column)} for name, column in columns.items()],
        "categories": categories,
        "decision_columns": [*REVIEW_COLUMNS, *DECISION_COLUMNS],
        "review_size": 0 if review is None else len(review),
        "suspects": suspects,
        "neighborhoods": neighborhoods,
        "named_nodes": named_nodes,
        "cells": _build_node_cells_or_largest_features(content.graph, nodes, content.node_table),
        "apply_command": content.apply_command,
    }


def read_asset(name: str) -> str:
    """The text of a script, style or body of the page."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def encode_json_for_script(value: Any) -> str:
    """JSON that can stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    # Half a character, as in broken UTF-16, cannot be written as UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _take_rows_up_to_json_size(rows: Iterable[Any], max_bytes: int) -> Iterator[Any]:
    """The first rows that together fit into so many bytes of JSON."""
    for row in rows:
        max_bytes -= len(encode_json_for_script(row).encode()) + 1
        if max_bytes < 0:
            return
        yield row


def _count_flagged_by_given_and_suggested(issues: pd.DataFrame, num_classes: int) -> list[list[int]]:
    """How many flagged labels of each given class have each suggestion."""
    flagged = issues[issues["flagged"].astype(bool)]
    cell = flagged["given"].to_numpy() * num_classes + flagged["suggested"].to_numpy()
    return np.bincount(cell, minlength=num_classes**2).reshape(num_classes, num_classes).tolist()


def _select_reviewed_and_top_suspects(issues: pd.DataFrame, review: pd.DataFrame | None) -> pd.DataFrame:
    """The suspects of the page, most probable first: all that are to be reviewed, and the top of the others."""
    table = issues[~issues["trusted"].astype(bool)]
    if review is None or review.empty:
        return table.head(MAX_SUSPECTS).assign(part="", stratum=-1, inclusion=np.nan)
    chosen = review.drop_duplicates("node")[["node", "part", "stratum", "inclusion"]]
    table = table.merge(chosen, on="node", how="left")
    table["part"] = table["part"].fillna("")
    # The review must be on the page, however little room there is: it goes first, and the script sorts.
    in_review = table["part"] != ""
    return pd.concat([table[in_review], table[~in_review]]).head(max(MAX_SUSPECTS, len(chosen)))


def _encode_suspects_by_column(
    table: pd.DataFrame, columns: Mapping[str, PageColumn], categories: Mapping[str, list[str]]
) -> dict[str, list[Any]]:
    """Values by name of column, of as many suspects as there is room for."""
    class_columns = [name for name in map(str, table) if name.startswith("p_") and name[2:].isdigit()]
    probs = table[class_columns].to_numpy(dtype=float)
    best = np.argsort(-probs, axis=1, kind="stable")[:, :MAX_LIKELY_CLASSES]
    in_review = (table["part"] != "").tolist()
    encoded: dict[str, list[Any]] = {
        "node": [str(value) for value in table["id" if "id" in table else "node"]],
        **{name: table[name].astype(int).tolist() for name in ("given", "suggested", "flagged", "suspect")},
        "part": [str(value) for value in table["part"]],
        "stratum": [int(v) if here else None for v, here in zip(table["stratum"], in_review, strict=True)],
        "inclusion": [float(v) if here else None for v, here in zip(table["inclusion"], in_review, strict=True)],
        "likely": [
            [[int(c), _round_to_significant(p[c])] for c in order if p[c] >= MIN_LIKELY_PROB]
            for p, order in zip(probs, best, strict=True)
        ],
    }
    for name, column in columns.items():
        encoded[name] = _encode_values_by_kind(table[name], column.kind, categories.get(name, []))
        if column.total is not None:
            encoded[column.total] = table[column.total].astype(int).tolist()
    num_rows = len(list(_take_rows_up_to_json_size(zip(*encoded.values(), strict=True), MAX_SUSPECT_BYTES)))
    return {name: values[:num_rows] for name, values in encoded.items()}


def _encode_values_by_kind(values: pd.Series[Any], kind: str, categories: list[str]) -> list[Any]:
    if kind == "category":
        codes = {name: code for code, name in enumerate(categories)}
        return [codes[str(value)] for value in values]
    if kind == "text":
        return [_format_and_clip_cell(value) for value in values]
    return [_round_to_significant(value, 4 if kind == "share" else 6) for value in values]


def _round_to_significant(value: Any, digits: int = 4) -> float | None:
    return float(f"{float(value):.{digits}g}") if value is not None and np.isfinite(value) else None


def _encode_neighborhoods_and_their_nodes(
    neighborhoods: Iterable[Mapping[str, Any]], graph: Data
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Neighborhoods by name of field, of as many suspects as there is room for, and the nodes in them.

    Each node is listed once, with its name or id and given class. Neighborhoods refer to it by its position.
    """
    names = graph.get("node_name")
    ids, given = parse_node_ids_or_none(graph) if names is None else names, np.asarray(graph.y).reshape(-1)
    position: dict[int, int] = {}
    named_nodes: dict[str, list[Any]] = {"id": [], "given": []}
    encoded: dict[str, list[Any]] = {}
    room = MAX_NEIGHBORHOOD_BYTES
    for one in neighborhoods:
        for node in (*one["neighbors"], *one["similar"]):
            if node not in position:
                position[node] = len(position)
                named_nodes["id"].append(clip_text(str(node if ids is None else ids[node]), MAX_NODE_ID_CHARS))
                named_nodes["given"].append(int(given[node]))
                room -= len(encode_json_for_script([named_nodes["id"][-1], named_nodes["given"][-1]]).encode())
        by_position = {name: [position[node] for node in one[name]] for name in ("neighbors", "similar")}
        entry = {**one, **by_position}
        room -= len(encode_json_for_script(list(entry.values())))
        if room < 0:
            break
        for name, value in entry.items():
            encoded.setdefault(name, []).append(value)
    return encoded, named_nodes


def _build_node_cells_or_largest_features(graph: Data, nodes: Any, node_table: pd.DataFrame | None) -> dict[str, Any]:
    """The columns of the node table and the cells of each suspect, as long as there is room; else its features."""
    if node_table is None:
        return {"names": [], "rows": _list_largest_features(graph, nodes), "num_columns": int(graph.x.shape[1])}
    table = node_table.iloc[nodes, :MAX_NODE_COLUMNS]
    rows = ([_format_and_clip_cell(value) for value in values] for values in table.itertuples(index=False, name=None))
    return {
        "names": [str(name)[:200] for name in table.columns],
        "rows": list(_take_rows_up_to_json_size(rows, MAX_CELL_BYTES)),
        "num_columns": len(node_table.columns),
    }


def _format_and_clip_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    text = format_number(float(value), 6) if isinstance(value, float | np.floating) else str(value)
    num_cut = len(text) - MAX_CELL_CHARS
    return text if num_cut <= 0 else f"{text[:MAX_CELL_CHARS]}… ({num_cut:,} more characters)"


def _list_largest_features(graph: Data, nodes: Any) -> list[Any]:
    """[feature, value] of the largest features of each suspect."""
    x = graph.x.numpy()[nodes]
    size = np.abs(x)
    best = np.argsort(-size, axis=1, kind="stable")[:, : min(MAX_FEATURES, x.shape[1])]
    return [[[int(f), _round_to_significant(x[i, f])] for f in row if size[i, f] > 0] for i, row in enumerate(best)]
