"""pignn methods"""

from __future__ import annotations

from .options import Json
from .output import show_json, show_table


def methods(json: Json = False) -> None:
    """List the methods, built in or installed beside pignn.

    Examples:

    \b
      pignn methods
      pignn methods --json
    """
    from dataclasses import asdict

    from ..methods.registry import list_methods

    if json:
        show_json([asdict(info) for info in list_methods()])
    else:
        show_table([{"method": info.name, "what it is": info.summary} for info in list_methods()])
