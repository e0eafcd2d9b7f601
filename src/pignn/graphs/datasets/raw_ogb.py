"""OGB's raw folders, read with pandas: the reader of the `ogb` package fails with torch 2.6 and later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import DataError
from ...io import safe_readers
from ..splits import masks_from_indices
from .catalog import RAW

NEEDED = ("edge_index", "y", "train", "valid", "test")


def read(name: str, source: Path) -> Data:
    """The graph in OGB's raw folder `source`; its edges as published, one way (arxiv) or both (products)."""
    (nodes,), (edges,) = (_csv(source / f"raw/num-{what}-list.csv.gz", np.int64)[:, 0] for what in ("node", "edge"))
    edge_index = _csv(source / "raw/edge.csv.gz", np.int64, rows=int(edges)).T
    if name == "ogbn-products":  # the file has every undirected edge once
        edge_index = np.concatenate([edge_index, edge_index[::-1]], axis=1)
    y = _csv(source / "raw/node-label.csv.gz", np.int64, rows=int(nodes))[:, 0]
    x = _csv(source / "raw/node-feat.csv.gz", np.float32, rows=int(nodes))
    split_files = [file for file in RAW[name].files if file.startswith("split/")]
    split = [_csv(source / file, np.int64)[:, 0] for file in split_files]
    return _graph(str(source), x, edge_index, y, split)


def read_structure(path: Path) -> Data:
    """ogbn-arxiv without features, from one .npz file."""
    arrays = safe_readers.read_npz(path, *NEEDED)
    split = [arrays[part] for part in ("train", "valid", "test")]
    return _graph(str(path), None, arrays["edge_index"], arrays["y"], split)


def stand_in(edge_index: Tensor, num_nodes: int, *, width: int = 128, seed: int = 0) -> Tensor:
    """Features from the structure alone: noise, averaged over each node and its neighbours, twice.

    X = (D⁻¹(A + I))² E with E ~ N(0, 1), columns then scaled to mean 0 and variance 1. Neighbours look alike;
    labels have no part in it.
    """
    import scipy.sparse

    row, col = edge_index.numpy()
    link = scipy.sparse.coo_matrix((np.ones(len(row), np.float32), (row, col)), shape=(num_nodes, num_nodes))
    hood = (link + link.T + scipy.sparse.identity(num_nodes, np.float32)).tocsr()
    hood.data[:] = 1
    degree = np.diff(hood.indptr).astype(np.float32)[:, None]
    x = np.random.default_rng(seed).standard_normal((num_nodes, width), dtype=np.float32)
    for _ in range(2):
        x = (hood @ x) / degree
    x -= x.mean(axis=0)
    x /= np.maximum(x.std(axis=0), 1e-12)
    return torch.from_numpy(x)


def _graph(label: str, x: np.ndarray | None, edge_index: np.ndarray, y: np.ndarray, split: list[np.ndarray]) -> Data:
    nodes = len(y)
    if any(part.size and not 0 <= part.min() <= part.max() < nodes for part in split):
        raise DataError(f"{label}: the split names nodes beyond the {nodes:,} there are; get the raw files again")
    train, valid, test = (torch.from_numpy(part.astype(np.int64)) for part in split)
    data = Data(
        edge_index=torch.from_numpy(np.ascontiguousarray(edge_index, dtype=np.int64)),
        y=torch.from_numpy(y.astype(np.int64)),
        num_nodes=nodes,
        **masks_from_indices(nodes, train, valid, test)._asdict(),
    )
    if x is not None:
        data.x = torch.from_numpy(np.ascontiguousarray(x))
    return data


def _csv(path: Path, dtype: Any, rows: int | None = None) -> np.ndarray:
    """A gzipped CSV file without heading, with as many rows as announced."""
    try:
        values = pd.read_csv(path, header=None, dtype=dtype, compression="gzip").to_numpy()
    except Exception as error:
        raise safe_readers.damaged_file_error(str(path), error) from None
    if rows is not None and len(values) != rows:
        raise DataError(f"{path} is damaged: it has {len(values):,} rows, not {rows:,}; get the file again")
    return values
