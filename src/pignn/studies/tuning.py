"""Which settings a run tries, where the protocol allows trials."""

from __future__ import annotations

import itertools
import random
from typing import Any


def draw_trial_settings(search: dict[str, list[Any]], trials: int, seed: int) -> list[dict[str, Any]]:
    """Settings to try: the row's own first, then different ones drawn from the grid. Without tuning, only its own."""
    if not trials or not search:
        return [{}]
    names = sorted(search)
    grid = [dict(zip(names, values, strict=True)) for values in itertools.product(*(search[name] for name in names))]
    random.Random(seed).shuffle(grid)
    return [{}, *grid][:trials]
