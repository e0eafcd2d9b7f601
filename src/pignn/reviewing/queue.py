"""Which labels to look at, and in which order: one choice for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from ..auditing.crossfit import Bools
from ..noise.kinds import Floats, Ints
from .live_models import Ranking
from .project import ProjectState
from .verdicts import DISPUTED, KEEP, RELABEL, UNDECIDED, UNSURE

Order = Literal["mixed", "errors", "estimate", "model", "node"]
State = Literal["open", "decided", "relabel", "keep", "unsure", "disputed", "skipped", "all"]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # of a node or an action: what arrays and SQLite hold
ERRORS_PER_DRAWN = 3  # of a mixed queue


class Query(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A choice of labels. Everything that is given must hold."""

    order: Order = "mixed"
    state: State = "open"
    given: int | None = None
    suggested: int | None = None
    source: int | None = None
    cluster: int | None = None
    low: float = 0.0  # p_wrong
    high: float = 1.0
    search: str = ""
    nodes: list[Number] | None = None  # only these, as a lasso on the map selects them


@dataclass(frozen=True, eq=False)
class ReviewSnapshot:
    """How far a review is, as one reviewer sees it. Arrays have one entry per label."""

    state: ProjectState
    ranking: Ranking
    status: Ints
    is_mine: Bools  # whether the label is this reviewer's to decide
    is_done: Bools  # whether this reviewer decided it
    is_skipped: Bools
    order_rank: Ints  # place in the random order of the estimate; very large for trusted labels


def select_label_positions(query: Query, snapshot: ReviewSnapshot, found_by_text: Ints | None) -> Ints:
    """Positions of the labels of a query, in its order."""
    state, ranking = snapshot.state, snapshot.ranking
    chosen = _build_mask_of_state(query, snapshot)
    for wanted, values in (
        (query.given, state.given),
        (query.suggested, ranking.suggested),
        (query.source, state.sources),
        (query.cluster, state.clusters),
    ):
        if wanted is not None:
            chosen &= values == wanted
    if query.low > 0 or query.high < 1:
        chosen &= (ranking.p_wrong >= query.low) & (ranking.p_wrong <= query.high)
    for nodes in (query.nodes, found_by_text):
        if nodes is not None:
            chosen &= np.isin(state.nodes, np.asarray(nodes, dtype=np.int64))
    positions = np.flatnonzero(chosen)
    return positions[np.argsort(_compute_sort_keys(query.order, positions, snapshot), kind="stable")]


def _build_mask_of_state(query: Query, snapshot: ReviewSnapshot) -> Bools:
    status = snapshot.status
    if query.state == "open":
        return snapshot.is_mine & ~snapshot.is_done & ~snapshot.is_skipped & ~snapshot.state.trusted
    if query.state == "skipped":
        return snapshot.is_skipped.copy()
    if query.state == "decided":
        return status != UNDECIDED
    wanted = {"relabel": RELABEL, "keep": KEEP, "unsure": UNSURE, "disputed": DISPUTED}
    return np.ones(len(status), dtype=bool) if query.state == "all" else status == wanted[query.state]


def _compute_sort_keys(order: Order, positions: Ints, snapshot: ReviewSnapshot) -> Floats:
    p_wrong, drawn = snapshot.ranking.p_wrong[positions], snapshot.order_rank[positions].astype(float)
    if order == "errors":
        return -p_wrong
    if order == "estimate":
        return drawn
    if order == "model":
        return -snapshot.ranking.expected_change[positions]
    if order == "node":
        return positions.astype(float)
    surest, random = (np.argsort(np.argsort(key, kind="stable")) for key in (-p_wrong, drawn))
    return np.minimum(
        surest + surest // ERRORS_PER_DRAWN, ERRORS_PER_DRAWN + random * (ERRORS_PER_DRAWN + 1) + 0.5
    )  # fmt: skip
