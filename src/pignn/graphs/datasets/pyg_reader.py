"""Run PyG's loader classes so that they write to the cache only, say nothing, and never read an unchecked file."""

from __future__ import annotations

import errno
import warnings
from pathlib import Path
from typing import Any

import torch_geometric.datasets
from torch_geometric.data import Data

from ...core.errors import DataError
from ...core.text import one_line_text
from . import cache
from .base import Root
from .pyg_spec import PyGSpec
from .raw_source import DownloadError, check_graph_parts, missing_files_error


def read_with_pyg(dataset: PyGSpec, root: Root) -> Data:
    """The graph from the processed copy in the cache, the raw files, or a download, whichever is there first."""
    folder = dataset.raw.find_folder(root)
    if folder is not None:
        cached = cache.get(dataset.name, cache.compute_fingerprint({file: folder / file for file in dataset.raw.files}))
        if cached is not None:
            return _add_class_names(Data.from_dict(cached[0]), cached[1])
    try:
        data, names, key = read_or_download_graph(dataset, folder)
    except DownloadError as error:
        raise missing_files_error(dataset.name, dataset.raw, root, error) from None
    data = check_graph_parts(dataset, data, folder)
    cache.put(dataset.name, key, data.to_dict(), names)
    return _add_class_names(data, names)


def read_or_download_graph(dataset: PyGSpec, folder: Path | None) -> tuple[Data, dict[str, list[str]], str]:
    """The graph from the raw files in `folder`, or from a download where that is None.

    Also the names of its classes if the files have them, and the fingerprint of the very files that were read.
    """
    files = dataset.raw.files
    with cache.open_workspace() as workspace:
        copies = workspace / dataset.subfolder
        if folder is not None:
            cache.copy_raw_files({file: folder / file for file in files}, copies)
        loader = _build_checked_loader(dataset, folder)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old pickles spell NumPy's arguments the old way
                data = loader(str(workspace), **dataset.loader_options)[0]
        except (DataError, DownloadError):
            raise
        except Exception as error:
            if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                parent = workspace.parent
                raise DataError(f"{dataset.name}: no room in {parent}; set PIGNN_CACHE to another folder") from None
            raise _unreadable_error(dataset, folder, error) from None
        names = dataset.read_class_names(copies)
        key = cache.compute_fingerprint({file: copies / file for file in files})
        if folder is None:
            cache.move_in(copies, files, dataset.raw.folders[0])
    return data, {"class_names": names} if names else {}, key


def _add_class_names(data: Data, names: dict[str, list[str]]) -> Data:
    if names.get("class_names"):
        data.class_names = names["class_names"]
    return data


def _unreadable_error(dataset: PyGSpec, folder: Path | None, error: Exception) -> DataError:
    files = dataset.raw.files
    files_text = "the downloaded files" if folder is None else str(folder / files[0] if len(files) == 1 else folder)
    return DataError(f"{dataset.name}: {files_text} cannot be read ({one_line_text(error)}); get the raw files again")


def _build_checked_loader(dataset: PyGSpec, folder: Path | None) -> Any:
    """PyG's loader class, which checks every raw file before it reads one, and prints nothing."""
    loader: Any = getattr(torch_geometric.datasets, dataset.loader)

    class CheckedLoader(loader):
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
                raise DownloadError(one_line_text(error)) from None

        def process(self) -> None:
            for path in map(Path, self.raw_paths):
                label = f"the downloaded {path.name}" if folder is None else str(folder / "raw" / path.name)
                dataset.check_raw_file(path, label)
            super().process()

    return CheckedLoader
