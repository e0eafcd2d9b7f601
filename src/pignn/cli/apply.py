"""pignn apply"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ConfigError, DataError
from .options import Json
from .output import show_facts, show_json, show_message


def apply(
    decisions: Annotated[
        Path, typer.Argument(help="review.csv of `pignn audit --review`, filled in; JSON lines or Parquet will do.")
    ],
    nodes: Annotated[
        Path, typer.Option(help="The table that was audited (CSV, TSV, JSON lines, Parquet); it is not changed.")
    ],
    label: Annotated[str, typer.Option(help="Its column of labels.")],
    out: Annotated[Path, typer.Option(help="The corrected file to write.")],
    id: Annotated[
        str | None, typer.Option(help="Its column of ids; else as the audit says, or 'id' where there is none.")
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(help="Folder of the audit, which knows the column of ids; that of the review if absent."),
    ] = None,
    new_class: Annotated[
        bool, typer.Option("--new-class", help="Allow decided labels that no row of --nodes has.")
    ] = False,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it is there.")] = False,
    json: Json = False,
) -> int:
    """Put the decisions of a review into a copy of the labels, and say what they tell about all of them.

    Only the labels of nodes decided to 'relabel' change; all other bytes stay (Parquet is written anew). What was
    decided, as trusted labels, goes into a file beside --out. The intervals hold whatever the noise is. Audit the
    original again with --decisions: in the corrected file the noise is hidden.

    Examples:

    \b
      pignn apply audits/first/review.csv --nodes papers.csv --label topic --out papers.corrected.csv
      pignn apply decisions.csv --nodes papers.csv --id paper --label topic --out papers.corrected.csv
      pignn apply decisions.csv --audit audits/first --nodes papers.csv --label topic --out papers.corrected.csv
      pignn apply review.csv --nodes papers.tsv --id paper --label topic --out corrected.tsv --json
    """
    import pandas as pd

    from .. import auditing as audits
    from ..auditing.decisions import get_reviewed_labels
    from ..auditing.label_files import PARQUET_SUFFIXES
    from ..auditing.tables import write_table
    from ..runs.run_folder import check_outputs

    if not 0 < level < 1:
        raise ConfigError(f"--level must be between 0 and 1, not {level}")
    trusted = out.with_name(f"{out.stem}.trusted.csv")
    about = (audit or decisions.parent) / "audit.json"
    check_outputs((out, trusted), (nodes, decisions, about), force=force)
    table = audits.read_decisions(decisions)
    relabelled = table[table["decision"] == "relabel"]
    assessment = audits.estimate_from_review(table, level=level)
    if not assessment.reviewed:
        raise DataError(f"{decisions}: nothing is decided yet; fill in 'decision' with relabel or keep")
    settled = table[table["decision"].isin(["relabel", "keep"])]
    given = get_reviewed_labels(settled)
    audited, from_audit = _id_of_audit(about) if id is None else (False, None)
    if audit is not None and id is None and not audited:
        raise DataError(f"{about} is not there, or does not say which ids it read; name their column with --id")
    changed = audits.write_corrected_labels(
        nodes,
        out,
        dict(zip(relabelled["node"], relabelled["label"].str.strip(), strict=True)),
        label=label,
        id=from_audit if audited else id or "id",
        new_class=new_class,
        reviewed=dict(zip(settled["node"], given, strict=True)),
    )
    kept = pd.DataFrame(
        {
            "node": settled["node"],
            "label": settled["label"].where(settled["decision"] == "relabel", given),
            "decision": settled["decision"],
        }
    )
    for name in ("reviewer", "time"):
        if name in settled:
            kept[name] = settled[name]
    write_table(trusted, kept)
    facts = assessment.to_dict() | {"changed": changed, "out": str(out), "trusted": str(trusted)}
    if audited:
        ids = "row numbers from 0" if from_audit is None else f"column '{from_audit}'"
        show_message(f"ids are {ids}, as {about} says; --id takes another")
    if json:
        show_json(facts)
        return 0
    show_facts(
        {
            "reviewed": assessment.reviewed,
            "unsure or not decided": assessment.unsure,
            "labels changed": changed,
            "wrong among all labels": _share(assessment.rate, assessment.rate_interval),
            "wrong among the top suspects": _share(assessment.top_precision, None),
            "wrong among all flagged": _share(assessment.precision, assessment.precision_interval),
        }
    )
    if out.suffix.lower() in PARQUET_SUFFIXES:
        show_message("Parquet was written anew: the same columns and rows, other bytes")
    show_message(
        f"{out} and {trusted} written; to audit again, give the ORIGINAL with the decisions "
        f"(--nodes {nodes} --decisions {decisions}): the corrected file hides the noise"
    )
    return 0


def _id_of_audit(about: Path) -> tuple[bool, str | None]:
    """(whether the audit.json of an audit says what it read, its column of ids: None for row numbers)."""
    from json import loads

    try:
        id = loads(about.read_text(encoding="utf-8"))["origin"]["id"]
    except (OSError, ValueError, LookupError, TypeError):
        return False, None
    return id is None or isinstance(id, str), id or None


def _share(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None and interval is None:
        return "unknown: nothing to tell it by was drawn, or decided"
    if value is None:
        return f"between {interval[0]:.1%} and {interval[1]:.1%}: too little is decided yet" if interval else ""
    return f"{value:.1%}" + ("" if interval is None else f" ({interval[0]:.1%} to {interval[1]:.1%})")
