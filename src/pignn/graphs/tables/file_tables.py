"""Table files that DuckDB reads: CSV, TSV, JSON lines and Parquet. A table may be many files with the same columns."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ...core.errors import DataError
from .database import (
    VECTOR_ROWS,
    in_memory_database_context,
    quote_sql_paths,
    quote_sql_text,
    replace_pandas_masked_dtype_by_numpy,
)
from .table import Chunk, Table
from .text_files import (
    MAX_LINE_BYTES,
    detect_layout,
    read_errors_context,
    write_plain_csv,
    write_plain_json_lines,
)

SAMPLE_ROWS = 1000  # rows that suggest the types of columns, which all rows then confirm or not
_INTEGER = r"\s*[+-]?[0-9]+\s*"
_NUMBER = r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*"
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_BOOLEANS = ("True", "TRUE", "true", "False", "FALSE", "false")


class FileTable(Table):
    """A file that DuckDB reads. Columns are c0, c1, ... in SQL, whatever their names."""

    def __init__(self, *paths: Path) -> None:
        self.paths, self.path, self.name = paths, paths[0], str(paths[0])

    @abstractmethod
    def _build_select_sql(self, paths: Sequence[Path], *, is_plain_copy: bool) -> str:
        """The query that gives the columns as they are in the files, or in their plain copies."""

    @abstractmethod
    def _build_column_expressions(self, cursor: Any, select_sql: str, text_columns: Sequence[str]) -> list[str]:
        """One expression per column, which gives its values in their type."""

    def _write_as_plain_csv(self, path: Path, out_path: Path) -> None:
        """Write a copy without what DuckDB refuses, or raise the error that says what is wrong."""
        raise NotImplementedError

    def build_text_columns_sql(self, cursor: Any, columns: Sequence[str]) -> str:
        """A query that gives these columns as texts t0, t1, ... without blanks around them, as DuckDB reads the files.

        Whole numbers of a column of fractions are written as such. A file that DuckDB refuses is an error of DuckDB's.
        """
        sql = self._build_select_sql(self.paths, is_plain_copy=False)
        typed = self._build_text_expressions(cursor, sql, [self.columns.index(name) for name in columns])
        return f"SELECT {', '.join(f'{text} AS t{i}' for i, text in enumerate(typed))} FROM ({sql})"

    def _build_text_expressions(self, cursor: Any, select_sql: str, positions: Sequence[int]) -> list[str]:
        return [f"trim(c{position})" for position in positions]

    def _convert_duckdb_column(self, column: pd.Series[Any], name: str) -> Any:
        return replace_pandas_masked_dtype_by_numpy(column)

    def iter_chunks(self, max_rows: int, text_columns: Sequence[str] = ()) -> Iterator[Chunk]:
        import duckdb

        done, sql = 0, self._build_select_sql(self.paths, is_plain_copy=False)
        with read_errors_context(self.path, self.name):
            try:
                for chunk in self._iter_sql_chunks(sql, max_rows, text_columns, 0):
                    yield chunk
                    done = chunk.start + len(chunk.frame)
                return
            except duckdb.Error:
                if type(self)._write_as_plain_csv is FileTable._write_as_plain_csv:
                    raise
            with tempfile.TemporaryDirectory() as folder:
                copies = [Path(folder) / f"plain{i}" for i in range(len(self.paths))]
                for path, copy in zip(self.paths, copies, strict=True):
                    self._write_as_plain_csv(path, copy)
                sql = self._build_select_sql(copies, is_plain_copy=True)
                yield from self._iter_sql_chunks(sql, max_rows, text_columns, done)

    def _iter_sql_chunks(self, sql: str, max_rows: int, text_columns: Sequence[str], skip_rows: int) -> Iterator[Chunk]:
        """The rows behind the first ``skip_rows``, in the order of the file."""
        with in_memory_database_context() as cursor:
            typed = ", ".join(self._build_column_expressions(cursor, sql, text_columns))
            cursor.execute(f"SELECT {typed} FROM ({sql})" + (f" OFFSET {skip_rows}" if skip_rows else ""))
            done = skip_rows
            while len(frame := cursor.fetch_df_chunk(max(max_rows // VECTOR_ROWS, 1))):
                converted = {
                    name: self._convert_duckdb_column(frame[f"c{i}"], name) for i, name in enumerate(self.columns)
                }
                frame = pd.DataFrame(converted, index=frame.index)
                for start in range(0, len(frame), max_rows):
                    rows = frame.iloc[start : start + max_rows].reset_index(drop=True)
                    yield Chunk(rows, done, min((done + len(rows)) / max(self.num_rows, 1), 1.0))
                    done += len(rows)


def _check_files_have_same_columns(first_path: Path, first: Sequence[str], path: Path, columns: Sequence[str]) -> None:
    if list(columns) != list(first):
        name = next((name for name in (*columns, *first) if name not in first or name not in columns), columns[0])
        raise DataError(
            f"{path} and {first_path} have different columns (first difference: '{name}'); write both alike"
        )


class TextTable(FileTable):
    """A CSV file or one of its kin."""

    def __init__(self, *paths: Path, delimiter: str | None = None, kind: Literal["nodes", "edges"] = "nodes") -> None:
        super().__init__(*paths)
        layouts = [detect_layout(path, delimiter, kind) for path in paths]
        self.layout, self.num_rows = layouts[0], sum(layout.num_rows for layout in layouts)
        self.delimiter = self.layout.delimiter
        for path, layout in zip(paths, layouts, strict=True):
            _check_files_have_same_columns(self.path, self.layout.columns, path, layout.columns)
            if (layout.skip_lines, layout.delimiter) != (self.layout.skip_lines, self.delimiter):
                raise DataError(f"{path} is laid out in another way than {self.path}; write both alike")
        self.columns, self.has_header = self.layout.columns, self.layout.has_header
        self._booleans: set[str] = set()
        self._checks = _TYPE_CHECKS | (_NODE_TYPE_CHECKS if kind == "nodes" else {})

    def describe_layout(self) -> str:
        return self.layout.describe_layout()

    def treat_header_as_row_in_place(self) -> None:
        if self.has_header:
            self.layout.treat_header_as_row_in_place()
            self.columns, self.has_header = self.layout.columns, False

    def _write_as_plain_csv(self, path: Path, out_path: Path) -> None:
        write_plain_csv(path, self.layout, out_path)

    def _build_select_sql(self, paths: Sequence[Path], *, is_plain_copy: bool) -> str:
        layout = self.layout
        names = [f"c{i}" for i in range(len(self.columns))]
        by_blanks = layout.delimiter == " " and not is_plain_copy
        mark, quote = ("\x1f", "") if by_blanks else ("," if is_plain_copy else layout.delimiter, '"')
        options = {
            "columns": "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in (["line"] if by_blanks else names)) + "}",
            "delim": quote_sql_text(mark),
            "quote": quote_sql_text(quote),
            "escape": quote_sql_text(quote),
            "skip": 0 if is_plain_copy else layout.skip_lines,
            "max_line_size": MAX_LINE_BYTES,
            "buffer_size": 2 * MAX_LINE_BYTES,
            "compression": quote_sql_text(_COMPRESSIONS.get(paths[0].suffix.lower(), "none")),
        }
        fixed = "auto_detect = false, header = false, strict_mode = true, nullstr = '', hive_partitioning = false"
        read = f"read_csv({quote_sql_paths(paths)}, {fixed}, {', '.join(f'{k} = {v}' for k, v in options.items())})"
        if by_blanks:
            return _build_sql_that_splits_at_blanks(read, names)
        filled = " WHERE ltrim(c0, ' ') <> ''" if len(names) == 1 else ""  # blank lines of a table with one column
        cells = ", ".join(f"nullif(ltrim({name}, ' '), '') AS {name}" for name in names)
        return f"SELECT {cells} FROM {read}{filled}"

    def _build_column_expressions(self, cursor: Any, select_sql: str, text_columns: Sequence[str]) -> list[str]:
        types = self._infer_column_types(cursor, select_sql, text_columns)
        self._booleans = {name for name, kind in zip(self.columns, types, strict=True) if kind == "BOOLEAN"}
        cast = {"VARCHAR": "c{}", "BOOLEAN": "c{}"}  # booleans may be missing, which pandas has as objects
        return [cast.get(kind, f"TRY_CAST(c{{}} AS {kind})").format(i) + f" AS c{i}" for i, kind in enumerate(types)]

    def _infer_column_types(self, cursor: Any, select_sql: str, text_columns: Sequence[str]) -> list[str]:
        """The narrowest type that all values of each column have: suggested by the first rows, confirmed by all."""
        head = cursor.execute(f"SELECT * FROM ({select_sql}) LIMIT {SAMPLE_ROWS}").fetchall()
        samples = [[value for value in column if value is not None] for column in zip(*head, strict=True)]
        types = [
            "VARCHAR" if name in text_columns else _suggest_sql_type(sample)
            for name, sample in zip(self.columns, samples or [[]] * len(self.columns), strict=True)
        ]
        pending = {i for i, kind in enumerate(types) if kind != "VARCHAR"}
        while pending:
            checks = ", ".join(f"coalesce({self._checks[types[i]].format(c=f'c{i}')}, true)" for i in pending)
            gaps = ", ".join(f"count(*) > count(c{i})" for i in pending)
            row = cursor.execute(f"SELECT {checks}, {gaps} FROM ({select_sql})").fetchone()
            fits = dict(zip(pending, row, strict=False))
            has_gaps = dict(zip(pending, row[len(pending) :], strict=True))
            for i in pending:
                if not fits[i]:
                    types[i] = _WIDER_TYPES.get(types[i], "VARCHAR")
                elif types[i] in ("BIGINT", "UBIGINT") and has_gaps[i]:
                    types[i] = "DOUBLE"
            pending = {i for i in pending if not fits[i] and types[i] != "VARCHAR"}
        return types

    def _convert_duckdb_column(self, column: pd.Series[Any], name: str) -> Any:
        if name not in self._booleans:
            return replace_pandas_masked_dtype_by_numpy(column)
        return replace_pandas_masked_dtype_by_numpy(
            column.map({text: text.lower() == "true" for text in _BOOLEANS}).astype("boolean")
        )


def _build_sql_that_splits_at_blanks(lines_sql: str, names: list[str]) -> str:
    """The cells of lines in which any number of blanks is one delimiter.

    A line of another length, or with quotes, is an error here: the plain copy deals with it.
    """
    line = "trim(line, ' ' || chr(9) || chr(13))"
    split = rf"SELECT line, string_split_regex({line}, '\s+') AS cells FROM {lines_sql} WHERE {line} <> ''"
    is_even = f"len(cells) = {len(names)} AND NOT contains(line, chr(34))"
    checked = f"SELECT CASE WHEN {is_even} THEN cells ELSE error('uneven') END AS cells FROM ({split})"
    return f"SELECT {', '.join(f'cells[{i + 1}] AS {name}' for i, name in enumerate(names))} FROM ({checked})"


_ALL_INTEGERS = f"bool_and(regexp_full_match({{c}}, '{_INTEGER}'))"
_ALL_NUMBERS = f"bool_and(regexp_full_match({{c}}, '{_NUMBER}'))"
_TYPE_CHECKS = {
    "BIGINT": f"{_ALL_INTEGERS} AND bool_and({{c}} IS NULL OR TRY_CAST({{c}} AS BIGINT) IS NOT NULL)",
    "UBIGINT": f"{_ALL_INTEGERS} AND bool_and({{c}} IS NULL OR TRY_CAST({{c}} AS UBIGINT) IS NOT NULL)",
    # The same as DOUBLE, after the two above: a column of integers that are too large for both stays text.
    "FLOAT8": f"{_ALL_NUMBERS} AND NOT {_ALL_INTEGERS}",
    "DOUBLE": _ALL_NUMBERS,
    "BOOLEAN": f"bool_and({{c}} IN {_BOOLEANS})",
}
# Of nodes, codes such as 01234 keep their zeros, and what may be 1234 or 1.234 is decided with the rest of the table.
_NO_CODES = "NOT bool_or(regexp_full_match({c}, '0[0-9][0-9][0-9]+'))"
_GROUPED = "[+-]?(?:0|[1-9][0-9]?[0-9]?(?:[.][0-9][0-9][0-9])*)"
_NOT_GROUPED = f"NOT (bool_and(regexp_full_match({{c}}, '{_GROUPED}')) AND bool_or(contains({{c}}, '.')))"
_NODE_TYPE_CHECKS = {
    kind: f"{_TYPE_CHECKS[kind]} AND {_NO_CODES if 'INT' in kind else _NOT_GROUPED}"
    for kind in ("BIGINT", "UBIGINT", "FLOAT8", "DOUBLE")
}
_WIDER_TYPES = {"BIGINT": "UBIGINT", "UBIGINT": "FLOAT8"}  # of others: VARCHAR


def _suggest_sql_type(sample: list[str]) -> str:
    if not sample:
        return "DOUBLE"  # missing throughout, as far as one sees
    if all(value in _BOOLEANS for value in sample):
        return "BOOLEAN"
    if all(re.fullmatch(_INTEGER, value) for value in sample):
        return "BIGINT"
    return "DOUBLE" if all(re.fullmatch(_NUMBER, value) for value in sample) else "VARCHAR"


class JsonTable(FileTable):
    """JSON lines: one object per line. Columns are the keys of all objects, in order of appearance."""

    def __init__(self, *paths: Path) -> None:
        super().__init__(*paths)
        self._objects: set[str] = set()
        with (
            read_errors_context(self.path),
            self._open_sql_for_file_or_plain_copy() as source,
            in_memory_database_context() as cursor,
        ):
            keys = cursor.execute(
                "SELECT keys, count(*) FROM (SELECT json_keys(json) AS keys, row_number() OVER () AS i "
                f"FROM ({source})) GROUP BY keys ORDER BY min(i)"
            ).fetchall()
        self.num_rows = sum(count for _, count in keys)
        self.columns = list(dict.fromkeys(key for row, _ in keys for key in row))
        if not self.num_rows:
            raise DataError(f"{self.path} is empty")

    @contextlib.contextmanager
    def _open_sql_for_file_or_plain_copy(self) -> Iterator[str]:
        """The file, or its plain copy if DuckDB refuses it, checked: objects without repeated keys throughout."""
        import duckdb

        check = "json_type(json) <> 'OBJECT' OR len(json_keys(json)) <> len(list_distinct(json_keys(json)))"
        source = self._build_select_sql(self.paths, is_plain_copy=False)
        with tempfile.TemporaryDirectory() as folder, in_memory_database_context() as cursor:
            try:
                is_plain = not cursor.execute(f"SELECT bool_or({check}) FROM ({source})").fetchone()[0]
            except duckdb.Error:
                is_plain = False
            if not is_plain:
                copies = [Path(folder) / f"plain{i}" for i in range(len(self.paths))]
                for path, copy in zip(self.paths, copies, strict=True):
                    write_plain_json_lines(path, copy)
                source = self._build_select_sql(copies, is_plain_copy=True)
            yield source

    def describe_layout(self) -> str:
        return "JSON lines"

    def _build_select_sql(self, paths: Sequence[Path], *, is_plain_copy: bool) -> str:
        compression = _COMPRESSIONS.get(paths[0].suffix.lower(), "none")
        return (
            f"SELECT json FROM read_ndjson_objects({quote_sql_paths(paths)}, compression = '{compression}', "
            f"maximum_object_size = {MAX_LINE_BYTES}, hive_partitioning = false)"
        )

    def _build_text_expressions(self, cursor: Any, select_sql: str, positions: Sequence[int]) -> list[str]:
        return [f"trim(json_extract_string(json, {_quote_json_path(self.columns[i])}))" for i in positions]

    def iter_chunks(self, max_rows: int, text_columns: Sequence[str] = ()) -> Iterator[Chunk]:
        with read_errors_context(self.path, self.name), self._open_sql_for_file_or_plain_copy() as source:
            yield from self._iter_sql_chunks(source, max_rows, text_columns, 0)

    def _build_column_expressions(self, cursor: Any, select_sql: str, text_columns: Sequence[str]) -> list[str]:
        paths = [_quote_json_path(name) for name in self.columns]
        if not paths:
            return ["1"]  # objects without keys are rows too
        kinds = ", ".join(f"list(DISTINCT {_JSON_KIND.format(path=path)})" for path in paths)
        row = cursor.execute(f"SELECT {kinds} FROM ({select_sql})").fetchone()
        self._objects, typed = set(), []
        for i, (path, json_kinds) in enumerate(zip(paths, map(set, row), strict=True)):
            kind = _choose_sql_type_of_json(json_kinds)
            if kind is None:
                self._objects.add(self.columns[i])
            value = f"json_extract_string(json, {path})" if kind == "VARCHAR" else f"json_extract(json, {path})"
            typed.append(f"{value if kind in (None, 'VARCHAR') else f'CAST({value} AS {kind})'} AS c{i}")
        return typed

    def _convert_duckdb_column(self, column: pd.Series[Any], name: str) -> Any:
        if name not in self._objects:
            return replace_pandas_masked_dtype_by_numpy(column)
        values = [json.loads(value) if isinstance(value, str) else None for value in column]
        return pd.Series(values, index=column.index, dtype=object)


def _quote_json_path(key: str) -> str:
    return quote_sql_text("/" + key.replace("~", "~0").replace("/", "~1"))


# Integers that no type holds are doubles to DuckDB; as ids they must keep their digits.
_JSON_KIND = (
    "CASE WHEN json_type(json, {path}) = 'DOUBLE' AND NOT regexp_matches(json_extract_string(json, {path}), '[.eEnN]') "
    "THEN 'INTEGER' ELSE coalesce(json_type(json, {path}), 'NULL') END"
)


def _choose_sql_type_of_json(json_kinds: set[str]) -> str | None:
    """The type of a column whose values are of these types in JSON. None where each value is parsed on its own."""
    has_gaps = "NULL" in json_kinds
    json_kinds = json_kinds - {"NULL"}
    if json_kinds == {"VARCHAR"} or json_kinds == {"BOOLEAN"}:
        return next(iter(json_kinds))
    if json_kinds and json_kinds <= {"BIGINT", "UBIGINT"} and not has_gaps:
        return "BIGINT"
    return "DOUBLE" if json_kinds <= {"BIGINT", "UBIGINT", "DOUBLE"} else None


class ParquetTable(FileTable):
    """A Parquet file."""

    def __init__(self, *paths: Path) -> None:
        super().__init__(*paths)
        with in_memory_database_context() as cursor:
            self.num_rows, names = 0, list[str]()
            for path in paths:
                with read_errors_context(path):
                    read = f"read_parquet({quote_sql_paths([path])}, hive_partitioning = false)"
                    self.num_rows += cursor.execute(f"SELECT count(*) FROM {read}").fetchone()[0]
                    cursor.execute(f"SELECT * FROM {read} LIMIT 0")
                    columns = [str(column[0]) for column in cursor.description]
                names = names or columns
                _check_files_have_same_columns(self.path, names, path, columns)
        self._positions = [i for i, name in enumerate(names) if not re.fullmatch(r"__index_level_\d+__", name)]
        self._width = len(names)
        self.columns = [names[i] for i in self._positions]

    def describe_layout(self) -> str:
        return "Parquet"

    def _build_select_sql(self, paths: Sequence[Path], *, is_plain_copy: bool) -> str:
        names = ", ".join(f"c{i}" for i in range(self._width))
        return f"SELECT * FROM read_parquet({quote_sql_paths(paths)}, hive_partitioning = false) AS t({names})"

    def _build_column_expressions(self, cursor: Any, select_sql: str, text_columns: Sequence[str]) -> list[str]:
        return [f"c{position} AS c{i}" for i, position in enumerate(self._positions)]

    def _build_text_expressions(self, cursor: Any, select_sql: str, positions: Sequence[int]) -> list[str]:
        types = [row[1] for row in cursor.execute(f"DESCRIBE {select_sql}").fetchall()]
        texts = []
        for column in (self._positions[i] for i in positions):
            text, number = f"CAST(c{column} AS VARCHAR)", f"CAST(TRY_CAST(c{column} AS BIGINT) AS VARCHAR)"
            is_fraction = types[column] in ("FLOAT", "DOUBLE")
            texts.append(
                f"CASE WHEN c{column} = trunc(c{column}) THEN {number} ELSE {text} END"
                if is_fraction
                else f"trim({text})"
            )
        return texts
