"""pignn task"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import study as s
from .options import Json
from .output import show_json, show_message, show_table

task = typer.Typer(
    name="task",
    help="Your own method against ours: take tasks without the truth, bring back predictions.",
    epilog="Start with: pignn task export low-noise --datasets cora --seeds 0-2 --to tasks",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@task.command()
def export(
    name: s.Name,
    to: Annotated[Path, typer.Option(help="Folder for the tasks, one .npz each.")],
    out: s.Out = s.FOLDER,
    datasets: s.Datasets = None,
    noises: s.Noises = None,
    rates: s.Rates = None,
    seeds: s.Seeds = None,
    protocol: s.Protocol = None,
    json: Json = False,
) -> int:
    """Write the graphs of a study with their given labels, without the true ones.

    Each file holds x, edge_index, y (given labels, -1 where there is none), train_mask, val_mask, test_mask,
    class_names and task: the name under which predictions come back.

    Examples:

    \b
      pignn task export low-noise --datasets cora --seeds 0-2 --to tasks
      pignn task export mine.toml --to tasks --protocol honest
    """
    from ..studies import external as tasks

    options = s.StudyOptions(
        name=name, out=out, datasets=datasets, noises=noises, rates=rates, seeds=seeds, protocol=protocol
    )
    names = tasks.export(options.study(), out, to)
    show_json(names) if json else show_message(f"{len(names)} tasks written to {to}")
    return 0


@task.command()
def score(
    predictions: Annotated[Path, typer.Argument(help="An .npz with an array for each task, under its name.")],
    name: Annotated[str, typer.Option(help="What tables call the method.")],
    out: s.Out = s.FOLDER,
    json: Json = False,
) -> int:
    """Score predictions and keep them as a row of the tables and tests of all studies that have their tasks.

    An array holds the class of every node, or a row of probabilities.

    Examples:

    \b
      pignn task score preds.npz --name mine
      pignn task score preds.npz --name mine --out runs/studies --json
    """
    from ..studies import external as tasks

    rows = tasks.score(predictions, name, out)
    if json:
        show_json(rows)
        return 0
    show_table([{"task": row["task"], "accuracy": row["accuracy"], "macro_f1": row["macro_f1"]} for row in rows])
    show_message(f"'{name}' is now a row of the studies in {out} that have these tasks")
    return 0
