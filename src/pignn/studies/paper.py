"""The numbers that the paper printed, under the names of our studies and rows.

Du et al., "Noise-robust Graph Learning by Estimating and Leveraging Pairwise Interactions", TMLR 2023. What its tables
call asymmetric noise is ``flip`` here (its released program), not ``pair`` (the formula of its appendix). Curves were
published as pictures only: for them there are no numbers to compare with.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from .study import NoiseSpec

PUBLISHED_RUNS = 10  # behind each of the paper's means
TABLE_1_ROWS = ("GCN", "PI-GNN w/o pc", "PI-GNN")
# Studies of other numbers than accuracies.
OTHER_METRICS = ("training-time", "pair-noise")


class PublishedNumber(NamedTuple):
    mean: float
    std: float | None


def find_published_number_or_none(study: str, dataset: str, noise: NoiseSpec, row: str) -> PublishedNumber | None:
    """What the paper printed for a cell; its table 1 where a study repeats a row of it."""
    cell = (dataset, row, noise.kind, noise.rate or 0.0)
    if study == "training-time":
        cell = (dataset, row, "", 0.0)
    numbers = read_published_numbers()
    number = numbers.get((study, *cell))
    if number is None and row in TABLE_1_ROWS and study not in OTHER_METRICS:
        number = numbers.get(("effectiveness", *cell))
    return number


def find_published_t_test_or_none(dataset: str, noise: NoiseSpec) -> tuple[float, float] | None:
    """|t| and p of GAT against PI-GNN, as printed."""
    for row in _read_csv_rows("tests.csv"):
        if (row["dataset"], row["noise"], float(row["rate"])) == (dataset, noise.kind, noise.rate):
            return float(row["t"]), float(row["p"])
    return None


@cache
def read_published_numbers() -> dict[tuple[str, str, str, str, float], PublishedNumber]:
    """All printed means by study, dataset, row, noise and rate."""
    return {
        (row["study"], row["dataset"], row["row"], row["noise"], float(row["rate"] or 0)): PublishedNumber(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in _read_csv_rows("means.csv")
    }


@cache
def _read_csv_rows(file_name: str) -> list[dict[str, str]]:
    text = (resources.files(__package__) / "published" / file_name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
