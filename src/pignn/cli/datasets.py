"""pignn datasets"""

from __future__ import annotations

from .options import Json, Root
from .output import show_json, show_table


def datasets(root: Root = None, json: Json = False) -> int:
    """List the named datasets, and which of them are here already.

    Examples:

    \b
      pignn datasets
      pignn datasets --root data --json
    """
    from ..graphs.datasets import is_available, list_datasets

    infos = list_datasets()
    if json:
        show_json([info.to_dict() | {"here": is_available(info.name, root)} for info in infos])
        return 0
    show_table(
        [
            {
                "dataset": info.name,
                "here": is_available(info.name, root),
                "nodes": info.num_nodes,
                "edges": info.num_edges,
                "features": info.num_features,
                "classes": info.num_classes,
                "kind": info.kind,
            }
            for info in infos
        ]
    )
    return 0
