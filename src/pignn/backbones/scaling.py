"""How features enter a network.

A constant factor on the features alone can decide whether a network trains: its first layer starts with weights for
inputs of ordinary size. Three scalings bring any features there:

- ``rows``: every row has length 1. Zeros stay zeros.
- ``columns``: every column is centered at its median and divided by its spread (from the quartiles, which a few huge
  values do not move), then multiplied by 3/√columns: rows are about 3 long, and those longer than 9 are cut to it.
  Columns that are mostly zeros are not centered, so that sparse features stay sparse.
- ``auto``: ``rows`` if at least a third of all values are zero (words, counts, categories, ids), else ``columns``
  (measurements, embeddings). With ``rows``, a column whose values are more than 10 times as large as those of the
  typical column is divided down to that: an income beside words would else be all that is left.

The statistics come from at most 10,000 rows (and eight million values), evenly spaced, and are part of the fitted
model.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..graphs.sparse import SparseFeatures

FEATURE_SCALINGS = ("none", "rows", "columns")
MAX_PROBED_ROWS, MAX_PROBED_VALUES = 10_000, 1 << 23
MIN_ZEROS_OF_ROWS = 1 / 3  # share of zeros from which features are words or categories rather than measurements
MAX_SPARSE_DENSITY = 0.1  # features with a smaller share of non-zeros are multiplied as a sparse matrix
MAX_COLUMN_RATIO = 10.0  # of the size of a column's values to that of the typical column
STANDARD_ROW_LENGTH = 3.0  # the typical length of standardized rows
MAX_STRETCH = 3.0  # how many times as long they may be
QUARTILES_PER_DEVIATION = 1.349  # distance of the quartiles of a normal distribution of deviation 1
ROWS_PER_CHUNK_VALUES = 1 << 24


@dataclass(frozen=True)
class FeatureScaling:
    """A fitted scaling: ``rows`` or ``columns``, with the statistics of the columns where they are needed."""

    kind: str
    center: Tensor | None = None  # [F]
    scale: Tensor | None = None  # [F]

    @classmethod
    def fit(cls, x: Tensor, kind: str) -> FeatureScaling | None:
        """The scaling of a kind, or of the one that ``auto`` takes, for these features; ``None`` for none."""
        if kind == "none":
            return None
        num_rows = max(1, min(MAX_PROBED_ROWS, MAX_PROBED_VALUES // x.shape[1]))
        probe = x[:: max(1, -(-len(x) // num_rows))]
        density = float(probe.count_nonzero()) / probe.numel()
        if kind == "columns" or (kind == "auto" and density > 1 - MIN_ZEROS_OF_ROWS):
            return cls("columns", *_fit_robust_center_and_spread(probe, is_sparse=density < MAX_SPARSE_DENSITY))
        return cls("rows", scale=_compute_large_column_divisors(probe) if kind == "auto" else None)

    def to(self, device: torch.device) -> FeatureScaling:
        """The same statistics on a device."""
        center, scale = (None if part is None else part.to(device) for part in (self.center, self.scale))
        return FeatureScaling(self.kind, center, scale)

    def tensors(self) -> dict[str, Tensor]:
        """The statistics by name, as far as there are any."""
        named = {"center": self.center, "scale": self.scale}
        return {name: part for name, part in named.items() if part is not None}

    def apply(self, x: Tensor) -> Tensor:
        """The scaled rows of dense features."""
        if self.center is not None:
            x = x - self.center
        if self.scale is not None:
            x = x / self.scale
        # In double precision: squares of tiny values would be 0, those of huge ones infinite.
        length = torch.linalg.vector_norm(x, dim=1, dtype=torch.float64)
        return x * self._compute_row_factors(length, x.shape[1]).to(x.dtype)[:, None]

    def apply_sparse(self, x: SparseFeatures) -> SparseFeatures:
        """The same for sparse features, which have no center."""
        values = x.values if self.scale is None else x.values / self.scale[x.pattern.col]
        counts = x.pattern.entries_per_row
        squares = torch.segment_reduce(values.double().square(), "sum", lengths=counts, initial=0)
        factors = self._compute_row_factors(squares.sqrt(), x.pattern.shape[1]).to(values.dtype)
        return SparseFeatures(x.pattern, values * x.pattern.repeat_for_entries(factors))

    def _compute_row_factors(self, length: Tensor, num_columns: int) -> Tensor:
        if self.kind == "rows":
            return torch.where(length > 0, 1 / length, 0.0)
        typical = num_columns**0.5  # the length of a row of standardized values
        return STANDARD_ROW_LENGTH / (typical * (length / (MAX_STRETCH * typical)).clamp(min=1))


class ChunkedFeatures:
    """Scaled features that are made some rows at a time and never held. For inference only."""

    def __init__(self, x: Tensor, scaling: FeatureScaling) -> None:
        self.x, self.scaling = x, scaling

    def dropout(self, p: float, training: bool) -> ChunkedFeatures:
        """Nothing: inference has no dropout."""
        assert not training
        return self

    @torch.no_grad()
    def __matmul__(self, weight: Tensor) -> Tensor:
        chunks = self.x.split(max(1, ROWS_PER_CHUNK_VALUES // self.x.shape[1]))
        return torch.cat([self.scaling.apply(chunk) @ weight for chunk in chunks])


def _fit_robust_center_and_spread(probe: Tensor, *, is_sparse: bool) -> tuple[Tensor | None, Tensor]:
    """Center (none for sparse features) and spread of each column; 1 where a column does not vary."""
    probe = probe.double()
    if is_sparse:
        center, spread = None, probe.square().mean(0).sqrt()
    else:
        low, center, high = torch.quantile(probe, probe.new_tensor([0.25, 0.5, 0.75]), dim=0)
        spread = (high - low) / QUARTILES_PER_DEVIATION
        spread = torch.where(spread > 0, spread, probe.std(0, correction=0))
    spread = torch.where(spread > 0, spread, 1.0).float().clamp(min=torch.finfo(torch.float32).tiny)
    return None if center is None else center.float(), spread


def _compute_large_column_divisors(probe: Tensor) -> Tensor | None:
    """What to divide each column by so that none is far larger than the typical one; ``None`` where none is.

    The size of a column is the geometric mean of its non-zero values, which a few huge ones hardly move.
    """
    counts = probe.count_nonzero(0)
    logs = torch.where(probe != 0, probe.abs(), 1.0).log().sum(0) / counts.clamp(min=1)
    if not bool((counts > 0).any()):
        return None
    excess = (logs - logs[counts > 0].median()).exp() / MAX_COLUMN_RATIO
    excess = torch.where((counts > 0) & (excess > 1), excess * MAX_COLUMN_RATIO, 1.0)
    return excess if bool((excess > 1).any()) else None
