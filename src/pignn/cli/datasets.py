"""pignn datasets"""

from __future__ import annotations

from .options import Json, Root
from .output import show_json, show_table

COLUMNS = {
    "dataset": "name",
    "here": "here",
    "nodes": "num_nodes",
    "edges": "num_edges",
    "features": "num_features",
    "classes": "num_classes",
    "kind": "kind",
}


def datasets(root: Root = None, json: Json = False) -> None:
    """List the named datasets, and which of them are here already.

    Examples:

    \b
      pignn datasets
      pignn datasets --root data --json
    """
    from ..graphs.datasets import is_available, list_datasets

    facts = [info.to_dict() | {"here": is_available(info.name, root)} for info in list_datasets()]
    if json:
        show_json(facts)
    else:
        show_table([{title: fact[name] for title, name in COLUMNS.items()} for fact in facts])
