"""Which settings a run tries, where the protocol allows trials."""

from __future__ import annotations

import itertools
import random
from typing import Any


def list_trial_settings(search_space: dict[str, list[Any]], num_trials: int, seed: int) -> list[dict[str, Any]]:
    """Settings to try: the row's own first, then different ones drawn from the grid. Without tuning, only its own."""
    if not num_trials or not search_space:
        return [{}]
    names = sorted(search_space)
    grid = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(search_space[name] for name in names))
    ]
    random.Random(seed).shuffle(grid)
    return [{}, *grid][:num_trials]
