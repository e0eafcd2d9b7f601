"""pignn predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError
from . import options as o
from .output import say, show_facts, show_json


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a run.")],
    dataset: o.Dataset,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    root: o.Root = None,
    split: o.Split = "default",
    split_seed: o.SplitSeed = 0,
    split_index: o.SplitIndex = None,
    features: o.Features = None,
    data: o.DataOption = None,
    json: o.Json = False,
) -> int:
    """Classes and probabilities of all nodes of a graph, by a model that was trained before.

    Examples:

    \b
      pignn predict runs/first --dataset digits --out predictions.csv
      pignn predict runs/first/model --dataset digits --data neighbours=15 --json
    """
    from ..methods import load_model
    from ..report import write_predictions

    of_graph = o.graph_options(split, split_seed, split_index, features, data)
    if out.exists() and not force:
        raise OutputError(f"{out} is there already; --force replaces it")
    folder = model / "model" if (model / "model").is_dir() else model
    fitted = load_model(folder)
    graph = o.load_graph(dataset, root, of_graph)
    write_predictions(out, fitted, graph)
    facts: dict[str, Any] = {
        "model": str(folder),
        "method": fitted.name,
        "dataset": graph.get("name"),
        "nodes": graph.num_nodes,
    }
    if bool(graph.test_mask.any()) and graph.test_mask.dim() == 1:
        if list(graph.get("class_names") or []) == fitted.class_names_:
            facts["test_accuracy"] = fitted.score(graph)
        else:
            say("note: the graph has other classes than the model; nothing is scored")
    show_json(facts | {"out": str(out)}) if json else show_facts(facts)
    if not json:
        say(f"written to {out}")
    return 0
