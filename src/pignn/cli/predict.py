"""pignn predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from .graph_options import GraphOptions
from .option_groups import expand_option_groups
from .options import Json, StoreOptions
from .output import show_facts, show_json, show_message_on_stderr


@expand_option_groups
def predict(
    *,
    model: Annotated[Path, Argument(help="Folder of a model or of a training run.")],
    graph: GraphOptions,
    known: Annotated[
        Path | None, Option(help="Table of old nodes that --edges join the new ones to; they are not predicted.")
    ] = None,
    out: Annotated[Path, Option(help="The CSV file to write.")] = Path("predictions.csv"),
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
    store: StoreOptions,
    resume: Annotated[
        bool, Option("--resume", help="Go on with a prediction with --memory or --ray that was stopped.")
    ] = False,
    json: Json = False,
) -> None:
    """Predict classes and probabilities of all nodes of a graph with a trained model.

    A model that was trained on --nodes and --edges knows its columns, and makes the same features of new nodes and new
    graphs.

    Examples:

    \b
      pignn predict runs/mine --nodes new_papers.csv --edges new_citations.csv --out predictions.csv
      pignn predict runs/mine --nodes new_papers.csv --edges new_citations.csv --known papers.csv
      pignn predict runs/first --dataset digits --out predictions.csv
      pignn predict runs/first/model --dataset digits --data num_neighbors=15 --json
      pignn predict runs/large --dataset store --memory 4GB --out predictions.csv
    """
    arguments = graph.to_arguments("predict") | {"known": known}
    from ..runs import early_checks, run_folder

    early_checks.check_folder_has_model(model)
    run_folder.check_outputs_may_be_written([out], [], force=force)
    early_checks.check_graph_files_or_dataset_exist(arguments)
    from .. import runs

    predictions = runs.predict(model, out=out, force=force, resume=resume, **store.to_arguments(), **arguments)
    facts = predictions.summary.to_dict()
    if json:
        show_json(facts | {"out": str(out)})
    else:
        show_facts(facts)
        show_message_on_stderr(f"written to {out}")
