"""pignn predict"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ModelFileError
from . import graph_options as which
from . import options as o
from . import run_dir as folder
from .option_groups import grouped
from .output import say, show_facts, show_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..methods import Method


@grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a run.")],
    files: which.Files,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    named: which.Named,
    json: o.Json = False,
) -> int:
    """Classes and probabilities of all nodes of a graph, by a model that was trained before.

    A model that was trained on --nodes and --edges knows its columns, and makes the same features of new nodes and new
    graphs.

    Examples:

    \b
      pignn predict runs/mine --nodes new_papers.csv --edges new_citations.csv --out predictions.csv
      pignn predict runs/first --dataset digits --out predictions.csv
      pignn predict runs/first/model --dataset digits --data num_neighbors=15 --json
    """
    from ..methods import load_model
    from ..report import write_predictions

    own = files.options("predict", named)
    of_graph = {} if own else named.options(files.features)
    place = model / "model" if (model / "model").is_dir() else model
    of_model = place.iterdir() if place.is_dir() else ()
    folder.check_free([out], [files.nodes, files.edges, files.features, *of_model], replace=force)
    fitted = load_model(place)
    graph = which.load_graph(files.dataset, named.root, of_graph) if own is None else _own_graph(place, fitted, own)
    write_predictions(out, fitted, graph)
    facts: dict[str, Any] = {
        "model": str(place),
        "method": fitted.name,
        "dataset": graph.get("name"),
        "nodes": graph.num_nodes,
    }
    if own is not None:
        facts |= {"edges": graph.edge_index.shape[1] // 2}
        if bool((labelled := graph.y >= 0).any()):
            agrees = (fitted.predict(graph) == graph.y.numpy())[labelled.numpy()]
            facts |= {"labels_given": len(agrees), "agreement": float(agrees.mean())}
    elif bool(graph.test_mask.any()) and graph.test_mask.dim() == 1:
        if list(graph.get("class_names") or []) == fitted.class_names_:
            facts["test_accuracy"] = fitted.score(graph)
        else:
            say("note: the graph has other classes than the model; nothing is scored")
    show_json(facts | {"out": str(out)}) if json else show_facts(facts)
    if not json:
        say(f"written to {out}")
    return 0


def _own_graph(folder: Path, fitted: Method, own: dict[str, Any]) -> Data:
    """A graph of the user's own with the features that the model was trained on."""
    from .. import graphs

    encoder = graphs.load_feature_encoder(folder)
    graph = which.read_graph(**own, encoder=encoder, class_names=fitted.class_names_)
    if encoder is None and not graph.encoder.is_given:
        raise ModelFileError(
            f"{folder} was not trained on --nodes and does not know how columns become features; "
            "give features that are numbers: --features FILE.npy, or an .npz or .pt file"
        )
    graph.train_mask = graph.train_mask & False  # labels, where there are any, are compared and no more
    return graph
