"""DuckDB in memory, and texts and columns as it and pandas write them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

VECTOR_ROWS = 2048  # DuckDB's unit


@contextlib.contextmanager
def in_memory_database_context() -> Iterator[Any]:
    """A connection to an empty database in memory, which loads no extensions and prints no progress."""
    import duckdb

    closed = ("autoinstall_known_extensions", "autoload_known_extensions")
    connection = duckdb.connect(config=dict.fromkeys(closed, "false"))
    try:
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def replace_pandas_masked_dtype_by_numpy(column: pd.Series[Any]) -> pd.Series[Any]:
    """Integers and booleans as NumPy has them: where values are missing, floats and objects."""
    if isinstance(column.dtype, np.dtype) or not hasattr(column.array, "_mask"):
        return column
    if not column.isna().any():
        return column.astype(getattr(column.dtype, "numpy_dtype"))  # noqa: B009
    return (
        column.astype(object).where(column.notna(), None)
        if str(column.dtype) == "boolean"
        else column.astype(np.float64)
    )


def quote_sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quote_sql_paths(paths: Iterable[Path]) -> str:
    """Paths as SQL has a list of them, where *, ? and [ would stand for several files."""
    names = [re.sub(r"([*?\[])", r"[\1]", str(path.absolute())) for path in paths]
    return f"[{', '.join(map(quote_sql_text, names))}]"
