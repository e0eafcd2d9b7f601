"""The page of one training: what was learnt from, how it agrees with labels, and how far to believe it."""

from .page import build_training_page

__all__ = ["build_training_page"]
