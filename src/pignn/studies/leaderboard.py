"""A study as a leaderboard: ranks, what each row costs, and how it treats wrong labels."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from markupsafe import Markup

from ..core.errors import DataError
from ..report.leaderboard import TradeoffPoint, draw_ranks, draw_tradeoff
from ..report.page import Section
from ..report.table import Cell, Table
from .measures import RUN_MEASURES, get_measure
from .ranking import Ranking, compute_cell_means_by_row, rank_rows
from .results import StudyResults
from .significance import format_p_value
from .study import format_seeds

MEASURES = ("seconds", "peak_mb", "accuracy_right_labels", "accuracy_wrong_labels", "memorized_labels")


class LeaderboardRow(NamedTuple):
    """A row with its mean rank, and means over the ranked cells; ``None`` where a number was not measured.

    ``is_best_for_its_cost`` says that no other row is at least as good and at least as quick.
    """

    row: str
    mean_rank: float
    mean: float
    numbers: dict[str, float | None]
    is_best_for_its_cost: bool


def build_leaderboard_rows(results: StudyResults, ranking: Ranking) -> list[LeaderboardRow]:
    """The ranked rows, best first."""
    means = _compute_means_over_cells(results, ranking, results.study.metric)
    numbers = {name: _compute_means_over_cells(results, ranking, name) for name in MEASURES}
    lower_is_better = get_measure(results.study.metric).higher_is_better is False
    points = {
        label: (float(mean or 0.0) * (-1 if lower_is_better else 1), numbers["seconds"][label])
        for label, mean in means.items()
    }
    return [
        LeaderboardRow(
            label,
            rank,
            float(means[label] or 0.0),
            {name: values[label] for name, values in numbers.items()},
            is_on_pareto_front(label, points),
        )
        for label, rank in zip(ranking.rows, ranking.mean_ranks, strict=True)
    ]


def is_on_pareto_front(label: str, points: dict[str, tuple[float, float | None]]) -> bool:
    """Whether no other point (gain, cost) has as much gain for as little cost, and more of one. No cost is no point."""
    gain, cost = points[label]
    if cost is None:
        return False
    others = [(g, c) for name, (g, c) in points.items() if name != label and c is not None]
    return not any(g >= gain and c <= cost and (g > gain or c < cost) for g, c in others)


def _compute_means_over_cells(results: StudyResults, ranking: Ranking, metric: str) -> dict[str, float | None]:
    means = compute_cell_means_by_row(results, metric)
    values = {label: [means[label][cell] for cell in ranking.cells if cell in means[label]] for label in ranking.rows}
    return {label: statistics.fmean(own) if own else None for label, own in values.items()}


def build_leaderboard_table(results: StudyResults, ranking: Ranking) -> Table:
    """Rank, result and cost of every row; notes say how they were tested and what was left out."""
    study = results.study
    rows = build_leaderboard_rows(results, ranking)
    measure = get_measure(study.metric)
    table_rows: list[list[Cell | str]] = []
    for row in rows:
        texts = [
            "–" if row.numbers[name] is None else get_measure(name).mean_format.format(row.numbers[name])
            for name in MEASURES
        ]
        table_rows.append(
            [
                row.row,
                f"{row.mean_rank:.2f}",
                Cell(measure.mean_format.format(row.mean), row is rows[0]),
                Cell(texts[0], row.is_best_for_its_cost),
                *texts[1:],
            ]
        )
    columns = ["row", "mean rank", f"mean {measure.title}", *(get_measure(name).title for name in MEASURES)]
    return Table(
        columns,
        table_rows,
        f"{study.name}: ranks over {len(ranking.cells)} cells",
        notes=list_leaderboard_notes(results, ranking),
    )


def list_leaderboard_notes(results: StudyResults, ranking: Ranking) -> list[str]:
    study = results.study
    p = format_p_value(ranking.p)
    p_text = f"p {p}" if p.startswith("<") else f"p = {p}"
    notes = [f"Friedman: χ² = {ranking.statistic:.1f}, {p_text}; {_describe_pair_test(ranking)}"]
    notes += ["bold seconds: no other row is at least as good and at least as quick"]
    notes += [f"cells: {', '.join(f'{dataset} {noise}'.replace(':', ' ') for dataset, noise in ranking.cells)}"]
    if ranking.left_out:
        texts = [f"{label} ({count} of {len(ranking.cells)} cells)" for label, count in ranking.left_out.items()]
        notes.append(f"not ranked, because they lack cells: {', '.join(texts)}")
    fewest = min(
        len(results.get_values_by_seed(dataset, noise, label))
        for dataset in study.datasets
        for noise in study.noises
        for label in ranking.rows
        if (str(dataset), str(noise)) in ranking.cells
    )
    if fewest < len(study.seeds):
        notes.append(f"some cells have only {fewest} of {len(study.seeds)} seeds")
    return [*notes, f"seeds {format_seeds(study.seeds)}; {study.protocol}"]


def _describe_pair_test(ranking: Ranking) -> str:
    if ranking.critical_difference is None:
        return "pairs by Wilcoxon's test over cells with Holm's correction"
    return f"Nemenyi: mean ranks closer than {ranking.critical_difference:.2f} cannot be told apart"


def build_leaderboard_sections_or_empty(results: StudyResults) -> list[Section]:
    """The parts of a page, where a study has enough rows and cells to rank."""
    study = results.study
    if study.x or study.metric in RUN_MEASURES:
        return []
    try:
        ranking = rank_rows(results)
    except DataError:
        return []
    sections = [Section("Ranks", [draw_ranking(results, ranking), build_leaderboard_table(results, ranking)])]
    pictures = [draw_result_against_cost(results, ranking, name) for name in ("seconds", "peak_mb")]
    pictures = [picture for picture in pictures if picture]
    return sections + ([Section("Accuracy and cost", [_put_side_by_side(pictures)])] if pictures else [])


def draw_ranking(results: StudyResults, ranking: Ranking) -> Markup:
    return draw_ranks(
        f"{results.study.name}: mean rank by {get_measure(results.study.metric).title}",
        list(zip(ranking.rows, ranking.mean_ranks, strict=True)),
        ranking.alike,
        ranking.critical_difference,
    )


def draw_result_against_cost(results: StudyResults, ranking: Ranking, cost: str) -> Markup:
    """Result against cost, one point per row; nothing where no cost was measured."""
    rows = build_leaderboard_rows(results, ranking)
    costs = {row.row: value for row in rows if (value := row.numbers[cost])}
    lower_is_better = get_measure(results.study.metric).higher_is_better is False
    points = {row.row: (-row.mean if lower_is_better else row.mean, costs.get(row.row)) for row in rows}
    placed = [
        TradeoffPoint(row.row, costs[row.row], row.mean, is_on_pareto_front(row.row, points))
        for row in rows
        if row.row in costs
    ]
    measure = get_measure(results.study.metric)
    return (
        draw_tradeoff(placed, x_label=get_measure(cost).summary, y_label=f"mean {measure.title}")
        if placed
        else Markup("")
    )


def _put_side_by_side(pictures: list[Markup]) -> Markup:
    return Markup('<div class="panels">{}</div>').format(Markup("").join(pictures))
