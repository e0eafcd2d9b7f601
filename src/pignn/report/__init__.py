"""What goes out: tables and pictures."""

from .curves import learning_curve
from .predictions import write_predictions

__all__ = ["learning_curve", "write_predictions"]
