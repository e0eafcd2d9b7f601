"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pignn.cli.option_groups import expand_option_groups


@dataclass(kw_only=True)
class Where:
    place: Annotated[str, typer.Argument(help="A town.")]
    floor: Annotated[int, typer.Option(help="From the ground.")] = 2


app = typer.Typer()


@app.command()
@expand_option_groups
def visit(where: Where, bell: Annotated[bool, typer.Option("--bell")] = False) -> int:
    """Go there."""
    print(where.place, where.floor, bell)
    return 0


@pytest.mark.parametrize(
    ("given", "said"),
    [(["Ulm"], "Ulm 2 False"), (["Ulm", "--bell", "--floor", "3"], "Ulm 3 True")],
)
def test_fields_are_options(given: list[str], said: str) -> None:
    result = CliRunner().invoke(app, given)
    assert (result.exit_code, result.output.strip()) == (0, said)


def test_fields_of_a_group_are_in_the_help_where_the_group_is() -> None:
    said = CliRunner().invoke(app, ["--help"]).output
    assert "Go there." in said
    assert said.index("A town.") < said.index("From the ground.") < said.index("--bell")


def test_a_wrong_value_is_refused() -> None:
    assert CliRunner().invoke(app, ["Ulm", "--floor", "high"]).exit_code == 2
