"""The templates of cards, pages and drawings. All but those of Markdown escape text from outside."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

_LATEX_ESCAPES = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$",
    "·": r"$\cdot$", "–": "--",
}  # fmt: skip


def render(template: str, **values: Any) -> Markup:
    """The text of a template, filled in."""
    return Markup(_make_template_environment().get_template(template).render(values))


def load_macros(template: str, **values: Any) -> Any:
    """The macros of a template, which are called like functions and know the ``values``."""
    return _make_template_environment().get_template(template).make_module(values)


@cache
def _make_template_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=select_autoescape(("html", "svg")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "thousands": "{:,}".format,
        "percent": format_percent,
        "clip": clip_text,
        "latex": escape_latex,
        "braced": "{{{}}}".format,
        "markdown": escape_markdown,
        "number": format_number,
        "coordinate": "{:.1f}".format,
        "sentence": format_sentence,
    }
    return environment


def clip_text(text: str, max_chars: int = 60) -> str:
    """The text, cut to so many characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def format_number(value: float, digits: int = 4) -> str:
    """A number in so many digits, without an exponent unless it is tiny or huge: 48814900, not 4.88149e+07."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"


def format_percent(share: float) -> str:
    """A share in percent, with one decimal unless it is 0 or 100."""
    value = share * 100
    return f"{value:.0f}\u00a0%" if value in (0, 100) else f"{value:.1f}\u00a0%"


def format_sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def escape_markdown(text: str) -> str:
    """Text in which nothing starts markup, a cell or a line."""
    text = " ".join(html.escape(text, quote=False).split())
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def escape_latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))
