"""Methods, one small file each. They share one training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir
from .factory import make
from .registry import METHODS, list_methods

if TYPE_CHECKING:
    from .core.base import FitFacts, Method
    from .core.loading import load_model
    from .core.network import NetworkMethod
    from .pi_gnn import PIGNN
    from .vanilla import Vanilla

__all__ = [
    "METHODS",
    "PIGNN",
    "FitFacts",
    "Method",
    "NetworkMethod",
    "Vanilla",
    "list_methods",
    "load_model",
    "make",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
