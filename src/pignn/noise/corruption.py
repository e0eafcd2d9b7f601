"""`corrupt()`: a graph in which some labels are made wrong on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ..core.errors import DataError, build_unknown_name_error
from ..core.settings import SEED, Choice
from ..graphs.checks import check_is_homogeneous_pyg_graph, copy_checked_graph, num_classes
from ..graphs.view import LabeledGraph
from .kinds import LabelsToCorrupt, NoiseKind
from .matrix_kinds import CustomMatrixNoise
from .recorded import RecordedLabels
from .registry import make_noise_kind
from .released_draws import NOISE_DRAWS, check_noise_kind_was_released, draw_labels_as_released

SPLITS = ("train", "val", "test", "all")

Noise: TypeAlias = str | NoiseKind | ArrayLike | torch.Tensor


def corrupt(
    data: Data,
    kind: Noise,
    rate: float | None = None,
    *,
    seed: int = 0,
    splits: Sequence[str] = ("train", "val"),
    split_index: int | None = None,
    draws: str = "ours",
) -> Data:
    """A copy of `data` with noisy given labels; the truth goes to `y_true`.

    Args:
        data: graph whose true labels are `y_true` where it exists, else `y`. So corrupting twice starts from the truth
            again.
        kind: the name of a kind of noise (see :func:`~pignn.list_noises`), a transition matrix, or
            :class:`~pignn.noise.RecordedLabels`.
        rate: expected share of labels to make wrong (for `one-sided` noise, among the classes other than 0). Not for a
            matrix, recorded labels or `none`.
        seed: seed of the noise.
        splits: the splits whose labels are corrupted: any of `train`, `val` and `test`, or `all` for every node.
        split_index: which column to use where masks have the shape [N, k].
        draws: ``"released"`` makes the very labels wrong that the program of PI-GNN's authors does with this seed. It
            has the kinds `symmetric` and `flip` only, and corrupts training labels alone (``splits="train"``).

    In the copy, `y` holds the noisy labels of the nodes in `splits` and the true labels of the other training and
    validation nodes. It is **-1 everywhere else**, so nothing can read the truth of test nodes by accident. Trusted
    labels (`trusted_mask`) stay true, and unlabeled nodes stay unlabeled. `class_names` is set where it was absent, and
    `noise` records what was done. Tensors that do not change are shared with `data`.

    A node's draw does not depend on `splits`. For kinds with a transition matrix and for `instance` noise, the nodes
    that flip at one rate flip at every higher rate.
    """
    return Corrupt(kind, rate, seed=seed, splits=splits, split_index=split_index, draws=draws)(data)


class Corrupt(BaseTransform):
    """`corrupt` as a PyG transform."""

    def __init__(
        self,
        kind: Noise,
        rate: float | None = None,
        *,
        seed: int = 0,
        splits: Sequence[str] = ("train", "val"),
        split_index: int | None = None,
        draws: str = "ours",
    ) -> None:
        self.kind = _resolve_noise_kind(kind)
        self.rate = self.kind.parse_rate(rate)
        SEED.raise_unless_valid("the noise seed", seed)
        self.seed = int(seed)
        self.splits = (splits,) if isinstance(splits, str) else tuple(splits)
        self.split_index = split_index
        Choice(NOISE_DRAWS).raise_unless_valid("draws", draws)
        self.draws = draws
        if draws == "released":
            check_noise_kind_was_released(self.kind.name)
        for split in self.splits:
            if split not in SPLITS:
                raise build_unknown_name_error("split", split, SPLITS)

    def forward(self, data: Data) -> Data:
        check_is_homogeneous_pyg_graph(data)
        # Labels that an earlier noise made do not matter, not even to the check. (`data` is a copy.)
        if data.get("y_true") is not None:
            data.y = data.y_true
        has_no_masks = data.get("train_mask") is None and "all" in self.splits
        if has_no_masks:
            data.train_mask = torch.ones(data.num_nodes, dtype=torch.bool)
        data = copy_checked_graph(data, split_index=self.split_index)
        classes = num_classes(data)
        if classes < 2:
            raise DataError("label noise needs at least two classes, the graph has one")
        if data.get("class_names") is None:
            data.class_names = self._list_recorded_class_names_or_numbers(classes)
        truth = data.y.cpu().numpy()
        in_splits = self._build_mask_of_splits(data)
        visible = in_splits | get_mask_array_or_zeros(data, "train") | get_mask_array_or_zeros(data, "val")
        given = np.where(visible, truth, -1)
        nodes = np.flatnonzero(in_splits & (truth >= 0) & ~get_mask_array_or_zeros(data, "trusted"))
        wanted = LabelsToCorrupt(data, truth, nodes, classes, self.rate or 0.0, self.seed, self.kind.name)
        draw = draw_labels_as_released if self.draws == "released" else self.kind.corrupt_labels
        given[nodes] = draw(wanted)

        data.y_true = data.y
        data.y = torch.from_numpy(given).to(data.y.device)
        data.noise = self._to_record()
        if has_no_masks:
            for name in ("train", "val", "test"):
                del data[f"{name}_mask"]
        return data

    def _list_recorded_class_names_or_numbers(self, num_classes: int) -> list[str]:
        names = self.kind.class_names if isinstance(self.kind, RecordedLabels) else None
        return list(names) if names and len(names) == num_classes else [str(c) for c in range(num_classes)]

    def _build_mask_of_splits(self, data: Data) -> NDArray[np.bool_]:
        selected = np.full(data.num_nodes, "all" in self.splits)
        for split in set(self.splits) - {"all"}:
            selected |= get_mask_array_or_zeros(data, split)
        return selected

    def _to_record(self) -> dict[str, Any]:
        """What was done, in values that JSON can hold."""
        record = self.kind.to_record() | {"rate": self.rate, "seed": self.seed, "splits": list(self.splits)}
        return record | ({} if self.draws == "ours" else {"draws": self.draws})

    def __repr__(self) -> str:
        return f"Corrupt({self.kind.name}, rate={self.rate}, seed={self.seed}, splits={self.splits})"


def _resolve_noise_kind(kind: Noise) -> NoiseKind:
    if isinstance(kind, str):
        return make_noise_kind(kind)
    return kind if isinstance(kind, NoiseKind) else CustomMatrixNoise(kind)


def get_mask_array_or_zeros(data: Data, split: str) -> NDArray[np.bool_]:
    """The mask of a split as an array, all False where the graph has no such mask for a single split."""
    return LabeledGraph.from_data(data).get_mask_or_zeros(split).cpu().numpy()
