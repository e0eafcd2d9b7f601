"""A label file with the decided labels put in and every other byte as it was.

Parquet has no bytes to keep: it is written anew, with the same columns, types and rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import ConfigError, DataError, OutputError, unknown
from ..io import files
from .rewriting import json_lines, parquet, text_table

NO_CLASS = ("", "-1")  # cells of nodes without a label
TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
PARQUET_SUFFIXES = (".parquet", ".pq")
SUFFIXES = TEXT_SUFFIXES + JSON_SUFFIXES + PARQUET_SUFFIXES


@dataclass
class _Decided:
    """The decided labels while a file is gone through."""

    path: Path
    labels: Mapping[str, str]
    reviewed: Mapping[str, str]  # what a decided node had when it was looked at; "" where nobody says
    stale: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    changed: int = 0

    def of(self, node: str, before: str | None) -> str | None:
        """The label that the row of a node is to get, None if it keeps what it has."""
        if before is not None:
            self.classes.add(before.strip())
        had = self.reviewed.get(node)
        if (
            before is not None
            and had
            and normalize_label(before) not in (normalize_label(had), normalize_label(self.labels.get(node, had)))
        ):
            self.stale.append(f"'{node[:40]}' has '{before.strip()[:40]}', reviewed was '{had[:40]}'")
        if node not in self.labels and had is None:
            return None
        if node in self.seen:
            raise DataError(f"{self.path}: node '{node[:40]}' is there twice; which row is meant?")
        self.seen.add(node)
        if self.labels.get(node, before) == before:
            return None
        self.changed += 1
        return self.labels[node]

    def check(self, new_class: bool) -> None:
        decided = {**self.labels, **self.reviewed}
        missing = [node for node in decided if node not in self.seen]
        if missing:
            raise DataError(
                f"{self.path} has no row for {len(missing)} of {len(decided)} decided nodes, first "
                f"'{missing[0][:40]}'; is it the file that was audited, and --id its column of ids?"
            )
        if self.stale:
            raise DataError(
                f"{self.path} has other labels than were reviewed, at {len(self.stale)} of {len(self.reviewed)} "
                f"decided nodes: {self.stale[0]}; give the file that was audited, or audit this one"
            )
        if not new_class:
            _check_classes(self.labels, self.classes)


def write_corrected_labels(
    path: Path,
    out: Path,
    labels: Mapping[str, str],
    *,
    label: str,
    id: str | None,
    new_class: bool = True,
    reviewed: Mapping[str, str] | None = None,
) -> int:
    """Write a copy of a table of nodes in which those of `labels` have these; gives how many cells changed.

    Without a column of ids, nodes are rows, numbered from 0.

    The original is never written to. A label that stays what it was keeps its bytes. Without `new_class` a label that
    no row of the original has is an error: it is more likely misspelt than meant. `reviewed` are the nodes that were
    looked at, kept ones too, all of which must be there; where it says what one had, a file that says otherwise (and
    not what was decided) is an error: somebody changed it since.
    """
    if out.exists() and out.resolve() == path.resolve():
        raise OutputError(f"{out} is the original, which stays as it is; choose another --out")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES or (suffix in PARQUET_SUFFIXES) != (out.suffix.lower() in PARQUET_SUFFIXES):
        advice = "unpack it first" if suffix == ".gz" else "save the nodes as one of these, and --out as the same kind"
        raise DataError(f"{path} to {out.name}: labels are corrected in {', '.join(SUFFIXES)}; {advice}")
    rewrite = parquet if suffix in PARQUET_SUFFIXES else json_lines if suffix in JSON_SUFFIXES else text_table
    decided = _Decided(path, labels, reviewed or {})
    try:
        result = rewrite(path, decided.of, label, id)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    decided.check(new_class)
    files.write_bytes(out, result)
    return decided.changed


def normalize_label(label: str) -> str:
    """A label as it is compared: 3 and 3.0 are one class."""
    return label.strip().removesuffix(".0")


def _check_classes(labels: Mapping[str, str], found: set[str]) -> None:
    """Whether every decided label is a class of the original; 3.0 is read as 3 where classes are numbers."""
    known = {name for text in found for name in (text, text.removesuffix(".0"))}.difference(NO_CLASS)
    for node, name in labels.items():
        if name not in known:
            near = str(unknown("class", name[:40], found.difference(NO_CLASS)))[:300]
            raise ConfigError(f"{near} (node '{node[:40]}'; if a new class is meant, --new-class)")
