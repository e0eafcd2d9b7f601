"""Write a copy of a label file with the decided labels, and every other byte as it was.

Parquet has no bytes to keep: it is written anew, with the same columns, types and rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import ConfigError, DataError, OutputError, build_unknown_name_error
from ..graphs.tables import FORMATS, find_format_name_or_none
from ..io import files
from .graph_rewriting import build_gml_bytes_with_new_labels, build_graphml_bytes_with_new_labels
from .label_rewriting import (
    build_json_lines_bytes_with_new_labels,
    build_parquet_bytes_with_new_labels,
    build_text_table_bytes_with_new_labels,
)

UNLABELED_CELLS = ("", "-1")
REWRITERS = {
    "text": build_text_table_bytes_with_new_labels,
    "jsonl": build_json_lines_bytes_with_new_labels,
    "parquet": build_parquet_bytes_with_new_labels,
    "graphml": build_graphml_bytes_with_new_labels,
    "gml": build_gml_bytes_with_new_labels,
}
STRICT = ("parquet", "graphml", "gml")  # a copy is of the same format
SUFFIXES = tuple(suffix for name in REWRITERS for suffix in FORMATS.get(name).suffixes)


@dataclass
class _LabelChanges:
    """The decided labels, and what the rows of a file showed about them so far."""

    path: Path
    labels: Mapping[str, str]
    reviewed: Mapping[str, str]  # the label that a decided node had in the review; "" if unknown
    stale: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    num_changed: int = 0

    def record_node_and_find_new_label_or_none(self, node: str, current: str | None) -> str | None:
        """The label that the row of a node must get; None if it keeps what it has."""
        if current is not None:
            self.classes.add(current.strip())
        reviewed = self.reviewed.get(node)
        if current is not None and reviewed:
            expected = (reviewed, self.labels.get(node, reviewed))
            if normalize_label(current) not in map(normalize_label, expected):
                self.stale.append(f"'{node[:40]}' has '{current.strip()[:40]}', reviewed was '{reviewed[:40]}'")
        if node not in self.labels and reviewed is None:
            return None
        if node in self.seen:
            raise DataError(f"{self.path}: node '{node[:40]}' is there twice; which row is meant?")
        self.seen.add(node)
        if self.labels.get(node, current) == current:
            return None
        self.num_changed += 1
        return self.labels[node]

    def check_changes_fit_file(self, new_class: bool) -> None:
        """Refuse a file that lacks decided nodes, changed since the review, or gets a class that it does not have."""
        decided = {**self.labels, **self.reviewed}
        missing = [node for node in decided if node not in self.seen]
        if missing:
            raise DataError(
                f"{self.path} has no row for {len(missing)} of {len(decided)} decided nodes, first "
                f"'{missing[0][:40]}'; is it the file that was audited, and --id its column of ids?"
            )
        if self.stale:
            raise DataError(
                f"{self.path}: the labels differ from those reviewed at {len(self.stale)} of {len(self.reviewed)} "
                f"decided nodes: {self.stale[0]}; give the file that was audited, or audit this one"
            )
        if not new_class:
            _check_labels_are_classes(self.labels, self.classes)


def write_corrected_labels(
    path: Path,
    out: Path,
    labels: Mapping[str, str],
    *,
    label_column: str,
    id_column: str | None,
    new_class: bool = True,
    reviewed: Mapping[str, str] | None = None,
) -> int:
    """Write a copy of a node table with the decided labels, and return how many cells changed.

    The original is never written to. A label that stays the same keeps its bytes.

    Args:
        path: the table that was audited.
        out: the copy to write.
        labels: the decided label per node.
        label_column: the column of labels.
        id_column: the column of ids; None if nodes are rows, numbered from 0.
        new_class: accept a label that no row of the original has. Otherwise it is an error, for it may be misspelled.
        reviewed: the label that each reviewed node had, kept ones included; "" if unknown. All of them must be in the
            table. A row with another label, which is not the decided one either, is an error: it changed since.
    """
    if out.exists() and out.resolve() == path.resolve():
        raise OutputError(f"{out} is the original, which stays as it is; choose another --out")
    suffix, format = path.suffix.lower(), find_format_name_or_none(path) or ""
    if suffix not in SUFFIXES or (
        (format in STRICT or find_format_name_or_none(out) in STRICT) and format != find_format_name_or_none(out)
    ):
        advice = (
            "unpack it first"
            if format in REWRITERS and suffix not in SUFFIXES
            else "save the nodes as one of these, and --out as the same kind"
        )
        raise DataError(f"{path} to {out.name}: labels are corrected in {', '.join(SUFFIXES)}; {advice}")
    changes = _LabelChanges(path, labels, reviewed or {})
    try:
        content = REWRITERS[format](path, changes.record_node_and_find_new_label_or_none, label_column, id_column)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    changes.check_changes_fit_file(new_class)
    files.write_bytes_atomically(out, content)
    return changes.num_changed


def normalize_label(label: str) -> str:
    """A label as it is compared: 3 and 3.0 are the same class."""
    return label.strip().removesuffix(".0")


def _check_labels_are_classes(labels: Mapping[str, str], classes: set[str]) -> None:
    """Refuse a decided label that is no class of the original; 3.0 is read as 3 where classes are numbers."""
    known = {name for text in classes for name in (text, text.removesuffix(".0"))}.difference(UNLABELED_CELLS)
    for node, name in labels.items():
        if name not in known:
            message = str(build_unknown_name_error("class", name[:40], classes.difference(UNLABELED_CELLS)))[:300]
            raise ConfigError(f"{message} (node '{node[:40]}'; use --new-class if a new class is meant)")
