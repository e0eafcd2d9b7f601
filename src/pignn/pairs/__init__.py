"""Pair labels and pair losses. Usable alone, in anybody's training loop."""

from .graph import PairGraph
from .labels import SOURCES, Compared, Estimated, LowRank, PairLabels, Random
from .loss import TARGETS, all_pairs_softplus, regularizer, structure_and_regularizer, structure_loss
from .sample import PairSample

__all__ = [
    "SOURCES",
    "TARGETS",
    "Compared",
    "Estimated",
    "LowRank",
    "PairGraph",
    "PairLabels",
    "PairSample",
    "Random",
    "all_pairs_softplus",
    "regularizer",
    "structure_and_regularizer",
    "structure_loss",
]
