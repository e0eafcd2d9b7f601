"""The page of one training: what was learnt from, how it agrees with labels, and how far to believe it."""

from .page import build_training_page
from .summary import TrainingSummary

__all__ = ["TrainingSummary", "build_training_page"]
