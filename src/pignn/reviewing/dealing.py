"""Work dealt out to several reviewers: every label to one of them, and a chosen share to two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..auditing.crossfit import Bools
from ..core.settings import Float
from ..noise.kinds import Ints


@dataclass(frozen=True, eq=False)
class Dealing:
    """Who is to decide which label. Without reviewers, everybody may decide every one."""

    reviewers: list[str]
    overlap: float
    first: Ints  # the reviewer of each label, by position in `reviewers`
    second: Ints  # of those that two see; -1 for the others

    @property
    def is_dealt_to_two(self) -> Bools:
        return self.second >= 0

    def get_label_mask_of_reviewer(self, reviewer: str) -> Bools:
        """The labels of one reviewer. One that was dealt nothing may decide all."""
        if reviewer not in self.reviewers:
            return np.ones(len(self.first), dtype=bool)
        number = self.reviewers.index(reviewer)
        return (self.first == number) | (self.second == number)


def deal_labels(num_labels: int, reviewers: Sequence[str], overlap: float, seed: int) -> Dealing:
    """Deal labels out at random, as evenly as it goes; `overlap` is the share that goes to two reviewers."""
    Float(min=0, max=1).raise_unless_valid("the share that two reviewers see", overlap)
    names = list(dict.fromkeys(reviewers))
    rng, count = np.random.default_rng(seed), max(len(names), 1)
    first = np.empty(num_labels, dtype=np.int64)
    first[rng.permutation(num_labels)] = np.arange(num_labels) % count
    second = np.full(num_labels, -1, dtype=np.int64)
    if count > 1:
        shared = rng.permutation(num_labels)[: round(overlap * num_labels)]
        second[shared] = (first[shared] + 1 + np.arange(len(shared)) % (count - 1)) % count
    return Dealing(names, overlap, first, second)
