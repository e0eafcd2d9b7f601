"""The history in a file that grows with every epoch."""

from __future__ import annotations

import csv
import json
from abc import abstractmethod
from pathlib import Path
from typing import IO

from ...core.errors import OutputError
from .base import Callback, Row, TrainingContext


class _FileLogger(Callback):
    """One line per epoch. A resumed training first writes the rows of the earlier run again."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def on_fit_start(self, context: TrainingContext) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write_rows(context.history, mode="w")

    def on_epoch_end(self, context: TrainingContext, row: Row) -> None:
        self._write_rows([row], mode="a")

    def _write_rows(self, rows: list[Row], mode: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8", newline="") as file:
                self._write_rows_to_file(rows, file)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}; choose another file") from None

    @abstractmethod
    def _write_rows_to_file(self, rows: list[Row], file: IO[str]) -> None:
        """Write these rows at the end of an open file."""


class JSONLinesLogger(_FileLogger):
    """Append every epoch to a JSON lines file, one object per line."""

    def _write_rows_to_file(self, rows: list[Row], file: IO[str]) -> None:
        file.writelines(json.dumps(row) + "\n" for row in rows)


class CSVLogger(_FileLogger):
    """Append every epoch to a CSV file. The file is written anew when an epoch has a column that is new."""

    def on_fit_start(self, context: TrainingContext) -> None:
        self._columns: list[str] = []
        super().on_fit_start(context)

    def on_epoch_end(self, context: TrainingContext, row: Row) -> None:
        is_new = any(column not in self._columns for column in row)
        self._write_rows(context.history if is_new else [row], mode="w" if is_new else "a")

    def _write_rows_to_file(self, rows: list[Row], file: IO[str]) -> None:
        writer = csv.DictWriter(file, self._columns)
        if file.tell() == 0:
            self._columns[:] = dict.fromkeys(column for row in rows for column in row)
            writer.writeheader()
        writer.writerows(rows)
