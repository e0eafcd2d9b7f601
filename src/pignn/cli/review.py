"""pignn review"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..core.errors import ConfigError
from .graph_options import LabeledGraphOptions
from .option_groups import expand_option_groups
from .options import Noise, Rate
from .output import show_import_summary_of_own_graph, show_message_on_stderr


@dataclass(kw_only=True)
class ReviewOptions:
    """Who reviews, and where the server listens."""

    reviewer: Annotated[
        list[str] | None,
        Option(help="Name of a reviewer; may be repeated. Where --host is not this machine, each gets a new token."),
    ] = None
    overlap: Annotated[
        float | None, Option(help="Deal the labels out to the --reviewer names, and this share of them to two.")
    ] = None
    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen on; 0 takes a free one.")] = 0
    browser: Annotated[bool, Option("--browser/--no-browser", help="Whether to open the browser.")] = True


@expand_option_groups
def review(
    project: Annotated[
        Path | None,
        Argument(
            help="Folder of the project (default: reviews/NAME), which goes on where it was; of an audit; or a store."
        ),
    ] = None,
    *,
    graph: LabeledGraphOptions,
    noise: Noise = "none",
    rate: Rate = None,
    seed: Annotated[int, Option(help="Random seed of the audit and of the labels drawn for the estimate.")] = 0,
    options: ReviewOptions,
) -> None:
    """Review labels in the browser, while the models learn from every decision.

    A new project is audited first. Every decision is on disk before the page moves on; an old project goes on where it
    was. To other machines the server speaks plain HTTP: put a proxy with HTTPS before it.

    Examples:

    \b
      pignn review --nodes papers.csv --edges citations.csv --id paper --label topic
      pignn review projects/papers
      pignn review audits/first
      pignn review projects/digits --dataset digits --noise pair --rate 0.2
      pignn review projects/papers --host 0.0.0.0 --port 8000 --reviewer ann --reviewer bob --overlap 0.1
      pignn train --project projects/papers --out runs/reviewed
    """
    arguments = {} if graph == LabeledGraphOptions() else graph.to_arguments("review")
    if graph.dataset is None and (noise != "none" or rate is not None):
        raise ConfigError("--noise and --rate corrupt labels to try a review out; they are for --dataset")
    _check_before_importing_torch(project, arguments, {"noise": noise, "rate": rate, "seed": seed})
    from .. import reviewing

    def announce(address: str, tokens: Mapping[str, str]) -> None:
        for name, token in tokens.items():
            show_message_on_stderr(f"token of {name}: {token}")
        if tokens:
            show_message_on_stderr(
                "tokens are shown once; anybody who reads the network sees them: put HTTPS before this server"
            )
        show_message_on_stderr(f"listening on {address}")

    reviewing.review(
        project,
        **arguments,
        audit={"noise": noise, "rate": rate, "seed": seed, "on_graph_read": show_import_summary_of_own_graph},
        reviewers=options.reviewer or [],
        overlap=options.overlap,
        host=options.host,
        port=options.port,
        open_browser=options.browser,
        on_ready=announce,
    )


def _check_before_importing_torch(
    project: Path | None, arguments: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """What can be told before torch is imported."""
    from ..reviewing import project_folder
    from ..runs import early_checks

    source = project_folder.find_review_source(project, {**arguments, **options})
    source.check_can_be_opened_or_created()
    if not source.is_new:
        with project_folder.project_lock_context(source.folder):
            return
    early_checks.check_noise_exists_and_rate_valid(options["noise"], options["rate"])
    if source.arguments:
        early_checks.check_graph_arguments_can_be_read(
            {name: value for name, value in source.arguments.items() if name not in options}
        )
