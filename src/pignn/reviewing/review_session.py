"""A review that is open: decisions come in, models are refitted behind them, and everybody sees where it stands."""

from __future__ import annotations

import sys
import threading
import traceback
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from torch_geometric.data import Data

from ..auditing.crossfit import Bools
from ..core.errors import ConfigError, DataError, OutputError
from ..noise.kinds import Ints
from .dealing import Dealing, deal_labels
from .decision_store import Action, Change, Verdict
from .estimates import Panel, compute_progress_panel, count_decided_at_front
from .live_models import LiveModels, Ranking
from .project import Project
from .queue import Query, ReviewSnapshot, select_label_positions
from .verdicts import KEEP, RELABEL, UNDECIDED, combine_verdicts_to_status_and_verdict

REFIT_EVERY = 5  # decisions
MAX_NAME_CHARS, MAX_LABEL_CHARS, MAX_NOTE_CHARS = 60, 200, 4_000


class ReviewSession:
    """The state of an open project in memory. Safe to use from several threads; decisions.sqlite has the truth."""

    def __init__(self, project: Project) -> None:
        self.project, self.state = project, project.state
        self.class_names = list(project.header.class_names)  # new classes are added behind
        self.models = LiveModels(project.state, len(project.header.source_names))
        self.ranking: Ranking = self.models.make_ranking_from_audit()
        size = len(self.state.nodes)
        self.status, self.label = np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        self.order_rank = np.full(size, np.iinfo(np.int64).max // 2)
        self.order_rank[self.state.order] = np.arange(len(self.state.order))
        self.dealing: Dealing = deal_labels(
            size, *project.decisions.read_dealt_reviewers_and_overlap(), project.header.seed
        )
        self._verdicts: dict[int, dict[tuple[str, bool], Verdict]] = defaultdict(dict)  # by position
        # Kept up to date, so that nothing that is asked often goes through all verdicts.
        self._done: dict[str, Bools] = defaultdict(lambda: np.zeros(size, dtype=bool))
        self._skipped: dict[str, Bools] = defaultdict(lambda: np.zeros(size, dtype=bool))
        self._outcomes: dict[tuple[int, str], tuple[str, bool]] = {}  # of the surest errors: when, whether it was one
        self._lock = threading.RLock()
        self._wakes, self._is_closed, self._undigested = threading.Event(), False, 0
        for node, reviewer, settles, verdict in project.decisions.list_current_verdicts():
            self._update_label_in_memory(Change(node, reviewer, settles, None, verdict))
        self._undigested = REFIT_EVERY if self._verdicts else 0
        self._refitter = threading.Thread(target=self._refit_whenever_woken_until_closed, name="refit", daemon=True)
        self._refitter.start()
        self._wakes.set()

    def close(self) -> None:
        self._is_closed = True
        self._wakes.set()
        self._refitter.join(timeout=60)
        self.project.decisions.close()
        self.project.texts.close()

    # ---- decisions ----

    def decide(
        self, key: str, reviewer: str, verdicts: Sequence[tuple[int, Verdict | None]], *, verb: str = "decide",
        queue: str = "", new_class: bool = False,
    ) -> Action:  # fmt: skip
        """Record verdicts on nodes. They are on disk when this returns."""
        checked = [
            (node, self._check_and_complete_verdict(node, verdict, queue, new_class)) for node, verdict in verdicts
        ]
        with self._lock:
            action = self.project.decisions.decide(
                key, check_and_trim_reviewer_name(reviewer), checked, verb=verb, queue=queue
            )
            self._apply_in_memory_and_wake_refitter(action)
        return action

    def undo(self, key: str, reviewer: str) -> Action | None:
        return self._undo_or_redo(self.project.decisions.undo, key, reviewer)

    def redo(self, key: str, reviewer: str) -> Action | None:
        return self._undo_or_redo(self.project.decisions.redo, key, reviewer)

    def _undo_or_redo(self, store_call, key: str, reviewer: str) -> Action | None:  # type: ignore[no-untyped-def]
        with self._lock:
            action: Action | None = store_call(key, check_and_trim_reviewer_name(reviewer))
            if action is not None:
                self._apply_in_memory_and_wake_refitter(action)
        return action

    def deal_labels_to_reviewers(self, reviewers: list[str], overlap: float) -> None:
        """Deal all labels out anew. What is decided stays decided."""
        dealing = deal_labels(len(self.status), reviewers, overlap, self.project.header.seed)
        self.project.decisions.write_dealt_reviewers_and_overlap(dealing.reviewers, overlap)
        self.dealing = dealing

    def find_position_or_raise(self, node: int) -> int:
        """The row of a labeled node."""
        position = int(np.searchsorted(self.state.nodes, node))
        if position == len(self.state.nodes) or self.state.nodes[position] != node:
            raise DataError(f"node {node} has no label in this project")
        return position

    def check_graph_has_labels_of_project(self, graph: Data) -> None:
        """Refuse a graph in memory that is another one than the project was made of."""
        labels = torch.as_tensor(graph.y).reshape(-1).numpy()
        nodes = np.flatnonzero(labels >= 0)
        if not np.array_equal(nodes, self.state.nodes) or not np.array_equal(labels[nodes], self.state.given):
            folder = self.project.folder
            raise OutputError(
                f"{folder} is a project already, of a graph with other labels; choose another folder, or open it "
                "without naming a graph"
            )

    def _check_and_complete_verdict(
        self, node: int, verdict: Verdict | None, queue: str, new_class: bool
    ) -> Verdict | None:
        """The verdict with what the page said of the label; one that cannot be is refused."""
        position = self.find_position_or_raise(node)
        if self.state.trusted[position]:
            name = self.project.texts.find_names_or_ids([node])[node]
            raise DataError(f"the label of '{name[:40]}' was verified before this review; it stays")
        if verdict is None:
            return None
        if verdict.decision not in ("relabel", "keep", "unsure", "skip", ""):
            raise DataError(f"'{verdict.decision[:40]}' is no decision; it must be relabel, keep, unsure or skip")
        label, given = verdict.label.strip(), self.class_names[self.state.given[position]]
        if len(label) > MAX_LABEL_CHARS or len(verdict.note) > MAX_NOTE_CHARS:
            raise DataError(f"a class has at most {MAX_LABEL_CHARS} characters, a note {MAX_NOTE_CHARS:,}")
        if verdict.decision == "relabel":
            if not label or label == given:
                raise DataError("a new label must be another one than the given; keep says that it is right")
            if label not in self.class_names:
                check_new_class_allowed_and_distinct(label, self.class_names, is_allowed=new_class)
        elif label:
            raise DataError(f"'{verdict.decision}' takes no label")
        p_wrong = float(f"{self.ranking.p_wrong[position]:.4g}")
        return Verdict(
            decision=verdict.decision,
            label=label,
            note=verdict.note,
            time=verdict.time[:40],
            p_wrong=p_wrong,
            queue=queue,
        )

    def _apply_in_memory_and_wake_refitter(self, action: Action) -> None:
        for change in action.changes:
            self._update_label_in_memory(change)
        if self._undigested >= REFIT_EVERY:
            self._wakes.set()

    def _update_label_in_memory(self, change: Change) -> None:
        """Bring one label up to date. Doing it twice changes nothing."""
        position = self.find_position_or_raise(change.node)
        verdicts, key = self._verdicts[position], (change.reviewer, change.settles)
        if change.after is None:
            verdicts.pop(key, None)
        else:
            verdicts[key] = change.after
        if not change.settles:
            self._update_reviewer_masks(position, change.reviewer, change.after)
        status, verdict = combine_verdicts_to_status_and_verdict(
            (who, settles, each) for (who, settles), each in verdicts.items()
        )
        label = -1
        if status == RELABEL and verdict is not None:
            if verdict.label not in self.class_names:
                self.class_names.append(verdict.label)
            label = self.class_names.index(verdict.label)
        if (status, label) != (self.status[position], self.label[position]):
            self._undigested += 1
        self.status[position], self.label[position] = status, label

    def _update_reviewer_masks(self, position: int, reviewer: str, verdict: Verdict | None) -> None:
        decision = "" if verdict is None else verdict.decision
        self._done[reviewer][position] = decision in ("relabel", "keep", "unsure")
        self._skipped[reviewer][position] = decision == "skip"
        self._outcomes.pop((position, reviewer), None)
        if verdict is not None and verdict.queue in ("errors", "mixed") and decision in ("relabel", "keep"):
            self._outcomes[position, reviewer] = (verdict.time, decision == "relabel")

    # ---- models ----

    def _refit_whenever_woken_until_closed(self) -> None:
        while True:
            self._wakes.wait()
            self._wakes.clear()
            if self._is_closed:
                return
            with self._lock:
                is_due = self._undigested >= REFIT_EVERY
                status, label = self.status.copy(), self.label.copy()
                self._undigested = 0 if is_due else self._undigested
            if is_due:
                try:
                    self.ranking = self.models.refit_and_build_ranking(status, label, self.ranking.number + 1)
                except Exception:  # the review goes on with the ranking that it has
                    traceback.print_exc(file=sys.stderr)

    # ---- what people see ----

    def build_review_snapshot(self, reviewer: str) -> ReviewSnapshot:
        with self._lock:
            is_done, is_skipped = self._done[reviewer].copy(), self._skipped[reviewer].copy()
            if reviewer not in self.dealing.reviewers:
                is_done |= self.status != UNDECIDED
            is_done |= np.isin(self.status, (RELABEL, KEEP)) & ~self.dealing.is_dealt_to_two
            mine = self.dealing.get_label_mask_of_reviewer(reviewer)
            return ReviewSnapshot(
                self.state, self.ranking, self.status.copy(), mine, is_done, is_skipped & ~is_done, self.order_rank
            )

    def select_positions(self, query: Query, reviewer: str) -> Ints:
        """Positions of the labels of a query, in its order."""
        found = self.project.texts.find_nodes_with_text(query.search.strip()) if query.search.strip() else None
        return select_label_positions(query, self.build_review_snapshot(reviewer), found)

    def compute_progress_panel(self) -> Panel:
        with self._lock:
            status, drawn = self.status.copy(), count_decided_at_front(self.status, self.state.order)
            # What was drawn at random is not among the surest errors, whichever queue it came from.
            outcomes = sorted(
                each for (position, _), each in self._outcomes.items() if self.order_rank[position] >= drawn
            )
        top = [is_wrong for _, is_wrong in outcomes]
        return compute_progress_panel(status, self.state.order, self.ranking.p_wrong, top)

    def get_verdicts(self, position: int) -> dict[tuple[str, bool], Verdict]:
        with self._lock:
            return dict(self._verdicts.get(position, {}))

    def get_relabeled_class_or_empty(self, position: int) -> str:
        """The class that a label was given instead; empty if it was not relabeled."""
        label = self.label[position]
        return self.class_names[label] if label >= 0 else ""

    def get_verdicts_by_position(self) -> dict[int, dict[tuple[str, bool], Verdict]]:
        """By position, those that have any."""
        with self._lock:
            return {position: dict(verdicts) for position, verdicts in self._verdicts.items() if verdicts}


def check_new_class_allowed_and_distinct(label: str, class_names: Sequence[str], *, is_allowed: bool) -> None:
    """Refuse a class that nobody asked for, that cannot be read, or that one there is already meant by."""
    if not is_allowed:
        raise DataError(f"'{label[:40]}' is no class of this project; to add it, give it to one label with the key W")
    if not label.isprintable():
        raise DataError("a new class must be printable: one line, without invisible characters")
    same = [name for name in class_names if _normalize_class_name(name) == _normalize_class_name(label)]
    if same:
        raise DataError(f"'{label[:40]}' is there already, written '{same[0][:40]}'; choose that one")


def _normalize_class_name(name: str) -> str:
    """What is left of a name without case, spacing and forms of the same letter."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def check_and_trim_reviewer_name(name: str) -> str:
    """The name of a reviewer, trimmed."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise ConfigError(f"a reviewer needs a name of 1 to {MAX_NAME_CHARS} printable characters")
    return name
