"""Datasets that PyG reads: its own loader classes, run on vetted copies of the raw files."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from ...core.errors import DataError
from ...core.text import one_line_text
from ...io import safe_readers
from . import cache
from .catalog import RAW
from .download import Unreachable

Names = dict[str, list[str]]


def read(name: str, source: Path | None) -> tuple[Data, Names, str]:
    """The graph from the raw files in the folder `source`, or from a download where that is None.

    Also names of its classes if the files have them, and the fingerprint of the very files that were read.
    """
    with cache.open_workspace() as folder:
        loader, options, inner = _loader(name, source)
        files = RAW[name].files
        if source is not None:
            cache.copy_raw_files({file: source / file for file in files}, folder / inner)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old pickles spell NumPy's arguments the old way
                data = loader(str(folder), **options)[0]
        except (DataError, Unreachable):
            raise
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DataError(f"{name}: no room in {folder.parent}; set PIGNN_CACHE to another folder") from None
            raise _misfit(name, source, error) from None
        except Exception as error:
            raise _misfit(name, source, error) from None
        names = _class_names(name, folder / inner)
        key = cache.fingerprint({file: folder / inner / file for file in files})
        if source is None:
            cache.move_in(folder / inner, files, RAW[name].folders[0])
    return data, names, key


def _misfit(name: str, source: Path | None, error: Exception) -> DataError:
    files = RAW[name].files
    place = "the downloaded files" if source is None else str(source / files[0] if len(files) == 1 else source)
    return DataError(f"{name}: {place} cannot be read ({one_line_text(error)}); get the raw files again")


def _class_names(name: str, folder: Path) -> Names:
    if name != "photo":
        return {}
    stored = safe_readers.read_npz(folder / RAW[name].files[0], label=name).get("class_names")
    return {} if stored is None else {"class_names": [str(each) for each in stored]}


def _loader(name: str, source: Path | None) -> tuple[Callable[..., Any], dict[str, Any], str]:
    """PyG's class for the dataset, its arguments, and the folder below its root that holds `raw/`."""
    from torch_geometric import datasets

    if name in ("cora", "citeseer", "pubmed"):
        folder = RAW[name].folders[0]
        return _vetted(datasets.Planetoid, _vet_planetoid, source), {"name": folder}, folder
    if name == "photo":
        return _vetted(datasets.Amazon, _vet_sparse, source), {"name": "photo"}, "Photo"
    if name == "dblp":
        return _vetted(datasets.CitationFull, _vet_sparse, source), {"name": "dblp"}, "dblp"
    if name == "actor":
        return _vetted(datasets.Actor, _vet_actor, source), {}, ""
    return _vetted(datasets.WikiCS, _vet_nothing, source), {"is_undirected": True}, ""


def _vetted(base: Any, look: Callable[[Path, str], None], source: Path | None) -> Any:
    """PyG's loader class, which looks at every raw file before it reads one, and says nothing."""

    class Vetted(base):
        @property
        def log(self) -> bool:
            return False

        @log.setter
        def log(self, value: bool) -> None:  # PyG sets it to True
            pass

        def download(self) -> None:
            try:
                super().download()
            except Exception as error:
                raise Unreachable(one_line_text(error)) from None

        def process(self) -> None:
            for path in map(Path, self.raw_paths):
                label = f"the downloaded {path.name}" if source is None else str(source / "raw" / path.name)
                look(path, label)
            super().process()

    return Vetted


def _vet_planetoid(path: Path, label: str) -> None:
    if path.name.endswith(".test.index"):
        numbers = safe_readers.read_integers(path, label)
        features = path.with_name(path.name.replace(".test.index", ".tx"))
        rows = safe_readers.read_pickle(features, label.replace(".test.index", ".tx")).shape[0]
        if len(np.unique(numbers)) != rows:
            raise DataError(
                f"{label} is damaged: {len(numbers):,} test nodes, but {rows:,} in {features.name}; get the file again"
            )
        return
    content = safe_readers.read_pickle(path, label)
    if path.name.endswith(".graph"):
        if not isinstance(content, dict):
            raise DataError(f"{label} is damaged: it holds no adjacency lists; get the file again")
    elif hasattr(content, "check_format"):
        _vet_csr(content, label)
    elif getattr(content, "ndim", 0) != 2:
        raise DataError(f"{label} is damaged: it holds no matrix; get the file again")


def _vet_sparse(path: Path, label: str) -> None:
    import scipy.sparse

    parts = [f"{matrix}_{part}" for matrix in ("adj", "attr") for part in ("data", "indices", "indptr", "shape")]
    arrays = safe_readers.read_npz(path, *parts, "labels", label=label)
    for matrix in ("adj", "attr"):
        data, indices, indptr, shape = (arrays[f"{matrix}_{part}"] for part in ("data", "indices", "indptr", "shape"))
        try:
            csr = scipy.sparse.csr_matrix((data, indices, indptr), tuple(shape))
        except Exception as error:
            raise safe_readers.damaged_file_error(label, error) from None
        _vet_csr(csr, label)


def _vet_csr(matrix: Any, label: str) -> None:
    """SciPy trusts the indices of a sparse matrix when it makes a dense one, so they are looked at here."""
    try:
        matrix.check_format(full_check=True)
    except Exception as error:
        raise safe_readers.damaged_file_error(label, error) from None


def _vet_actor(path: Path, label: str) -> None:
    if path.suffix == ".npz":
        safe_readers.read_npz(path, "train_mask", "val_mask", "test_mask", label=label)
        return
    described = "feature" in path.name
    rows = safe_readers.read_tsv(path, label, columns=3 if described else 2)
    # PyG fills labels by node number and leaves what is not named as it found it in memory.
    if described and set(rows.iloc[:, 0]) != set(map(str, range(len(rows)))):
        raise DataError(f"{label} is damaged: nodes are not numbered 0 to {len(rows) - 1}; get the file again")


def _vet_nothing(path: Path, label: str) -> None:
    """JSON runs no code, and a damaged file fails to parse."""
