"""How results show themselves in a notebook: cards of HTML with their own style, which need nothing to be installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from .errors import PignnWarning
from .text import format_value

MAX_FACT_CHARS, MAX_CELL_CHARS = 300, 120
MUTED = "opacity:.7"
CARD = "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.7em 1em;max-width:60em;line-height:1.45"
CELL = "padding:.15em .9em .15em 0;background:none;vertical-align:top;white-space:normal;overflow-wrap:anywhere"


class CardTable(NamedTuple):
    """Rows with equal keys under a title."""

    title: str
    rows: Sequence[Mapping[Any, Any]]


def get_ipython_or_none() -> Any:
    """The running IPython, if there is one."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def is_notebook() -> bool:
    """Whether a notebook shows what is displayed."""
    return getattr(get_ipython_or_none(), "kernel", None) is not None


def render_card_html(
    title: str, facts: Mapping[str, Any], tables: Sequence[CardTable] = (), notes: Sequence[str] = ()
) -> str:
    """A card for a notebook, light or dark. Text from outside stays text; facts that are None are left out."""
    shown = "".join(
        f'<div><span style="{MUTED}">{_format_clip_and_escape(name, MAX_CELL_CHARS)}</span>'
        f" <strong>{_format_clip_and_escape(value, MAX_FACT_CHARS)}</strong></div>"
        for name, value in facts.items()
        if value is not None
    )
    parts = [
        f'<div style="font-weight:600;font-size:1.08em">{_format_clip_and_escape(title, MAX_FACT_CHARS)}</div>',
        f'<div style="display:flex;flex-wrap:wrap;gap:.1em 1.6em">{shown}</div>' if shown else "",
        *(_render_table_html(table) for table in tables if table.rows),
        *(f'<div style="margin-top:.4em;{MUTED}">{escape(str(note))}</div>' for note in notes),
    ]
    return f'<div style="{CARD}">{"".join(parts)}</div>'


def _render_table_html(table: CardTable) -> str:
    names = list(table.rows[0])
    is_text = {name: any(not isinstance(row[name], int | float) for row in table.rows) for name in names}
    styles = {name: f"{CELL};text-align:{'left' if is_text[name] else 'right'}" for name in names}
    head = "".join(
        f'<th style="{styles[name]};font-weight:600">{_format_clip_and_escape(name, MAX_CELL_CHARS)}</th>'
        for name in names
    )
    body = "".join(
        "<tr style='background:none'>"
        + "".join(
            f'<td style="{styles[name]};font-variant-numeric:tabular-nums">'
            f"{_format_clip_and_escape(row[name], MAX_CELL_CHARS)}</td>"
            for name in names
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div style="margin-top:.5em;{MUTED}">{escape(table.title)}</div><div style="overflow-x:auto">'
        f'<table style="border-collapse:collapse;border:0;margin:0"><thead style="border:0"><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _format_clip_and_escape(value: Any, max_chars: int) -> str:
    text = format_value(value)
    return escape(text if len(text) <= max_chars else text[: max_chars - 1] + "…")


def register_notebook_display(render_graph_html: Callable[[Any], str | None]) -> None:
    """Let the running IPython show graphs as cards, and figures as pictures though pyplot is not imported."""
    shell = get_ipython_or_none()
    if shell is None:
        return
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type_by_name("torch_geometric.data.data", "Data", render_graph_html)
    formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _render_png)


def _render_png(figure: Any) -> bytes:
    import io

    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    return content.getvalue()


def show_own_warnings_in_one_line() -> None:
    """Show warnings of this package without the line of code, which says nothing; others stay as they are."""
    shown_by_python = warnings.formatwarning

    def format_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if not issubclass(category, PignnWarning):
            return shown_by_python(message, category, filename, lineno, line)
        place = f"line {lineno} of this cell" if "ipykernel" in filename else f"{filename}:{lineno}"
        return f"{place}: note: {' '.join(str(message).split())}\n"

    warnings.formatwarning = format_warning
