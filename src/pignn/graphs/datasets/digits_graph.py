"""Real data that is there without a download."""

from __future__ import annotations

from numbers import Integral

import torch
from torch_geometric.data import Data

from ...core.errors import ConfigError
from ..edges import simplify_edges
from ..splits import split_per_class


def digits(num_neighbors: int = 10) -> Data:
    """Handwritten digits of scikit-learn: 1,797 images of 8 × 8 pixels, each joined to the nearest others.

    Features are the 64 pixels in [0, 1]. Two images are joined if either is among the `num_neighbors` nearest of the
    other (Euclidean distance).
    """
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    pixels, labels = load_digits(return_X_y=True)
    max_neighbors = len(pixels) - 1
    if not isinstance(num_neighbors, Integral) or not 1 <= num_neighbors <= max_neighbors:
        raise ConfigError(
            f"digits: num_neighbors must be an integer between 1 and {max_neighbors}, not {num_neighbors}"
        )
    # Pixels are integers up to 16: distances between them are exact, so ties fall alike on every machine.
    nearest = kneighbors_graph(pixels, num_neighbors).tocoo()
    pairs = torch.stack([torch.from_numpy(nearest.row), torch.from_numpy(nearest.col)]).long()
    y = torch.from_numpy(labels).long()
    data = Data(
        x=torch.from_numpy(pixels / 16).float(),
        edge_index=simplify_edges(pairs, len(pixels)).edge_index,
        y=y,
        **split_per_class(y)._asdict(),
    )
    data.class_names = [str(digit) for digit in range(10)]
    data.name = "digits"
    return data
