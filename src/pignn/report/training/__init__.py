"""The page of one training, and the summary that it shares with run.json and the model card."""

from .page import build_training_page
from .summary import TrainingSummary

__all__ = ["TrainingSummary", "build_training_page"]
