"""What would be read from files, before anything is trained."""

from __future__ import annotations

from typing import Any

from ..graphs.importers import ImportSummary, summarize_import
from .graph_source import GraphSource


def inspect_graph(nodes: Any, edges: Any = None, **options: Any) -> ImportSummary:
    """Read a graph of your own and say what was understood, without training.

    `print` the result for people. Its ``features`` is the list of all columns and their kinds, to be changed and given
    as ``features=``; ``list_column_records()`` says what each column becomes and why.

    Args:
        nodes: as :func:`pignn.read_graph` takes them.
        edges: as :func:`pignn.read_graph` takes them.
        options: of :func:`pignn.read_graph`.
    """
    return summarize_import(GraphSource(None, {"nodes": nodes, "edges": edges, **options}).load())
