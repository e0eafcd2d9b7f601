"""pignn train"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..core.errors import ConfigError
from .graph_options import LabeledGraphOptions
from .method_options import SettingOptions, parse_number_or_list_else_text
from .option_groups import expand_option_groups
from .options import Json, Noise, Rate, Setting, StoreOptions, parse_settings_and_refuse_seed
from .output import show_facts, show_import_summary_of_own_graph, show_json, show_message_on_stderr, show_table
from .stored_settings import check_method_exists_and_settings_fit

if TYPE_CHECKING:
    from ..runs import TrainingInterrupted, TrainingRun


@dataclass(kw_only=True)
class CleaningOptions:
    """What to do with the suspects of an audit."""

    drop_suspects: Annotated[
        bool, Option("--drop-suspects", help="Audit the labels first and leave out the suspects.")
    ] = False
    relabel_suspects: Annotated[
        bool,
        Option("--relabel-suspects", help="Audit the labels first and give suspects the suggested label."),
    ] = False
    weight_by_quality: Annotated[
        bool,
        Option(
            "--weight-by-quality",
            help="Audit the labels first and weight each one by its probability of being correct.",
        ),
    ] = False

    audit: Annotated[
        Path | None,
        Option(help="Folder of an audit of this graph: its suspects are meant (default: dropped), without another."),
    ] = None
    decisions: Annotated[Path | None, Option(help="Decisions of a review: their labels are learned, and trusted.")] = (
        None
    )

    new_class: Annotated[bool, Option("--new-class", help="Allow decided labels that no given label has.")] = False
    project: Annotated[
        Path | None, Option(help="Project of `pignn review`: its graph, with what was decided, instead of --nodes.")
    ] = None

    def to_arguments(self) -> dict[str, Any]:
        names = ("audit", "decisions", "new_class")
        return {"clean": self._get_cleaning_mode_or_none(), **{name: getattr(self, name) for name in names}}

    def _get_cleaning_mode_or_none(self) -> str | None:
        modes = ("drop_suspects", "relabel_suspects", "weight_by_quality")
        chosen = [name.partition("_")[0] for name in modes if getattr(self, name)]
        if len(chosen) > 1:
            raise ConfigError(
                "--drop-suspects, --relabel-suspects and --weight-by-quality exclude each other; give one"
            )
        return chosen[0] if chosen else None


@dataclass(kw_only=True)
class OutputOptions:
    """Where the run goes."""

    out: Annotated[Path | None, Option(help="Folder for the model, predictions, history and learning curves.")] = None
    report: Annotated[bool, Option("--report", help="Also write report.html, a page to look at and send.")] = False
    resume: Annotated[bool, Option("--resume", help="Continue the run in --out.")] = False
    force: Annotated[bool, Option("--force", help="Replace the run in --out when this one is done.")] = False
    assess: Annotated[
        bool,
        Option(
            "--assess/--no-assess",
            help="Whether to estimate what the model is worth, by cross-validation on given labels.",
        ),
    ] = True
    checkpoint_every: Annotated[int, Option(help="Epochs between two checkpoints.")] = 50
    checkpoint_minutes: Annotated[float, Option(help="Also write a checkpoint after this many minutes.")] = 5.0


@expand_option_groups
def train(
    *,
    graph: LabeledGraphOptions,
    val: Annotated[
        float,
        Option(help="Share of the labels of --nodes to hold out and to score; networks choose the epoch by them."),
    ] = 0.0,
    noise: Noise = "none",
    rate: Rate = None,
    method: Annotated[
        str | None,
        Option(help="Method to train (see `pignn methods`). Default: auto, or pi-gnn where an option needs a network."),
    ] = None,
    settings: SettingOptions,
    setting: Setting = None,
    cleaning: CleaningOptions,
    seed: Annotated[int, Option(help="Random seed for label noise and training.")] = 0,
    output: OutputOptions,
    store: StoreOptions,
    json: Json = False,
) -> int:
    """Train a classifier on a graph whose labels are noisy.

    Your own graph comes from --nodes and --edges. What was read is shown first. In a named dataset (--dataset), labels
    of training and validation nodes are corrupted as --noise and --rate say, and true labels serve for the final score
    only. Ctrl-C keeps the best classifier so far.

    Examples:

    \b
      pignn train --nodes papers.csv --edges citations.csv --label topic --out runs/mine
      pignn train --nodes graph.graphml --label kind --features 'age,city:category,note:text' --val 0.2
      pignn train --dataset digits --noise symmetric --rate 0.4 --out runs/first --report
      pignn train --dataset cora --noise flip --rate 0.4 --method vanilla --backbone gat --json
      pignn train --dataset csbm --data num_nodes=5000 --data homophily=0.6 --noise pair --rate 0.3
      pignn train --nodes papers.csv --edges citations.csv --label topic --val 0.2 --truth checked_topic
      pignn train --nodes papers.csv --edges citations.csv --label topic --drop-suspects --out runs/cleaned
      pignn train --nodes papers.csv --edges citations.csv --label topic --audit audits/first --decisions decisions.csv
      pignn train --project reviews/papers --out runs/reviewed
      pignn train --dataset store --memory 4GB --out runs/large
      torchrun --nproc-per-node 2 -m pignn train --dataset digits --noise pair --rate 0.2 --batch-size 128
    """
    options = {"noise": noise, "rate": rate, "seed": seed, "method": method, **vars(output)}
    options |= {**cleaning.to_arguments(), **store.to_arguments()}
    options["settings"] = _merge_settings_and_refuse_duplicates(vars(settings), setting)
    arguments = _build_graph_arguments_and_set_decisions(graph, val, cleaning, options)
    if cleaning.project is None:
        _check_before_importing_torch(options, arguments)
    from .. import runs

    try:
        run = runs.train(on_graph_read=None if json else show_import_summary_of_own_graph, **options, **arguments)
    except runs.TrainingInterrupted as interrupt:
        return _show_interrupted_run_and_get_exit_code(interrupt, output.out, json)
    _show_run_summary(run, json)
    if run.rank == 0 and output.out is not None and not json:
        page = f"; open {output.out / 'report.html'} to look at it" if output.report else ""
        show_message_on_stderr(f"written to {output.out}{page}")
    return 0


def _build_graph_arguments_and_set_decisions(
    graph: LabeledGraphOptions, val: float, cleaning: CleaningOptions, options: dict[str, Any]
) -> dict[str, Any]:
    """The graph of the options; with --project, that of a review, whose decisions go into `options`."""
    if cleaning.project is None:
        return graph.to_arguments("train", val)
    if graph.nodes is not None or graph.dataset is not None or cleaning.decisions is not None:
        raise ConfigError("--project has the graph and the decisions; leave out --nodes, --dataset and --decisions")
    from .. import reviewing

    arguments = reviewing.write_decisions_and_build_training_arguments(cleaning.project)
    options |= {name: arguments.pop(name) for name in ("decisions", "new_class")}
    return {**arguments, **({"val": val} if "nodes" in arguments else {})}


def _check_before_importing_torch(options: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Tell mistakes before torch is imported."""
    from ..runs import early_checks, run_folder

    early_checks.check_noise_exists_and_rate_valid(options["noise"], options["rate"])
    check_method_exists_and_settings_fit(options["method"], options["settings"])
    folder_options = {name: options[name] for name in ("report", "resume", "force")}
    run_folder.check_training_folder_options(options["out"], **folder_options)
    early_checks.check_review_files_exist(options["audit"], options["decisions"])
    early_checks.check_graph_arguments_can_be_read(arguments)


def _merge_settings_and_refuse_duplicates(flags: dict[str, Any], pairs: list[str] | None) -> dict[str, Any]:
    """Settings from their own options and from --set; one that is given twice is refused."""
    settings = {key: parse_number_or_list_else_text(value) for key, value in flags.items() if value is not None}
    for key, value in parse_settings_and_refuse_seed(pairs).items():
        if key in settings:
            raise ConfigError(f"{key} is given twice: by --{key.replace('_', '-')} and by --set")
        settings[key] = value
    return settings


def _show_run_summary(run: TrainingRun, json: bool) -> None:
    if run.rank:  # another process of the same training shows it
        return
    facts = run.summary.to_dict()
    show_json(facts) if json else show_facts({k: v for k, v in facts.items() if not isinstance(v, dict)})
    if run.assessment is not None and not json:
        print(f"\n{run.assessment}\n")
        show_table([dict(row) for _, row in run.assessment.classes.astype(object).iterrows()])


def _show_interrupted_run_and_get_exit_code(interrupt: TrainingInterrupted, out: Path | None, json: bool) -> int:
    _show_run_summary(interrupt.run, json)
    if interrupt.run.rank == 0:
        if interrupt.finished:
            where = f"; all of it is in {out}" if out else ""
            show_message_on_stderr(f"pignn: interrupted when the training was done{where}")
        else:
            where = f"; the best so far is in {out}, go on with --resume" if out else ""
            show_message_on_stderr(f"pignn: interrupted after {interrupt.run.summary.epochs_done} epochs{where}")
    return 128 + interrupt.signal
