"""Methods: one small file each; none has its own copy of the loop."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .registry import MethodInfo, list_methods, make

if TYPE_CHECKING:
    from .base import Method, load_model
    from .network import NetworkMethod
    from .pi_gnn import PIGNN
    from .vanilla import Vanilla

# Imported on first use: listing the methods must not wait for torch.
_HOMES = {
    "Method": "base",
    "NetworkMethod": "network",
    "PIGNN": "pi_gnn",
    "Vanilla": "vanilla",
    "load_model": "base",
}

__all__ = ["PIGNN", "Method", "MethodInfo", "NetworkMethod", "Vanilla", "list_methods", "load_model", "make"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pignn.methods' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
