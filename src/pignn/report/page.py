"""Self-contained HTML pages: head, style, and the blocks that most pages are made of.

Text from outside stays text: it is escaped unless it is `Markup`, which only our own code makes. The content-security
policy admits the page's style and script by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Protocol

from markupsafe import Markup

from .colors import DARK_SERIES_COLORS, SERIES_COLORS, format_css_colors
from .table import Table

NUM_SHADES = 10  # in the style
MAX_MATRIX_CLASSES = 40  # with more classes, the largest pairs are listed


class Block(Protocol):
    def to_markup(self) -> Markup: ...


@dataclass(frozen=True)
class Text:
    text: str

    def to_markup(self) -> Markup:
        return Markup("<p>{}</p>").format(self.text)


@dataclass(frozen=True)
class Note(Text):
    """A small remark."""

    def to_markup(self) -> Markup:
        return Markup('<p class="note">{}</p>').format(self.text)


@dataclass(frozen=True)
class Heading(Text):
    """A heading within a section."""

    def to_markup(self) -> Markup:
        return Markup("<h3>{}</h3>").format(self.text)


@dataclass(frozen=True)
class BulletList:
    """A list of sentences."""

    texts: Sequence[str]

    def to_markup(self) -> Markup:
        return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(text) for text in self.texts))


@dataclass(frozen=True)
class Code:
    text: str

    def to_markup(self) -> Markup:
        return Markup('<pre tabindex="0">{}</pre>').format(self.text)


@dataclass(frozen=True)
class Facts:
    facts: Mapping[str, str]

    def to_markup(self) -> Markup:
        rows = [Markup("<dt>{}</dt><dd>{}</dd>").format(name, value) for name, value in self.facts.items()]
        return Markup('<dl class="facts">{}</dl>').format(Markup("\n").join(rows))


@dataclass(frozen=True)
class Drawing:
    """A drawing by `svg`, or by `plots.draw_panels` in the form for a page."""

    drawn: Markup | bytes

    def to_markup(self) -> Markup:
        return self.drawn if isinstance(self.drawn, Markup) else Markup(self.drawn.decode())


@dataclass(frozen=True)
class ClassMatrix:
    """How often each class (rows) occurs with each class (columns), shaded by share of the row.

    Unless all names are short, columns are numbered, and rows have the same numbers.
    """

    axes: tuple[str, str]  # what rows are, what columns are
    names: Sequence[str]
    counts: Sequence[Sequence[int]]

    def to_markup(self) -> Markup:
        row_axis, column_axis = self.axes
        largest = sorted(
            ((n, i, j) for i, row in enumerate(self.counts) for j, n in enumerate(row) if i != j and n),
            key=lambda cell: -cell[0],
        )
        if len(self.names) > MAX_MATRIX_CLASSES:
            pairs = [[self.names[i], self.names[j], f"{n:,}"] for n, i, j in largest[:MAX_MATRIX_CLASSES]]
            return _render_block(
                Table([row_axis, column_axis, "nodes"], pairs, f"The {len(pairs)} largest disagreements")
            )
        head = Markup("").join(
            Markup('<th scope="col" title="{}">{}</th>').format(name[:300], short)
            for name, short in zip(self.names, shorten_names(self.names), strict=True)
        )
        rows = Markup("\n").join(self._render_row(i) for i in range(len(self.names)))
        label = f"{row_axis} by {column_axis}"
        table = Markup(
            '<div class="wide" tabindex="0" role="region" aria-label="{}"><table class="heat"><thead><tr>'
            '<th scope="col" class="text">{} \\ {}</th>{}</tr></thead><tbody>{}</tbody></table></div>'
        ).format(label, row_axis, column_axis, head, rows)
        if not largest:
            return table
        examples = Markup("; ").join(
            Markup("{} <bdi>{}</bdi>, {} <bdi>{}</bdi>: {:,}").format(
                row_axis, clip(self.names[i]), column_axis, clip(self.names[j]), n
            )
            for n, i, j in largest[:3]
        )
        return table + Markup('<p class="note">Most frequent disagreements: {}.</p>').format(examples)

    def _render_row(self, i: int) -> Markup:
        total = max(sum(self.counts[i]), 1)
        cells = []
        for j, n in enumerate(self.counts[i]):
            shade = "own" if i == j else f"shade-{min(-(-n * NUM_SHADES // total), NUM_SHADES)}"
            cells.append(Markup('<td class="{}">{:,}</td>').format(shade, n))
        number = "" if shorten_names(self.names)[i] == self.names[i] else f"{i + 1} "
        name = Markup('<span class="clip long" title="{}">{}<bdi>{}</bdi></span>').format(
            self.names[i][:300], number, self.names[i]
        )
        return Markup('<tr><th scope="row">{}</th>{}</tr>').format(name, Markup("").join(cells))


@dataclass(frozen=True)
class Stack:
    """Blocks one below the other."""

    blocks: Sequence[Block | Table]

    def to_markup(self) -> Markup:
        return Markup("\n").join(map(_render_block, self.blocks))


@dataclass(frozen=True)
class SideBySide:
    """Blocks side by side, if there is room."""

    blocks: Sequence[Block | Table]

    def to_markup(self) -> Markup:
        cells = (Markup("<div>{}</div>").format(_render_block(block)) for block in self.blocks)
        return Markup('<div class="panels">{}</div>').format(Markup("").join(cells))


@dataclass(frozen=True)
class Tile:
    """A headline number."""

    name: str
    value: str
    detail: str = ""

    def to_markup(self) -> Markup:
        return Markup("<div><dt>{}</dt><dd>{}</dd><dd>{}</dd></div>").format(self.name, self.value, self.detail)


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block | Table] = field(default_factory=list)


def build_page(title: str, sections: Sequence[Section], intro: Sequence[str] = (), tiles: Sequence[Tile] = ()) -> str:
    """A page of sections that loads nothing and runs nothing."""
    head = Markup('<h1 id="title">{}</h1>').format(title)
    head += Markup("").join(Markup("<p>{}</p>\n").format(line) for line in intro)
    links = Markup("\n").join(
        Markup('<a href="#part-{}">{}</a>').format(number, section.title) for number, section in enumerate(sections)
    )
    shown = Markup('<dl class="tiles">{}</dl>').format(Markup("").join(tile.to_markup() for tile in tiles))
    parts = Markup("\n").join(
        Markup(
            '<section class="card" id="part-{0}" aria-labelledby="h-{0}"><h2 id="h-{0}">{1}</h2>\n{2}</section>'
        ).format(number, section.title, Markup("\n").join(map(_render_block, section.blocks)))
        for number, section in enumerate(sections)
    )
    body = Markup(
        '<header>{}<nav class="bar" aria-label="On this page">{}</nav>{}</header>\n<main>\n{}\n</main>\n'
        '<footer><p class="note">This page is self-contained and fetches nothing.</p></footer>'
    ).format(head, links, shown if tiles else "", parts)
    return build_document(title, body)


def build_document(title: str, body: Markup, *, style: str = "", script: str = "", data: Markup | None = None) -> str:
    """The whole HTML file.

    Args:
        title: title of the window.
        body: content of the body.
        style: CSS after that of all pages.
        script: the only script that runs.
        data: JSON for the script, safe inside a script element.
    """
    from jinja2 import Environment

    files = resources.files(__package__)
    style = (files / "page.css").read_text(encoding="utf-8") + style
    for theme, colors in (("light", SERIES_COLORS), ("dark", DARK_SERIES_COLORS)):
        style = style.replace(f"/* {theme} series colors */", format_css_colors(colors))
    policy = f"default-src 'none'; style-src {_hash_source(style)}; "
    policy += f"script-src {_hash_source(script)}; " if script else ""
    frame = Environment(autoescape=True, keep_trailing_newline=True).from_string(
        (files / "page.html").read_text(encoding="utf-8")
    )
    whole = frame.render(
        policy=Markup(policy + "base-uri 'none'; form-action 'none'"),
        title=title,
        style=Markup(style),
        body=body,
        data=data,
        script=Markup(script),
    )
    # Half a character, as in broken UTF-16, cannot be written as UTF-8.
    return whole.encode("utf-8", "replace").decode("utf-8")


def _render_block(block: Block | Table) -> Markup:
    """A table scrolls on its own if there is no room for it."""
    if not isinstance(block, Table):
        return block.to_markup()
    return Markup('<div class="wide" tabindex="0" role="region" aria-label="{}">{}</div>').format(
        clip(block.title or ", ".join(filter(None, block.columns))), Markup(block.to_html())
    )


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def shorten_names(names: Sequence[str]) -> list[str]:
    """The names themselves if all are short, else numbers from 1."""
    if all(0 < len(name) <= 4 for name in names):
        return list(names)
    return [str(i + 1) for i in range(len(names))]


def clip(text: str, max_chars: int = 60) -> str:
    """The text, cut to so many characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
