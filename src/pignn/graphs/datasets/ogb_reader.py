"""OGB's raw folders, read with pandas: the reader of the `ogb` package fails with torch 2.6 and later."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import DataError, warn_user
from ...core.text import format_error_in_one_line
from ...io import safe_readers
from ..splits import build_masks_from_indices
from .base import FileDataset, Root
from .raw_source import (
    DownloadError,
    extract_checked_graph,
    raw_folder_or_download_context,
    read_cached_graph_or_build_and_cache,
)


def read_ogb(dataset: FileDataset, root: Root, *, is_undirected: bool = False, features: str | None = None) -> Data:
    """The graph, with stand-in features if that is asked for."""
    raw, with_stand_in_features = dataset.raw, features == "stand-in"
    structure_folder = None if dataset.structure is None else dataset.structure.find_folder_or_none(root)
    if structure_folder is not None and (with_stand_in_features or raw.find_folder_or_none(root) is None):
        data = _read_graph_without_features_or_raise(dataset, structure_folder, with_stand_in_features)
    else:
        with raw_folder_or_download_context(
            dataset.name, raw, root, lambda folder: _download_raw_files_and_get_folder(dataset, folder)
        ) as folder:
            data = read_cached_graph_or_build_and_cache(
                dataset, folder, raw, lambda folder: _read_raw_folder(folder, raw.files[-3:], is_undirected)
            )
    if with_stand_in_features:
        data.x = make_stand_in_features(data.edge_index, data.y.numel())
        warn_user(
            f"{dataset.name}: STAND-IN FEATURES made from the structure; accuracies do not compare with published ones"
        )
    return data


def make_stand_in_features(edge_index: Tensor, num_nodes: int, *, num_features: int = 128, seed: int = 0) -> Tensor:
    """Features from the structure alone: noise, averaged over each node and its neighbors, twice.

    X = (D⁻¹(A + I))² E with E ~ N(0, 1), columns then scaled to mean 0 and variance 1. Neighbors look alike, and labels
    play no part in it.
    """
    import scipy.sparse

    row, col = edge_index.numpy()
    edges = scipy.sparse.coo_matrix((np.ones(len(row), np.float32), (row, col)), shape=(num_nodes, num_nodes))
    adjacency = (edges + edges.T + scipy.sparse.identity(num_nodes, np.float32)).tocsr()
    adjacency.data[:] = 1
    degree = np.diff(adjacency.indptr).astype(np.float32)[:, None]
    x = np.random.default_rng(seed).standard_normal((num_nodes, num_features), dtype=np.float32)
    for _ in range(2):
        x = (adjacency @ x) / degree
    x -= x.mean(axis=0)
    x /= np.maximum(x.std(axis=0), 1e-12)
    return torch.from_numpy(x)


def _read_raw_folder(folder: Path, split_files: Sequence[str], is_undirected: bool) -> Data:
    """The graph with its edges as published: one way, or both where the dataset is undirected."""
    num_nodes, num_edges = (int(_read_csv(folder / f"raw/num-{part}-list.csv.gz")[0, 0]) for part in ("node", "edge"))
    edge_index = _read_csv(folder / "raw/edge.csv.gz", num_rows=num_edges).T
    if is_undirected:
        edge_index = np.concatenate([edge_index, edge_index[::-1]], axis=1)
    y = _read_csv(folder / "raw/node-label.csv.gz", num_rows=num_nodes)[:, 0]
    x = _read_csv(folder / "raw/node-feat.csv.gz", np.float32, num_rows=num_nodes)
    split = [_read_csv(folder / file)[:, 0] for file in split_files]
    data = _check_split_and_build_data(str(folder), edge_index, y, split)
    data.x = torch.from_numpy(np.ascontiguousarray(x))
    return data


def _read_graph_without_features_or_raise(dataset: FileDataset, folder: Path, with_stand_in_features: bool) -> Data:
    """The graph without features from one .npz file."""
    assert dataset.structure is not None
    path = folder / dataset.structure.files[0]
    if not with_stand_in_features:
        raise DataError(
            f"{dataset.name}: {path} has no features; put OGB's raw folder at <root>/{dataset.name.replace('-', '_')}, "
            "or pass features='stand-in' (accuracies then do not compare with published ones)"
        )
    split = ("train", "valid", "test")
    arrays = safe_readers.read_npz(path, "edge_index", "y", *split)
    data = _check_split_and_build_data(str(path), arrays["edge_index"], arrays["y"], [arrays[part] for part in split])
    return extract_checked_graph(dataset, data, folder)


def _check_split_and_build_data(title: str, edge_index: np.ndarray, y: np.ndarray, split: list[np.ndarray]) -> Data:
    num_nodes = len(y)
    if any(part.size and not 0 <= part.min() <= part.max() < num_nodes for part in split):
        raise DataError(f"{title}: the split names nodes beyond the {num_nodes:,} there are; get the raw files again")
    train, valid, test = (torch.from_numpy(part.astype(np.int64)) for part in split)
    return Data(
        edge_index=torch.from_numpy(np.ascontiguousarray(edge_index, dtype=np.int64)),
        y=torch.from_numpy(y.astype(np.int64)),
        num_nodes=num_nodes,
        **build_masks_from_indices(num_nodes, train, valid, test)._asdict(),
    )


def _read_csv(path: Path, dtype: Any = np.int64, num_rows: int | None = None) -> np.ndarray:
    """A gzipped CSV file without header, with as many rows as announced."""
    try:
        values = pd.read_csv(path, header=None, dtype=dtype, compression="gzip").to_numpy()
    except Exception as error:
        raise safe_readers.build_damaged_file_error(str(path), error) from None
    if num_rows is not None and len(values) != num_rows:
        raise DataError(f"{path} is damaged: it has {len(values):,} rows, not {num_rows:,}; get the file again")
    return values


def _download_raw_files_and_get_folder(dataset: FileDataset, folder: Path) -> Path:
    """Get OGB's archive of raw files by the `ogb` package. Returns the folder they are in."""
    try:
        from ogb.utils.url import download_url, extract_zip
    except ImportError:
        raise DownloadError("the package ogb is not installed; pip install 'pignn[ogb]'") from None
    try:
        with resources.as_file(resources.files("ogb") / "nodeproppred" / "master.csv") as path:
            archive = pd.read_csv(path, index_col=0)[dataset.name]
        extract_zip(download_url(archive["url"], str(folder)), str(folder))
        raw_folder = folder / str(archive["download_name"])
        missing = [file for file in dataset.raw.files if not (raw_folder / file).is_file()]
    except Exception as error:
        raise DownloadError(format_error_in_one_line(error)) from None
    if missing:
        raise DownloadError(f"the archive lacks {', '.join(missing)}")
    return raw_folder
