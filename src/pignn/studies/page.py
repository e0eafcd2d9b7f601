"""Everything about a study in one place: a self-contained HTML page, or the same as Markdown."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from markupsafe import Markup

from ..report.page import Section, build_page, render_code, render_facts
from ..report.rendering import escape_markdown
from ..report.table import Table
from .catalog import load_builtin_studies
from .comparison import build_paper_comparison_table
from .figure import draw_study
from .leaderboard import build_leaderboard_sections_or_empty
from .live_view import format_duration
from .measures import RUN_MEASURES
from .plan_files import format_plan_as_toml
from .protocol import PRESETS
from .results import StudyResults
from .significance import build_significance_table
from .study import Study, format_seeds
from .tables import build_tables


def build_html_page(results: StudyResults) -> str:
    """One page: tables, picture, comparison, tests, failures, plan and environment."""
    study = results.study
    sections = [
        Section("Results", build_tables(results)),
        *build_leaderboard_sections_or_empty(results),
        Section("Picture", [Markup(draw_study(results, "page").decode())]),
        *(Section(title, [table]) for title, table in _build_titled_extra_tables(results)),
        Section("Plan", [render_code(format_plan_as_toml(study))]),
        Section("How it was made", [render_facts(collect_origin_facts(results))]),
    ]
    return build_page(
        _format_study_title(study), sections, [str(study.protocol), *([study.note] if study.note else [])]
    )


def build_markdown_page(results: StudyResults) -> str:
    """The same for a site that renders Markdown, without the picture and the plan."""
    study = results.study
    parts = [
        f"# {escape_markdown(_format_study_title(study))}",
        f"Seeds {format_seeds(study.seeds)}; {study.protocol}.",
    ]
    parts += [escape_markdown(study.note) + "."] if study.note else []
    parts += [Table(one.columns, one.rows, one.title, one.groups).to_markdown() for one in build_tables(results)]
    titled = [
        (one.title, table)
        for one in build_leaderboard_sections_or_empty(results)
        for table in one.blocks
        if isinstance(table, Table)
    ]
    titled += _build_titled_extra_tables(results)
    parts += [f"## {title}\n\n{table.to_markdown()}" for title, table in titled]
    facts = collect_origin_facts(results).items()
    parts += ["## How it was made", "\n".join(f"- {name}: {_format_markdown_code(value)}" for name, value in facts)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _format_markdown_code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _format_study_title(study: Study) -> str:
    return f"{study.name}: {study.title}" if study.title else study.name


def _build_titled_extra_tables(results: StudyResults) -> list[tuple[str, Table]]:
    tables = []
    compared = build_paper_comparison_table(results)
    if compared.rows:
        tables.append(("Beside the paper", compared))
    if len(results.row_labels) > 1 and results.study.metric not in RUN_MEASURES:
        tested = build_significance_table(results)
        if tested.rows:
            tables.append(("Significance", tested))
    if results.failed_runs:
        columns = ["dataset", "noise", "row", "seed", "error"]
        rows = [[str(run.dataset), str(run.noise), run.row.label, str(run.seed), e] for run, e in results.failed_runs]
        tables.append(("Runs that failed", Table(columns, rows)))
    return tables


def collect_origin_facts(results: StudyResults) -> dict[str, str]:
    """Command, time, versions and code behind the numbers."""
    records = {run.key: results.records[run.key] for run in results.runs if run.key in results.records}.values()
    seconds = sum(record.metrics.get("seconds") or 0 for record in records)
    facts = {
        "command": format_command(results.study),
        "runs": f"{len(records)} of {len({run.key for run in results.runs})} planned",
        "time": f"{format_duration(seconds)} of training, one worker at a time",
    }
    if records:
        finished = sorted({record.finished for record in records})
        facts["finished"] = finished[0] if len(finished) == 1 else f"{finished[0]} to {finished[-1]}"
        facts["most memory of a worker"] = f"{max(record.metrics.get('peak_mb') or 0 for record in records):.0f} MB"
    texts = {", ".join(f"{n} {v}" for n, v in record.versions.items()) for record in records if record.is_done}
    facts |= {"versions": "; ".join(sorted(texts))} if texts else {}
    code = {run.spec.method: run.spec.code for run in results.runs}
    facts["code"] = ", ".join(f"{method} {version}" for method, version in sorted(code.items()))
    commit = _read_git_commit_or_empty()
    return facts | ({"commit": commit} if commit else {})


def format_command(study: Study) -> str:
    """A command that runs this study, as far as options can say it."""
    parts = ["pignn", "study", "run", study.name]
    parts += ["--datasets", ",".join(dataset.name for dataset in study.datasets)]
    parts += ["--noises", ",".join(map(str, study.noises)), "--seeds", format_seeds(study.seeds)]
    own = load_builtin_studies().get(study.name)
    if own is not None and own.rows != study.rows:
        parts += ["--methods", ",".join(row.label for row in study.rows)]
    parts += ["--protocol", study.protocol.name] if study.protocol.name in PRESETS else []
    for name, value in study.settings.items():
        parts += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(parts)


def _read_git_commit_or_empty() -> str:
    """The commit of the source tree that the package is run from; nothing where it was installed."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
