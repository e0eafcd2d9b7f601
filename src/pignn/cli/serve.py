"""pignn serve"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from .output import show_message_on_stderr


def serve(
    model: Annotated[Path, Argument(help="Folder of a model or of a training run.")],
    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    max_bytes: Annotated[int, Option(min=1, help="Most bytes of one request.")] = 10_000_000,
    max_nodes: Annotated[int, Option(min=1, help="Most nodes of one request.")] = 10_000,
    max_edges: Annotated[int, Option(min=1, help="Most edges of one request.")] = 100_000,
) -> None:
    """Answer requests for predictions over HTTP: POST /predict, GET /health, /version, /openapi.json, and a page at /.

    There are no passwords: let other machines in only behind a server that has them.

    Examples:

    \b
      pignn serve runs/mine
      pignn serve runs/mine --host 0.0.0.0 --port 8080 --max-nodes 1000
    """
    from ..runs.early_checks import check_folder_has_model

    check_folder_has_model(model)
    from .. import serving

    limits = serving.Limits(max_bytes=max_bytes, max_nodes=max_nodes, max_edges=max_edges)
    serving.serve(
        model,
        host=host,
        port=port,
        limits=limits,
        on_ready=lambda address: show_message_on_stderr(f"listening on {address}"),
    )
