"""How tests read a page: its elements, what its policy admits, and text that tries to be more than text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "]]>",
    '" onmouseover="alert(3)',
    "<img src=x onerror=alert(4)>",
    "\u202egnp.exe\u202c",
    "[[SCRIPT]]",
    "line\u2028end\u2029",
    "nul \x00 bell \x07",
    "&lt;b&gt;&amp;",
    "x" * 10_000,
]


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] in ("script", "style"):
            self.inside.append((self.elements[-1][0], data))


def admitted(page: str) -> int:
    """How many scripts and styles are in a page; all of them must be admitted by its policy, and nothing else."""
    policy = next(attrs["content"] for _, attrs in Elements(page).elements if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"https?:|data:|\*", policy)
    texts = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", page, re.S)
    for text in texts:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.count("sha256-") == len(texts)
    return len(texts)
