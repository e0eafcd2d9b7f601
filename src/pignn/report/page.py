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
from .table import Table

NUM_SHADES = 10  # in the style
MAX_MATRIX_CLASSES = 40  # with more classes, the largest pairs are listed


def render_text(text: str) -> Markup:
    """A paragraph."""
    return Markup("<p>{}</p>").format(text)


def render_note(text: str) -> Markup:
    """A small remark."""
    return Markup('<p class="note">{}</p>').format(text)


def render_heading(text: str) -> Markup:
    """A heading within a section."""
    return Markup("<h3>{}</h3>").format(text)


def render_list(texts: Sequence[str]) -> Markup:
    """A list of sentences."""
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(text) for text in texts))


def render_code(text: str) -> Markup:
    return Markup('<pre tabindex="0">{}</pre>').format(text)


def render_facts(facts: Mapping[str, str]) -> Markup:
    """Names and values."""
    rows = [Markup("<dt>{}</dt><dd>{}</dd>").format(name, value) for name, value in facts.items()]
    return Markup('<dl class="facts">{}</dl>').format(Markup("\n").join(rows))


def render_table(table: Table) -> Markup:
    """A table that scrolls on its own if there is no room for it."""
    return Markup('<div class="wide" tabindex="0" role="region" aria-label="{}">{}</div>').format(
        clip_text(table.title or ", ".join(filter(None, table.columns))), Markup(table.to_html())
    )


def render_side_by_side(blocks: Sequence[Markup]) -> Markup:
    """Blocks side by side, if there is room."""
    cells = Markup("").join(Markup("<div>{}</div>").format(block) for block in blocks)
    return Markup('<div class="panels">{}</div>').format(cells)


def render_class_matrix(axes: tuple[str, str], names: Sequence[str], counts: Sequence[Sequence[int]]) -> Markup:
    """How often each class (rows) occurs with each class (columns), shaded by share of the row.

    Unless all names are short, columns are numbered, and rows have the same numbers. `axes` says what rows and columns
    are.
    """
    largest = sorted(
        ((n, i, j) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j and n),
        key=lambda cell: -cell[0],
    )
    if len(names) > MAX_MATRIX_CLASSES:
        pairs = [[names[i], names[j], f"{n:,}"] for n, i, j in largest[:MAX_MATRIX_CLASSES]]
        return render_table(Table([*axes, "nodes"], pairs, f"The {len(pairs)} largest disagreements"))
    short_names = shorten_names(names)
    header = Markup("").join(
        Markup('<th scope="col" title="{}">{}</th>').format(name[:300], short)
        for name, short in zip(names, short_names, strict=True)
    )
    numbers = ["" if short == name else f"{short} " for name, short in zip(names, short_names, strict=True)]
    rows = Markup("\n").join(
        _render_matrix_row(i, numbers[i], name, row) for i, (name, row) in enumerate(zip(names, counts, strict=True))
    )
    table = Markup(
        '<div class="wide" tabindex="0" role="region" aria-label="{0} by {1}"><table class="heat"><thead><tr>'
        '<th scope="col" class="text">{0} \\ {1}</th>{2}</tr></thead><tbody>{3}</tbody></table></div>'
    ).format(*axes, header, rows)
    examples = Markup("; ").join(
        Markup("{} <bdi>{}</bdi>, {} <bdi>{}</bdi>: {:,}").format(
            axes[0], clip_text(names[i]), axes[1], clip_text(names[j]), n
        )
        for n, i, j in largest[:3]
    )
    note = Markup('<p class="note">Most frequent disagreements: {}.</p>').format(examples)
    return table + note if largest else table


def _render_matrix_row(index: int, number: str, name: str, counts: Sequence[int]) -> Markup:
    total = max(sum(counts), 1)
    cells = Markup("").join(
        Markup('<td class="{}">{:,}</td>').format(
            "own" if j == index else f"shade-{min(-(-n * NUM_SHADES // total), NUM_SHADES)}", n
        )
        for j, n in enumerate(counts)
    )
    label = Markup('<span class="clip long" title="{}">{}<bdi>{}</bdi></span>').format(name[:300], number, name)
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(label, cells)


class Tile(NamedTuple):
    """A headline number."""

    name: str
    value: str
    detail: str = ""


class Section(NamedTuple):
    title: str
    blocks: Sequence[Markup | Table]


def build_page(title: str, sections: Sequence[Section], intro: Sequence[str] = (), tiles: Sequence[Tile] = ()) -> str:
    """A page of sections that loads nothing and runs nothing."""
    head = Markup('<h1 id="title">{}</h1>').format(title)
    head += Markup("").join(Markup("<p>{}</p>\n").format(line) for line in intro)
    links = Markup("\n").join(
        Markup('<a href="#part-{}">{}</a>').format(number, section.title) for number, section in enumerate(sections)
    )
    tile = Markup("<div><dt>{}</dt><dd>{}</dd><dd>{}</dd></div>")
    shown_tiles = Markup('<dl class="tiles">{}</dl>').format(Markup("").join(tile.format(*each) for each in tiles))
    card = Markup('<section class="card" id="part-{0}" aria-labelledby="h-{0}"><h2 id="h-{0}">{1}</h2>\n{2}</section>')
    parts = []
    for number, section in enumerate(sections):
        blocks = [render_table(block) if isinstance(block, Table) else block for block in section.blocks]
        parts.append(card.format(number, section.title, Markup("\n").join(blocks)))
    body = Markup(
        '<header>{}<nav class="bar" aria-label="On this page">{}</nav>{}</header>\n<main>\n{}\n</main>\n'
        '<footer><p class="note">This page is self-contained and fetches nothing.</p></footer>'
    ).format(head, links, shown_tiles if tiles else "", Markup("\n").join(parts))
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


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def shorten_names(names: Sequence[str]) -> list[str]:
    """The names themselves if all are short, else numbers from 1."""
    if all(0 < len(name) <= 4 for name in names):
        return list(names)
    return [str(i + 1) for i in range(len(names))]


def clip_text(text: str, max_chars: int = 60) -> str:
    """The text, cut to so many characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
