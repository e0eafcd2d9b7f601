"""Why a label is suspect: everything that the page shows of one node."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ..core.errors import DataError
from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .messages import Neighbor, NodeDetail, Opinion, QueueItem, QueuePage
from .queue import Query
from .review_session import ReviewSession
from .verdicts import STATUS_NAMES, UNDECIDED

MAX_NEIGHBORS, MAX_SIMILAR, MAX_CLASSES, MAX_SNIPPET_CHARS = 12, 8, 9, 160
MAX_PAGE = 500


def build_queue_page(session: ReviewSession, query: Query, reviewer: str, offset: int, limit: int) -> QueuePage:
    """A part of a queue, as the list shows it."""
    ranking, positions = session.ranking, session.select_positions(query, reviewer)
    part = positions[max(offset, 0) : max(offset, 0) + min(max(limit, 0), MAX_PAGE)]
    names = session.project.texts.find_names_or_ids(session.state.nodes[part].tolist())
    items = []
    for position in part.tolist():
        node = int(session.state.nodes[position])
        own = session.get_verdicts(position).get((reviewer, False))
        status = session.status[position]
        decision, label = STATUS_NAMES[status], session.get_relabeled_class_or_empty(position)
        if status == UNDECIDED:
            decision = "skip" if own is not None and own.decision == "skip" else ""
        items.append(
            QueueItem(
                node=node, name=names[node], given=int(session.state.given[position]),
                suggested=int(ranking.suggested[position]), p_wrong=_round_to_four_digits(ranking.p_wrong[position]),
                decision=decision, label=label,
            )
        )  # fmt: skip
    return QueuePage(len(positions), ranking.number, items)


def build_node_detail(session: ReviewSession, node: int) -> NodeDetail:
    """All about one node. Of one without a label, what the file says and its neighbors."""
    state, ranking, texts = session.state, session.ranking, session.project.texts
    if not 0 <= node < session.project.header.num_nodes:
        raise DataError(f"there is no node {node} in this project")
    neighbors = state.col[state.crow[node] : state.crow[node + 1]]
    classes = _get_given_classes_or_minus_one(session, neighbors)
    drawn = neighbors[np.argsort(classes < 0, kind="stable")[:MAX_NEIGHBORS]]
    given = int(_get_given_classes_or_minus_one(session, np.array([node]))[0])
    position = session.find_position_or_raise(node) if given >= 0 else -1
    similar = state.nodes[state.similar[position][:MAX_SIMILAR]] if given >= 0 else drawn[:0]
    cells = texts.find_columns_and_texts([node, *drawn.tolist(), *similar.tolist()])
    common = NodeDetail(
        node=node,
        id=texts.find_ids([node])[node],
        name=texts.find_names_or_ids([node])[node],
        cells=cells[node],
        degree=len(neighbors),
        votes=_list_class_counts_descending(classes),
        neighbors=_build_neighbors(session, drawn, cells),
        links=_list_edges_among_as_positions(session, drawn),
    )
    if given < 0:
        return common
    probs = ranking.probs[position].astype(float)
    return msgspec.structs.replace(
        common,
        given=given,
        suggested=int(ranking.suggested[position]),
        p_wrong=_round_to_four_digits(ranking.p_wrong[position]),
        expected_change=_round_to_four_digits(ranking.expected_change[position]),
        source=int(state.sources[position]),
        cluster=int(state.clusters[position]),
        is_trusted=bool(state.trusted[position]),
        without_label=_list_most_probable_classes(probs),
        with_label=_list_most_probable_classes(_combine_probs_with_p_wrong(probs, given, ranking.p_wrong[position])),
        similar=_build_neighbors(session, similar, cells),
        status=STATUS_NAMES[session.status[position]],
        opinions=[Opinion(who, settles, verdict) for (who, settles), verdict in session.get_verdicts(position).items()],
    )


def _round_to_four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def _combine_probs_with_p_wrong(probs: Floats, given: int, p_wrong: float) -> Floats:
    """The probabilities once the given label is heard: it is right with probability 1 − p_wrong."""
    others = np.maximum(probs, 1e-12)
    others[given] = 0
    joint = normalize_rows(others[None])[0] * p_wrong
    joint[given] = 1 - p_wrong
    return joint


def _list_most_probable_classes(probs: Floats) -> list[tuple[int, float]]:
    best = np.argsort(-probs, kind="stable")[:MAX_CLASSES]
    return [(int(c), _round_to_four_digits(probs[c])) for c in best if probs[c] >= 0.0005]


def _list_class_counts_descending(classes: Ints) -> list[tuple[int, int]]:
    counts = np.bincount(classes[classes >= 0])
    return [(int(c), int(counts[c])) for c in np.argsort(-counts, kind="stable") if counts[c]]


def _get_given_classes_or_minus_one(session: ReviewSession, nodes: Ints) -> Ints:
    """The given class of each node; -1 without a label."""
    state = session.state
    position = np.minimum(np.searchsorted(state.nodes, nodes), len(state.nodes) - 1)
    return np.where(state.nodes[position] == nodes, state.given[position], -1)


def _build_neighbors(session: ReviewSession, nodes: Ints, cells: dict[int, list[tuple[str, str]]]) -> list[Neighbor]:
    names, given = (
        session.project.texts.find_names_or_ids(nodes.tolist()),
        _get_given_classes_or_minus_one(session, nodes),
    )
    result = []
    for node, label in zip(nodes.tolist(), given.tolist(), strict=True):
        status, decided = "open", ""
        if label >= 0:
            position = session.find_position_or_raise(node)
            status, decided = STATUS_NAMES[session.status[position]], session.get_relabeled_class_or_empty(position)
        text = " · ".join(text for _, text in cells[node])[:MAX_SNIPPET_CHARS]
        result.append(Neighbor(node, names[node], label, status, decided, text, label >= 0))
    return result


def _list_edges_among_as_positions(session: ReviewSession, nodes: Sequence[int] | Ints) -> list[tuple[int, int]]:
    """Edges among a few nodes, by position."""
    crow, col = session.state.crow, session.state.col
    rows = [(i, np.isin(nodes, col[crow[node] : crow[node + 1]])) for i, node in enumerate(nodes)]
    return [(i, int(j)) for i, is_linked in rows for j in np.flatnonzero(is_linked) if i < j]
