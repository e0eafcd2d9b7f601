"""Our numbers beside the paper's, cell by cell."""

from __future__ import annotations

import itertools
import math
import statistics
from typing import NamedTuple

from ..core.errors import DataError
from ..report.table import Cell, Table
from .measures import get_measure
from .paper import PUBLISHED_RUNS, find_published_number_or_none
from .results import StudyResults
from .study import format_seeds
from .tables import compute_std_or_zero, format_mean_and_std

MIN_PUBLISHED_STD = 0.005  # the paper's deviations have two decimals: "0.00" may be as much as this
FAR_STANDARD_ERRORS = 2.0


class ComparisonCell(NamedTuple):
    """One cell: our mean, spread and number of seeds; the paper's; their difference, also in standard errors.

    ``beyond_gcn`` is the difference less that of our plain GCN from the paper's in the same cell: where it is small,
    the gap is that of the setting and not of the method.
    """

    dataset: str
    noise: str
    row: str
    seeds: int
    mean: float
    std: float
    paper_mean: float
    paper_std: float | None
    difference: float
    standard_errors: float | None
    beyond_gcn: float | None

    @property
    def differs_from_published(self) -> bool:
        return self.standard_errors is not None and abs(self.standard_errors) > FAR_STANDARD_ERRORS


def compare_with_paper(results: StudyResults, published_row: str = "") -> list[ComparisonCell]:
    """Compare every cell that both have. A standard error of the difference is √(s²/n + s'²/10).

    ``published_row`` compares all rows with this one of the paper's, such as ``"PI-GNN"``.
    """
    study = results.study
    gcn = next((row.label for row in study.rows if row.method == "vanilla" and not row.settings), None)
    cells = []
    for dataset, noise in itertools.product(study.datasets, study.noises):
        baseline = find_published_number_or_none("effectiveness", dataset.name, noise, "GCN")
        ours = results.list_values_over_seeds(dataset, noise, gcn) if gcn and study.metric == "accuracy" else []
        gap = statistics.fmean(ours) - baseline.mean if ours and baseline else None
        for label in results.row_labels:
            values = results.list_values_over_seeds(dataset, noise, label)
            paper = find_published_number_or_none(study.name, dataset.name, noise, published_row or label)
            if not values or paper is None:
                continue
            mean, std = statistics.fmean(values), compute_std_or_zero(values)
            difference, errors = mean - paper.mean, None
            if paper.std is not None and len(values) > 1:
                variance = std**2 / len(values) + max(paper.std, MIN_PUBLISHED_STD) ** 2 / PUBLISHED_RUNS
                errors = difference / math.sqrt(variance)
            beyond = None if gap is None else difference - gap
            numbers = (len(values), mean, std, paper.mean, paper.std, difference, errors, beyond)
            cells.append(ComparisonCell(str(dataset), str(noise), label, *numbers))
    return cells


def build_paper_comparison_table(results: StudyResults, published_row: str = "") -> Table:
    """The comparison as a table; what is further than two standard errors away is bold."""
    study = results.study
    measure = get_measure(study.metric)
    cells = compare_with_paper(results, published_row)
    rows: list[list[Cell | str]] = []
    for cell in cells:
        ours = format_mean_and_std(measure, cell.mean, cell.std if cell.seeds > 1 else None)
        theirs = format_mean_and_std(measure, cell.paper_mean, cell.paper_std)
        errors = "" if cell.standard_errors is None else f"{cell.standard_errors:+.1f}"
        beyond = "" if cell.beyond_gcn is None else f"{cell.beyond_gcn:+.3f}"
        names = [cell.dataset, cell.noise.replace(":", " "), cell.row, str(cell.seeds)]
        rows.append(
            [*names, ours, theirs, f"{cell.difference:+.3f}", Cell(errors, cell.differs_from_published), beyond]
        )
    columns = ["dataset", "noise", "row", "seeds", "ours", "paper", "difference", "in standard errors", "beyond GCN"]
    if all(cell.beyond_gcn is None for cell in cells):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    tested = [cell for cell in cells if cell.standard_errors is not None]
    num_far = sum(cell.differs_from_published for cell in tested)
    far = f"{num_far} of {len(tested)} cells are further than {FAR_STANDARD_ERRORS:g}"
    absent = ", ".join(map(str, results.missing_datasets))
    return Table(
        columns=columns,
        rows=rows,
        title=f"{study.name}: ours beside the paper's{f' {published_row}' if published_row else ''}",
        notes=[
            f"{far} standard errors of the difference from the paper; seeds {format_seeds(study.seeds)}; "
            f"{study.protocol}",
            *([f"not compared, because their files are not here: {absent}"] if absent else []),
        ],
    )


def build_mean_gains_over_published_table(results: StudyResults, published_row: str) -> Table:
    """Mean gain of each row over one of the paper's rows, and how many cells are below it."""
    cells = compare_with_paper(results, published_row)
    if not cells:
        raise DataError(f"the paper has no row '{published_row}' for '{results.study.name}': nothing to compare with")
    rows = []
    for label in results.row_labels:
        own = [cell for cell in cells if cell.row == label]
        if own:
            mean = statistics.fmean(cell.mean for cell in own)
            gain = statistics.fmean(cell.difference for cell in own)
            below = sum(cell.difference < 0 for cell in own)
            rows.append([label, str(len(own)), f"{mean:.3f}", f"{gain:+.3f}", str(below)])
    columns = ["row", "cells", "mean", f"mean gain over the paper's {published_row}", "cells below"]
    return Table(columns, rows, title=f"{results.study.name}: gains over the paper's {published_row}")
