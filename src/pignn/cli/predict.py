"""pignn predict"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ModelFileError, OutputError
from . import options as o
from .output import say, show_facts, show_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..methods import Method


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a run.")],
    dataset: o.Dataset = None,
    nodes: o.Nodes = None,
    edges: o.Edges = None,
    label: o.Label = None,
    id: o.Id = None,
    features: o.Features = None,
    edge_columns: o.EdgeColumns = None,
    delimiter: o.Delimiter = None,
    drop_unknown: o.DropUnknown = False,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    root: o.Root = None,
    split: o.Split = "default",
    split_seed: o.SplitSeed = 0,
    split_index: o.SplitIndex = None,
    data: o.DataOption = None,
    json: o.Json = False,
) -> int:
    """Classes and probabilities of all nodes of a graph, by a model that was trained before.

    A model that was trained on --nodes and --edges knows its columns, and makes the same features of new nodes and new
    graphs.

    Examples:

    \b
      pignn predict runs/mine --nodes new_papers.csv --edges new_citations.csv --out predictions.csv
      pignn predict runs/first --dataset digits --out predictions.csv
      pignn predict runs/first/model --dataset digits --data neighbours=15 --json
    """
    from ..methods import load_model
    from ..report import write_predictions

    own = o.own_options(
        "predict",
        dataset,
        nodes=nodes,
        edges=edges,
        label=label,
        id=id,
        features=features,
        edge_columns=edge_columns,
        delimiter=delimiter,
        drop_unknown=drop_unknown,
        split=split,
        split_seed=split_seed,
        split_index=split_index,
        data=data,
    )
    of_graph = {} if own else o.graph_options(split, split_seed, split_index, features, data)
    if out.exists() and not force:
        raise OutputError(f"{out} is there already; --force replaces it")
    folder = model / "model" if (model / "model").is_dir() else model
    fitted = load_model(folder)
    graph = o.load_graph(dataset, root, of_graph) if own is None else _own_graph(folder, fitted, own)
    write_predictions(out, fitted, graph)
    facts: dict[str, Any] = {
        "model": str(folder),
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

    encoder = graphs.load_encoder(folder)
    graph = graphs.read_graph(**own, encoder=encoder, class_names=fitted.class_names_)
    if encoder is None and not graph.encoder.is_given:
        raise ModelFileError(
            f"{folder} was not trained on --nodes and does not know how columns become features; "
            "give features that are numbers: --features FILE.npy, or an .npz or .pt file"
        )
    graph.train_mask = graph.train_mask & False  # labels, where there are any, are compared and no more
    return graph
