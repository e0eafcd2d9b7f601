"""Tables of nodes and edges (CSV, TSV, JSON lines, Parquet), and the registry of all file formats."""

from typing import TYPE_CHECKING

from ...core.lazy import on_first_use

if TYPE_CHECKING:
    from .formats import FORMATS, FileFormat, file_suffix, find_format, is_graph_file, list_suffixes
    from .node_tables import open_table, read_dataframe

# Imported on first use: the command line lists suffixes and must not wait for pandas.
_HOMES = {
    "FORMATS": "formats",
    "FileFormat": "formats",
    "file_suffix": "formats",
    "find_format": "formats",
    "is_graph_file": "formats",
    "list_suffixes": "formats",
    "open_table": "node_tables",
    "read_dataframe": "node_tables",
}

__all__ = [
    "FORMATS",
    "FileFormat",
    "file_suffix",
    "find_format",
    "is_graph_file",
    "list_suffixes",
    "open_table",
    "read_dataframe",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
