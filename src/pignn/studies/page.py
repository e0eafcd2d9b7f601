"""Everything about a study in one place: a self-contained HTML page, or the same as Markdown."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from ..report.page import Code, Drawing, Facts, Section, build_page
from ..report.table import Cell, Table, escape_markdown
from . import comparison, significance
from .figure import figure
from .live_view import duration
from .paper import STUDIES
from .plan_files import dumps
from .results import StudyResults
from .study import Study, format_seeds
from .tables import build_tables


def html(results: StudyResults) -> str:
    """One page: tables, picture, comparison, tests, failures, plan and environment."""
    study = results.study
    sections = [
        Section("Results", build_tables(results)),
        Section("Picture", [Drawing(figure(results, "page"))]),
        *(Section(title, [table]) for title, table in _more(results)),
        Section("Plan", [Code(dumps(study))]),
        Section("How it was made", [Facts(facts(results))]),
    ]
    return build_page(_title(study), sections, [str(study.protocol), *([study.note] if study.note else [])])


def markdown(results: StudyResults) -> str:
    """The same for a site that renders Markdown, without the picture and the plan."""
    study = results.study
    parts = [f"# {escape_markdown(_title(study))}", f"Seeds {format_seeds(study.seeds)}; {study.protocol}."]
    parts += [escape_markdown(study.note) + "."] if study.note else []
    parts += [Table(one.columns, one.rows, one.title, one.groups).to_markdown() for one in build_tables(results)]
    parts += [f"## {title}\n\n{table.to_markdown()}" for title, table in _more(results)]
    parts += ["## How it was made", "\n".join(f"- {name}: {_code(value)}" for name, value in facts(results).items())]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _title(study: Study) -> str:
    return f"{study.name}: {study.title}" if study.title else study.name


def _more(results: StudyResults) -> list[tuple[str, Table]]:
    found = []
    compared = comparison.table(results)
    if compared.rows:
        found.append(("Beside the paper", compared))
    if len(results.labels) > 1 and results.study.metric not in ("seconds", "peak_mb", "pair_noise", "realized_noise"):
        tested = significance.table(results)
        if tested.rows:
            found.append(("Significance", tested))
    if results.failed:
        columns = ["dataset", "noise", "row", "seed", "error"]
        rows = [
            [Cell(str(run.dataset)), Cell(str(run.noise)), Cell(run.row.label), Cell(str(run.seed)), Cell(error)]
            for run, error in results.failed
        ]
        found.append(("Runs that failed", Table(columns, rows)))
    return found


def facts(results: StudyResults) -> dict[str, str]:
    """Command, time, versions and code behind the numbers."""
    rows: dict[str, Any] = {run.key: results.rows[run.key] for run in results.runs if run.key in results.rows}
    found = {"command": command(results.study)}
    found["runs"] = f"{len(rows)} of {len({run.key for run in results.runs})} planned"
    found["time"] = f"{duration(sum(row['seconds'] or 0 for row in rows.values()))} of training, one worker at a time"
    if rows:
        finished = sorted(row["finished"] for row in rows.values())
        found["finished"] = finished[0] if finished[0] == finished[-1] else f"{finished[0]} to {finished[-1]}"
        peak = max(row["peak_mb"] or 0 for row in rows.values())
        found["most memory of a worker"] = f"{peak:.0f} MB"
    for versions in sorted({row["versions"] for row in rows.values() if row["status"] == "done"}):
        about = json.loads(versions)
        found.setdefault("versions", "")
        text = ", ".join(f"{name} {value}" for name, value in about.items())
        found["versions"] += f"; {text}" if found["versions"] else text
    code = {run.row.method: run.job["code"] for run in results.runs}
    found["code"] = ", ".join(f"{method} {version}" for method, version in sorted(code.items()))
    if commit := _commit():
        found["commit"] = commit
    return found


def command(study: Study) -> str:
    """A command that runs this study, as far as options can say it."""
    parts = ["pignn", "study", "run", study.name]
    parts += ["--datasets", ",".join(dataset.name for dataset in study.datasets)]
    parts += ["--noises", ",".join(map(str, study.noises)), "--seeds", format_seeds(study.seeds)]
    own = STUDIES.get(study.name)
    if own is not None and own.rows != study.rows:
        parts += ["--methods", ",".join(row.label for row in study.rows)]
    parts += ["--protocol", study.protocol.name] if study.protocol.name in ("honest", "noisygl") else []
    for name, value in study.settings.items():
        parts += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(parts)


def _commit() -> str:
    """The commit of the source tree that the package is run from; nothing where it was installed."""
    folder = next((parent / ".git" for parent in Path(__file__).parents[:4] if (parent / ".git").is_dir()), None)
    try:
        if folder is None:
            return ""
        head = (folder / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head[:12]
        name = head.removeprefix("ref: ")
        if (folder / name).is_file():
            return (folder / name).read_text().strip()[:12]
        packed = (folder / "packed-refs").read_text().splitlines()
        return next((line.split()[0][:12] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""
