"""Pair labels and pair losses. Usable alone, in anybody's training loop."""

from .graph import PairGraph
from .labels import (
    AgreementPairLabels,
    EstimatedPairLabels,
    LowRankPairLabels,
    PairLabels,
    RandomPairLabels,
)
from .loss import all_pairs_softplus, compute_structure_loss_and_regularizer, regularizer, structure_loss
from .sample import PairSample
from .sources import PAIR_LABEL_SOURCES, PairLabelSource, SourceInputs
from .targets import PAIR_TARGETS, PairTarget, SigmoidTarget

__all__ = [
    "PAIR_LABEL_SOURCES",
    "PAIR_TARGETS",
    "AgreementPairLabels",
    "EstimatedPairLabels",
    "LowRankPairLabels",
    "PairGraph",
    "PairLabelSource",
    "PairLabels",
    "PairSample",
    "PairTarget",
    "RandomPairLabels",
    "SigmoidTarget",
    "SourceInputs",
    "all_pairs_softplus",
    "compute_structure_loss_and_regularizer",
    "regularizer",
    "structure_loss",
]
