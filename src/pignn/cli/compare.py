"""pignn compare"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from .graph_options import LabeledGraphOptions
from .option_groups import expand_option_groups
from .options import Json, Noise, Rate, parse_settings_and_refuse_seed, split_at_commas
from .output import run_and_show_page_result
from .stored_settings import check_method_exists_and_settings_fit, may_method_have_setting


@dataclass(kw_only=True)
class ComparisonOptions:
    """What is compared, and how often."""

    noise: Noise = "none"
    rate: Rate = None
    methods: Annotated[
        str | None,
        Option(
            help="Methods to compare (see `pignn methods`). Default: auto, PI-GNN, GCN, GraphSAGE, MLP, class mean, "
            "DivideMix."
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="[METHOD.]KEY=VALUE",
            help="A setting of one method, or of all that have it; may be repeated.",
        ),
    ] = None
    folds: Annotated[int, Option(min=2, help="Parts the labels are dealt into; each is held out once.")] = 5
    repeats: Annotated[int, Option(min=1, help="How often the labels are dealt anew.")] = 2
    seed: Annotated[int, Option(help="Random seed for label noise, folds and training.")] = 0
    out: Annotated[Path | None, Option(help="Folder for the page and the tables; a killed comparison goes on.")] = None
    force: Annotated[bool, Option("--force", help="Begin the comparison in --out anew.")] = False

    def to_arguments(self) -> dict[str, Any]:
        """As :func:`pignn.compare` takes them."""
        arguments = {name: value for name, value in vars(self).items() if name != "setting"}
        return arguments | {
            "methods": split_at_commas(self.methods),
            "settings": parse_settings_and_refuse_seed(self.setting),
        }


@expand_option_groups
def compare(
    *,
    graph: LabeledGraphOptions,
    val: Annotated[float, Option(help="Share of the labels of --nodes by which networks choose the epoch.")] = 0.0,
    options: ComparisonOptions,
    json: Json = False,
) -> None:
    """Compare methods on your own graph, by given labels that none of them has seen.

    Every label is held out in turn, from every method and from all that it chooses by. The accuracy is what agreement
    with held-out labels implies under their estimated noise. True labels are never read. Ctrl-C or a kill loses nothing
    but the fit at hand if there is --out: the same command goes on.

    Examples:

    \b
      pignn compare --nodes papers.csv --edges citations.csv --label topic --out comparisons/first
      pignn compare --nodes papers.csv --edges citations.csv --label topic --methods auto,GCN,pi-gnn --repeats 1
      pignn compare --dataset digits --noise symmetric --rate 0.3 --methods auto,GCN --set epochs=100
      pignn compare --dataset digits --noise pair --rate 0.3 --set PI-GNN.backbone=gat --set epochs=100 --json
    """
    arguments, chosen, out = graph.to_arguments("compare", val), options.to_arguments(), options.out
    _check_before_importing_torch(chosen)
    from ..runs import early_checks

    early_checks.check_graph_arguments_can_be_read(arguments)
    from .. import runs

    run_and_show_page_result(runs.compare, "fits", "comparison.html", out, json, chosen | arguments)


def _check_before_importing_torch(chosen: dict[str, Any]) -> None:
    """Tell mistakes before torch is imported."""
    from ..runs import early_checks, method_list, run_folder

    early_checks.check_noise_exists_and_rate_valid(chosen["noise"], chosen["rate"])
    run_folder.check_folder_holds_no_run_or_audit(chosen["out"])
    names = None if chosen["methods"] is None else method_list.map_distinct_names_to_themselves(chosen["methods"])
    for method in method_list.build_named_methods_or_short_list(names, {}, may_method_have_setting):
        check_method_exists_and_settings_fit(method.name, method.settings)
    for method in method_list.build_named_methods_or_short_list(names, chosen["settings"], may_method_have_setting):
        check_method_exists_and_settings_fit(method.name, method.settings)
