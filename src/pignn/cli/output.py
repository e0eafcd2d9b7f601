"""What commands print: a table for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..runs.held_out_runs import PageResult

from ..core.text import format_value
from ..report.table import Table


def show_json(content: Any) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False, default=str))


def show_table(rows: Sequence[Mapping[str, Any]], *, title: str = "") -> None:
    """Rows of equal keys, in columns as wide as they need to be; numbers to the right, "–" where there is none."""
    rows = [
        {key: "–" if isinstance(value, float) and isnan(value) else value for key, value in row.items()} for row in rows
    ]
    if text := Table.from_records(rows, title).to_text():
        print(text)


def show_facts(facts: Mapping[str, Any]) -> None:
    """One fact a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name.ljust(width)}  {format_value(value)}")


def show_import_summary_of_own_graph(graph: Data) -> None:
    """What was understood of the user's own graph, before anything is computed from it."""
    from ..graphs import summarize_import
    from ..training.distributed import is_main_process

    if graph.get("origin") is not None and is_main_process():
        print(f"{summarize_import(graph)}\n", flush=True)


def show_message_on_stderr(text: str) -> None:
    """A line for people, out of the way of what a pipe reads."""
    print(text, file=sys.stderr, flush=True)


def run_and_show_page_result(
    run: Callable[..., PageResult], noun: str, page: str, out: Path | None, json: bool, arguments: Mapping[str, Any]
) -> None:
    """Run what keeps its finished parts in a folder, show what came out, and say where the page is."""
    try:
        found = run(on_graph_read=None if json else show_import_summary_of_own_graph, **arguments)
    except KeyboardInterrupt as interrupt:
        if out is not None:
            interrupt.add_note(f"finished {noun} are in {out}; the same command goes on")
        raise
    if json:
        show_json(found.to_dict())
        return
    print(found)
    if out is not None:
        show_message_on_stderr(f"written to {out}; open {out / page} to look at it")
