"""pignn train"""

from __future__ import annotations

import inspect
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..core.errors import ConfigError, OutputError, unknown
from . import graph_options as which
from . import options as o
from . import run_dir as folder
from .option_groups import grouped
from .output import say, show_facts, show_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..methods import Method

CLEANED = {"drop": "left out", "relabel": "given the suggested label", "weight": "counted by quality"}


@grouped
def train(
    *,
    files: which.LabelledFiles,
    val: o.Val = 0.0,
    method: Annotated[
        str | None, typer.Option(help="`pignn methods` lists them; auto if absent, pi-gnn with options of networks.")
    ] = None,
    noise: o.Noise = "none",
    rate: o.Rate = None,
    backbone: Annotated[str | None, typer.Option(help="gcn, gat, sage, appnp, sgc or mlp; gcn if absent.")] = None,
    estimator: Annotated[str | None, typer.Option(help="The estimator's backbone; the classifier's if absent.")] = None,
    epochs: Annotated[int | None, typer.Option(help="400 if absent.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Last epoch before pair labels are used; 50 if absent.")] = None,
    pair_labels: Annotated[
        str | None, typer.Option(help="estimated, connectivity, random, given, true, self or low-rank.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="masked or soft; masked if absent.")] = None,
    selection: Annotated[
        str | None, typer.Option(help="noisy-val (if absent), last, or clean-val (an oracle that sees true labels).")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help="exact, sampled or auto: all pairs, random ones, or whichever is worth its time.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Train in mini-batches of so many nodes; the whole graph at once if absent.")
    ] = None,
    setting: o.Setting = None,
    drop_suspects: Annotated[
        bool, typer.Option("--drop-suspects", help="Audit first; leave out labels that are probably wrong.")
    ] = False,
    relabel_suspects: Annotated[
        bool, typer.Option("--relabel-suspects", help="Audit first; give them the label that the audit suggests.")
    ] = False,
    weight_by_quality: Annotated[
        bool,
        typer.Option("--weight-by-quality", help="Audit first; count a label by the probability that it is right."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the noise and of the training.")] = 0,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; cpu if absent.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the model, predictions, history and picture.")] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html, a page to look at and send.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in --out when this one is done.")] = False,
    checkpoint_every: Annotated[int, typer.Option(help="Epochs between two checkpoints.")] = 50,
    checkpoint_minutes: Annotated[float, typer.Option(help="Or minutes, whichever comes first.")] = 5.0,
    named: which.Named,
    json: o.Json = False,
) -> int:
    """Train a classifier on a graph whose labels are noisy.

    Your own graph comes from --nodes and --edges; what was understood of it is shown first. Of a named one (--dataset)
    labels of the training and validation nodes are made wrong as --noise and --rate say; true labels serve for the
    final score only. Ctrl-C keeps the best classifier so far.

    Examples:

    \b
      pignn train --nodes papers.csv --edges citations.csv --label topic --out runs/mine
      pignn train --nodes graph.graphml --label kind --features 'age,city:category,note:text' --val 0.2
      pignn train --dataset digits --noise symmetric --rate 0.4 --out runs/first --report
      pignn train --dataset digits --noise symmetric --rate 0.4 --out runs/first --resume
      pignn train --dataset cora --noise flip --rate 0.4 --method vanilla --backbone gat --json
      pignn train --dataset cora --noise llm_labels.npz --set hidden_channels=64 --set class_weight=balanced
      pignn train --dataset csbm --data num_nodes=5000 --data homophily=0.6 --noise pair --rate 0.3
      pignn train --nodes papers.csv --edges citations.csv --label topic --drop-suspects --out runs/cleaned
      torchrun --nproc-per-node 2 -m pignn train --dataset digits --noise pair --rate 0.2 --batch-size 128
    """
    from .. import graphs, methods
    from .. import noise as noises
    from ..training import checkpoint, distributed
    from ..training.interrupt import DeferredInterrupt

    given = {
        "backbone": backbone,
        "estimator": estimator,
        "epochs": epochs,
        "warmup": warmup,
        "pair_labels": pair_labels,
        "target": target,
        "selection": selection,
        "pairs": pairs,
        "batch_size": batch_size,
        "device": device,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    for key, value in o.of_method(setting).items():
        if key in settings:
            raise ConfigError(f"{key} is given twice: by --{key.replace('_', '-')} and by --set")
        settings[key] = value
    if method is None and settings.get("device") == "cpu":
        del settings["device"]  # where everything is computed anyway
    reasons = [] if method is not None else needs_a_network(settings)
    if method is None and resume and out is not None and checkpoint.has_checkpoint(out):
        reasons.append("--resume")
    if method is None:
        method = "pi-gnn" if reasons else "auto"
    model = methods.make(method, seed=seed, **settings)
    model.check_settings()
    kind = noises.load_noise(noise)
    own = files.options("train", named, val)
    if own is not None and kind == "none" and rate is not None:
        raise ConfigError("noise 'none' has no rate; leave --rate out or choose a --noise")
    spoil = noises.Corrupt(kind, rate, seed=seed)
    if own is None:
        of_graph = named.options(files.features)
    else:
        of_graph = own | {"directed": settings.get("directed") is True}
    cleaning = {"drop": drop_suspects, "relabel": relabel_suspects, "weight": weight_by_quality}
    ways = [how for how, wanted in cleaning.items() if wanted]
    if len(ways) > 1:
        raise ConfigError("--drop-suspects, --relabel-suspects and --weight-by-quality exclude each other; give one")
    if checkpoint_every < 1:
        raise ConfigError(f"--checkpoint-every must be at least 1, not {checkpoint_every}")
    if report and out is None:
        raise ConfigError("--report needs --out: the folder for report.html")
    if resume and out is None:
        raise ConfigError("--resume needs --out: the folder of the run to continue")
    if resume and force:
        raise ConfigError("--resume continues a run, --force replaces it; give one of them")
    restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    # Methods without a training loop have nothing to continue.
    has_epochs = "checkpoint" in inspect.signature(model.fit).parameters
    if out is not None and folder.holds_run(out):
        if not has_epochs and not force:
            raise OutputError(
                f"{out} holds a run already, and '{model.name}' has no epochs to go on with; --force replaces it"
            )
        if not (resume or force or restarted):
            raise OutputError(f"{out} holds a run already; --resume continues it, --force replaces it")
    if out is not None:
        inputs = (files.nodes, files.edges, files.features, noise)
        written = [out / name for name in (*folder.RUN, *(["report.html"] if report else []))]
        folder.check_free(written, inputs, replace=force or folder.holds_run(out))

    keep: dict[str, Any] = {}
    if out is not None:
        keep = {"checkpoint": out, "checkpoint_every": checkpoint_every, "checkpoint_minutes": checkpoint_minutes}
        # torchrun starts all processes again after one has died: they go on where they were.
        keep["resume"] = resume or restarted
    stopped = None
    late = DeferredInterrupt()
    with folder.made(out), folder.resumable(None if force else out), distributed.open_process_group(device or "cpu"):
        graph = which.load_graph(files.dataset, named.root, of_graph) if own is None else which.read_graph(**of_graph)
        about = None if own is None else graphs.summarize_import(graph)
        if about is not None and not json and distributed.is_main_process():
            print(f"{about}\n", flush=True)
        if own is None or kind != "none":  # of one's own graph nobody knows the true labels
            graph = spoil(graph)
        start = time.perf_counter()
        learnt_from, cleaned = clean(graph, ways[0], seed) if ways else (graph, {})
        try:
            model.fit(learnt_from, **(keep if has_epochs else {}))
        except KeyboardInterrupt:
            stopped = getattr(model, "stopped_by_", None)
            if stopped is None:
                raise
        if not distributed.is_main_process():
            return 0 if stopped is None else 128 + stopped
        with late:  # what was learnt is written whole, unless somebody insists
            facts = summary(model, graph, time.perf_counter() - start) | cleaned
            if reasons:
                facts["not_auto"] = (
                    f"pi-gnn was taken, for {', '.join(reasons)} needs a network; --method names another"
                )
            if about is not None:
                facts["import_summary"] = about.to_dict()
            if out is not None:
                plain = {key: str(value) if isinstance(value, Path) else value for key, value in of_graph.items()}
                write_run(out, model, graph, learnt_from, facts | {"graph": plain, "pignn": __version__}, report=report)
    hidden = ("settings", "import_summary")
    show_json(facts) if json else show_facts({k: v for k, v in facts.items() if k not in hidden})
    if stopped is not None:
        where = f"; the best so far is in {out}, go on with --resume" if out else ""
        say(f"pignn: interrupted after {facts['epochs_done']} epochs{where}")
        return 128 + stopped
    if late.signal is not None:
        say("pignn: interrupted when the training was done" + (f"; all of it is in {out}" if out else ""))
        return 128 + late.signal
    if out is not None and not json:
        say(f"written to {out}" + (f"; open {out / 'report.html'} to look at it" if report else ""))
    return 0


def needs_a_network(settings: dict[str, Any]) -> list[str]:
    """What was asked for that ``auto`` does not have, but ``pi-gnn`` has."""
    from ..methods import make

    simple, network = make("auto").get_params(), make("pi-gnn").get_params()
    for key in settings:
        if key not in simple | network:
            raise unknown("setting", key, sorted(simple | network))
    reasons = [f"--{key.replace('_', '-')}" for key in settings if key not in simple]
    return [*reasons, "torchrun"] if int(os.environ.get("WORLD_SIZE", "1")) > 1 else reasons


def clean(graph: Data, how: str, seed: int) -> tuple[Data, dict[str, Any]]:
    """The graph to learn from, its labels cleaned by an audit of the given ones, and what was done."""
    from .. import auditing

    found = auditing.audit_labels(graph, seed=seed)
    suspects = int(found.issues["suspect"].sum())
    facts = {"estimated_wrong": found.noise.rate, "suspects": suspects, "suspects_were": CLEANED[how]}
    return auditing.clean_labels(graph, found.issues, how), facts


def summary(model: Method, graph: Data, seconds: float) -> dict[str, Any]:
    """What a run gave, in words that do not promise too much."""
    from .. import noise as noises
    from ..report.training.scores import learns_from_val

    predicted = model.predict(graph)
    given = graph.y.numpy()
    labelled = given >= 0
    facts: dict[str, Any] = {
        "dataset": graph.get("name"),
        "method": model.name,
        "seed": model.seed,
    }
    if graph.get("noise") is not None:
        report = noises.summarize_noise(graph)
        facts |= {"noise": graph.noise["kind"], "rate": graph.noise["rate"]}
        facts |= {"realised_noise": report.rate, "pair_noise": report.pair_rate}
    if hasattr(model, "history_"):
        facts |= {
            "pairs": model.pairs_explanation_ or model.pairs_,
            "selection": model.selection_,
            "best_epoch": model.best_epoch_,
            "kept_in_warmup": model.best_epoch_ <= model.last_warmup_epoch(),
            "epochs_done": len(model.history_),
        }
    if hasattr(model, "explanation_"):
        facts |= {"chosen": model.chosen_, "why": model.explanation_}
    if learns_from_val(model) and bool(graph.val_mask.any()):
        facts["note"] = f"{model.name} learns from validation labels too; --set labels=train keeps them out"
    if hasattr(model, "history_") and len(predicted) > 1 and bool((predicted == predicted[0]).all()):
        facts["note"] = (
            "all nodes are given one class: little was learnt; try --set lr=0.001, or features of smaller scale"
        )
    if bool(graph.test_mask.any()) and graph.get("y_true") is not None:
        facts["test_accuracy"] = model.score(graph)
        facts["test_macro_f1"] = model.score(graph, metric="macro_f1")
    if graph.get("y_true") is None and bool(graph.val_mask.any()) and not learns_from_val(model):
        facts["val_agreement"] = model.score(graph, split="val", against="given")  # some of those labels are wrong
    facts["labels_given"] = int(labelled.sum())
    facts["labels_disagreed_with"] = int((predicted != given)[labelled].sum())
    facts["seconds"] = round(seconds, 2)
    facts["settings"] = model._plain_settings()
    return facts


def write_run(
    out: Path, model: Method, graph: Data, learnt_from: Data, facts: dict[str, Any], *, report: bool = False
) -> None:
    """Everything a run leaves behind; run.json comes last and says that the rest is whole."""
    from ..io import files
    from ..report import build_training_page, draw_learning_curves, write_predictions
    from ..training import checkpoint

    if (out / "run.json").exists():  # the report of that run would be taken for one of this
        (out / "report.html").unlink(missing_ok=True)
    (out / "run.json").unlink(missing_ok=True)
    folder.save_model(out / "model", model, learnt_from, facts)
    write_predictions(out / "predictions.csv", model, graph)
    history = getattr(model, "history_", [])
    if history:
        files.write_csv_records(out / "history.csv", history)
        picture = draw_learning_curves({model.name: history}, {model.name: getattr(model, "best_epoch_", None)})
        files.write_bytes(out / "learning-curve.png", picture)
    else:  # those of a run that this one replaces
        for name in ("history.csv", "learning-curve.png", checkpoint.CHECKPOINT_FILE, checkpoint.PREVIOUS_FILE):
            (out / name).unlink(missing_ok=True)
    if report:
        files.write_bytes(out / "report.html", build_training_page(model, learnt_from, facts=facts).encode())
    files.write_json(out / "run.json", facts)
