"""pignn audit"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..core.errors import ConfigError
from .graph_options import LabeledGraphOptions
from .option_groups import expand_option_groups
from .options import Json, Noise, Rate, Setting, StoreOptions, parse_settings_and_refuse_seed
from .output import show_facts, show_import_summary_of_own_graph, show_json, show_message_on_stderr, show_table
from .stored_settings import check_method_exists_and_settings_fit

if TYPE_CHECKING:
    from ..auditing import Audit, Consensus
    from ..runs import AuditRun

NUM_SHOWN = 10  # questions


@dataclass(kw_only=True)
class AuditOptions:
    """How labels are judged, and where the audit goes."""

    folds: Annotated[int, Option(min=2, help="Each label is judged by a model trained without its fold.")] = 5
    review: Annotated[int | None, Option(min=1, help="Also write review.csv with N labels to check by hand.")] = None
    random_share: Annotated[float, Option(help="Share of --review drawn at random instead of from the top.")] = 0.5
    decisions: Annotated[Path | None, Option(help="Decisions of an earlier review, whose labels are then trusted.")] = (
        None
    )
    noise: Noise = "none"
    rate: Rate = None
    seed: Annotated[int, Option(help="Random seed for folds, models, review and noise.")] = 0
    out: Annotated[Path | None, Option(help="Folder for audit.html and the tables.")] = None
    force: Annotated[bool, Option("--force", help="Replace the audit in --out.")] = False
    resume: Annotated[bool, Option("--resume", help="Go on with an audit with --memory or --ray that was stopped.")] = (
        False
    )


@expand_option_groups
def audit(
    *,
    graph: LabeledGraphOptions,
    method: Annotated[
        str, Option(help="Method to judge labels by: smoothed (quick), or one of `pignn methods`.")
    ] = "smoothed",
    setting: Setting = None,
    options: AuditOptions,
    store: StoreOptions,
    json: Json = False,
) -> None:
    """Find the labels that are probably wrong.

    suspects.csv lists every label, most probably wrong first. audit.html is an offline page for reviewing suspects. In
    a named dataset all labels are audited, corrupted as --noise and --rate say.

    Examples:

    \b
      pignn audit --nodes papers.csv --edges citations.csv --label topic --out audits/first
      pignn audit --nodes papers.csv --edges citations.csv --label topic --source annotator --out audits/by-source
      pignn audit --nodes papers.csv --edges citations.csv --votes votes.csv --out audits/votes
      pignn audit --nodes papers.csv --edges citations.csv --label ann,bob,eve --out audits/votes
      pignn audit --nodes papers.csv --edges citations.csv --label topic --review 100 --out audits/first
      pignn audit --dataset store --memory 4GB --out audits/large
      pignn audit --dataset digits --noise symmetric --rate 0.2 --json
      pignn audit --dataset digits --noise symmetric --rate 0.2 --method pi-gnn --set epochs=100
    """
    arguments = graph.to_arguments("audit")
    if graph.nodes is not None and (options.noise != "none" or options.rate is not None):
        raise ConfigError("--noise and --rate corrupt labels to try an audit out; they are for --dataset")
    if options.review is not None and options.out is None:
        raise ConfigError("--review needs --out: the folder for review.csv")
    settings = parse_settings_and_refuse_seed(setting)
    from ..runs import early_checks, run_folder

    early_checks.check_noise_exists_and_rate_valid(options.noise, options.rate)
    if method != "smoothed":
        check_method_exists_and_settings_fit(method, settings)
    if options.out is not None:
        run_folder.check_can_take_audit(options.out, options.review is not None, [], force=options.force)
    early_checks.check_graph_arguments_can_be_read(arguments)
    from .. import runs

    run = runs.audit(
        method=method,
        settings=settings,
        warn=not json,  # in JSON the notes have the warnings
        on_graph_read=None if json else show_import_summary_of_own_graph,
        **vars(options),
        **store.to_arguments(),
        **arguments,
    )
    if json:
        show_json(run.summary.to_dict())
    else:
        if run.audit.consensus is not None:
            _show_consensus_and_questions(run.audit.consensus)
        _show_audit(run.audit)
        _show_next_steps(run, options.out)


def _show_next_steps(run: AuditRun, out: Path | None) -> None:
    for note in run.audit.hints:
        show_message_on_stderr(f"note: {note}")
    if out is not None:
        show_message_on_stderr(
            f"suspects.csv, audit.json and card.md are in {out}; open {out / 'audit.html'} to look and decide"
        )
        if run.audit.consensus is not None:
            show_message_on_stderr(
                "consensus.csv, annotators.csv, confusions.csv, votes.csv and questions.csv are about the annotators"
            )
        if run.review is not None:
            command = run.build_apply_command_or_empty(out / "review.csv", out)
            then = f": {command}" if command else f" audit again, with --decisions {out / 'review.csv'}"
            show_message_on_stderr(
                f"{len(run.review)} labels to check are in {out / 'review.csv'}; fill in 'decision', then{then}"
            )


def _show_consensus_and_questions(consensus: Consensus) -> None:
    from ..report.audit import build_consensus_facts, list_most_active_annotator_rows

    show_facts(build_consensus_facts(consensus.to_dict()))
    rows = list_most_active_annotator_rows([asdict(row) for row in consensus.annotator_summaries])
    questions = consensus.suggest_questions(NUM_SHOWN).to_dict("records")
    for title, table in (("annotators", rows), ("whom to ask next", questions)):
        print()
        show_table([{str(key): value for key, value in row.items()} for row in table], title=title)
    print()


def _show_audit(audit: Audit) -> None:
    from ..report.audit.overview import select_suspects_and_likely_errors

    overview = audit.overview
    show_facts(
        {
            "labels": overview.num_labels,
            "estimated wrong": overview.format_rate(),
            "by Dawid–Skene": overview.format_rate_dawid_skene(),
            "flagged": overview.num_flagged,
            "suspects": overview.num_suspects,
            "homophily": audit.homophily,
        }
    )
    suspects = [
        _build_suspect_row(audit, row) for row in select_suspects_and_likely_errors(audit.issues).to_dict("records")
    ]
    for title, rows in (
        ("by given class", [asdict(row) for row in audit.class_summaries]),
        ("by source", [asdict(row) for row in audit.source_summaries]),
        ("most probably wrong", suspects),
    ):
        if rows:
            print()
            show_table(rows, title=title)
    if not suspects:
        print("\nno label is more probably wrong than right")


def _build_suspect_row(audit: Audit, row: dict[Any, Any]) -> dict[str, Any]:
    num_neighbors = row["num_neighbors"]
    return {
        "node": str(row.get("id", row["node"])),
        "given": audit.class_names[row["given"]],
        "suggested": audit.class_names[row["suggested"]],
        "p_wrong": row["p_wrong"],
        "agreeing neighbors": f"{row['neighbor_agreement']:.0%} of {num_neighbors}" if num_neighbors else "none",
    }
