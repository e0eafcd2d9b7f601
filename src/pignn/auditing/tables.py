"""Tables of suspects and decisions as CSV, which spreadsheets open: text that would run as a formula stays text."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..graphs.tables import file_suffix, open_table, read_dataframe
from ..io import files
from ..report.spreadsheet import neutral, plain
from .label_files import JSON_SUFFIXES, PARQUET_SUFFIXES, normalize_label
from .review import DECISIONS, PARTS

NEEDED = ("node", "decision", "label")
MOST_CELL = 1_000_000
MOST_LISTED = 5  # rows that a message names
DELIMITERS = (",", ";", "\t")  # the first where none fits


def write_table(path: Path, table: pd.DataFrame) -> None:
    """A CSV with texts neutralised and numbers in six digits."""
    columns: list[list[Any]] = []
    for name in table:
        values = table[name]
        if pd.api.types.is_bool_dtype(values):
            columns.append(values.astype(int).tolist())
        elif pd.api.types.is_float_dtype(values):
            digits = 15 if name == "inclusion" else 6  # estimates are made of inclusion probabilities
            columns.append(["" if np.isnan(v) else f"{v:.{digits}g}" for v in values.to_numpy()])
        elif pd.api.types.is_integer_dtype(values):
            columns.append(values.tolist())
        else:
            columns.append([neutral("" if value is None else str(value)) for value in values])
    files.write_csv(path, [neutral(str(name)) for name in table], zip(*columns, strict=True))


def replace_codes_by_names(issues: pd.DataFrame, class_names: list[str]) -> pd.DataFrame:
    """The table for people: ids and names of classes in the place of numbers."""
    names = np.array(class_names, dtype=object)
    table = issues.copy()
    table["given"], table["suggested"] = names[issues["given"]], names[issues["suggested"]]
    # As in predictions.csv; a class called 'wrong' must not pass for the probability that the label is.
    table = table.rename(
        columns={f"p_{c}": f"p_{name}" if name != "wrong" else "p_wrong (class)" for c, name in enumerate(class_names)}
    )
    if "id" in table:
        table = table.drop(columns="node").rename(columns={"id": "node"})
    return table


def build_review_table(chosen: pd.DataFrame, class_names: list[str]) -> pd.DataFrame:
    """The table that a reviewer fills in: decision, label, reviewer, time."""
    table = replace_codes_by_names(chosen, class_names)
    kept = [
        "node",
        "given",
        "suggested",
        "p_wrong",
        "neighbor_agreement",
        "part",
        "stratum",
        "inclusion",
        "review_size",
    ]
    return table[kept].assign(decision="", label="", reviewer="", time="")


def read_decisions(path: str | Path) -> pd.DataFrame:
    """A file of decisions, checked; every cell is text, and the index is the row as a spreadsheet counts.

    CSV, its cells separated by commas, semicolons or tabs as the header is; JSON lines; Parquet. A row whose decision
    is empty is not decided yet. `relabel` without a label takes the suggested one. A label that says something else
    than the decision is refused.
    """
    path = Path(path)
    rows, delimiter = _rows(path)
    if not rows:
        raise DataError(f"{path} is empty; it should be a CSV of decisions (docs: audit)")
    (_, names), *filled = rows
    header = [plain(cell.strip()) for cell in names]
    for name in NEEDED:
        if name not in header:
            raise DataError(f"{path} has no column '{name}'; its columns are {', '.join(header[:12])}")
    for number, row in filled:
        if len(row) != len(header):
            raise DataError(f"{path}: row {number} has {len(row)} cells, the header has {len(header)}")
    numbers = [number for number, _ in filled]
    table = pd.DataFrame([[plain(cell) for cell in row] for _, row in filled], numbers, header, dtype=object)
    table.attrs["file"] = str(path)
    table["decision"] = table["decision"].str.strip().str.lower()
    bad = table.index[~table["decision"].isin([*DECISIONS, ""])]
    if len(bad):
        raise DataError(
            f"{path}: row {bad[0]} has the decision '{table['decision'][bad[0]][:40]}'; "
            f"it must be {', '.join(DECISIONS)} or empty"
        )
    double = table["node"][table["node"].duplicated()]
    if len(double):
        raise DataError(f"{path}: node '{str(double.iloc[0])[:40]}' is decided twice; keep one row")
    if "suggested" in table:
        bare = (table["decision"] == "relabel") & (table["label"].str.strip() == "")
        table.loc[bare, "label"] = table.loc[bare, "suggested"]
    _check_labels(table, path)
    for name in ("part", "inclusion"):
        if name not in table:
            table[name] = ""
    if delimiter != ",":  # spreadsheets that write semicolons mostly write 0,5 as well
        table["inclusion"] = table["inclusion"].str.replace(",", ".")
    odd = table.index[~table["part"].isin([*PARTS, ""])]
    if len(odd):
        raise DataError(f"{path}: row {odd[0]} has the part '{str(table['part'][odd[0]])[:40]}'; do not edit it")
    return table


def _check_labels(table: pd.DataFrame, path: Path) -> None:
    """Whether every label says what the decision does. Where `given` is not told, any label is another one."""
    decision, label = table["decision"], table["label"].str.strip()
    given = table["given"].map(normalize_label) if "given" in table else pd.Series("", table.index)
    filled, other = label != "", label.map(normalize_label) != given
    relabel, keep, undecided = (decision == name for name in ("relabel", "keep", ""))
    to_relabel = "write relabel in 'decision', or empty 'label'"
    for wrong, what, mend in (
        (relabel & ~filled, "'decision' is relabel, but 'label' is empty", "fill it in"),
        (relabel & ~other, "'decision' is relabel, but 'label' is the given one", "write keep, or another label"),
        (keep & filled & other & (given != ""), "'decision' is keep, but 'label' is not the given one", to_relabel),
        (undecided & filled & other, "'label' is not the given one, but 'decision' is empty", to_relabel),
    ):
        if count := int(wrong.sum()):
            rows = ", ".join(map(str, table.index[wrong][:MOST_LISTED]))
            more = f" and {count - MOST_LISTED:,} more" if count > MOST_LISTED else ""
            raise DataError(f"{path}: {what}, in row{'s' if count > 1 else ''} {rows}{more}; {mend}")


def _rows(path: Path) -> tuple[list[tuple[int, list[str]]], str]:
    """Rows that are not blank, with their numbers, the first of them names of columns; and what separates their cells.

    A spreadsheet counts the header and blank rows, so they are counted here. JSON lines and Parquet have no row of
    names: their first row is 1.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file of decisions")
    if file_suffix(path) in JSON_SUFFIXES + PARQUET_SUFFIXES:
        frame = read_dataframe(open_table(path, None, of_nodes=True)[0]).astype(object)
        frame = frame.where(frame.notna(), "")
        return list(enumerate([[str(name) for name in frame], *frame.astype(str).to_numpy().tolist()])), ","
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}); save it as CSV in UTF-8") from None
    if "\0" in text:
        raise DataError(f"{path} holds NUL bytes: it is not a CSV file")
    limit = csv.field_size_limit(MOST_CELL)
    try:
        delimiter = _delimiter(text)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [(number, row) for number, row in enumerate(rows, start=1) if any(row)], delimiter
    except csv.Error as error:
        raise DataError(f"{path} is not a CSV file: {error}") from None
    finally:
        csv.field_size_limit(limit)


def _delimiter(text: str) -> str:
    """The mark that makes the needed columns of the header: spreadsheets of some countries write semicolons."""
    header = next((line for line in io.StringIO(text, newline="") if line.strip()), "")

    def found(mark: str) -> int:
        names = [plain(cell.strip()) for cell in next(csv.reader([header], delimiter=mark), [])]
        return sum(name in names for name in NEEDED)

    return max(DELIMITERS, key=found)
