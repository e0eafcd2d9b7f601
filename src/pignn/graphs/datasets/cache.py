"""The cache: processed copies keyed by the content of the raw files, and folders to work in."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch_geometric
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch_geometric.data import Data

from ...core.errors import DataError, warn_user
from ...io.cache_dir import get_cache_dir
from ...io.digests import compute_digest_of_parts, compute_file_digest

_FORMAT = 2  # raise when what is stored changes meaning
_MAX_WORKSPACE_AGE = 24 * 3600  # seconds after which the workspace of a killed process is removed
_dirs_warned_about: set[str] = set()


def compute_names_and_contents_digest(paths_by_name: Mapping[str, Path]) -> str:
    """A digest of names and contents, so that a processed copy is never taken for that of other raw files."""
    parts = [f"{_FORMAT} {torch_geometric.__version__}"]
    for name, path in sorted(paths_by_name.items()):
        try:
            parts += [name, compute_file_digest(path)]
        except OSError as error:
            raise DataError(f"cannot read {path} ({error.strerror})") from None
    return compute_digest_of_parts(*parts)


def read_processed_graph_or_none(dataset_name: str, key: str) -> Data | None:
    """The processed graph stored under `key`, or None."""
    try:
        with safe_open(_get_processed_graph_path(dataset_name, key), framework="pt") as file:
            data = Data.from_dict({tensor: file.get_tensor(tensor) for tensor in file.keys()})  # noqa: SIM118
            if class_names := json.loads((file.metadata() or {}).get("class_names", "[]")):
                data.class_names = class_names
            return data
    except (OSError, SafetensorError, ValueError):
        return None  # absent, or damaged: it is made again


def write_processed_graph_or_warn(dataset_name: str, key: str, data: Data) -> None:
    """Store a processed graph under `key`, whole or not at all. A cache that cannot be written is no error."""
    path = _get_processed_graph_path(dataset_name, key)
    with temporary_workspace_context() as folder:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            tensors = {part: value.contiguous() for part, value in data.to_dict().items() if part != "class_names"}
            save_file(tensors, folder / "data", metadata={"class_names": json.dumps(data.get("class_names", []))})
            os.replace(folder / "data", path)
        except (OSError, SafetensorError) as error:
            _warn_once_that_cache_is_not_writable(error)


def move_downloads_into_cache_or_warn(folder: Path, files: tuple[str, ...], cache_subfolder: str) -> None:
    """Move downloaded files into the folder `cache_subfolder` of the cache, each in one step."""
    try:
        for file in files:
            path = get_cache_dir() / cache_subfolder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / file, path)
    except OSError as error:
        _warn_once_that_cache_is_not_writable(error)


@contextlib.contextmanager
def temporary_workspace_context() -> Iterator[Path]:
    """A temporary folder, in the cache or, if that cannot be written, where the system has its own."""
    try:
        get_cache_dir().mkdir(parents=True, exist_ok=True)
        _remove_old_workspaces(get_cache_dir())
        folder = tempfile.mkdtemp(dir=get_cache_dir(), prefix=".work-")
    except OSError as error:
        _warn_once_that_cache_is_not_writable(error)
        folder = tempfile.mkdtemp(prefix="pignn-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copy_raw_files(source_paths: Mapping[str, Path], folder: Path) -> None:
    """Copy raw files to `folder`; the originals are only read."""
    for name, path in source_paths.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
        except OSError as error:
            raise DataError(
                f"cannot copy {path} to {folder} ({error.strerror}); set PIGNN_CACHE to a folder with room"
            ) from None


def _get_processed_graph_path(dataset_name: str, key: str) -> Path:
    return get_cache_dir() / "processed" / f"{dataset_name}-{key}.safetensors"


def _remove_old_workspaces(cache_dir: Path) -> None:
    for folder in cache_dir.glob(".work-*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _MAX_WORKSPACE_AGE:
                shutil.rmtree(folder, ignore_errors=True)


def _warn_once_that_cache_is_not_writable(error: Exception) -> None:
    cache_dir = str(get_cache_dir())
    if cache_dir not in _dirs_warned_about:
        _dirs_warned_about.add(cache_dir)
        reason = getattr(error, "strerror", None) or error
        warn_user(f"the cache {cache_dir} cannot be written ({reason}); set PIGNN_CACHE to another folder")
