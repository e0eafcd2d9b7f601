"""Methods: one small file each; none has its own copy of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use
from .factory import make
from .registry import METHODS, list_methods

if TYPE_CHECKING:
    from .core.base import Method, load_model
    from .core.network import NetworkMethod
    from .pi_gnn import PIGNN
    from .vanilla import Vanilla

# Imported on first use: listing the methods must not wait for torch.
_HOMES = {
    "Method": "core.base",
    "NetworkMethod": "core.network",
    "PIGNN": "pi_gnn",
    "Vanilla": "vanilla",
    "load_model": "core.base",
}

__all__ = ["METHODS", "PIGNN", "Method", "NetworkMethod", "Vanilla", "list_methods", "load_model", "make"]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
