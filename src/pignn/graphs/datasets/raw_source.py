"""Raw files at hand or downloaded, and the checks that their parts fit together."""

from __future__ import annotations

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
def open_raw_folder(label: str, raw: RawFiles, root: Root, download: Callable[[Path], Path]) -> Iterator[Path]:
    """The folder with the raw files. Downloaded ones stay in the cache if they could be read."""
    folder = raw.find_folder(root)
    if folder is not None:
        yield folder
        return
    with cache.open_workspace() as workspace:
        try:
            downloaded = download(workspace)
        except DownloadError as error:
            raise missing_files_error(label, raw, root, error) from None
        yield downloaded
        cache.move_in(downloaded, raw.files, raw.folders[0])


def missing_files_error(label: str, raw: RawFiles, root: Root, error: Exception) -> DataError:
    """The error for raw files that are neither here nor could be downloaded."""
    missing = raw.describe_missing(root)
    state = f"raw files not complete ({missing})" if missing else "raw files not found"
    return DataError(
        f"{label}: {state} and the download failed ({error}); {raw.placement_text} and pass root= or set PIGNN_DATA"
    )


def check_graph_parts(dataset: Dataset, data: Data, folder: Path | None) -> Data:
    """The parts of a graph that are used here, in canonical types, if they fit together."""
    files_text = "the downloaded files" if folder is None else str(folder)
    num_nodes, num_classes = data.y.numel(), dataset.num_classes
    masks = {key: data[key].bool() for key in ("train_mask", "val_mask", "test_mask") if key in data}
    edge_index, y = data.edge_index.long().contiguous(), data.y.long()
    in_range = not edge_index.numel() or (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes)
    features = {"x": data.x.float().contiguous()} if data.get("x") is not None else {}
    sizes = {num_nodes, *(part.size(0) for part in (*features.values(), *masks.values()))}
    if sizes != {num_nodes} or not in_range:
        raise DataError(
            f"{dataset.name}: features, labels, masks and edges in {files_text} do not fit; get the raw files again"
        )
    if num_nodes and (int(y.min()) < 0 or int(y.max()) >= num_classes):
        raise DataError(
            f"{dataset.name}: labels in {files_text} are not all in 0 to {num_classes - 1}; get the raw files again"
        )
    return Data(**features, edge_index=edge_index, y=y, **masks)
