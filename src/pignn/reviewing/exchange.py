"""What leaves and enters a project: decisions, trusted labels, corrected files, and other tools' formats."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import runs
from ..auditing import read_decisions, write_spreadsheet_safe_csv
from ..core.errors import ConfigError, DataError
from ..report.audit.decision_columns import DECISION_COLUMNS, REVIEW_COLUMNS
from .decision_store import Verdict
from .estimates import count_decided_at_front
from .messages import LoadOutcome
from .review_session import ReviewSession
from .verdicts import KEEP, RELABEL, STATUS_NAMES, UNSURE, combine_verdicts_to_status_and_verdict


def build_decision_table(session: ReviewSession) -> pd.DataFrame:
    """What was decided, as decisions.csv has it. The labels of the estimate are a part of their own, `rest`.

    They are a sample of the labels without replacement. A label with a dispute is not decided.
    """
    state, ranking, order = session.state, session.ranking, session.state.order
    drawn = order[: count_decided_at_front(session.status, order)]
    rank = {int(position): number for number, position in enumerate(drawn)}
    decided = np.flatnonzero(np.isin(session.status, (RELABEL, KEEP, UNSURE)))
    rows = sorted({*map(int, decided), *rank}, key=lambda position: -ranking.p_wrong[position])
    ids = session.project.texts.find_ids(state.nodes[rows].tolist())
    table = []
    for position in rows:
        verdicts = session.get_verdicts(position)
        status, verdict = combine_verdicts_to_status_and_verdict(
            (who, settles, each) for (who, settles), each in verdicts.items()
        )
        counted = [(who, each) for (who, _), each in verdicts.items() if verdict is not None and each == verdict]
        values: dict[str, Any] = dict.fromkeys((*REVIEW_COLUMNS, *DECISION_COLUMNS, "note"), "")
        values |= {
            "node": ids[int(state.nodes[position])],
            "given": session.class_names[state.given[position]],
            "suggested": session.class_names[ranking.suggested[position]],
            "p_wrong": f"{state.p_wrong[position] if verdict is None else verdict.p_wrong or 0:.6g}",
            "decision": STATUS_NAMES[status] if status in (RELABEL, KEEP, UNSURE) else "",
            "label": session.get_relabeled_class_or_empty(position),
            "reviewer": counted[0][0] if counted else "",
            "time": verdict.time if verdict is not None else "",
            "note": " | ".join(each.note for each in verdicts.values() if each.note),
        }
        if position in rank:
            share = f"{len(drawn) / len(order):.15g}"
            values |= {"part": "rest", "stratum": rank[position], "inclusion": share, "review_size": len(drawn)}
        table.append(values)
    return pd.DataFrame(table, columns=[*REVIEW_COLUMNS, *DECISION_COLUMNS, "note"], dtype=object)


def load_and_record_decisions(session: ReviewSession, key: str, reviewer: str, text: str) -> LoadOutcome:
    """Take over the decisions of a file of an earlier audit, as one action."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "decisions.csv")
        path.write_text(text, encoding="utf-8")
        try:
            table = read_decisions(path)
        except DataError as error:
            raise DataError(str(error).replace(str(path), "the file")) from None
    table = table[table["decision"] != ""]
    numbers = session.project.texts.find_node_numbers_by_id([str(node) for node in table["node"]])
    verdicts, unknown = [], 0
    for row in table.to_dict("records"):
        node = numbers.get(str(row["node"]), -1)
        position = int(np.searchsorted(session.state.nodes, node))
        if position >= len(session.state.nodes) or session.state.nodes[position] != node:
            unknown += 1
            continue
        given = session.class_names[session.state.given[position]]
        if row.get("given", given).strip() not in (given, ""):
            raise DataError(f"node '{row['node'][:40]}' has the given label '{given[:40]}' here, but not in the file")
        label = row["label"].strip() if row["decision"] == "relabel" else ""
        note = str(row.get("note", "") or "")
        verdicts.append((node, Verdict(decision=row["decision"], label=label, note=note, time=row.get("time", ""))))
    changes = session.decide(key, reviewer, verdicts, verb="load").changes if verdicts else []
    replaced = sum(_is_decision_replaced(change.before, change.after) for change in changes)
    return LoadOutcome(loaded=len(verdicts), replaced=replaced, unknown=unknown)


def _is_decision_replaced(before: Verdict | None, after: Verdict | None) -> bool:
    """Whether a decision gave way to another one."""
    if before is None or after is None or before.decision not in ("relabel", "keep", "unsure"):
        return False
    return (before.decision, before.label) != (after.decision, after.label)


def _build_trusted_table(session: ReviewSession) -> pd.DataFrame:
    decided = build_decision_table(session)
    decided = decided[decided["decision"].isin(["relabel", "keep"])]
    label = decided["label"].where(decided["decision"] == "relabel", decided["given"])
    return decided.assign(label=label)[["node", "label", "decision", "reviewer", "time"]]


def _make_csv_writer(build_table: Callable[[ReviewSession], pd.DataFrame]) -> Callable[[ReviewSession, Path], None]:
    return lambda session, path: write_spreadsheet_safe_csv(path, build_table(session))


def _write_decisions_parquet(session: ReviewSession, path: Path) -> None:
    import duckdb

    table = build_decision_table(session).astype(str)
    duckdb.from_df(table).write_parquet(str(path))


def _write_label_studio_tasks(session: ReviewSession, path: Path) -> None:
    """Tasks with one annotation per reviewer, and what the models say as a prediction.

    Label Studio refuses a file with annotators that it does not know, so they are named in the data of a task.
    """

    def choose(label: str) -> dict[str, Any]:
        return {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}

    def build(one: dict[str, Any]) -> dict[str, Any]:
        annotations = [{"result": [choose(answer["label"])]} for answer in one["answers"]]
        prediction = {"result": [choose(one["suggested"])], "score": one["p_wrong"], "model_version": "pignn"}
        reviewers = ", ".join(answer["reviewer"] for answer in one["answers"])
        fields = {**one["columns"], "id": one["id"], "text": one["text"], "given": one["given"], "reviewers": reviewers}
        return {"data": fields, "annotations": annotations, "predictions": [prediction]}

    records = [build(one) for one in _list_decided_label_records(session)]
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


def _write_argilla_records(session: ReviewSession, path: Path) -> None:
    """Flat records, as `dataset.records.log` takes them: a response names a user of Argilla, whom nobody knows here."""

    def build(one: dict[str, Any]) -> dict[str, Any]:
        decided = {"label": one["label"]} if one["label"] else {}
        names = ("id", "text", "given", "suggested")
        return {name: one[name] for name in names} | decided | {"score": one["p_wrong"], "agent": "pignn"}

    records = [build(one) for one in _list_decided_label_records(session)]
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


def _list_decided_label_records(session: ReviewSession) -> list[dict[str, Any]]:
    every = session.get_verdicts_by_position()
    nodes = [int(session.state.nodes[position]) for position in every]
    cells, ids = session.project.texts.find_columns_and_texts(nodes), session.project.texts.find_ids(nodes)
    result = []
    for node, (position, verdicts) in zip(nodes, every.items(), strict=True):
        given = session.class_names[session.state.given[position]]
        answers = [
            {"reviewer": who, "label": verdict.label if verdict.decision == "relabel" else given}
            for (who, _), verdict in verdicts.items()
            if verdict.decision in ("relabel", "keep")
        ]
        is_kept = session.status[position] == KEEP
        result.append({
            "id": ids[node], "given": given, "answers": answers, "columns": dict(cells[node]),
            "label": given if is_kept else session.get_relabeled_class_or_empty(position),  # what counts
            "suggested": session.class_names[session.ranking.suggested[position]],
            "p_wrong": float(f"{session.ranking.p_wrong[position]:.4g}"),
            "text": "\n".join(text for _, text in cells[node]),
        })  # fmt: skip
    return result


def _write_corrected_label_file(session: ReviewSession, path: Path) -> None:
    origin = session.project.header.origin
    if origin is None or origin.label is None:
        raise ConfigError("this project has no file of nodes whose labels could be corrected")
    table = build_decision_table(session).astype(str)
    if not table["decision"].isin(["relabel", "keep"]).any():
        raise DataError("nothing is decided yet; there is nothing to correct")
    nodes = Path(origin.nodes)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "decisions.csv")
        write_spreadsheet_safe_csv(copy, table)
        decisions = read_decisions(copy)
    correction = runs.apply_decisions(decisions, nodes, label=origin.label, id=origin.id, new_class=True)
    correction.save(path, force=True)


def _write_report(session: ReviewSession, path: Path) -> None:
    from .report_page import build_report_page

    path.write_text(build_report_page(session), encoding="utf-8")


@dataclass(frozen=True)
class Export:
    """A file to take away: its name, and what writes it."""

    file: str
    summary: str
    write: Callable[[ReviewSession, Path], None]


EXPORTS = {
    "decisions": Export(
        "decisions.csv", "decisions, for pignn apply and train", _make_csv_writer(build_decision_table)
    ),
    "trusted": Export("trusted.csv", "the labels that somebody verified", _make_csv_writer(_build_trusted_table)),
    "corrected": Export("corrected", "the file of nodes with the decided labels", _write_corrected_label_file),
    "parquet": Export("decisions.parquet", "decisions as Parquet", _write_decisions_parquet),
    "label-studio": Export("label-studio.json", "tasks of Label Studio", _write_label_studio_tasks),
    "argilla": Export("argilla.json", "records of Argilla", _write_argilla_records),
    "report": Export("report.html", "a page about the review", _write_report),
}


def write_export_and_get_path(session: ReviewSession, name: str, folder: Path) -> Path:
    """Write one export into a folder, and say where."""
    export = EXPORTS[name]
    file = export.file
    if name == "corrected":
        origin = session.project.header.origin
        nodes = Path("" if origin is None else origin.nodes)
        file = f"{nodes.stem}.corrected{nodes.suffix}"
    path = folder / file
    export.write(session, path)
    return path
