"""pignn train"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, OutputError
from . import options as o
from .output import say, show_facts, show_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..methods import Method


def train(
    dataset: o.Dataset,
    method: Annotated[str, typer.Option(help="`pignn methods` lists them.")] = "pi-gnn",
    noise: o.Noise = "none",
    rate: o.Rate = None,
    backbone: Annotated[str | None, typer.Option(help="gcn, gat or sage.")] = None,
    estimator: Annotated[str | None, typer.Option(help="The estimator's backbone; the classifier's if absent.")] = None,
    epochs: Annotated[int | None, typer.Option(help="400 if absent.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Last epoch before pair labels are used; 50 if absent.")] = None,
    pair_labels: Annotated[
        str | None, typer.Option(help="estimated, connectivity, random, given, true, self or low-rank.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="masked or soft.")] = None,
    selection: Annotated[
        str | None, typer.Option(help="noisy-val, last, or clean-val (an oracle that sees true labels).")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting of the method; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise and of the training.")] = 0,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; cpu if absent.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the model, predictions, history and picture.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in --out.")] = False,
    checkpoint_every: Annotated[int, typer.Option(help="Epochs between two checkpoints.")] = 50,
    root: o.Root = None,
    split: o.Split = "default",
    split_seed: o.SplitSeed = 0,
    split_index: o.SplitIndex = None,
    features: o.Features = None,
    data: o.DataOption = None,
    json: o.Json = False,
) -> int:
    """Train a classifier on a graph whose labels are noisy.

    Labels of the training and validation nodes are made wrong as --noise and --rate say; true labels serve for the
    final score only. Ctrl-C keeps the best classifier so far.

    Examples:

      pignn train --dataset digits --noise symmetric --rate 0.4 --out runs/first

      pignn train --dataset cora --noise flip --rate 0.4 --method vanilla --backbone gat --json

      pignn train --dataset cora --noise llm_labels.npz --set hidden=64 --set class_weight=balanced

      pignn train --dataset cora --noise symmetric --rate 0.4 --out runs/first --resume
    """
    from .. import methods
    from .. import noise as noises

    given = {
        "backbone": backbone,
        "estimator": estimator,
        "epochs": epochs,
        "warmup": warmup,
        "pair_labels": pair_labels,
        "target": target,
        "selection": selection,
        "device": device,
    }
    settings = {key: value for key, value in given.items() if value is not None} | o.settings(setting)
    model = methods.make(method, seed=seed, **settings)
    if checkpoint_every < 1:
        raise ConfigError(f"--checkpoint-every must be at least 1, not {checkpoint_every}")
    if resume and out is None:
        raise ConfigError("--resume needs --out: the folder of the run to continue")
    if out is not None:
        _prepare(out, resume, force)
    clean = o.load_graph(dataset, root, split, split_seed, split_index, features, data)
    graph = noises.corrupt(clean, noises.load_noise(noise), rate, seed=seed)

    start = time.perf_counter()
    keep: dict[str, Any] = (
        {} if out is None else {"checkpoint": out, "checkpoint_every": checkpoint_every, "resume": resume}
    )
    stopped = None
    try:
        model.fit(graph, **keep)
    except KeyboardInterrupt:
        stopped = getattr(model, "stopped_by_", None)
        if stopped is None:
            raise
    facts = summary(model, graph, time.perf_counter() - start)
    if out is not None:
        write_run(out, model, graph, facts)
    show_json(facts) if json else show_facts({k: v for k, v in facts.items() if k != "settings"})
    if stopped is not None:
        done = len(model.history_)
        where = f"; the best so far is in {out}, go on with --resume" if out else ""
        say(f"pignn: interrupted after {done} epochs{where}")
        return 130 if stopped == signal.SIGINT else 128 + stopped
    if out is not None and not json:
        say(f"written to {out}")
    return 0


def _prepare(out: Path, resume: bool, force: bool) -> None:
    from ..training import checkpoint, files

    finished, begun = (out / "run.json").exists(), (out / checkpoint.NAME).exists()
    if (finished or begun) and not (resume or force):
        state = "a finished" if finished else "an unfinished"
        raise OutputError(f"{out} holds {state} run; --resume continues it, --force replaces it")
    files.writable_folder(out)
    if force and not resume:
        (out / checkpoint.NAME).unlink(missing_ok=True)


def summary(model: Method, graph: Data, seconds: float) -> dict[str, Any]:
    """What a run gave, in words that do not promise too much."""
    from .. import noise as noises

    report = noises.report(graph)
    predicted = model.predict(graph)
    given = graph.y.numpy()
    labelled = given >= 0
    facts: dict[str, Any] = {
        "dataset": graph.get("name"),
        "method": model.name,
        "seed": model.seed,
        "noise": graph.noise["kind"],
        "realised_noise": report.rate,
        "pair_noise": report.pair_rate,
        "selection": getattr(model, "selection_", None),
        "best_epoch": getattr(model, "best_epoch_", None),
    }
    if bool(graph.test_mask.any()):
        facts["test_accuracy"] = model.score(graph)
        facts["test_macro_f1"] = model.score(graph, metric="macro_f1")
    facts["labels_given"] = int(labelled.sum())
    facts["labels_disagreed_with"] = int((predicted != given)[labelled].sum())
    facts["seconds"] = round(seconds, 2)
    facts["settings"] = model._plain_settings()
    return facts


def write_run(out: Path, model: Method, graph: Data, facts: dict[str, Any]) -> None:
    """Everything a run leaves behind; run.json comes last and says that the rest is whole."""
    from ..report import learning_curve, write_predictions
    from ..training import files

    model.save(out / "model")
    write_predictions(out / "predictions.csv", model, graph)
    history = getattr(model, "history_", [])
    if history:
        files.write_rows(out / "history.csv", history)
        files.write_bytes(out / "learning-curve.png", learning_curve({model.name: history}))
    files.write_json(out / "run.json", facts)
