"""Tables as text, Markdown, LaTeX and HTML. Text from outside stays text in each of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.text import format_value


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

    def _list_headers_with_groups(self) -> list[str]:
        """Names of columns with their group, for formats with one line of header."""
        over = [text for text, count in self.groups for _ in range(count)] or [""] * len(self.columns)
        return [f"{group} {name}".strip() for group, name in zip(over, self.columns, strict=True)]

    def to_text(self) -> str:
        header = self._list_headers_with_groups()
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
        return self._render("table.md")

    def to_latex(self) -> str:
        """A ``table`` for the booktabs package."""
        return self._render("table.tex")

    def to_html(self) -> str:
        return self._render("table.html")

    __html__ = to_html  # what templates insert

    def _render(self, template: str) -> str:
        from .rendering import render  # not before it is needed: commands that print text start sooner

        ends = list(itertools.accumulate(count for _, count in self.groups))
        spans = [(text, f"{end - count + 1}-{end}") for (text, count), end in zip(self.groups, ends, strict=True)]
        values = {"headers": self._list_headers_with_groups(), "rows": self._wrap_rows_in_cells(), "spans": spans}
        return str(render(template, table=self, **values))
