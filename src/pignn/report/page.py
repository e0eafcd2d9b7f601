"""Self-contained HTML pages: head, style, and the blocks that most pages are made of.

Text from outside stays text: it is escaped unless it is `Markup`, which only our own code makes. The content-security
policy admits the page's style and script by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from markupsafe import Markup

from .colors import DARK_SERIES_COLORS, SERIES_COLORS, format_css_colors
from .rendering import load_macros, render
from .table import Table

NUM_SHADES = 10  # in the style
MAX_MATRIX_CLASSES = 40  # with more classes, the largest pairs are listed


class Tile(NamedTuple):
    """A headline number."""

    name: str
    value: str
    detail: str = ""


class Section(NamedTuple):
    title: str
    blocks: Sequence[Markup | Table]


def render_code(text: str) -> Markup:
    return Markup('<pre tabindex="0">{}</pre>').format(text)


def render_facts(facts: Mapping[str, str]) -> Markup:
    """Names and values."""
    return load_macros("blocks.html").facts(facts)


def render_table(table: Table) -> Markup:
    """A table that scrolls on its own if there is no room for it."""
    return load_macros("blocks.html").table(table)


def render_class_matrix(axes: tuple[str, str], names: Sequence[str], counts: Sequence[Sequence[int]]) -> Markup:
    """How often each class (rows) occurs with each class (columns), shaded by share of the row.

    Unless all names are short, columns are numbered, and rows have the same numbers. `axes` says what rows and columns
    are.
    """
    cells = [(count, i, j) for i, row in enumerate(counts) for j, count in enumerate(row) if i != j and count]
    largest = sorted(cells, key=lambda cell: -cell[0])[:MAX_MATRIX_CLASSES]
    if len(names) > MAX_MATRIX_CLASSES:
        pairs = [[names[i], names[j], f"{count:,}"] for count, i, j in largest]
        return render_table(Table([*axes, "nodes"], pairs, f"The {len(pairs)} largest disagreements"))
    rows = [
        [
            ("own" if j == i else f"shade-{-(-count * NUM_SHADES // sum(row)) if count else 0}", count)
            for j, count in enumerate(row)
        ]
        for i, row in enumerate(counts)
    ]
    return load_macros("blocks.html").class_matrix(axes, names, number_names_unless_short(names), rows, largest[:3])


def number_names_unless_short(names: Sequence[str]) -> list[str]:
    """The names themselves if all are short, else numbers from 1."""
    if all(0 < len(name) <= 4 for name in names):
        return list(names)
    return [str(i + 1) for i in range(len(names))]


def build_page(title: str, sections: Sequence[Section], intro: Sequence[str] = (), tiles: Sequence[Tile] = ()) -> str:
    """A page of sections that loads nothing and runs nothing."""
    return build_document(title, render("sections.html", title=title, sections=sections, intro=intro, tiles=tiles))


def build_document(
    title: str,
    body: Markup,
    *,
    style: str = "",
    script: str = "",
    data: Markup | None = None,
    asks_own_server: bool = False,
) -> str:
    """The whole HTML file.

    Args:
        title: title of the window.
        body: content of the body.
        style: CSS after that of all pages.
        script: the only script that runs.
        data: JSON for the script, safe inside a script element.
        asks_own_server: the script may ask the server that the page came from; otherwise it may ask nobody.
    """
    style = (resources.files(__package__) / "page.css").read_text(encoding="utf-8") + style
    for theme, colors in (("light", SERIES_COLORS), ("dark", DARK_SERIES_COLORS)):
        style = style.replace(f"/* {theme} series colors */", format_css_colors(colors))
    hashes = {name: _compute_csp_hash(text) for name, text in (("style-src", style), ("script-src", script)) if text}
    if asks_own_server:
        hashes["connect-src"] = Markup("'self'")
    whole = render(
        "document.html", hashes=hashes, title=title, style=Markup(style), body=body, data=data, script=Markup(script)
    )
    # Half a character, as in broken UTF-16, cannot be written as UTF-8.
    return whole.encode("utf-8", "replace").decode("utf-8")


def _compute_csp_hash(text: str) -> Markup:
    return Markup(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
