"""The page that describes the service to people."""

from __future__ import annotations

import json
from typing import Any

from ..report import Section, Table, build_page
from ..report.page import render_code
from .messages import Version


def build_api_page(version: Version, api: dict[str, Any]) -> str:
    """A page that loads nothing: paths, an example, and the model's own columns and classes."""
    paths = [
        [path, method.upper(), call["summary"]]
        for path, calls in api["paths"].items()
        for method, call in calls.items()
    ]
    limits = version.limits
    values: dict[str, Any]
    if version.columns is None:
        values = {"x": [[0.0] * min(version.num_features, 3)] * 2}
    else:
        values = {"columns": {name: ["…", "…"] for name in version.columns}}
    example = json.dumps({"ids": ["a", "b"], **values, "edges": [["a", "b"]]}, indent=1, ensure_ascii=False)
    facts = [
        ["method", version.method],
        ["classes", ", ".join(version.classes)],
        ["columns", "numbers in x" if version.columns is None else ", ".join(version.columns)],
        ["features", f"{version.num_features:,}"],
        ["limits", f"{limits.max_bytes:,} bytes, {limits.max_nodes:,} nodes, {limits.max_edges:,} edges per request"],
    ]
    sections = [
        Section("Paths", [Table(["path", "method", "what it does"], paths, text_columns=(0, 1, 2))]),
        Section("A request to /predict", [render_code(example)]),
        Section("The model", [Table(["", ""], facts, text_columns=(0, 1))]),
    ]
    intro = [f"pignn {version.pignn}. A machine reads /openapi.json. An error is JSON with the reason."]
    return build_page("Predictions by pignn", sections, intro)
