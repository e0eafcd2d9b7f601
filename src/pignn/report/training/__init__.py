"""The page of one training: what was learnt from, how it agrees with labels, and how far to believe it."""

from .page import training_page

__all__ = ["training_page"]
