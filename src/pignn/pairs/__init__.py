"""Pair labels and pair losses. Usable alone, in anybody's training loop."""

from .graph import PairGraph
from .labels import (
    PAIR_LABEL_SOURCES,
    AgreementPairLabels,
    EstimatedPairLabels,
    LowRankPairLabels,
    PairLabels,
    RandomPairLabels,
)
from .loss import PAIR_TARGETS, all_pairs_softplus, regularizer, structure_and_regularizer, structure_loss
from .sample import PairSample

__all__ = [
    "PAIR_LABEL_SOURCES",
    "PAIR_TARGETS",
    "AgreementPairLabels",
    "EstimatedPairLabels",
    "LowRankPairLabels",
    "PairGraph",
    "PairLabels",
    "PairSample",
    "RandomPairLabels",
    "all_pairs_softplus",
    "regularizer",
    "structure_and_regularizer",
    "structure_loss",
]
