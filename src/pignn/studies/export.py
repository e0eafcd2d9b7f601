"""The runs of a study as a table of one row each, for other programs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import ConfigError
from .results import StudyResults
from .results_store import NUMBERS


def frame(results: StudyResults) -> pd.DataFrame:
    """One row a run that is there, done or failed, with its full configuration."""
    rows: list[dict[str, Any]] = []
    for run in results.runs:
        row = results.rows.get(run.key)
        if row is None:
            continue
        rows.append(
            {
                "study": results.study.name,
                "dataset": str(run.dataset),
                "noise": run.noise.kind,
                "rate": run.noise.rate,
                "row": run.row.label,
                "method": run.row.method,
                "seed": run.seed,
                "status": row["status"],
                **{name: row[name] for name in NUMBERS},
                "error": row["error"],
                "finished": row["finished"],
                "settings": json.dumps(run.job["settings"], sort_keys=True),
                "chosen": row["chosen"],
                "config": row["config"],
                "versions": row["versions"],
                "notes": row["notes"],
                "key": run.key,
            }
        )
    for row in results.external:
        task = row["task"]
        about = {"study": results.study.name, "dataset": task["dataset"], "noise": task["noise"], "rate": task["rate"]}
        about |= {"row": task["label"], "method": row["method"], "seed": row["seed"], "status": row["status"]}
        about |= {name: row[name] for name in NUMBERS}
        rows.append(about | {"finished": row["finished"], "config": row["config"], "key": row["key"]})
    return pd.DataFrame(rows)


def content(results: StudyResults, path: Path) -> bytes:
    """What goes into a file of this name: .csv, .parquet, .html, .md or .tex."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return frame(results).to_csv(index=False, lineterminator="\n").encode()
    if suffix == ".parquet":
        try:
            buffer = io.BytesIO()
            frame(results).to_parquet(buffer, index=False)
            return buffer.getvalue()
        except ImportError:
            raise ConfigError("Parquet needs pyarrow; pip install 'pignn[parquet]', or write .csv") from None
    if suffix in (".html", ".md"):
        from . import page

        return (page.html(results) if suffix == ".html" else page.markdown(results)).encode()
    if suffix == ".tex":
        from .tables import build_tables

        return "\n".join(table.to_latex() for table in build_tables(results)).encode()
    raise ConfigError(f"cannot write {path.name}: a study goes into .csv, .parquet, .html, .md, .tex or .toml")
