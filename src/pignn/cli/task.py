"""pignn task"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from .option_groups import expand_option_groups
from .options import Json
from .output import show_json, show_message_on_stderr, show_table
from .study import RESULTS_FOLDER, GraphSelection, StudyOptions

task = Typer(
    name="task",
    help="Compare your own method with ours: take tasks without the truth, bring back predictions.",
    epilog="Start with: pignn task export low-noise --datasets cora --seeds 0-2 --to tasks",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@task.command()
@expand_option_groups
def export(
    selection: GraphSelection,
    to: Annotated[Path, Option(help="Folder for the tasks, one .npz each.")],
    json: Json = False,
) -> None:
    """Write the graphs of a study with their given labels, without the true ones.

    Each file holds x, edge_index, y (given labels, -1 where there is none), train_mask, val_mask, test_mask,
    class_names and task: the name under which predictions come back.

    Examples:

    \b
      pignn task export low-noise --datasets cora --seeds 0-2 --to tasks
      pignn task export mine.toml --to tasks --protocol honest
    """
    from ..studies import export_tasks

    names = export_tasks(StudyOptions(**vars(selection)).load_study(), selection.out, to)
    show_json(names) if json else show_message_on_stderr(f"{len(names)} tasks written to {to}")


@task.command()
def score(
    predictions: Annotated[Path, Argument(help="An .npz with an array for each task, under its name.")],
    name: Annotated[str, Option(help="What tables call the method.")],
    out: Annotated[Path, Option(help="Results folder of the studies.")] = RESULTS_FOLDER,
    json: Json = False,
) -> None:
    """Score predictions and keep them as a row of the tables and tests of all studies that have their tasks.

    An array holds the class of every node, or a row of probabilities per node.

    Examples:

    \b
      pignn task score preds.npz --name mine
      pignn task score preds.npz --name mine --out runs/studies --json
    """
    from ..studies import score_and_save_predictions

    results = score_and_save_predictions(predictions, name, out)
    if json:
        show_json([{"task": task} | result.metrics for task, result in results.items()])
        return
    shown = ("accuracy", "macro_f1")
    show_table([{"task": task} | {key: one.metrics[key] for key in shown} for task, one in results.items()])
    show_message_on_stderr(f"'{name}' is now a row of the studies in {out} that have these tasks")
