"""The page of a review: one document, which asks its own server and nobody else."""

from __future__ import annotations

from functools import cache
from importlib import resources

from markupsafe import Markup

from ...report.audit import SHARED_SCRIPTS, read_asset
from ...report.page import build_document

SCRIPTS = ("state.js", "api.js", "queue.js", "detail.js", "deciding.js", "panel.js", "map.js", "views.js", "start.js")


@cache
def build_review_page() -> str:
    """The page as text of one HTML file. It shares its style and its drawings with the page of an audit."""
    shared = [read_asset(name) for name in SHARED_SCRIPTS]
    own = [_read_page_file(name) for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "".join([own[0], *shared, *own[1:]]) + "})();\n"
    style = read_asset("page.css") + _read_page_file("page.css")
    body = Markup(_read_page_file("page.html"))
    return build_document("Review of labels", body, style=style, script=script, asks_own_server=True)


def _read_page_file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
