"""A trained model behind a small HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .app import build_app
    from .messages import Limits
    from .predictor import Predictor
    from .server import serve

__all__ = ["Limits", "Predictor", "build_app", "serve"]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
