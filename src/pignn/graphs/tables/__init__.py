"""Tables of nodes and edges (CSV, TSV, JSON lines, Parquet), and the registry of all file formats."""

from typing import TYPE_CHECKING

from ...core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .formats import (
        FORMATS,
        FileFormat,
        find_format_name_or_none,
        get_format_suffix,
        has_graph_suffix,
        list_suffixes,
    )
    from .reader import open_table
    from .table import Table

__all__ = [
    "FORMATS",
    "FileFormat",
    "Table",
    "find_format_name_or_none",
    "get_format_suffix",
    "has_graph_suffix",
    "list_suffixes",
    "open_table",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
