"""Kinds of work that a run can be: training a method, or auditing labels. Other packages may add more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.registry import Entry, Registry

if TYPE_CHECKING:
    import numpy as np
    from torch_geometric.data import Data

    from .tuning import TrialSampler


class Evaluation(NamedTuple):
    """What is scored, [N] and [N, num_classes], what was measured beside, and what was chosen among the trials."""

    y: np.ndarray
    probs: np.ndarray
    measures: dict[str, float | None]
    chosen: dict[str, Any]


class Work(Protocol):
    """One kind of work."""

    def get_settings_class(self, method: str) -> type[Any]:
        """The class whose parameters are the settings of a row."""

    def compute_targets_probs_and_measures(
        self, method: str, settings: dict[str, Any], trials: TrialSampler, seed: int, data: Data
    ) -> tuple[Any, ...]:
        """Do the work; returns the fields of an :class:`Evaluation`."""


WORKS: Registry[Work] = Registry(
    "kind of work",
    "pignn.study_work",
    [
        Entry("train", "pignn.studies.execute:TRAINING", "train a method and score its predictions of the test nodes"),
        Entry(
            "train-inductive",
            "pignn.studies.execute:INDUCTIVE_TRAINING",
            "the same without the test nodes and their edges in training",
        ),
        # By name, not by import: studies and audits do not know each other.
        Entry("audit", "pignn.auditing.label_scorers:AUDITING", "score given labels and compare with the wrong ones"),
    ],
)
