"""The cache: processed copies keyed by the content of the raw files, and folders to work in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch_geometric
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ...core.errors import DataError, PignnWarning
from .catalog import cache_dir

_FORMAT = 1  # raise when what is stored changes meaning
_STALE = 24 * 3600  # seconds after which the work folder of a killed process is swept away
_warned: set[str] = set()


def fingerprint(files: Mapping[str, Path]) -> str:
    """A digest of names and contents, so that a processed copy is never taken for that of other raw files."""
    digest = hashlib.sha256(f"{_FORMAT} {torch_geometric.__version__}".encode())
    for name, path in sorted(files.items()):
        try:
            with open(path, "rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise DataError(f"cannot read {path} ({error.strerror})") from None
    return digest.hexdigest()[:32]


def get(name: str, key: str) -> tuple[dict[str, Tensor], dict[str, list[str]]] | None:
    """The processed tensors and lists of names kept under `key`, or None."""
    path = _processed(name, key)
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {tensor: file.get_tensor(tensor) for tensor in file.keys()}  # noqa: SIM118
            return tensors, json.loads((file.metadata() or {}).get("names", "{}"))
    except (OSError, SafetensorError, ValueError):
        return None  # absent, or damaged: it is made again


def put(name: str, key: str, tensors: Mapping[str, Tensor], names: Mapping[str, list[str]]) -> None:
    """Keep processed tensors under `key`, whole or not at all. A cache that cannot be written is no error."""
    path = _processed(name, key)
    with open_workspace() as folder:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = {tensor: value.contiguous() for tensor, value in tensors.items()}
            save_file(whole, folder / "data", metadata={"names": json.dumps(dict(names))})
            os.replace(folder / "data", path)
        except (OSError, SafetensorError) as error:
            _warn_once(error)


def move_in(folder: Path, files: tuple[str, ...], target: str) -> None:
    """Move downloaded files into the cache, each in one step."""
    try:
        for file in files:
            path = cache_dir() / target / file
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / file, path)
    except OSError as error:
        _warn_once(error)


@contextlib.contextmanager
def open_workspace() -> Iterator[Path]:
    """A folder of one's own, gone afterwards; in the cache or, if need be, in the system's temporary one."""
    try:
        cache_dir().mkdir(parents=True, exist_ok=True)
        _sweep(cache_dir())
        folder = tempfile.mkdtemp(dir=cache_dir(), prefix=".work-")
    except OSError as error:
        _warn_once(error)
        folder = tempfile.mkdtemp(prefix="pignn-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copy_raw_files(files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Copies of raw files below `folder`; the originals are only read."""
    staged = {}
    for name, path in files.items():
        staged[name] = folder / name
        try:
            staged[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, staged[name])
        except OSError as error:
            raise DataError(
                f"cannot copy {path} to {folder} ({error.strerror}); set PIGNN_CACHE to a folder with room"
            ) from None
    return staged


def _processed(name: str, key: str) -> Path:
    return cache_dir() / "processed" / f"{name.replace(' ', '-')}-{key}.safetensors"


def _sweep(cache: Path) -> None:
    for folder in cache.glob(".work-*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE:
                shutil.rmtree(folder, ignore_errors=True)


def _warn_once(error: Exception) -> None:
    place = str(cache_dir())
    if place not in _warned:
        _warned.add(place)
        reason = getattr(error, "strerror", None) or error
        warnings.warn(
            f"the cache {place} cannot be written ({reason}); set PIGNN_CACHE to another folder",
            PignnWarning,
            stacklevel=3,
        )
