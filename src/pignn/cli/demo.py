"""pignn demo"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..core.errors import OutputError
from . import Stopped
from .options import Json
from .output import show_json, show_message_on_stderr, show_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..runs import Predictions


def demo(
    out: Annotated[Path, Option(help="Folder for the model, predictions, history and learning curves.")] = Path(
        "runs/demo"
    ),
    epochs: Annotated[int, Option(min=1, help="Number of training epochs of both methods.")] = 400,
    seed: Annotated[int, Option(help="Random seed for label noise and training.")] = 0,
    json: Json = False,
) -> None:
    """Train a plain GCN and PI-GNN on a real graph with 40 % wrong labels, side by side.

    The graph is scikit-learn's handwritten digits, each joined to its nearest neighbors. Nothing is downloaded.

    Examples:

    \b
      pignn demo
      pignn demo --seed 1 --out runs/another
    """
    from .. import graphs, noise
    from ..runs.run_folder import has_finished_or_interrupted_run, locked_output_folder_or_cleanup_context

    if has_finished_or_interrupted_run(out):
        raise OutputError(f"{out} holds a run of pignn train; choose another --out")
    with locked_output_folder_or_cleanup_context(out):
        graph = noise.corrupt(graphs.load("digits"), "symmetric", 0.4, seed=seed)
        summary = noise.summarize_noise(graph)
        if not json:
            show_message_on_stderr(f"digits: {graph.num_nodes:,} nodes; {summary}")
        runs = {
            title: _train_and_return_predictions_and_facts(graph, name, epochs, seed)
            for title, name in (("GCN", "vanilla"), ("PI-GNN", "pi-gnn"))
        }
        _write_demo_files(out, {title: predictions for title, (predictions, _) in runs.items()})
    rows = [{"method": title} | row for title, (_, row) in runs.items()]
    if json:
        show_json({"dataset": "digits", "realized_noise": summary.rate, "methods": rows, "out": str(out)})
        return
    show_table(rows)
    wrong = f"{summary.wrong} of the {summary.labeled} given labels are wrong ({summary.rate:.1%})"
    print(f"\n{wrong}; the epoch was chosen on labels just as noisy, true labels only score.")
    show_message_on_stderr(f"model, predictions.csv, history.csv and learning-curve.png are in {out}")


def _train_and_return_predictions_and_facts(
    graph: Data, name: str, epochs: int, seed: int
) -> tuple[Predictions, dict[str, Any]]:
    from .. import methods
    from ..runs import Predictions

    model: Any = methods.make(name, epochs=epochs, seed=seed)
    start = time.perf_counter()
    try:
        model.fit(graph)
    except KeyboardInterrupt:
        raise Stopped(getattr(model, "stopped_by_", None) or signal.SIGINT) from None
    predictions = Predictions.infer(model, graph)
    labeled = graph.y.numpy() >= 0
    num_differing = int((predictions.predicted_classes != graph.y.numpy())[labeled].sum())
    return predictions, {
        "test accuracy": predictions.score(),
        "after the last epoch": model.history_[-1]["test_accuracy"],
        "disagrees with": f"{num_differing} of {int(labeled.sum())} given labels",
        "seconds": round(time.perf_counter() - start, 1),
    }


def _write_demo_files(out: Path, predictions: dict[str, Predictions]) -> None:
    """The last model with its predictions, and the history of all."""
    from ..io import files
    from ..report import plot_learning_curves, render_figure

    facts = {title: each.model.get_fit_facts() for title, each in predictions.items()}
    last = list(predictions.values())[-1]
    last.model.save(out / "model")
    last.save(out / "predictions.csv", force=True)
    rows = [{"method": title} | row for title, each in facts.items() for row in each.history]
    files.write_csv_records(out / "history.csv", rows)
    histories = {title: each.history for title, each in facts.items()}
    figure = plot_learning_curves(histories, {title: each.best_epoch for title, each in facts.items()})
    files.write_bytes_atomically(out / "learning-curve.png", render_figure(figure))
