"""What a kind of label noise is, and the labels it is given to corrupt."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ConfigError

if TYPE_CHECKING:
    from torch_geometric.data import Data

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(eq=False)
class LabelsToCorrupt:
    """The nodes whose labels become noisy, their graph, and the random numbers to use."""

    data: Data
    all_true_labels: Ints  # [number of nodes]
    nodes: Ints  # numbers of the nodes to corrupt
    num_classes: int
    rate: float  # 0 for a kind that takes no rate
    seed: int
    kind_name: str

    @cached_property
    def true_labels(self) -> Ints:
        """Those of the nodes to corrupt."""
        return self.all_true_labels[self.nodes]

    @cached_property
    def uniform_draws(self) -> Floats:
        """Two uniform random numbers for each node to corrupt, [2, nodes].

        They are drawn for every node of the graph, so that a node's do not depend on which others are corrupted.
        """
        return make_generator(self.kind_name, self.seed).random((2, len(self.all_true_labels)))[:, self.nodes]

    @cached_property
    def features(self) -> Floats:
        """Features of the nodes to corrupt, in double precision."""
        return self.data.x.detach().cpu()[self.nodes].double().numpy()


class NoiseKind(ABC):
    """One way in which labels become wrong. A subclass has a name and says how it corrupts."""

    name: ClassVar[str]
    takes_rate: ClassVar[bool] = True
    has_transition_matrix: ClassVar[bool] = False
    depends_on_graph: ClassVar[bool] = False  # on features or edges, not on the true class alone

    @abstractmethod
    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        """The noisy labels of `labels_to_corrupt.nodes`."""

    def parse_rate(self, rate: float | None) -> float | None:
        """The rate as a number, or an error where it is missing, not wanted or out of range."""
        if not self.takes_rate:
            if rate not in (None, 0):
                raise ConfigError(f"noise '{self.name}' takes no rate, but {rate} was given")
            return rate
        if rate is None:
            raise ConfigError(f"noise '{self.name}' needs a rate between 0 and 1")
        return parse_rate(rate)

    def to_record(self) -> dict[str, Any]:
        """What to remember of this noise, in values that JSON can hold."""
        return {"kind": self.name}


def parse_rate(rate: float) -> float:
    """The noise rate as a number from 0 to 1."""
    try:
        value = float(rate)
    except (TypeError, ValueError):
        raise ConfigError(f"the noise rate must be a number between 0 and 1, not {rate!r}") from None
    if not 0.0 <= value <= 1.0:  # also refuses NaN
        raise ConfigError(f"the noise rate must be between 0 and 1, not {value}")
    return value


def make_generator(purpose: str, seed: int) -> np.random.Generator:
    """Random numbers for one purpose and seed, independent of those for any other."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])
