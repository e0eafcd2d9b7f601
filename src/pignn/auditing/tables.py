"""Read and write tables of suspects and decisions that spreadsheets open; text never runs as a formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..graphs.tables import find_format_name_or_none, open_table
from ..io import files
from ..report.audit.decision_columns import DECISION_COLUMNS, REVIEW_COLUMNS
from ..report.spreadsheet import escape_formula, unescape_formula
from .label_files import normalize_label
from .review import DECISIONS, PARTS

NEEDED_COLUMNS = ("node", "decision", "label")
MAX_CELL_CHARS = 1_000_000
MAX_LISTED_ROWS = 5  # in a message
DELIMITERS = (",", ";", "\t")  # the first where none fits


def write_spreadsheet_safe_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a CSV with escaped texts and numbers of six digits."""
    columns: list[list[Any]] = []
    for name in table:
        values = table[name]
        if pd.api.types.is_bool_dtype(values):
            columns.append(values.astype(int).tolist())
        elif pd.api.types.is_float_dtype(values):
            digits = 15 if name == "inclusion" else 6  # estimates need exact inclusion probabilities
            columns.append(["" if np.isnan(v) else f"{v:.{digits}g}" for v in values.to_numpy()])
        elif pd.api.types.is_integer_dtype(values):
            columns.append(values.tolist())
        else:
            columns.append([escape_formula("" if value is None else str(value)) for value in values])
    files.write_csv(path, [escape_formula(str(name)) for name in table], zip(*columns, strict=True))


def replace_class_numbers_by_names(issues: pd.DataFrame, class_names: list[str]) -> pd.DataFrame:
    """The table for people: ids of nodes and names of classes in place of numbers."""
    names = np.array(class_names, dtype=object)
    table = issues.copy()
    table["given"], table["suggested"] = names[issues["given"]], names[issues["suggested"]]
    table = table.rename(columns={f"p_{c}": format_prob_column_name(name) for c, name in enumerate(class_names)})
    if "id" in table:
        table = table.drop(columns="node").rename(columns={"id": "node"})
    return table


def format_prob_column_name(class_name: str) -> str:
    """As in predictions.csv. A class called 'wrong' must not be mistaken for the probability that a label is wrong."""
    return f"p_{class_name}" if class_name != "wrong" else "p_wrong (class)"


def build_review_table(sampled: pd.DataFrame, class_names: list[str]) -> pd.DataFrame:
    """The table that a reviewer fills in, with empty columns for the decision."""
    table = replace_class_numbers_by_names(sampled, class_names)
    return table[list(REVIEW_COLUMNS)].assign(**dict.fromkeys(DECISION_COLUMNS, ""))


def read_decisions(path: str | Path) -> pd.DataFrame:
    """Read and check a file of decisions. Every cell is text, and the index is the row as a spreadsheet counts it.

    The file is CSV (separated by commas, semicolons or tabs), JSON lines or Parquet. A row without a decision is open.
    `relabel` without a label takes the suggested one. A label that contradicts its decision is refused.
    """
    path = Path(path)
    rows, delimiter = _read_numbered_rows_and_delimiter(path)
    if not rows:
        raise DataError(f"{path} is empty; it should be a CSV of decisions (docs: audit)")
    (_, names), *filled = rows
    header = [unescape_formula(cell.strip()) for cell in names]
    for name in NEEDED_COLUMNS:
        if name not in header:
            raise DataError(f"{path} has no column '{name}'; its columns are {', '.join(header[:12])}")
    for number, row in filled:
        if len(row) != len(header):
            raise DataError(f"{path}: row {number} has {len(row)} cells, the header has {len(header)}")
    numbers = [number for number, _ in filled]
    table = pd.DataFrame([[unescape_formula(cell) for cell in row] for _, row in filled], numbers, header, dtype=object)
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
    _check_labels_match_decisions(table, path)
    for name in ("part", "inclusion"):
        if name not in table:
            table[name] = ""
    if delimiter != ",":  # spreadsheets that write semicolons mostly write 0,5 as well
        table["inclusion"] = table["inclusion"].str.replace(",", ".")
    odd = table.index[~table["part"].isin([*PARTS, ""])]
    if len(odd):
        raise DataError(f"{path}: row {odd[0]} has the part '{str(table['part'][odd[0]])[:40]}'; do not edit it")
    return table


def _check_labels_match_decisions(table: pd.DataFrame, path: Path) -> None:
    """Refuse labels that contradict their decision. Without a given label, every label is a different one."""
    decision, label = table["decision"], table["label"].str.strip()
    given = table["given"].map(normalize_label) if "given" in table else pd.Series("", table.index)
    is_filled, is_other = label != "", label.map(normalize_label) != given
    relabel, keep, undecided = (decision == name for name in ("relabel", "keep", ""))
    use_relabel = "write relabel in 'decision', or empty 'label'"
    for is_wrong, problem, remedy in (
        (relabel & ~is_filled, "'decision' is relabel, but 'label' is empty", "fill it in"),
        (relabel & ~is_other, "'decision' is relabel, but 'label' is the given one", "write keep, or another label"),
        (
            keep & is_filled & is_other & (given != ""),
            "'decision' is keep, but 'label' is not the given one",
            use_relabel,
        ),
        (undecided & is_filled & is_other, "'label' is not the given one, but 'decision' is empty", use_relabel),
    ):
        if count := int(is_wrong.sum()):
            rows = ", ".join(map(str, table.index[is_wrong][:MAX_LISTED_ROWS]))
            more = f" and {count - MAX_LISTED_ROWS:,} more" if count > MAX_LISTED_ROWS else ""
            raise DataError(f"{path}: {problem}, in row{'s' if count > 1 else ''} {rows}{more}; {remedy}")


def _read_numbered_rows_and_delimiter(path: Path) -> tuple[list[tuple[int, list[str]]], str]:
    """Rows that are not blank, with their numbers, and the delimiter. The first row holds the names of the columns.

    The header and blank rows are counted, as in a spreadsheet. JSON lines and Parquet have no header: their first row
    is 1.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file of decisions")
    if find_format_name_or_none(path) in ("jsonl", "parquet"):
        frame = open_table(path).read_dataframe().astype(object)
        frame = frame.where(frame.notna(), "")
        return list(enumerate([[str(name) for name in frame], *frame.astype(str).to_numpy().tolist()])), ","
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}); save it as CSV in UTF-8") from None
    if "\0" in text:
        raise DataError(f"{path} holds NUL bytes: it is not a CSV file")
    limit = csv.field_size_limit(MAX_CELL_CHARS)
    try:
        delimiter = _guess_delimiter(text)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [(number, row) for number, row in enumerate(rows, start=1) if any(row)], delimiter
    except csv.Error as error:
        raise DataError(f"{path} is not a CSV file: {error}") from None
    finally:
        csv.field_size_limit(limit)


def _guess_delimiter(text: str) -> str:
    """The delimiter that finds the needed columns in the header; some spreadsheets write semicolons."""
    header = next((line for line in io.StringIO(text, newline="") if line.strip()), "")

    def count_columns(delimiter: str) -> int:
        names = [unescape_formula(cell.strip()) for cell in next(csv.reader([header], delimiter=delimiter), [])]
        return sum(name in names for name in NEEDED_COLUMNS)

    return max(DELIMITERS, key=count_columns)


def get_labels_shown_in_review(decided_rows: pd.DataFrame) -> pd.Series[str]:
    """The label that each decided node had in the review: `given`, else that of a `keep`; empty if unknown."""
    if "given" in decided_rows:
        return decided_rows["given"].astype(str).str.strip()
    return decided_rows["label"].astype(str).str.strip().where(decided_rows["decision"] == "keep", "")
