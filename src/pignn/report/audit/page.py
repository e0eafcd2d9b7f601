"""audit.html: the numbers and suspects of an audit as JSON inside one page, and the script that shows them.

Whatever comes from outside is data in a JSON block, in which nothing can end the block, and the script puts it into the
page as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from torch_geometric.data import Data

from ...graphs.checks import node_ids
from ..page import build_document

if TYPE_CHECKING:
    from ...auditing import Audit

SCRIPTS = ("found.js", "decisions.js", "suspect.js", "list.js")  # one script, in this order
MOST = 10_000  # suspects on a page
# Bytes of the parts of a page, which together stay below 15 MB.
ROOM_ROWS, ROOM_AROUND, ROOM_CELLS = 3_500_000, 4_500_000, 6_000_000
MOST_CELL = 4_000  # characters of a text
MOST_NAME = 60  # characters of the id of a neighbour
MOST_FEATURES = 12
BINS = 20

# A JSON string may hold these as escapes; so nothing in it is markup, whoever reads it.
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Neighborhood:
    """What stands around one suspect. Nodes are numbers; votes are [class, count], most first."""

    neighbours: list[int]  # those to draw
    degree: int
    votes: list[list[int]]
    links: list[list[int]]  # pairs of places in `neighbours` that have an edge
    similar: list[int]
    similar_votes: list[list[int]]


def build_audit_page(
    graph: Data,
    found: Audit,
    chosen: pd.DataFrame | None = None,
    columns: pd.DataFrame | None = None,
    *,
    title: str = "Audit of labels",
    around: Callable[[Any], Sequence[Neighborhood]] | None = None,
    apply: str = "",
) -> str:
    """The page as text.

    Args:
        graph: the graph that was audited.
        found: the result of `pignn.auditing.audit`.
        chosen: the labels to review, by `pignn.auditing.review`; they come with their part and inclusion probability.
        columns: a row a node, what to show of it; without it the largest features are shown.
        title: what the page is called.
        around: tells what stands around each of these nodes; without it the page does not tell.
        apply: the command that puts the decisions into the labels; without it the page shows a pattern of it.
    """
    content = _content(graph, found, chosen, columns, title, around) | {"apply": apply}
    data = embedded(content)
    data = data[:-1] + f',"key":"{hashlib.sha256(data.encode()).hexdigest()[:20]}"}}'
    script = '"use strict";\n(() => {\n' + "".join(map(_file, SCRIPTS)) + "})();\n"
    body = Markup(_file("page.html"))
    return build_document("Audit of labels", body, style=_file("page.css"), script=script, data=Markup(data))


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def embedded(value: Any) -> str:
    """JSON that can stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    # Half a character, as in broken UTF-16, cannot be written as UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _content(
    graph: Data,
    found: Audit,
    chosen: pd.DataFrame | None,
    columns: pd.DataFrame | None,
    title: str,
    around: Callable[[Any], Sequence[Neighborhood]] | None,
) -> dict[str, Any]:
    table = _listed(found.issues, chosen)
    ids = node_ids(graph)
    sources = [] if "source" not in table else sorted({str(name) for name in found.issues["source"]})
    rows, room = [], ROOM_ROWS
    for row in _rows(table, sources):
        room -= len(embedded(row).encode())
        if room < 0:
            break
        rows.append(row)
    nodes = table["node"].to_numpy()[: len(rows)]
    surroundings, names = _surroundings([] if around is None else around(nodes), graph, ids)
    cells = _cells(graph, nodes, columns)
    issues = found.issues
    count, edges = np.histogram(issues["p_wrong"], bins=BINS, range=(0, 1))
    return {
        "title": title,
        "classes": found.class_names,
        "labels": len(found.nodes),
        "trusted": int(issues["trusted"].sum()),
        "rate": found.noise.rate,
        "interval": found.noise.rate_interval,
        "flagged": int(issues["flagged"].sum()),
        "suspects": int(issues["suspect"].sum()),
        "byViews": found.rate_dawid_skene,
        "doubted": found.is_rate_doubtful,
        "transition": np.round(found.noise.transition, 4).tolist(),
        "confused": _confused(issues, len(found.class_names)),
        "byClass": found.classes,
        "bySource": found.sources,
        "homophily": found.homophily,
        "method": found.method,
        "folds": found.folds,
        "notes": found.notes,
        "histogram": {"count": count.tolist(), "edges": np.round(edges, 4).tolist()},
        "sources": sources,
        "budget": 0 if chosen is None else len(chosen),
        "rows": rows,
        "around": surroundings,
        "names": names,
        "cells": cells,
        "hasSimilar": "similar_agreement" in issues,
    }


def _confused(issues: pd.DataFrame, classes: int) -> list[list[int]]:
    """How many flagged labels of each given class have each suggestion."""
    flagged = issues[issues["flagged"].astype(bool)]
    cell = flagged["given"].to_numpy() * classes + flagged["suggested"].to_numpy()
    return np.bincount(cell, minlength=classes**2).reshape(classes, classes).tolist()


def _listed(issues: pd.DataFrame, chosen: pd.DataFrame | None) -> pd.DataFrame:
    """The suspects of the page, most probable first: all that are to be reviewed, and the top of the others."""
    table = issues[~issues["trusted"].astype(bool)]
    if chosen is None or chosen.empty:
        return table.head(MOST).assign(part="", stratum=-1, inclusion=np.nan)
    to_review = chosen.drop_duplicates("node")[["node", "part", "stratum", "inclusion"]]
    table = table.merge(to_review, on="node", how="left")
    table["part"] = table["part"].fillna("")
    # What is to be reviewed must be on the page whatever room there is: it goes first, and the script sorts.
    in_review = table["part"] != ""
    return pd.concat([table[in_review], table[~in_review]]).head(max(MOST, len(to_review)))


def _rows(table: pd.DataFrame, sources: list[str]) -> Any:
    """Lists in the order that the script takes them apart; among them the most probable [class, probability]."""
    number = {name: i for i, name in enumerate(sources)}
    probable = [name for name in map(str, table) if name.startswith("p_") and name[2:].isdigit()]
    truth = table[probable].to_numpy(dtype=float)
    best = np.argsort(-truth, axis=1, kind="stable")[:, :5]
    name = table["id"] if "id" in table else table["node"]
    similar = table["similar_agreement"] if "similar_agreement" in table else pd.Series(np.nan, index=table.index)
    source = [number[str(s)] for s in table["source"]] if sources else [-1] * len(table)
    several = zip(
        name, table["given"], table["suggested"], table["p_wrong"], table["neighbor_agreement"],
        table["num_neighbors"], similar, table["flagged"], source, table["part"],
        table["stratum"], table["inclusion"], table["suspect"], strict=True,
    )  # fmt: skip
    for at, (
        node,
        given,
        suggested,
        p,
        agree,
        degree,
        alike,
        flagged,
        who,
        part,
        stratum,
        inclusion,
        sure,
    ) in enumerate(several):
        likely = [[int(c), _short(truth[at, c])] for c in best[at] if truth[at, c] >= 0.0005]
        drawn = [str(part), int(stratum), float(inclusion)] if part else ["", "", ""]
        row = [str(node), int(given), int(suggested), _short(p, 6), _short(agree), int(degree), _short(alike)]
        yield [*row, int(flagged), who, *drawn, likely, int(sure)]


def _short(value: Any, digits: int = 4) -> float | None:
    return None if value is None or np.isnan(value) else float(f"{float(value):.{digits}g}")


def _surroundings(found: Sequence[Neighborhood], graph: Data, ids: Any) -> tuple[list[Any], list[Any]]:
    """[neighbours, degree, votes, links, similar, votes] of as many suspects as there is room for, and the nodes named.

    A node stands once, as [id, given], and is named by its place.
    """
    given = np.asarray(graph.y).reshape(-1)
    place: dict[int, int] = {}
    names: list[Any] = []
    listed: list[Any] = []
    room = ROOM_AROUND
    for one in found:
        for node in (*one.neighbours, *one.similar):
            if node not in place:
                place[node] = len(names)
                name = str(node if ids is None else ids[node])
                names.append([name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…", int(given[node])])
                room -= len(embedded(names[-1]).encode()) + 1
        neighbours, similar = ([place[node] for node in nodes] for nodes in (one.neighbours, one.similar))
        entry = [neighbours, one.degree, one.votes, one.links, similar, one.similar_votes]
        room -= len(embedded(entry)) + 1
        if room < 0:
            break
        listed.append(entry)
    return listed, names


def _cells(graph: Data, nodes: Any, columns: pd.DataFrame | None) -> dict[str, Any]:
    """Names of columns, and what each suspect has in them, as long as there is room."""
    if columns is None:
        return {"names": [], "rows": _features(graph, nodes), "of": int(graph.x.shape[1])}
    room, rows = ROOM_CELLS, []
    chosen = columns.iloc[nodes, :50]
    for values in chosen.itertuples(index=False, name=None):
        row = [_text(value) for value in values]
        room -= len(embedded(row).encode()) + 1
        if room < 0:
            break
        rows.append(row)
    return {"names": [str(name)[:200] for name in chosen.columns], "rows": rows, "of": len(columns.columns)}


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    more = len(text) - MOST_CELL
    return text if more <= 0 else f"{text[:MOST_CELL]}… ({more:,} more characters)"


def _features(graph: Data, nodes: Any) -> list[Any]:
    """[feature, value] of the largest features of each suspect."""
    x = graph.x.numpy()[nodes]
    size = np.abs(x)
    most = min(MOST_FEATURES, x.shape[1])
    best = np.argsort(-size, axis=1, kind="stable")[:, :most]
    return [[[int(f), _short(x[i, f])] for f in row if size[i, f] > 0] for i, row in enumerate(best)]
