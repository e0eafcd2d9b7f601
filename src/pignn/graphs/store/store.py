"""The format of a graph store, and how it is read."""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import sys
import zlib
from pathlib import Path
from typing import IO, Annotated, TypeAlias

import msgspec
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError, build_unknown_name_error
from ...io.files import UNFINISHED
from ..splits import Masks, split_per_class
from ..stored_ids import StoredIds
from ..tables.arrays import PathLike

FORMAT = 1
HEADER_NAME = "store.json"
MASK_NAMES = ("train", "val", "test")
SPLITS = ("default", "own", "random", "labeled")
SMALL_FILE_BYTES = 1 << 24  # files up to this size are read when a store is opened, to compare their checksums
DTYPES = {
    "crow.i64": "<i8",
    "col.i32": "<i4",
    "weight.f32": "<f4",
    "x.f32": "<f4",
    "y.i64": "<i8",
    **{f"{name}.u8": "|b1" for name in MASK_NAMES},
    "id.i64": "<i8",
    "id_offset.i64": "<i8",
    "id_text.u8": "|u1",
}
ATTRIBUTES = {"weight.f32": "edge_weight"} | {f"{name}.u8": f"{name}_mask" for name in MASK_NAMES}  # else the stem
GRAPH_FILES = {"crow.i64", "col.i32", "weight.f32", "x.f32"}
Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class FileHeader(msgspec.Struct):
    """Size and checksum of a file."""

    bytes: Size
    crc32: Size


class _Format(msgspec.Struct):
    format: int


class StoreHeader(_Format):
    """What store.json holds."""

    pignn: str
    nodes: Size
    entries: Size  # edges in both directions
    features: Size
    classes: Size
    class_names: list[str] | None
    weighted: bool
    files: dict[str, FileHeader]

    def has_expected_file_names(self) -> bool:
        required = {"crow.i64", "col.i32"}
        required |= {"x.f32"} if self.features else set()
        required |= {"weight.f32"} if self.weighted else set()
        are_ids_whole = ("id_offset.i64" in self.files) == ("id_text.u8" in self.files)
        return are_ids_whole and required <= set(self.files) <= required | (set(DTYPES) - GRAPH_FILES)


def open_graph_store(path: PathLike, *, verify: bool = False) -> Data:
    """Open a graph store, memory-mapped: nothing is read before it is used, and changes stay in memory.

    In place of `edge_index` the graph has `crow` [N + 1] and `col` [E]: the neighbors of node i are
    `col[crow[i]:crow[i + 1]]`. `edge_weight`, where there is one, goes along with `col`. `checked` says that `convert`
    checked features and edges, and `digest` identifies their content.

    Args:
        path: folder of the store.
        verify: compare the checksums of all files, not of the small ones only. This reads everything.
    """
    folder = Path(path)
    header = _read_header(folder)
    num_nodes, num_entries = header.nodes, header.entries
    shapes: dict[str, tuple[int, ...]] = {"crow.i64": (num_nodes + 1,), "x.f32": (num_nodes, header.features)}
    shapes |= {"col.i32": (num_entries,), "weight.f32": (num_entries,), "id_offset.i64": (num_nodes + 1,)}
    data = Data(name=folder.absolute().name, checked=True)
    arrays = {}
    for name, file_header in header.files.items():
        shape = (file_header.bytes,) if name == "id_text.u8" else shapes.get(name, (num_nodes,))
        arrays[name] = _check_size_and_map_tensor(folder, name, shape, file_header, verify)
    ids = [arrays.pop(name).numpy() for name in ("id.i64", "id_offset.i64", "id_text.u8") if name in arrays]
    for name, tensor in arrays.items():
        data[ATTRIBUTES.get(name, Path(name).stem)] = tensor
    if ids:
        data.node_id = StoredIds(*ids)
    if "x.f32" not in header.files:
        data.num_nodes = num_nodes
    if header.class_names is not None:
        data.class_names = header.class_names
    first, last = data.crow[[0, -1]].tolist()
    if first != 0 or last != num_entries:
        raise _build_damaged_store_error(
            folder, f"crow.i64 goes from {first:,} to {last:,}, expected 0 to {num_entries:,}"
        )
    content = {name: msgspec.to_builtins(each) for name, each in header.files.items() if name in GRAPH_FILES}
    data.digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return data


def open_graph_store_with_masks(path: PathLike, *, split: str = "default", split_seed: int = 0) -> Data:
    """Open a graph store with all three masks.

    Args:
        path: folder of the store.
        split: "own" takes the masks in the store; "random" draws 20 training and 30 validation nodes per class;
            "default" is "own" if the store has masks, else "random"; "labeled" is "own" if the store has masks, else
            all labeled nodes are for training.
        split_seed: random seed of the split.
    """
    if split not in SPLITS:
        raise build_unknown_name_error("split", split, SPLITS)
    data = open_graph_store(path)
    masks = [data.get(f"{name}_mask") for name in MASK_NAMES]
    if split == "own" and masks[0] is None:
        raise ConfigError(f"{path} comes with no split of its own; use split='default' or split='random'")
    y = data.get("y")
    if y is not None and split == "labeled" and masks[0] is None:
        masks = [y >= 0, None, None]
    elif y is not None and (split == "random" or masks[0] is None):
        masks = list(split_per_class(y, seed=split_seed))
    nothing = torch.zeros(int(data.num_nodes), dtype=torch.bool)
    data.train_mask, data.val_mask, data.test_mask = Masks(*(nothing if mask is None else mask for mask in masks))
    return data


def _read_header(folder: Path) -> StoreHeader:
    path = folder / HEADER_NAME
    if UNFINISHED in folder.absolute().name:
        raise DataError(f"{folder} is a conversion that was not finished; convert again")
    if not folder.is_dir():
        raise DataError(f"no store at {folder}; make one with pignn convert")
    if not path.is_file():
        raise DataError(f"{folder} is not a store (it has no {HEADER_NAME}); make one with pignn convert")
    try:
        content = path.read_bytes()
        version = msgspec.json.decode(content, type=_Format).format
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _build_damaged_store_error(folder, f"{HEADER_NAME} is not the description of a store") from None
    if version != FORMAT:
        raise DataError(f"store {folder} has version {version}, this pignn reads {FORMAT}; convert again")
    try:
        header = msgspec.json.decode(content, type=StoreHeader)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _build_damaged_store_error(folder, f"{HEADER_NAME} does not describe a store ({error})") from None
    if not header.has_expected_file_names():
        raise _build_damaged_store_error(folder, f"{HEADER_NAME} does not describe a store")
    return header


def _check_size_and_map_tensor(
    folder: Path, name: str, shape: tuple[int, ...], header: FileHeader, verify: bool
) -> Tensor:
    """A file as a memory-mapped tensor, after its size and checksum were compared."""
    path, dtype = folder / name, np.dtype(DTYPES[name])
    expected = math.prod(shape) * dtype.itemsize
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != expected or size != header.bytes:
                raise _build_damaged_store_error(folder, f"{name} has {size:,} bytes, {expected:,} expected")
            if not size:
                return torch.from_numpy(np.empty(shape, dtype))
            if (verify or size <= SMALL_FILE_BYTES) and _compute_crc32(file) != header.crc32:
                raise _build_damaged_store_error(folder, f"the checksum of {name} differs")
            content = _map_file_copy_on_write(file.fileno(), size)
    except FileNotFoundError:
        raise _build_damaged_store_error(folder, f"{name} is missing") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    return torch.from_numpy(np.frombuffer(content, dtype).reshape(shape))


def _map_file_copy_on_write(handle: int, size: int) -> mmap.mmap:
    """Map a file copy-on-write, so that nobody can spoil the store. Memory for the copies is not reserved."""
    if sys.platform != "linux":
        return mmap.mmap(handle, size, access=mmap.ACCESS_COPY)
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # without it, files larger than memory are refused
    return mmap.mmap(handle, size, flags=mmap.MAP_PRIVATE | no_reserve, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _compute_crc32(file: IO[bytes]) -> int:
    crc = 0
    while block := file.read(1 << 20):
        crc = zlib.crc32(block, crc)
    return crc


def _build_damaged_store_error(folder: Path, reason: str) -> DataError:
    return DataError(f"store {folder} is damaged: {reason}; convert again")
