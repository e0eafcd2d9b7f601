"""pignn example"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..core.errors import build_unknown_name_error
from .output import show_message_on_stderr

EXAMPLES = ("papers",)


def example(
    name: Annotated[str, Argument(help="Which tables: papers.")] = "papers",
    out: Annotated[Path, Option(help="Folder to write them to.")] = Path("."),
    seed: Annotated[int, Option(min=0, help="Random seed of the tables.")] = 0,
) -> None:
    """Write small tables to try pignn with, and say what to try.

    900 made-up papers with titles, abstracts, venues, dates and citations. Their topics were given by a keyword rule,
    a student and a librarian, and about a fifth are wrong. true_topics.csv has the true ones, to compare.

    Examples:

    \b
      pignn example papers
      pignn example papers --out try
    """
    if name not in EXAMPLES:
        raise build_unknown_name_error("example", name, EXAMPLES)
    from ..graphs.example_papers import write_example_papers

    paths = write_example_papers(out, seed)
    show_message_on_stderr(f"{', '.join(path.name for path in paths)} are in {out}. Try:")
    if out != Path("."):
        print(f"cd {shlex.quote(str(out))}")
    print("\n".join(COMMANDS))


COMMANDS = (
    "pignn audit --nodes papers.csv --edges citations.csv --label topic --id paper --source labeled_by --review 100 "
    "--out audits/first",
    "pignn apply decisions.csv --nodes papers.csv --id paper --label topic --out corrected.csv",
    "pignn train --nodes papers.csv --edges citations.csv --label topic --id paper --source labeled_by "
    "--decisions decisions.csv --audit audits/first --out runs/mine",
    "pignn predict runs/mine --nodes new_papers.csv --edges new_citations.csv --known papers.csv",
)
