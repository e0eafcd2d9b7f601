"""Tables of nodes and edges (CSV, TSV, JSON lines, Parquet), and the registry of all file formats."""

from typing import TYPE_CHECKING

from ...core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .formats import FORMATS, FileFormat, file_suffix, find_format, is_graph_file, list_suffixes
    from .reader import open_table
    from .table import Table

__all__ = [
    "FORMATS",
    "FileFormat",
    "Table",
    "file_suffix",
    "find_format",
    "is_graph_file",
    "list_suffixes",
    "open_table",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
