"""Where the pair labels of a training come from, by name.

Another package adds a source through the entry-point group ``pignn.pair_label_sources``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core.errors import DataError
from ..core.registry import Registry
from .graph import PairGraph
from .labels import AgreementPairLabels, LowRankPairLabels, PairLabels, RandomPairLabels


@dataclass(frozen=True)
class SourceInputs:
    """What fixed pair labels may be built from: the graph, given and true labels, and two settings of the method."""

    graph: PairGraph
    y: Tensor
    y_true: Tensor | None
    seed: int
    rank: int


@dataclass(frozen=True)
class PairLabelSource:
    """One source.

    Args:
        name: as in the setting ``pair_labels``.
        summary: one line for lists.
        build: builds labels that stay the same while networks learn. Without it, the labels of a step are estimated:
            by the estimator if there is one, else by the classifier itself.
        needs_estimator: whether an estimator is trained.
        is_connectivity: whether labels are the connections themselves, so that there is only the structure loss.
        is_oracle: whether true labels are read.
    """

    name: str
    summary: str
    build: Callable[[SourceInputs], PairLabels] | None = None
    needs_estimator: bool = False
    is_connectivity: bool = False
    is_oracle: bool = False

    @property
    def is_estimated_by_classifier(self) -> bool:
        """Whether the classifier estimates its own pair labels."""
        return self.build is None and not self.needs_estimator and not self.is_connectivity


def _make_true_pair_labels(inputs: SourceInputs) -> PairLabels:
    if inputs.y_true is None:
        raise DataError("pair_labels='true' needs data.y_true, and the graph has none")
    return AgreementPairLabels(inputs.y_true.reshape(-1).to(inputs.y.device, torch.int64))


def _make_random_pair_labels(inputs: SourceInputs) -> PairLabels:
    return RandomPairLabels(inputs.graph.num_nodes, inputs.seed, device=str(inputs.graph.row.device))


PAIR_LABEL_SOURCES: Registry[PairLabelSource] = Registry("pair_labels", "pignn.pair_label_sources")
for _source in (
    PairLabelSource("estimated", "by the estimator, from the graph alone", needs_estimator=True),
    PairLabelSource("connectivity", "the connections themselves ('w/o pc')", is_connectivity=True),
    PairLabelSource("random", "one random number per pair", _make_random_pair_labels),
    PairLabelSource("given", "whether given labels agree", lambda inputs: AgreementPairLabels(inputs.y)),
    PairLabelSource("true", "whether true labels agree: an oracle", _make_true_pair_labels, is_oracle=True),
    PairLabelSource("self", "by the classifier itself"),
    PairLabelSource(
        "low-rank",
        "a low-rank approximation of the adjacency matrix",
        lambda inputs: LowRankPairLabels(inputs.graph, inputs.rank),
    ),
):
    PAIR_LABEL_SOURCES.register(_source.name, _source, _source.summary)
