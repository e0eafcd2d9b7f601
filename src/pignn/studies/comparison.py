"""Ours beside the paper's, cell by cell."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

from ..report.table import Cell, Table
from .paper import RUNS, published
from .results import StudyResults
from .study import format_seeds
from .tables import FORMS, spread

ROUNDED = 0.005  # the paper's deviations have two decimals: "0.00" may be as much as this
FAR = 2.0


class ComparisonCell(NamedTuple):
    """One cell: our mean, spread and number of seeds; the paper's; their difference, also in standard errors."""

    dataset: str
    noise: str
    row: str
    seeds: int
    mean: float
    std: float
    paper_mean: float
    paper_std: float | None
    difference: float
    errors: float | None

    @property
    def far(self) -> bool:
        return self.errors is not None and abs(self.errors) > FAR


def compare_with_paper(results: StudyResults) -> list[ComparisonCell]:
    """Every cell that both have. A standard error of the difference is √(s²/n + s'²/10)."""
    study = results.study
    found = []
    for dataset in study.datasets:
        for noise in study.noises:
            for label in results.labels:
                values = list(results.cell(dataset, noise, label).values())
                paper = published(study.name, dataset.name, noise, label)
                if not values or paper is None:
                    continue
                mean, std = statistics.fmean(values), spread(values)
                difference = mean - paper.mean
                errors = None
                if paper.std is not None and len(values) > 1:
                    variance = std**2 / len(values) + max(paper.std, ROUNDED) ** 2 / RUNS
                    errors = difference / math.sqrt(variance)
                cell = (str(dataset), str(noise), label, len(values), mean, std, paper.mean, paper.std)
                found.append(ComparisonCell(*cell, difference, errors))
    return found


def table(results: StudyResults) -> Table:
    """The comparison as a table; what is further than two standard errors away is bold."""
    study = results.study
    mean, std, _ = FORMS[study.metric]
    rows = []
    cells = compare_with_paper(results)
    for cell in cells:
        far = cell.far
        theirs = mean.format(cell.paper_mean)
        if cell.paper_std is not None:
            theirs += f"({std.format(cell.paper_std)})"
        rows.append(
            [
                Cell(cell.dataset),
                Cell(cell.noise.replace(":", " ")),
                Cell(cell.row),
                Cell(str(cell.seeds)),
                Cell(mean.format(cell.mean) + (f"({std.format(cell.std)})" if cell.seeds > 1 else "")),
                Cell(theirs),
                Cell(f"{cell.difference:+.3f}"),
                Cell("" if cell.errors is None else f"{cell.errors:+.1f}", far),
            ]
        )
    far_cells = sum(cell.far for cell in cells)
    tested = sum(cell.errors is not None for cell in cells)
    return Table(
        columns=["dataset", "noise", "row", "seeds", "ours", "paper", "difference", "in standard errors"],
        rows=rows,
        title=f"{study.name}: ours beside the paper's",
        notes=[
            f"{far_cells} of {tested} cells are further than {FAR:g} standard errors of the difference from the paper; "
            f"seeds {format_seeds(study.seeds)}; {study.protocol}"
        ],
    )
