"""What each call of the API does, apart from HTTP: (session, reviewer, request) → answer."""

from __future__ import annotations

from ..core.errors import ConfigError, DataError
from . import messages as m
from .agreement import Agreement, compute_reviewer_agreement
from .decision_store import Action, Change, Verdict
from .details import build_node_detail, build_queue_page
from .exchange import load_and_record_decisions
from .review_session import ReviewSession, check_and_trim_reviewer_name

MAX_LISTED_NODES, MAX_KEY_CHARS = 1000, 100


def describe_project(session: ReviewSession, reviewer: str, request: None = None) -> m.ProjectInfo:
    header = session.project.header
    return m.ProjectInfo(
        title=header.title,
        class_names=session.class_names,
        source_names=header.source_names,
        source_error_rates=[float(f"{rate:.4g}") for rate in session.ranking.source_error_rates],
        num_clusters=int(session.state.clusters.max()) + 1,
        labels=len(session.state.nodes),
        notes=header.notes,
        can_correct=header.origin is not None and header.origin.label is not None,
        reviewers=[name for name, _ in session.project.decisions.list_reviewers_and_token_hashes()],
        dealt=session.dealing.reviewers,
        overlap=session.dealing.overlap,
    )


def get_progress(session: ReviewSession, reviewer: str, request: None = None) -> m.Progress:
    ranking, store = session.ranking, session.project.decisions
    undo, redo = store.count_undoable_and_redoable(reviewer)
    return m.Progress(
        panel=session.compute_progress_panel(),
        revision=store.get_revision(),
        refit=ranking.number,
        refit_seconds=round(ranking.seconds, 2),
        known=ranking.num_decided,
        undo=undo,
        redo=redo,
        skipped=int(session.build_review_snapshot(reviewer).is_skipped.sum()),
        class_names=session.class_names,
    )


def list_queue(session: ReviewSession, reviewer: str, request: m.QueueRequest) -> m.QueuePage:
    return build_queue_page(session, request.query, reviewer, request.offset, request.limit)


def get_node(session: ReviewSession, node: int) -> m.NodeDetail:
    return build_node_detail(session, node)


def decide(session: ReviewSession, reviewer: str, request: m.DecideRequest) -> m.Outcome:
    verdicts = [(entry.node, None if entry.decision is None else _make_verdict(entry)) for entry in request.changes]
    if not verdicts:
        raise DataError("there is nothing to decide; name a node")
    verb = "settle" if request.settle else "decide"
    key, queue = _check_key_length_and_return(request.key), request.queue[:40]
    action = session.decide(key, reviewer, verdicts, verb=verb, queue=queue, new_class=request.new_class)
    return _build_outcome(session, action)


def _make_verdict(entry: m.DecisionEntry) -> Verdict:
    return Verdict(decision=entry.decision or "", label=entry.label, note=entry.note)


def decide_all_matching(session: ReviewSession, reviewer: str, request: m.BulkRequest) -> m.Outcome:
    if (
        earlier := session.project.decisions.find_action_or_none(_check_key_length_and_return(request.key))
    ) is not None:
        return _build_outcome(session, earlier)  # its answer was lost
    positions = session.select_positions(request.query, reviewer)
    if len(positions) != request.expected:
        raise ConfigError(
            f"{len(positions):,} labels match by now, not {request.expected:,}; look at them again, then decide"
        )
    if request.refit not in (None, session.ranking.number) and _depends_on_ranking(request):
        raise ConfigError("the models learned meanwhile, and other labels may match; look at them again, then decide")
    verdicts = []
    for position in positions[~session.state.trusted[positions]].tolist():  # what was verified before stays
        given, decision = session.class_names[session.state.given[position]], request.decision
        label = request.label
        if decision == "relabel":
            label = label or session.class_names[session.ranking.suggested[position]]
            decision, label = ("keep", "") if label == given else (decision, label)
        verdicts.append((int(session.state.nodes[position]), Verdict(decision=decision, label=label)))
    if not verdicts:
        raise DataError("no label matches; there is nothing to decide")
    return _build_outcome(session, session.decide(request.key, reviewer, verdicts, queue="bulk"))


def _depends_on_ranking(request: m.BulkRequest) -> bool:
    """Whether a refit changes which labels match, or what they become."""
    query = request.query
    is_suggestion = request.decision == "relabel" and not request.label
    return is_suggestion or query.suggested is not None or query.low > 0 or query.high < 1


def undo(session: ReviewSession, reviewer: str, request: m.StepRequest) -> m.Outcome:
    return _build_outcome(session, session.undo(_check_key_length_and_return(request.key), reviewer))


def redo(session: ReviewSession, reviewer: str, request: m.StepRequest) -> m.Outcome:
    return _build_outcome(session, session.redo(_check_key_length_and_return(request.key), reviewer))


def _check_key_length_and_return(key: str) -> str:
    if not 8 <= len(key) <= MAX_KEY_CHARS:
        raise ConfigError(f"'key' must be a random text of 8 to {MAX_KEY_CHARS} characters, a new one for each action")
    return key


def _build_outcome(session: ReviewSession, action: Action | None) -> m.Outcome:
    if action is None:
        return m.Outcome(done=False, verb="", nodes=[], count=0, revision=session.project.decisions.get_revision())
    nodes = [change.node for change in action.changes]
    return m.Outcome(done=True, verb=action.verb, nodes=nodes[:MAX_LISTED_NODES], count=len(nodes), revision=action.id)


def list_history(session: ReviewSession, reviewer: str, request: m.HistoryRequest) -> m.History:
    actions = session.project.decisions.list_actions_newest_first(node=request.node, before=request.before)
    names = session.project.texts.find_names_or_ids({action.changes[0].node for action in actions if action.changes})
    return m.History([_describe_action(action, action.changes[0], names) for action in actions if action.changes])


def _describe_action(action: Action, change: Change, names: dict[int, str]) -> m.HistoryEntry:
    return m.HistoryEntry(
        id=action.id, verb=action.verb, reviewer=action.reviewer, time=action.time, count=len(action.changes),
        name=names[change.node], node=change.node,
        before=_format_verdict(change.before), after=_format_verdict(change.after),
    )  # fmt: skip


def _format_verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return "open"
    return f"{verdict.decision or 'note'} {verdict.label}".strip()


def get_agreement(session: ReviewSession, reviewer: str, request: None = None) -> Agreement:
    verdicts = session.get_verdicts_by_position()
    given = {position: session.class_names[session.state.given[position]] for position in verdicts}
    return compute_reviewer_agreement(verdicts, given)


def deal_labels_to_reviewers(session: ReviewSession, reviewer: str, request: m.DealingRequest) -> m.ProjectInfo:
    names = [check_and_trim_reviewer_name(name) for name in request.reviewers]
    session.deal_labels_to_reviewers(names, request.overlap)
    return describe_project(session, reviewer)


def load_decisions(session: ReviewSession, reviewer: str, request: m.LoadRequest) -> m.LoadOutcome:
    return load_and_record_decisions(session, _check_key_length_and_return(request.key), reviewer, request.text)
