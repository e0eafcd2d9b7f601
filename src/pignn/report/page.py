"""One HTML page that needs nothing else: tables, pictures, facts and texts inside. Text from outside stays text."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .table import Table

_TYPES = {b"\x89PNG": "image/png", b"<?xml": "image/svg+xml", b"<svg": "image/svg+xml"}


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Facts:
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Picture:
    content: bytes
    description: str

    @property
    def source(self) -> str:
        kind = next((kind for start, kind in _TYPES.items() if self.content.startswith(start)), "image/png")
        return f"data:{kind};base64,{base64.b64encode(self.content).decode()}"


Block = Table | Text | Code | Facts | Picture


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block] = field(default_factory=list)


_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
thead th { border-bottom: 1px solid; } thead tr:first-child th { border-top: 2px solid; }
thead th[colspan] { text-align: center; }
tbody tr:last-child > * { border-bottom: 2px solid; } tbody th { font-weight: 400; }
.note, footer { color: #777; font-size: .9em; }
img { max-width: 100%; background: #fff; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid #8884; border-radius: .3rem; font-size: .85em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% for line in intro %}<p>{{ line }}</p>
{% endfor %}
{%- for section in sections %}
<h2>{{ section.title }}</h2>
{% for block in section.blocks -%}
{% if block.kind == "Table" %}<div class="wide">{{ block.html | safe }}</div>
{% elif block.kind == "Picture" %}<p><img src="{{ block.one.source }}" alt="{{ block.one.description }}"></p>
{% elif block.kind == "Code" %}<pre>{{ block.one.text }}</pre>
{% elif block.kind == "Facts" %}<dl>
{% for name, value in block.one.facts.items() %}<dt>{{ name }}</dt><dd>{{ value }}</dd>
{% endfor %}</dl>
{% else %}<p>{{ block.one.text }}</p>
{% endif %}
{%- endfor %}
{%- endfor %}
</body>
</html>
"""


def page(title: str, sections: Sequence[Section], intro: Sequence[str] = ()) -> str:
    """The page. It loads nothing and runs nothing."""
    from jinja2 import Environment

    shown = [
        {
            "title": section.title,
            "blocks": [
                {"kind": type(one).__name__, "one": one, "html": one.html() if isinstance(one, Table) else ""}
                for one in section.blocks
            ],
        }
        for section in sections
    ]
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(_TEMPLATE)
    return template.render(title=title, intro=intro, sections=shown)
