"""pignn export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from .output import show_message_on_stderr


def export(
    model: Annotated[Path, Argument(help="Folder of a model or of a training run.")],
    out: Annotated[Path, Option(help="The file to write; it ends in .pt2.")] = Path("network.pt2"),
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the network of a model as one file that torch runs without pignn.

    In Python: torch.export.load("network.pt2").module()(x, edge_index, edge_weight) gives logits. Edges must be simple,
    in both directions and without self-loops; weights are 1 where there are none. The file is compared with the model
    before it is written. Models that are not one network, and attention, cannot be exported exactly; `pignn serve`
    answers for every model.

    Examples:

    \b
      pignn export runs/mine --out network.pt2
    """
    from ..runs import early_checks, run_folder

    early_checks.check_folder_has_model(model)
    run_folder.check_outputs_may_be_written([out], [], force=force)
    from ..runs import export_network

    export_network(model, out, force=force)
    show_message_on_stderr(f"written to {out}")
