"""Tables as text, Markdown, LaTeX and HTML. Text from outside stays text in each of them."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_LATEX_ESCAPES = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$",
    "·": r"$\cdot$", "–": "--",
}  # fmt: skip


class Cell(NamedTuple):
    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Columns with one or two lines of header; the first column names the rows.

    ``groups`` are headings over several columns, as (text, number of columns). If there are any, they cover all.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    title: str = ""
    groups: Sequence[tuple[str, int]] = ()
    notes: Sequence[str] = field(default_factory=list)
    text_columns: Sequence[int] = (0,)  # aligned to the left in a terminal, the others to the right

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]], title: str = "") -> Table:
        """A table of rows with equal keys, in which columns of numbers are aligned to the right."""
        names = list(records[0]) if records else []
        rows = [[format_value(record[name]) for name in names] for record in records]
        is_text = [any(not isinstance(record[name], int | float) for record in records) for name in names]
        return cls(names, rows, title, text_columns=[i for i, text in enumerate(is_text) if text])

    def _wrap_rows_in_cells(self) -> list[list[Cell]]:
        return [[cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row] for row in self.rows]

    def _list_headers(self) -> list[str]:
        """Names of columns with their group, for formats with one line of header."""
        over = [text for text, count in self.groups for _ in range(count)] or [""] * len(self.columns)
        return [f"{group} {name}".strip() for group, name in zip(over, self.columns, strict=True)]

    def to_text(self) -> str:
        header = self._list_headers()
        lines = [[cell.text + ("*" if cell.bold else "") for cell in row] for row in self._wrap_rows_in_cells()]
        widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
        aligned = [
            "  ".join(
                text.ljust(width) if i in self.text_columns else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in ([header, ["─" * width for width in widths], *lines] if header else [])
        ]
        return "\n".join([*([self.title] if self.title else []), *aligned, *self.notes])

    def to_markdown(self) -> str:
        def format_line(values: Sequence[str]) -> str:
            return "| " + " | ".join(values) + " |"

        lines = [f"**{escape_markdown(self.title)}**", ""] if self.title else []
        lines += [
            format_line([escape_markdown(name) for name in self._list_headers()]),
            format_line(["---"] * len(self.columns)),
        ]
        for row in self._wrap_rows_in_cells():
            lines.append(
                format_line([f"**{escape_markdown(c.text)}**" if c.bold else escape_markdown(c.text) for c in row])
            )
        return "\n".join([*lines, *(part for note in self.notes for part in ("", escape_markdown(note)))]) + "\n"

    def to_latex(self) -> str:
        """A ``table`` for the booktabs package."""
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            rf"\begin{{tabular}}{{l{'c' * (len(self.columns) - 1)}}}",
            r"\toprule",
        ]
        if self.groups:
            first, parts, rules = 1, [], []
            for text, count in self.groups:
                parts.append(rf"\multicolumn{{{count}}}{{c}}{{{_escape_latex(text)}}}" if text else " & " * (count - 1))
                if text:
                    rules.append(rf"\cmidrule(lr){{{first}-{first + count - 1}}}")
                first += count
            lines += [" & ".join(parts) + r" \\", " ".join(rules)]
        lines += [" & ".join(_escape_latex(name) for name in self.columns) + r" \\", r"\midrule"]
        for row in self._wrap_rows_in_cells():
            cells = [rf"\textbf{{{_escape_latex(c.text)}}}" if c.bold else _escape_latex(c.text) for c in row]
            lines.append(" & ".join(cells) + r" \\")
        caption = " ".join([self.title, *self.notes]).strip()
        lines += [
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\caption{{{_escape_latex(caption)}}}"] if caption else []),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        lines = ["<table>"]
        if self.title:
            lines.append(f"<caption>{html.escape(self.title)}</caption>")
        lines.append("<thead>")
        if self.groups:
            lines.append(f"<tr>{''.join(_render_header(text, count) for text, count in self.groups)}</tr>")
        lines.append(f"<tr>{''.join(_render_header(name) for name in self.columns)}</tr>")
        lines.append("</thead><tbody>")
        for row in self._wrap_rows_in_cells():
            cells = [f"<strong>{html.escape(c.text)}</strong>" if c.bold else html.escape(c.text) for c in row]
            first = f'<th scope="row">{cells[0]}</th>' if cells else ""
            lines.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells[1:])}</tr>")
        lines.append("</tbody></table>")
        lines += [f'<p class="note">{html.escape(note)}</p>' for note in self.notes]
        return "\n".join(lines) + "\n"


def format_value(value: Any) -> str:
    """A value as people read it: three decimals, thousands separators, yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def _render_header(text: str, columns: int = 1) -> str:
    """A header over one column or several; an empty text is no header."""
    over = f' scope="colgroup" colspan="{columns}"' if columns > 1 else ' scope="col"'
    return f"<th{over}>{html.escape(text)}</th>" if text else f'<td colspan="{columns}"></td>'


def escape_markdown(text: str) -> str:
    """Text in which nothing starts markup, a cell or a line."""
    text = " ".join(html.escape(text, quote=False).split())
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def _escape_latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))
