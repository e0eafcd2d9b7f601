"""Run PyG's loader classes so that they write to the cache only, say nothing, and never read an unchecked file."""

from __future__ import annotations

import errno
import warnings
from pathlib import Path
from typing import Any

import torch_geometric.datasets
from torch_geometric.data import Data

from ...core.errors import DataError
from ...core.text import format_error_in_one_line
from ...io.safe_readers import read_npz
from . import cache
from .base import FileDataset, Root
from .raw_checks import CHECKS
from .raw_source import DownloadError, raw_folder_or_download_context, read_cached_graph_or_build_and_cache


def read_with_pyg(dataset: FileDataset, root: Root, *, loader: str, **loader_options: Any) -> Data:
    """The graph from the processed copy in the cache, the raw files, or a download, whichever is there first.

    `loader` is the name of a class in `torch_geometric.datasets`. Those that read several graphs take a `name`, which
    is also the folder below their root.
    """
    subfolder = loader_options.get("name", "")

    def download(workspace: Path) -> Path:
        load_or_download_with_pyg(dataset, workspace, workspace / subfolder, loader, loader_options)
        return workspace / subfolder

    def read(folder: Path) -> Data:
        with cache.temporary_workspace_context() as workspace:
            cache.copy_raw_files({file: folder / file for file in dataset.raw.files}, workspace / subfolder)
            return load_or_download_with_pyg(dataset, workspace, folder, loader, loader_options)

    with raw_folder_or_download_context(dataset.name, dataset.raw, root, download) as folder:
        return read_cached_graph_or_build_and_cache(dataset, folder, dataset.raw, read)


def load_or_download_with_pyg(
    dataset: FileDataset, loader_root: Path, raw_folder: Path, loader: str, options: dict[str, Any]
) -> Data:
    """The graph that a loader reads in `loader_root`: copies of the raw files in `raw_folder`, or downloads."""
    checked_loader = _make_loader_class_that_checks_raw_files(loader, raw_folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old pickles spell NumPy's arguments the old way
            data = checked_loader(str(loader_root), **options)[0]
    except (DataError, DownloadError):
        raise
    except Exception as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(
                f"{dataset.name}: no room in {loader_root.parent}; set PIGNN_CACHE to another folder"
            ) from None
        files = dataset.raw.files
        place = raw_folder / files[0] if len(files) == 1 else raw_folder
        raise DataError(
            f"{dataset.name}: {place} cannot be read ({format_error_in_one_line(error)}); get the raw files again"
        ) from None
    first = loader_root / options.get("name", "") / dataset.raw.files[0]
    if first.suffix == ".npz":  # which may have the names of the classes
        data.class_names = [str(name) for name in read_npz(first).get("class_names", ())]
    return data


def _make_loader_class_that_checks_raw_files(loader_name: str, folder: Path) -> Any:
    """PyG's loader class, which checks every raw file before it reads one, and prints nothing."""
    loader: Any = getattr(torch_geometric.datasets, loader_name)

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
                raise DownloadError(format_error_in_one_line(error)) from None

        def process(self) -> None:
            for path in map(Path, self.raw_paths):
                CHECKS[loader_name](path, str(folder / "raw" / path.name))
            super().process()

    return CheckedLoader
