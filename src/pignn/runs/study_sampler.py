"""Optuna as what chooses the trials of a study, see :mod:`pignn.studies.tuning`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .tuning import NUM_RANDOM_TRIALS, check_optuna_is_installed_and_silence


class OptunaSampler:
    """The row's own settings first, then those that a tree-structured Parzen estimator draws from earlier reports.

    Values are drawn by their position in the list, so that they may be anything. The row's own settings need not be
    among them, and are not learned from.
    """

    def __init__(self, search_space: dict[str, list[Any]], num_trials: int, seed: int) -> None:
        check_optuna_is_installed_and_silence()
        import optuna

        self.search_space = search_space
        num_combinations = math.prod(len(values) for values in search_space.values()) if search_space else 0
        self.num_trials = max(1, min(num_trials, 1 + num_combinations))
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=NUM_RANDOM_TRIALS)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._asked: optuna.Trial | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield {}
        for _ in range(self.num_trials - 1):
            self._asked = self._study.ask()
            yield {
                name: values[self._asked.suggest_categorical(name, range(len(values)))]
                for name, values in sorted(self.search_space.items())
            }

    def report(self, agreement: float) -> None:
        if self._asked is not None:
            self._study.tell(self._asked, agreement)
