"""The runs of a study as a table of one row per run, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import ConfigError
from .results import StudyResults
from .run_spec import RunRecord, encode_canonical
from .study import DatasetSpec


def build_dataframe_of_runs(results: StudyResults) -> pd.DataFrame:
    """One row per run that is there, done or failed, with all its numbers and its full specification."""
    found = [(run.row.label, run.key, results.records[run.key]) for run in results.runs if run.key in results.records]
    found += [(record.spec.settings["label"], record.spec.key, record) for record in results.external]
    frame = pd.DataFrame([_build_row(results.study.name, *each) for each in found])
    metrics = sorted({name for _, _, record in found for name in record.metrics})
    # Numbers after what identifies a run, texts last.
    first = [name for name in frame.columns if name not in metrics and name not in _LAST]
    return frame[[*first, *metrics, *(name for name in _LAST if name in frame.columns)]]


_LAST = ["error", "finished", "settings", "chosen", "spec", "versions", "notes", "key"]


def _build_row(study: str, label: str, key: str, record: RunRecord) -> dict[str, Any]:
    graph = record.spec.graph
    return {
        "study": study,
        "dataset": str(DatasetSpec(graph.dataset, graph.options)),
        "noise": graph.noise,
        "rate": graph.rate,
        "row": label,
        "method": record.spec.method,
        "seed": graph.seed,
        "status": "done" if record.is_done else "failed",
        **record.metrics,
        "error": record.error,
        "finished": record.finished,
        **{name: encode_canonical(getattr(record, name)).decode() for name in ("chosen", "spec", "versions", "notes")},
        "settings": encode_canonical(record.spec.settings).decode(),
        "key": key,
    }


def encode_results_by_suffix(results: StudyResults, path: Path) -> bytes:
    """What goes into a file of this name: .csv, .parquet, .html, .md or .tex."""
    from . import page, tables

    match path.suffix.lower():
        case ".csv":
            return build_dataframe_of_runs(results).to_csv(index=False, lineterminator="\n").encode()
        case ".parquet":
            try:
                return build_dataframe_of_runs(results).to_parquet(index=False)
            except ImportError:
                raise ConfigError("Parquet needs pyarrow; pip install 'pignn[parquet]', or write .csv") from None
        case ".html":
            return page.build_html_page(results).encode()
        case ".md":
            return page.build_markdown_page(results).encode()
        case ".tex":
            return "\n".join(table.to_latex() for table in tables.build_tables(results)).encode()
    raise ConfigError(f"cannot write {path.name}: a study goes into .csv, .parquet, .html, .md, .tex or .toml")
