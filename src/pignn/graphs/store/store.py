"""The format of a store, and how it is read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import sys
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError, unknown
from ...io.files import UNFINISHED
from ..splits import Masks, split_per_class
from ..tables.arrays import PathLike

FORMAT = 1
HEADER = "store.json"
MASKS = ("train", "val", "test")
SMALL = 1 << 24  # files up to this size are read when a store is opened, to compare their checksums

DTYPES = {
    "crow.i64": "<i8",
    "col.i32": "<i4",
    "weight.f32": "<f4",
    "x.f32": "<f4",
    "y.i64": "<i8",
    **{f"{name}.u8": "|b1" for name in MASKS},
}
KEYS = {"weight.f32": "edge_weight"} | {f"{name}.u8": f"{name}_mask" for name in MASKS}  # else as the file is named
GRAPH = {"crow.i64", "col.i32", "weight.f32", "x.f32"}


def open_graph_store(path: PathLike, *, verify: bool = False) -> Data:
    """The graph in a store, memory-mapped: nothing is read before it is used, and changes stay in memory.

    In place of `edge_index` it has `crow` [N + 1] and `col` [E], the neighbours of node i being
    `col[crow[i]:crow[i + 1]]`; `edge_weight`, where there is one, goes along with `col`. `checked` says that
    features and edges were looked at by `convert`, `digest` names their content. `verify=True` reads
    everything and compares the checksums of all files, not of the small ones only.
    """
    folder = Path(path)
    header = _header(folder)
    nodes, entries, files = header["nodes"], header["entries"], header["files"]
    shapes: dict[str, tuple[int, ...]] = {"crow.i64": (nodes + 1,), "x.f32": (nodes, header["features"])}
    shapes |= {"col.i32": (entries,), "weight.f32": (entries,)}
    data = Data(name=folder.absolute().name, checked=True)
    for file, about in files.items():
        data[KEYS.get(file, Path(file).stem)] = _mapped(folder, file, shapes.get(file, (nodes,)), about, verify)
    if "x.f32" not in files:
        data.num_nodes = nodes
    if header["class_names"] is not None:
        data.class_names = header["class_names"]
    first, last = data.crow[[0, -1]].tolist()
    if first != 0 or last != entries:
        raise _damaged(folder, f"crow.i64 goes from {first:,} to {last:,}, expected 0 to {entries:,}")
    content = {file: about for file, about in files.items() if file in GRAPH}
    data.digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return data


def load_graph_store(path: PathLike, *, split: str = "default", split_seed: int = 0) -> Data:
    """`open_graph_store` with all three masks.

    `split`: "own" are the masks in the store; "random" 20 + 30 nodes a class drawn by `split_seed`; "default" the
    former where there is one, else the latter.
    """
    if split not in ("default", "own", "random"):
        raise unknown("split", split, ("default", "own", "random"))
    data = open_graph_store(path)
    own = [data.get(f"{name}_mask") for name in MASKS]
    if split == "own" and own[0] is None:
        raise ConfigError(f"{path} comes with no split of its own; use split='default' or split='random'")
    y = data.get("y")
    if y is not None and (split == "random" or own[0] is None):
        own = list(split_per_class(y, seed=split_seed))
    nothing = torch.zeros(int(data.num_nodes), dtype=torch.bool)
    data.train_mask, data.val_mask, data.test_mask = Masks(*(nothing if mask is None else mask for mask in own))
    return data


def _header(folder: Path) -> dict[str, Any]:
    """What store.json says, if it makes sense."""
    path = folder / HEADER
    if UNFINISHED in folder.absolute().name:
        raise DataError(f"{folder} is a conversion that was not finished; convert again")
    if not folder.is_dir():
        raise DataError(f"no store at {folder}; make one with pignn convert")
    if not path.is_file():
        raise DataError(f"{folder} is not a store (it has no {HEADER}); make one with pignn convert")
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        version = header["format"]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise _damaged(folder, f"{HEADER} is not the description of a store") from None
    if version != FORMAT:
        raise DataError(f"store {folder} has version {version}, this pignn reads {FORMAT}; convert again")
    with contextlib.suppress(KeyError, TypeError, AttributeError):
        numbers = [header[key] for key in ("nodes", "entries", "features")]
        numbers += [about[key] for about in header["files"].values() for key in ("bytes", "crc32")]
        needed = {"crow.i64", "col.i32"}
        needed |= {"x.f32"} if header["features"] else set()
        needed |= {"weight.f32"} if header["weighted"] else set()
        fits = needed <= set(header["files"]) <= needed | (set(DTYPES) - GRAPH)
        fits &= all(type(number) is int and number >= 0 for number in numbers)
        if fits and all(type(name) is str for name in header["class_names"] or []):
            return header
    raise _damaged(folder, f"{HEADER} does not describe a store")


def _mapped(folder: Path, file: str, shape: tuple[int, ...], about: dict[str, int], verify: bool) -> Tensor:
    path, dtype = folder / file, np.dtype(DTYPES[file])
    expected = math.prod(shape) * dtype.itemsize
    try:
        with open(path, "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size != expected or size != about["bytes"]:
                raise _damaged(folder, f"{file} has {size:,} bytes, {expected:,} expected")
            if not size:
                return torch.from_numpy(np.empty(shape, dtype))
            if (verify or size <= SMALL) and _crc(opened) != about["crc32"]:
                raise _damaged(folder, f"the checksum of {file} differs")
            content = _map(opened.fileno(), size)
    except FileNotFoundError:
        raise _damaged(folder, f"{file} is missing") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    return torch.from_numpy(np.frombuffer(content, dtype).reshape(shape))


def _map(handle: int, size: int) -> mmap.mmap:
    """Pages of our own once written to, so that nobody can spoil the store; memory for that is not reserved."""
    if sys.platform != "linux":
        return mmap.mmap(handle, size, access=mmap.ACCESS_COPY)
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # without it, files larger than memory are refused
    return mmap.mmap(handle, size, flags=mmap.MAP_PRIVATE | no_reserve, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _crc(file: IO[bytes]) -> int:
    crc = 0
    while block := file.read(1 << 20):
        crc = zlib.crc32(block, crc)
    return crc


def _damaged(folder: Path, what: str) -> DataError:
    return DataError(f"store {folder} is damaged: {what}; convert again")
