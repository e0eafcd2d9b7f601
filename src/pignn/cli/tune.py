"""pignn tune"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ..core.settings import Float
from .graph_options import LabeledGraphOptions
from .option_groups import expand_option_groups
from .options import Json, Noise, Rate, Setting, parse_search_or_none, parse_settings_and_refuse_seed
from .output import run_and_show_page_result
from .stored_settings import check_method_exists_and_settings_fit, may_method_have_setting


@dataclass(kw_only=True)
class TuningOptions:
    """What is searched, and how long."""

    noise: Noise = "none"
    rate: Rate = None
    method: Annotated[str, Option(help="Method to tune (see `pignn methods`).")] = "pi-gnn"
    setting: Setting = None
    search: Annotated[
        list[str] | None,
        Option(
            metavar="KEY[=VALUES]",
            help="A setting to try: lr, lr=0.001..0.1 or backbone=gcn,gat; may be repeated. Default: all that declare "
            "what to try.",
        ),
    ] = None
    trials: Annotated[int, Option(min=1, help="How many settings are tried, beside those that are given.")] = 30
    time: Annotated[float | None, Option(help="Seconds after which no further trial is begun.")] = None
    folds: Annotated[int, Option(min=2, help="Parts the labels are dealt into; each is held out once.")] = 3
    seed: Annotated[int, Option(help="Random seed for label noise, folds, search and training.")] = 0
    out: Annotated[Path | None, Option(help="Folder for model, page and tables; a killed search goes on.")] = None
    force: Annotated[bool, Option("--force", help="Begin the search in --out anew.")] = False

    def to_arguments(self) -> dict[str, Any]:
        """As :func:`pignn.tune` takes them."""
        arguments = {name: value for name, value in vars(self).items() if name not in ("setting", "time")}
        arguments |= {
            "settings": parse_settings_and_refuse_seed(self.setting),
            "search": parse_search_or_none(self.search),
        }
        return arguments | {"time_limit": self.time}


@expand_option_groups
def tune(
    *,
    graph: LabeledGraphOptions,
    val: Annotated[float, Option(help="Share of the labels of --nodes by which networks choose the epoch.")] = 0.0,
    options: TuningOptions,
    json: Json = False,
) -> None:
    """Search for good settings of a method on your own graph, by given labels that were held out.

    Needs Optuna: pip install 'pignn[tune]'. Trials with little promise end early. What is found is compared with the
    settings as given, on folds that the search has not used. True labels are never read. Ctrl-C or a kill loses nothing
    but the trial at hand if there is --out: the same command goes on.

    Examples:

    \b
      pignn tune --nodes papers.csv --edges citations.csv --label topic --method GCN --out tuned/gcn
      pignn tune --nodes papers.csv --edges citations.csv --label topic --val 0.2 --trials 100 --time 3600
      pignn tune --dataset digits --noise symmetric --rate 0.3 --method denoised --trials 10
      pignn tune --dataset digits --noise pair --rate 0.3 --method gce --search q --search lr=0.001..0.1 --json
    """
    arguments, chosen, out = graph.to_arguments("tune", val), options.to_arguments(), options.out
    from ..runs import early_checks, run_folder

    if chosen["time_limit"] is not None:
        Float(open_min=True).raise_unless_valid("time", chosen["time_limit"])
    early_checks.check_noise_exists_and_rate_valid(chosen["noise"], chosen["rate"])
    run_folder.check_folder_holds_no_run_or_audit(out)
    check_method_exists_and_settings_fit(chosen["method"], chosen["settings"])
    for name, values in (chosen["search"] or {}).items():
        if values is None and may_method_have_setting(chosen["method"], name):
            continue
        for value in [None] if values is None else values:
            check_method_exists_and_settings_fit(chosen["method"], {name: value})
    early_checks.check_graph_arguments_can_be_read(arguments)
    from .. import runs

    run_and_show_page_result(runs.tune, "trials", "tuning.html", out, json, chosen | arguments)
