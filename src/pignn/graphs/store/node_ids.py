"""Ids of nodes on their way into a store, and edges that name nodes by them: numbered and joined by DuckDB.

DuckDB keeps within a limit of memory and moves what does not fit to the folder of the conversion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError, OutputError
from ...core.text import format_count
from ..importers.node_ids import INTEGER_ID, UnknownNodes, to_id_texts
from ..tables.cells import parse_edge_weights, quote_cell_for_message
from ..tables.database import VECTOR_ROWS, in_memory_database_context, quote_sql_text
from ..tables.edge_columns import EdgeColumns
from ..tables.file_tables import FileTable
from ..tables.table import Table
from .external_sort import EdgeChunk
from .output import StoreFile
from .result import Conversion

MIN_DATABASE_BYTES = 1 << 28  # with less, DuckDB cannot join at all
MAX_NAMED_IDS = 100_001  # different unknown ids that are counted
CHUNK_ROWS = 1 << 20
# Texts of edges as whole numbers; a column with gaps has them as 3.0.
_WHOLE_NUMBER = """CASE WHEN regexp_full_match({t}, '[+-]?[0-9]+') THEN TRY_CAST({t} AS BIGINT)
WHEN regexp_full_match({t}, '[+-]?[0-9]+[.]0+') THEN TRY_CAST(split_part({t}, '.', 1) AS BIGINT) END"""


@contextlib.contextmanager
def id_database_context(folder: Path, memory: int) -> Iterator[IdDatabase]:
    """An empty database of ids, which moves to the folder what is more than half of the memory."""
    import duckdb

    with in_memory_database_context() as connection:
        connection.execute(f"SET memory_limit = '{max(memory // 2, MIN_DATABASE_BYTES)}B'")
        connection.execute(f"SET temp_directory = {quote_sql_text(str(folder.absolute() / 'database'))}")
        try:
            yield IdDatabase(connection)
        except duckdb.OutOfMemoryException:
            raise ConfigError(
                f"the ids of nodes do not fit into {memory / 1e9:.3g} GB of memory; give more with --memory (memory=)"
            ) from None
        except duckdb.IOException as error:
            reason = str(error).strip().splitlines()[0]
            raise OutputError(f"cannot write {folder.parent}: {reason}; make room and try again") from None


class IdDatabase:
    """The ids of nodes in the order of their rows. ``is_range`` says that they are 0, 1, 2, ... themselves."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.title, self.num_ids, self.are_integers, self.is_range = "", 0, False, True

    def check_and_add_ids(self, column: pd.Series[Any], title: str, first_row_number: int) -> None:
        """Add the ids of some more nodes."""
        texts = to_id_texts(column)
        is_empty = (column.isna() | (texts == "")).to_numpy()
        if is_empty.any():
            row = first_row_number + int(is_empty.argmax())
            raise DataError(f"{title}: {format_count(int(is_empty.sum()), 'row')} without an id, first row {row:,}")
        if not self.num_ids:
            self.connection.execute("CREATE TABLE ids (id VARCHAR)")
        self._insert_rows_into_table("ids", pd.DataFrame({"id": texts}))
        self.title, self.num_ids = title, self.num_ids + len(column)

    def infer_id_kind_and_check_unique(self) -> None:
        """Find out what kind the ids are, all of them being known now. Two nodes with one id are an error."""
        run = self.connection.execute
        self.are_integers = bool(run(f"SELECT bool_and(regexp_full_match(id, '{INTEGER_ID}')) FROM ids").fetchone()[0])
        if self.are_integers:
            run("CREATE OR REPLACE TABLE ids AS SELECT CAST(id AS BIGINT) AS id FROM ids")
        self.is_range = self.are_integers and bool(run("SELECT bool_and(id = rowid) FROM ids").fetchone()[0])
        if self.is_range:
            return
        counts = "SELECT id, count(*) AS number FROM ids GROUP BY id HAVING count(*) > 1"
        repeated = run(f"SELECT count(*) FROM ({counts})").fetchone()[0]
        if repeated:
            rows = run(f"{counts} ORDER BY number DESC, id LIMIT 5").fetchall()
            names = ", ".join(f"{quote_cell_for_message(name)} ({count:,})" for name, count in rows)
            raise DataError(
                f"{self.title}: {format_count(repeated, 'id')} given to several nodes: {names}"
                f"{' and more' if repeated > 5 else ''}; every node needs an id of its own"
            )

    def write_id_files_unless_range(self, folder: Path) -> list[StoreFile]:
        """Write the ids into a store, unless they are the numbers of nodes."""
        if self.is_range:
            return []
        if self.are_integers:
            with StoreFile(folder / "id.i64") as file:
                for frame in self._iter_query_frames("SELECT id FROM ids ORDER BY rowid"):
                    file.write(frame["id"].to_numpy())
            return [file]
        stop = 0
        with StoreFile(folder / "id_offset.i64") as offsets, StoreFile(folder / "id_text.u8") as texts:
            offsets.write(np.zeros(1, np.int64))
            for frame in self._iter_query_frames("SELECT id, strlen(id) AS size FROM ids ORDER BY rowid"):
                ends = stop + frame["size"].to_numpy(np.int64).cumsum()
                offsets.write(ends)
                texts.write(np.frombuffer("".join(frame["id"]).encode(), np.uint8))
                stop = int(ends[-1])
        return [offsets, texts]

    def turn_header_of_known_nodes_into_edge_in_place(self, table: Table) -> None:
        """Take a header of two known nodes for an edge."""
        names = list(dict.fromkeys(table.columns[:2]))
        if self.are_integers or not table.has_header or len(table.columns) < 2:
            return
        known = self.connection.execute("SELECT count(*) FROM ids WHERE id IN (SELECT unnest(?))", [names]).fetchone()[
            0
        ]
        if known == len(names):
            table.treat_header_as_row_in_place()

    def iter_edges_as_positions(
        self, table: Table, columns: EdgeColumns, conversion: Conversion, drop_unknown: bool
    ) -> Iterator[EdgeChunk]:
        """Edges by the positions of their ends. An unknown end is an error, unless such edges are to be dropped."""
        num_rows = self._create_edge_positions_table_and_count_rows(table, columns)
        num_unknown = self.connection.execute("SELECT count(*) FROM pairs WHERE a < 0 OR b < 0").fetchone()[0]
        if num_unknown and not drop_unknown:
            raise DataError(
                f"{self._build_unknown_message(table, num_unknown, num_rows)}; are --id and the two columns of edges "
                "right? Add these nodes, or leave such edges out with --drop-unknown (drop_unknown=True)"
            )
        conversion.unknown_dropped = num_unknown
        conversion.rows_read += num_unknown
        done = 0
        order = "" if columns.weight is None else " ORDER BY row"
        for frame in self._iter_query_frames(f"SELECT * FROM pairs WHERE a >= 0 AND b >= 0{order}"):
            weight = None
            if columns.weight is not None:
                advice = "--weight none (weight='none') leaves weights out"
                weight = parse_edge_weights(frame["weight"], table.name, table.first_row_number + done, advice)
            done += len(frame)
            yield EdgeChunk(frame["a"].to_numpy(), frame["b"].to_numpy(), weight, done / max(num_rows, 1))
        self.connection.execute("DROP TABLE pairs")

    def _create_edge_positions_table_and_count_rows(self, table: Table, columns: EdgeColumns) -> int:
        """Make a table of pairs of positions, -1 for an unknown id; returns its number of rows."""
        import duckdb

        names = [name for name in columns if name is not None]
        try:
            if not isinstance(table, FileTable):
                raise duckdb.InvalidInputException
            source = table.build_text_columns_sql(self.connection, names)
            self._create_pairs_table(source, has_weights=len(names) == 3)
        except duckdb.InvalidInputException:  # no file, or one that DuckDB does not read as it is
            self.connection.execute(f"CREATE TABLE texts ({', '.join(f't{i} VARCHAR' for i in range(len(names)))})")
            for chunk in table.iter_chunks(CHUNK_ROWS, names):
                self._insert_rows_into_table(
                    "texts", pd.DataFrame({name: to_id_texts(chunk.frame[name]) for name in names})
                )
            self._create_pairs_table("SELECT * FROM texts", has_weights=len(names) == 3)
        return int(self.connection.execute("SELECT count(*) FROM pairs").fetchone()[0])

    def _create_pairs_table(self, edges_sql: str, *, has_weights: bool) -> None:
        self.edges_sql = edges_sql
        if has_weights:  # sums of weights are the same every time if edges stay in order
            self.connection.execute(f"CREATE OR REPLACE TABLE ordered AS {edges_sql}")
            edges_sql = "SELECT *, rowid AS row FROM ordered"
        rest = ", edges.t2 AS weight, edges.row AS row" if has_weights else ""
        self.connection.execute(
            "CREATE OR REPLACE TABLE pairs AS "
            f"SELECT coalesce(one.rowid, -1) AS a, coalesce(other.rowid, -1) AS b{rest} "
            f"FROM ({edges_sql}) AS edges LEFT JOIN ids AS one ON one.id = {self._build_id_key_sql('edges.t0')} "
            f"LEFT JOIN ids AS other ON other.id = {self._build_id_key_sql('edges.t1')}"
        )

    def _build_id_key_sql(self, text_sql: str) -> str:
        return _WHOLE_NUMBER.format(t=text_sql) if self.are_integers else text_sql

    def _build_unknown_message(self, table: Table, num_unknown: int, num_rows: int) -> str:
        ends = " UNION ALL ".join(f"SELECT {end} AS name FROM ({self.edges_sql})" for end in ("t0", "t1"))
        rows = self.connection.execute(
            f"SELECT name, count(*) AS number FROM ({ends}) AS ends "
            f"LEFT JOIN ids ON ids.id = {self._build_id_key_sql('name')} WHERE ids.id IS NULL "
            f"GROUP BY name ORDER BY number DESC, name LIMIT {MAX_NAMED_IDS}"
        ).fetchall()
        unknown = UnknownNodes()
        unknown.num_edges = num_unknown
        unknown.counts.update({quote_cell_for_message(name): count for name, count in rows})
        return unknown.build_message(num_rows, table.name, self.title)

    def _insert_rows_into_table(self, name: str, frame: pd.DataFrame) -> None:
        self.connection.register("frame", frame)
        self.connection.execute(f"INSERT INTO {name} SELECT * FROM frame")
        self.connection.unregister("frame")

    def _iter_query_frames(self, sql: str) -> Iterator[pd.DataFrame]:
        cursor = self.connection.execute(sql)
        while len(frame := cursor.fetch_df_chunk(CHUNK_ROWS // VECTOR_ROWS)):
            yield frame
