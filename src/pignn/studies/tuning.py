"""Which settings a run tries, where the protocol allows trials.

A sampler is the only thing that chooses them. It sees the values that may be tried, the number of trials, a seed, and
how well each trial agreed with the *given* validation labels, and nothing else. Another package adds one through the
entry-point group ``pignn.study_samplers``.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..core.registry import Entry, Registry

SearchSpace = dict[str, list[Any]]


class TrialSampler(Protocol):
    """The settings to try, one after the other. Each is reported on before the next is asked for."""

    num_trials: int  # at most; a single one is not reported on

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Settings that replace those of the row. The first are the row's own: ``{}``."""

    def report(self, agreement: float) -> None:
        """How well the last trial agreed with the given validation labels; higher is better."""


class GridSampler:
    """The row's own settings first, then different ones drawn from the grid, whatever the reports."""

    def __init__(self, search_space: SearchSpace, num_trials: int, seed: int) -> None:
        self.settings = list_trial_settings(search_space, num_trials, seed)
        self.num_trials = len(self.settings)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.settings)

    def report(self, agreement: float) -> None:
        pass


SAMPLERS: Registry[Callable[[SearchSpace, int, int], TrialSampler]] = Registry(
    "sampler of trials",
    "pignn.study_samplers",
    [
        Entry("grid", "pignn.studies.tuning:GridSampler", "the row's own settings, then others drawn from a grid"),
        # By name, not by import: runs know studies, not the other way round.
        Entry("optuna", "pignn.runs.study_sampler:OptunaSampler", "the same, drawn by Optuna from earlier trials"),
    ],
)


def make_sampler(name: str, search_space: SearchSpace, num_trials: int, seed: int) -> TrialSampler:
    """The sampler called ``name`` for one run."""
    return SAMPLERS.get(name)(search_space, num_trials, seed)


def list_trial_settings(search_space: SearchSpace, num_trials: int, seed: int) -> list[dict[str, Any]]:
    """Settings to try: the row's own first, then different ones drawn from the grid. Without tuning, only its own."""
    if not num_trials or not search_space:
        return [{}]
    names = sorted(search_space)
    grid = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(search_space[name] for name in names))
    ]
    random.Random(seed).shuffle(grid)
    return [{}, *grid][:num_trials]
