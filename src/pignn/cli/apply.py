"""pignn apply"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from .option_groups import expand_option_groups
from .options import Json
from .output import show_facts, show_json, show_message_on_stderr

if TYPE_CHECKING:
    from ..runs import Correction


@dataclass(kw_only=True)
class CorrectionOptions:
    """The decisions, and the file that they correct."""

    decisions: Annotated[
        Path, Argument(help="Filled-in review.csv of `pignn audit --review`: CSV, JSON lines or Parquet.")
    ]
    nodes: Annotated[
        Path, Option(help="File that was audited (CSV, TSV, JSON lines, Parquet, GraphML, GML); it is not changed.")
    ]
    label: Annotated[str, Option(help="Its column of labels.")]
    out: Annotated[Path, Option(help="The corrected file to write.")]
    id: Annotated[str | None, Option(help="Its column of ids (default: as the audit says, or id).")] = None
    audit: Annotated[
        Path | None, Option(help="Folder of the audit, which knows the column of ids (default: that of the review).")
    ] = None
    new_class: Annotated[bool, Option("--new-class", help="Allow decided labels that no row of --nodes has.")] = False
    level: Annotated[float, Option(help="Confidence level of the intervals.")] = 0.95
    force: Annotated[bool, Option("--force", help="Replace --out if it exists.")] = False


@expand_option_groups
def apply(*, options: CorrectionOptions, json: Json = False) -> None:
    """Apply the decisions of a review to a copy of the labels, and estimate how many of all labels are wrong.

    Only the labels of nodes decided to 'relabel' change. All other bytes stay (Parquet is written anew). The decided
    labels also go, as trusted ones, into a file beside --out. The intervals hold for any kind of noise. Audit the
    original again with --decisions: in the corrected file the noise is hidden.

    Examples:

    \b
      pignn apply audits/first/review.csv --nodes papers.csv --label topic --out papers.corrected.csv
      pignn apply decisions.csv --nodes papers.csv --id paper --label topic --out papers.corrected.csv
      pignn apply decisions.csv --audit audits/first --nodes papers.csv --label topic --out papers.corrected.csv
      pignn apply decisions.csv --nodes graph.graphml --label kind --out corrected.graphml
      pignn apply review.csv --nodes papers.tsv --id paper --label topic --out corrected.tsv --json
    """
    from ..runs import early_checks, run_folder

    early_checks.check_graph_files_or_dataset_exist({"nodes": options.nodes, "known": options.decisions})
    run_folder.check_outputs_may_be_written([options.out], [options.nodes, options.decisions], force=options.force)
    from .. import runs

    correction = runs.apply_decisions(**vars(options))
    if correction.audit_file is not None:
        ids = "row numbers from 0" if correction.id is None else f"column '{correction.id}'"
        show_message_on_stderr(f"ids are {ids}, as {correction.audit_file} says; --id takes another")
    show_json(correction.to_dict()) if json else _show_review_estimate_and_written_files(correction, options.decisions)


def _show_review_estimate_and_written_files(correction: Correction, decisions: Path) -> None:
    estimate, out = correction.estimate, correction.out
    facts = {
        "reviewed": estimate.reviewed,
        "unsure or not decided": estimate.unsure,
        "labels changed": correction.num_changed,
        "wrong among all labels": _format_share(estimate.rate, estimate.rate_interval),
        "wrong among the top suspects": _format_share(estimate.top_precision, None),
    }
    if estimate.precision_interval is not None:
        facts["wrong among top and flagged"] = _format_share(estimate.precision, estimate.precision_interval)
    show_facts(facts)
    if out is not None and out.suffix.lower() in (".parquet", ".pq"):
        show_message_on_stderr("Parquet was written anew: the same columns and rows, other bytes")
    show_message_on_stderr(
        f"{out} and {correction.trusted_path} written; to audit again, give the ORIGINAL with the decisions "
        f"(--nodes {correction.nodes} --decisions {decisions}): the corrected file hides the noise"
    )


def _format_share(share: float | None, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "unknown: no randomly drawn label has been reviewed yet" if share is None else f"{share:.1%}"
    if share is not None and interval[0] == interval[1]:
        return f"{share:.1%}, all of them checked"
    between = f"{interval[0]:.1%} to {interval[1]:.1%}"
    return f"unknown, {between}: too little is decided yet" if share is None else f"{share:.1%} ({between})"
