"""What goes over the wire, typed: requests and answers."""

from __future__ import annotations

import msgspec

from .decision_store import Verdict
from .estimates import Panel
from .queue import Number, Query


class Empty(msgspec.Struct, forbid_unknown_fields=True):
    """A request without content."""


class ProjectInfo(msgspec.Struct, kw_only=True):
    """What stays the same while a project is open, apart from new classes."""

    title: str
    class_names: list[str]
    source_names: list[str]
    source_error_rates: list[float]
    num_clusters: int
    labels: int
    notes: list[str]
    can_correct: bool  # whether there is a file whose labels can be corrected
    reviewers: list[str]
    dealt: list[str]
    overlap: float


class QueueRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    query: Query = msgspec.field(default_factory=Query)
    offset: int = 0
    limit: int = 50


class QueueItem(msgspec.Struct, kw_only=True):
    """One label of a queue. Classes are numbers."""

    node: int
    name: str
    given: int
    suggested: int
    p_wrong: float
    decision: str  # of this reviewer, or what counts
    label: str


class QueuePage(msgspec.Struct):
    total: int
    refit: int  # the number of the ranking
    items: list[QueueItem]


class Neighbor(msgspec.Struct):
    """A node beside another one. `decision` is what counts, "open" for none."""

    node: int
    name: str
    given: int
    decision: str
    label: str
    text: str
    is_labeled: bool


class Opinion(msgspec.Struct):
    reviewer: str
    settles: bool
    verdict: Verdict


class NodeDetail(msgspec.Struct, kw_only=True):
    """Everything that is known about one node. Without a label, its classes are -1 and the rest is empty."""

    node: int
    id: str
    name: str
    cells: list[tuple[str, str]]
    degree: int
    votes: list[tuple[int, int]]  # (class, neighbors)
    neighbors: list[Neighbor]
    links: list[tuple[int, int]]  # edges between them, by position
    given: int = -1
    suggested: int = -1
    p_wrong: float = 0.0
    expected_change: float = 0.0  # of P(wrong), summed over all undecided labels, if this one is decided
    source: int = -1
    cluster: int = -1
    is_trusted: bool = False
    without_label: list[tuple[int, float]] = []  # (class, probability), most probable first
    with_label: list[tuple[int, float]] = []
    similar: list[Neighbor] = []
    status: str = "unlabeled"
    opinions: list[Opinion] = []


class DecisionEntry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A decision on one node; null for `decision` clears it."""

    node: int
    decision: str | None
    label: str = ""
    note: str = ""


class DecideRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Decisions as one action. A request that is sent again with its key happens once."""

    key: str
    changes: list[DecisionEntry]
    queue: str = ""
    new_class: bool = False
    settle: bool = False


class BulkRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One decision on all labels of a query, of which there must be `expected`; no label: each gets its suggestion.

    `refit` is the ranking in which they were looked at; what depends on it is refused after another one.
    """

    key: str
    query: Query
    expected: int
    refit: int | None = None
    decision: str
    label: str = ""


class StepRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    key: str


class Outcome(msgspec.Struct, kw_only=True):
    """What an action did."""

    done: bool
    verb: str
    nodes: list[int]  # the first thousand
    count: int
    revision: int


class Progress(msgspec.Struct, kw_only=True):
    """Where the review stands: the panel, the models, and what can be undone."""

    panel: Panel
    revision: int
    refit: int
    refit_seconds: float
    known: int  # decisions that the models know
    undo: int
    redo: int
    skipped: int
    class_names: list[str]


class HistoryEntry(msgspec.Struct, kw_only=True):
    id: int
    verb: str
    reviewer: str
    time: str
    count: int
    name: str  # of the first node
    node: int
    before: str
    after: str


class History(msgspec.Struct):
    entries: list[HistoryEntry]


class HistoryRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    node: Number | None = None
    before: Number | None = None


class DealingRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Whom to deal the labels out to; nobody: everybody may decide every one."""

    reviewers: list[str]
    overlap: float = 0.1


class LoadRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file of decisions, such as the decisions.csv of an audit.html."""

    key: str
    text: str


class LoadOutcome(msgspec.Struct, kw_only=True):
    loaded: int
    replaced: int  # of these, rows that differ from what this reviewer had decided
    unknown: int  # rows of nodes without a label here


class LoginRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    token: str


class SessionInfo(msgspec.Struct, kw_only=True):
    """Who is asking. `csrf` goes into the header X-Csrf of every POST."""

    csrf: str
    needs_token: bool
    reviewer: str
