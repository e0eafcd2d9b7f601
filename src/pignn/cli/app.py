"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from .apply import apply
from .audit import audit
from .compare import compare
from .convert import convert
from .datasets import datasets
from .demo import demo
from .example import example
from .export import export
from .inspect import inspect
from .methods import methods
from .predict import predict
from .review import review
from .serve import serve
from .study import study
from .task import task
from .train import train
from .tune import tune

app = typer.Typer(
    name="pignn",
    help="Node classification when the labels of a graph cannot be trusted.",
    epilog="Start with: pignn demo · pignn train --dataset digits --noise symmetric --rate 0.4 --out runs/first",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version_and_exit_if_asked(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"pignn {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version_and_exit_if_asked, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Node classification when the labels of a graph cannot be trusted."""


for command in (
    demo,
    example,
    inspect,
    train,
    compare,
    tune,
    predict,
    serve,
    export,
    audit,
    review,
    apply,
    convert,
    datasets,
    methods,
):
    app.command()(command)
app.add_typer(study)
app.add_typer(task)
