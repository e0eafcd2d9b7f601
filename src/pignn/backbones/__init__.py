"""Networks: one file each, and the graph inputs that they read."""

from .decoupled import APPNP, MLP, SGC
from .networks import (
    ALIASES,
    BACKBONES,
    GAT,
    GCN,
    INITIALIZATIONS,
    Builder,
    GraphInputs,
    GraphSAGE,
    PyGAdapter,
    build,
    check_kind,
    default_lr,
    initialize,
)

__all__ = [
    "ALIASES",
    "APPNP",
    "BACKBONES",
    "GAT",
    "GCN",
    "INITIALIZATIONS",
    "MLP",
    "SGC",
    "Builder",
    "GraphInputs",
    "GraphSAGE",
    "PyGAdapter",
    "build",
    "check_kind",
    "default_lr",
    "initialize",
]
