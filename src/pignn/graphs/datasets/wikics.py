"""WikiCS: links between Wikipedia articles, in one JSON file with twenty splits."""

from __future__ import annotations

from pathlib import Path

from .base import FIRST, RawFiles
from .pyg import PyGDataset


class WikiCSDataset(PyGDataset):
    """A graph in one JSON file."""

    def check_raw_file(self, path: Path, label: str) -> None:
        """JSON runs no code, and a damaged file fails to parse."""


WIKICS = WikiCSDataset(
    name="wikics",
    num_nodes=11701,
    num_edges=431726,
    num_features=300,
    num_classes=10,
    kind="hyperlinks",
    note="20 splits",
    source="pmernyei/wiki-cs-dataset",
    license="MIT",
    default_split=FIRST,
    raw=RawFiles(("WikiCS", "wiki-cs"), ("raw/data.json",)),
    loader="WikiCS",
    loader_options={"is_undirected": True},
)
