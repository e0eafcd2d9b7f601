"""Raw files at hand or downloaded, the processed copy of them, and the checks that their parts fit together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torch_geometric.data import Data

from ...core.errors import DataError
from . import cache
from .base import Dataset, RawFiles, Root


class DownloadError(Exception):
    """A download failed; the message is one line that says why."""


@contextmanager
def raw_folder_or_download_context(
    name: str, raw_files: RawFiles, root: Root, download: Callable[[Path], Path]
) -> Iterator[Path]:
    """The folder with the raw files. Downloaded ones stay in the cache if they could be read."""
    folder = raw_files.find_folder_or_none(root)
    if folder is not None:
        yield folder
        return
    with cache.temporary_workspace_context() as workspace:
        try:
            folder = download(workspace)
            yield folder
        except DownloadError as error:
            missing = raw_files.describe_missing_files_or_empty(root)
            state = f"raw files not complete ({missing})" if missing else "raw files not found"
            raise DataError(
                f"{name}: {state} and the download failed ({error}); "
                f"{raw_files.placement_instruction} and pass root= or set PIGNN_DATA"
            ) from None
        except DataError as error:
            text = str(error).replace(f"{workspace}{os.sep}", "the downloaded ")
            raise DataError(text.replace(str(workspace), "the downloaded files")) from None
        cache.move_downloads_into_cache_or_warn(folder, raw_files.files, raw_files.folders[0])


def read_cached_graph_or_build_and_cache(
    dataset: Dataset, folder: Path, raw_files: RawFiles, read: Callable[[Path], Data]
) -> Data:
    """The processed copy of the raw files if there is one, else what `read` gives, which is kept."""
    key = cache.compute_names_and_contents_digest({file: folder / file for file in raw_files.files})
    data = cache.read_processed_graph_or_none(dataset.name, key)
    if data is None:
        data = extract_checked_graph(dataset, read(folder), folder)
        cache.write_processed_graph_or_warn(dataset.name, key, data)
    return data


def extract_checked_graph(dataset: Dataset, data: Data, folder: Path) -> Data:
    """The parts of a graph that are used here, in canonical types, if they fit together."""
    num_nodes, num_classes = data.y.numel(), dataset.num_classes
    parts = {key: data[key].bool() for key in ("train_mask", "val_mask", "test_mask") if key in data}
    edge_index, y = data.edge_index.long().contiguous(), data.y.long()
    in_range = not edge_index.numel() or (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes)
    if data.get("x") is not None:
        parts["x"] = data.x.float().contiguous()
    if any(part.size(0) != num_nodes for part in parts.values()) or not in_range:
        raise DataError(
            f"{dataset.name}: features, labels, masks and edges in {folder} do not fit; get the raw files again"
        )
    if num_nodes and (int(y.min()) < 0 or int(y.max()) >= num_classes):
        raise DataError(
            f"{dataset.name}: labels in {folder} are not all in 0 to {num_classes - 1}; get the raw files again"
        )
    names = {"class_names": data.class_names} if data.get("class_names") else {}
    return Data(edge_index=edge_index, y=y, **parts, **names)
