"""One loop for all: epochs, selection, history, progress, checkpoints."""

from .loop import Learner, Phase, TrainingLoop
from .metrics import METRICS, score
from .selection import RULES, Selection

__all__ = ["METRICS", "RULES", "Learner", "Phase", "Selection", "TrainingLoop", "score"]
