"""Node classification when the labels of a graph cannot be trusted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import auditing, backbones, graphs, methods, noise, pairs, propagation, report, runs, studies, training
    from .auditing import find_label_issues
    from .core.errors import PignnError, PignnWarning
    from .graphs import list_datasets, load, read_graph
    from .methods import PIGNN, Vanilla, list_methods, load_model, make
    from .noise import corrupt, list_noises
    from .runs import apply_decisions, audit, predict, train
    from .training import list_metrics

# Where each public name lives. They are imported on first use, so that `pignn --help` does not wait for torch.
_HOMES = {
    "PIGNN": "methods",
    "PignnError": "core.errors",
    "PignnWarning": "core.errors",
    "Vanilla": "methods",
    "apply_decisions": "runs",
    "audit": "runs",
    "corrupt": "noise",
    "find_label_issues": "auditing",
    "list_datasets": "graphs",
    "list_methods": "methods",
    "list_metrics": "training",
    "list_noises": "noise",
    "load": "graphs",
    "load_model": "methods",
    "make": "methods",
    "predict": "runs",
    "read_graph": "graphs",
    "train": "runs",
}
_MODULES = (
    "auditing",
    "backbones",
    "graphs",
    "methods",
    "noise",
    "pairs",
    "propagation",
    "report",
    "runs",
    "studies",
    "training",
)

__all__ = [
    "PIGNN",
    "PignnError",
    "PignnWarning",
    "Vanilla",
    "__version__",
    "apply_decisions",
    "audit",
    "auditing",
    "backbones",
    "corrupt",
    "find_label_issues",
    "graphs",
    "list_datasets",
    "list_methods",
    "list_metrics",
    "list_noises",
    "load",
    "load_model",
    "make",
    "methods",
    "noise",
    "pairs",
    "predict",
    "propagation",
    "read_graph",
    "report",
    "runs",
    "studies",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'pignn' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
