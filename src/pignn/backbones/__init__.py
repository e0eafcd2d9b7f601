"""Networks: one file each, and the graph inputs that they read."""

from .decoupled import APPNP, MLP, SGC
from .networks import (
    ALIASES,
    BACKBONES,
    GAT,
    GCN,
    INITIALISATIONS,
    Builder,
    Foreign,
    GraphSAGE,
    Inputs,
    build,
    check_kind,
    default_lr,
    initialise,
)

__all__ = [
    "ALIASES",
    "APPNP",
    "BACKBONES",
    "GAT",
    "GCN",
    "INITIALISATIONS",
    "MLP",
    "SGC",
    "Builder",
    "Foreign",
    "GraphSAGE",
    "Inputs",
    "build",
    "check_kind",
    "default_lr",
    "initialise",
]
