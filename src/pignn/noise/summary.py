"""How noisy labels are where the true labels are known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch_geometric.data import Data

from ..core.errors import DataError
from ..graphs.checks import num_classes
from .corruption import get_mask_array_or_zeros
from .kinds import Ints
from .recorded import parse_class_numbers


@dataclass(frozen=True)
class NoiseSummary:
    """How noisy the given labels are, over the nodes whose given and true labels are both known.

    `pair_rate` is the noise rate of the pair labels: the share of unordered pairs of distinct nodes that the given
    labels call "same class" and the true labels do not, or the other way round (1 − the Rand index of the two
    labelings). It is this package's definition. The paper's example of four nodes takes all ordered pairs, self-pairs
    included (6 of 16 wrong, where 3 of 6 are here). Its values for Cora and CiteSeer come from neither.
    """

    labeled: int
    wrong: int
    rate: float
    split_rates: dict[str, float]  # of train and val, where they have labeled nodes
    class_rates: list[float | None]  # by true class; None where no labeled node has it
    counts: list[list[int]]  # [true class][given class]
    transition: list[list[float]]  # counts with rows divided by their sums; a row of zeros where there is no node
    pair_rate: float

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        splits = "".join(f", {name} {rate:.1%}" for name, rate in self.split_rates.items())
        return (
            f"{self.wrong} of {self.labeled} given labels wrong ({self.rate:.1%}{splits}); "
            f"{self.pair_rate:.1%} of their pairs wrongly called same or different class"
        )


def summarize_noise(data: Data) -> NoiseSummary:
    """Compare `y` with `y_true`, in O(N + n²) for n classes."""
    if "y_true" not in data or data.y is None:
        raise DataError("a summary of noise needs given labels ('y') and true labels ('y_true')")
    given, true = (parse_class_numbers(data[key], f"'{key}'") for key in ("y", "y_true"))
    known = (given >= 0) & (true >= 0)
    if not known.any():
        raise DataError("a summary of noise needs a node whose given and true labels are both known")
    classes = max(num_classes(data), int(true.max()) + 1)
    counts = np.bincount(true[known] * classes + given[known], minlength=classes**2).reshape(classes, classes)
    class_sizes = counts.sum(axis=1)
    transition = counts / np.maximum(class_sizes, 1)[:, None]
    labeled = int(counts.sum())
    wrong = labeled - int(counts.trace())
    masks = {name: get_mask_array_or_zeros(data, name) & known for name in ("train", "val")}
    # Pairs that only one labeling calls "same": those of each, less twice those of both.
    num_wrong_pairs = _count_pairs(class_sizes) + _count_pairs(counts.sum(axis=0)) - 2 * _count_pairs(counts)
    return NoiseSummary(
        labeled=labeled,
        wrong=wrong,
        rate=wrong / labeled,
        split_rates={name: float((given != true)[mask].mean()) for name, mask in masks.items() if mask.any()},
        class_rates=[1 - float(transition[c, c]) if class_sizes[c] else None for c in range(classes)],
        counts=counts.tolist(),
        transition=transition.tolist(),
        pair_rate=num_wrong_pairs / max(labeled * (labeled - 1) // 2, 1),
    )


def _count_pairs(group_sizes: Ints) -> int:
    """Number of unordered pairs within groups of these sizes."""
    return int((group_sizes * (group_sizes - 1) // 2).sum())
