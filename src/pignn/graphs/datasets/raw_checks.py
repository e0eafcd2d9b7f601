"""Checks of raw files before PyG's loaders read them: (path, name in messages) → nothing, or a DataError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.sparse import csr_matrix

from ...core.errors import DataError
from ...io.safe_readers import (
    build_damaged_file_error,
    read_integer_lines,
    read_npz,
    read_pickle_without_code,
    read_tsv,
)


def check_planetoid_file_is_intact(path: Path, title: str) -> None:
    """Planetoid's files are pickles of arrays and matrices, and a list of test nodes."""
    if path.name.endswith(".test.index"):
        nodes = read_integer_lines(path, title)
        features = path.with_name(path.name.replace(".test.index", ".tx"))
        num_rows = read_pickle_without_code(features, title.replace(".test.index", ".tx")).shape[0]
        if len(set(nodes.tolist())) != num_rows:
            sizes = f"{len(nodes):,} test nodes, but {num_rows:,} in {features.name}"
            raise DataError(f"{title} is damaged: {sizes}; get the file again")
        return
    content = read_pickle_without_code(path, title)
    if path.name.endswith(".graph"):
        if not isinstance(content, dict):
            raise DataError(f"{title} is damaged: it holds no adjacency lists; get the file again")
    elif hasattr(content, "check_format"):
        _check_sparse_matrix_indices(content, title)
    elif getattr(content, "ndim", 0) != 2:
        raise DataError(f"{title} is damaged: it holds no matrix; get the file again")


def check_sparse_npz_is_intact(path: Path, title: str) -> None:
    """Adjacency `adj` and features `attr` as sparse matrices in one .npz file."""
    keys = [f"{matrix}_{part}" for matrix in ("adj", "attr") for part in ("data", "indices", "indptr", "shape")]
    arrays = read_npz(path, *keys, "labels", title=title)
    for data, indices, indptr, shape in ([arrays[key] for key in keys[:4]], [arrays[key] for key in keys[4:]]):
        try:
            matrix = csr_matrix((data, indices, indptr), tuple(shape))
        except Exception as error:
            raise build_damaged_file_error(title, error) from None
        _check_sparse_matrix_indices(matrix, title)


def _check_sparse_matrix_indices(matrix: Any, title: str) -> None:
    """SciPy trusts the indices of a sparse matrix when it makes a dense one, so they are checked here."""
    try:
        matrix.check_format(full_check=True)
    except Exception as error:
        raise build_damaged_file_error(title, error) from None


def check_actor_file_is_intact(path: Path, title: str) -> None:
    """Features and labels in one text file, edges in another, splits in .npz files."""
    if path.suffix == ".npz":
        read_npz(path, "train_mask", "val_mask", "test_mask", title=title)
        return
    has_features = "feature" in path.name
    rows = read_tsv(path, title, num_columns=3 if has_features else 2)
    # PyG fills labels by node number and leaves the others as they were in memory.
    if has_features and set(rows.iloc[:, 0]) != set(map(str, range(len(rows)))):
        raise DataError(f"{title} is damaged: nodes are not numbered 0 to {len(rows) - 1}; get the file again")


def accept_without_check(path: Path, title: str) -> None:
    """Nothing to check: JSON runs no code, and a damaged file fails to parse."""


CHECKS: dict[str, Callable[[Path, str], None]] = {
    "Planetoid": check_planetoid_file_is_intact,
    "Amazon": check_sparse_npz_is_intact,
    "CitationFull": check_sparse_npz_is_intact,
    "Actor": check_actor_file_is_intact,
    "WikiCS": accept_without_check,
}
