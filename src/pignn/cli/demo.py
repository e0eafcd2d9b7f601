"""pignn demo"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import OutputError
from . import Stopped
from .options import Json
from .output import show_json, show_message, show_table


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, predictions, history and picture.")] = Path(
        "runs/demo"
    ),
    epochs: Annotated[int, typer.Option(min=1, help="Of both methods.")] = 400,
    seed: Annotated[int, typer.Option(help="Of the noise and of the training.")] = 0,
    json: Json = False,
) -> int:
    """Train a plain GCN and PI-GNN on a real graph with 40 % wrong labels, side by side.

    The graph is scikit-learn's handwritten digits, each joined to its nearest neighbours; nothing is downloaded.

    Examples:

    \b
      pignn demo
      pignn demo --seed 1 --out runs/another
    """
    from .. import graphs, methods, noise
    from ..io import files
    from ..report import plot_learning_curves, render_figure, write_predictions
    from ..runs.predictions import Predictions
    from ..runs.run_folder import has_run, open_output_folder

    if has_run(out):
        raise OutputError(f"{out} holds a run of pignn train; choose another --out")
    with open_output_folder(out):
        graph = noise.corrupt(graphs.load("digits"), "symmetric", 0.4, seed=seed)
        report = noise.summarize_noise(graph)
        if not json:
            show_message(f"digits: {graph.num_nodes:,} nodes; {report}")
        rows: list[dict[str, Any]] = []
        histories: dict[str, list[dict[str, Any]]] = {}
        chosen: dict[str, int] = {}
        given = graph.y.numpy()
        for title, name in (("GCN", "vanilla"), ("PI-GNN", "pi-gnn")):
            model: Any = methods.make(name, epochs=epochs, seed=seed)
            start = time.perf_counter()
            try:
                model.fit(graph)
            except KeyboardInterrupt:
                raise Stopped(getattr(model, "stopped_by_", None) or signal.SIGINT) from None
            predictions = Predictions.infer(model, graph)
            differ = (predictions.classes != given)[given >= 0]
            histories[title], chosen[title] = model.history_, model.best_epoch_
            rows.append(
                {
                    "method": title,
                    "test accuracy": predictions.score(),
                    "after the last epoch": model.history_[-1]["test_accuracy"],
                    "disagrees with": f"{int(differ.sum())} of {report.labeled} given labels",
                    "seconds": round(time.perf_counter() - start, 1),
                }
            )
        model.save(out / "model")
        write_predictions(out / "predictions.csv", predictions.table)
        rows_of_history = [{"method": title} | row for title, history in histories.items() for row in history]
        files.write_csv_records(out / "history.csv", rows_of_history)
        files.write_bytes(out / "learning-curve.png", render_figure(plot_learning_curves(histories, chosen)))
    if json:
        show_json({"dataset": "digits", "realised_noise": report.rate, "methods": rows, "out": str(out)})
        return 0
    show_table(rows)
    noisy = f"{report.wrong} of the {report.labeled} given labels are wrong ({report.rate:.1%})"
    print(f"\n{noisy}; the epoch was chosen on labels just as noisy, true labels only score.")
    show_message(f"model, predictions.csv, history.csv and learning-curve.png are in {out}")
    return 0
