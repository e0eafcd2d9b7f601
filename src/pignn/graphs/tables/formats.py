"""The file formats that graphs are read from. Every list of suffixes in the package comes from here."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...core.registry import Entry, Registry

COMPRESSED_SUFFIXES = (".gz", ".zst")


@dataclass(frozen=True)
class FileFormat:
    """One file format.

    Args:
        suffixes: how names of such files end, in lower case. Tables may have ``.gz`` or ``.zst`` behind it.
        content: ``"table"`` for nodes or edges, one per row; ``"array"`` for one array; ``"graph"`` for a whole graph.
        reader: a function of the path, or where it lives, as ``"package.module:function"``. For a table it returns a
            :class:`pandas.DataFrame`. For a graph it returns arrays by PyG's names (``x``, ``edge_index``, ``y``, ...)
            or a NetworkX graph.
    """

    suffixes: tuple[str, ...]
    content: Literal["table", "array", "graph"]
    reader: str | Callable[..., Any]

    def import_reader(self) -> Callable[..., Any]:
        """Import the reader."""
        if not isinstance(self.reader, str):
            return self.reader
        module, _, attribute = self.reader.partition(":")
        return getattr(importlib.import_module(module), attribute)


_HERE = "pignn.graphs.tables.formats"
_GRAPHS = "pignn.graphs.importers.graph_files"

TEXT = FileFormat((".csv", ".tsv", ".tab", ".txt"), "table", "pignn.graphs.tables.file_tables:TextTable")
JSON_LINES = FileFormat((".jsonl", ".ndjson", ".json"), "table", "pignn.graphs.tables.file_tables:JsonTable")
PARQUET = FileFormat((".parquet", ".pq"), "table", "pignn.graphs.tables.file_tables:ParquetTable")
NPY = FileFormat((".npy",), "array", "pignn.graphs.tables.arrays:load_or_map_array")
NPZ = FileFormat((".npz",), "graph", "pignn.io.safe_readers:read_npz")
TORCH = FileFormat((".pt", ".pth"), "graph", f"{_GRAPHS}:read_torch_file_as_arrays")
GRAPHML = FileFormat((".graphml",), "graph", f"{_GRAPHS}:read_graphml_as_networkx")
GML = FileFormat((".gml",), "graph", f"{_GRAPHS}:read_gml_as_networkx")

FORMATS: Registry[FileFormat] = Registry(
    "file format",
    "pignn.formats",
    (
        Entry("text", f"{_HERE}:TEXT", "CSV, TSV and other text with one row per line"),
        Entry("jsonl", f"{_HERE}:JSON_LINES", "JSON lines: one object per line"),
        Entry("parquet", f"{_HERE}:PARQUET", "Parquet tables"),
        Entry("npy", f"{_HERE}:NPY", "one NumPy array"),
        Entry("npz", f"{_HERE}:NPZ", "NumPy or SciPy arrays of a whole graph"),
        Entry("torch", f"{_HERE}:TORCH", "a PyG Data or a dictionary of tensors, by torch.save"),
        Entry("graphml", f"{_HERE}:GRAPHML", "GraphML"),
        Entry("gml", f"{_HERE}:GML", "GML"),
    ),
)


def get_format_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix that tells the format, in lower case: that of ``nodes.csv.gz`` is ``.csv``."""
    path = Path(path)
    return (Path(path.stem) if path.suffix.lower() in COMPRESSED_SUFFIXES else path).suffix.lower()


def find_format_name_or_none(path: str | os.PathLike[str]) -> str | None:
    """The name in ``FORMATS`` of the format of a file, by its suffix. None if no format has it."""
    suffix = get_format_suffix(path)
    return next((name for name in FORMATS if suffix in FORMATS.get(name).suffixes), None)


def list_suffixes(content_kind: str | None = None) -> tuple[str, ...]:
    """The suffixes of all formats, or of those with this content_kind: ``"table"``, ``"array"`` or ``"graph"``."""
    formats = [FORMATS.get(name) for name in FORMATS]
    return tuple(suffix for each in formats if content_kind in (None, each.content) for suffix in each.suffixes)


def has_graph_suffix(path: str | os.PathLike[str]) -> bool:
    """Whether a file of this name holds a whole graph, not a table."""
    return get_format_suffix(path) in list_suffixes("graph")
