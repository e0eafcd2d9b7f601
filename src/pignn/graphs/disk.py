"""Graphs larger than memory: a folder of arrays that is made from files in chunks and read in place.

A store holds the simple undirected graph (as :func:`~pignn.graphs.simple_edges` makes it) row by row:

| file | holds |
|---|---|
| `store.json` | version, numbers of nodes, entries, features and classes, size and checksum of every other file |
| `crow.i64` | where the neighbours of each node begin in `col`, and the end of the last: nodes + 1 numbers |
| `col.i32` | the neighbours, ascending for each node; every edge is there twice |
| `weight.f32` | optional: their weights |
| `x.f32` | optional: features, node by node |
| `y.i64` | optional: given labels, -1 for none |
| `train.u8`, `val.u8`, `test.u8` | optional: masks, 0 or 1 |

All numbers are little-endian. Whatever the input, memory stays within what `convert` is given: entries are first
divided by ranges into files, then each range is sorted on its own.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import glob
import gzip
import hashlib
import importlib
import json
import math
import mmap
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from .._version import __version__
from ..errors import ConfigError, DataError, OutputError, PignnError, PignnWarning, unknown
from .edges import _is_first, _merge, _sort
from .splits import Masks, per_class
from .wording import counted, one_line

FORMAT = 1
HEADER = "store.json"
MASKS = ("train", "val", "test")
MOST_NODES = 2**31 - 1  # an entry (row, column, direction) is one integer of 64 bits
MOST_CLASSES = 10_000
SMALL = 1 << 24  # files up to this size are read when a store is opened, to compare their checksums
UNFINISHED = ".unfinished-"

PathLike: TypeAlias = str | os.PathLike[str]
Values: TypeAlias = PathLike | np.ndarray


# ---- reading a store ---------------------------------------------------------------------------------------


def open_store(path: PathLike, *, verify: bool = False) -> Data:
    """The graph in a store, memory-mapped: nothing is read before it is used, and changes stay in memory.

    In place of `edge_index` it has `crow` [N + 1] and `col` [E], the neighbours of node i being
    `col[crow[i]:crow[i + 1]]`; `edge_weight`, where there is one, goes along with `col`. `checked` says that
    features and edges were looked at by `convert`, `digest` names their content. `verify=True` reads
    everything and compares the checksums of all files, not of the small ones only.
    """
    folder = Path(path)
    header = _header(folder)
    nodes, entries, features = header["nodes"], header["entries"], header["features"]
    shapes: dict[str, tuple[int, ...]] = {"crow.i64": (nodes + 1,), "col.i32": (entries,), "weight.f32": (entries,)}
    shapes |= {"x.f32": (nodes, features), "y.i64": (nodes,)} | {f"{name}.u8": (nodes,) for name in MASKS}
    found = {}
    for file, about in header["files"].items():
        found[file] = _mapped(folder, file, shapes[file], about, verify)
    data = Data(crow=found["crow.i64"], col=found["col.i32"], name=folder.absolute().name, checked=True)
    for key, file in (("x", "x.f32"), ("edge_weight", "weight.f32"), ("y", "y.i64")):
        if file in found:
            data[key] = found[file]
    for name in MASKS:
        if f"{name}.u8" in found:
            data[f"{name}_mask"] = found[f"{name}.u8"].view(torch.bool)
    if "x.f32" not in found:
        data.num_nodes = nodes
    if header["class_names"] is not None:
        data.class_names = header["class_names"]
    first, last = data.crow[[0, -1]].tolist()
    if first != 0 or last != entries:
        raise _damaged(folder, f"crow.i64 goes from {first:,} to {last:,}, expected 0 to {entries:,}")
    content = {file: about for file, about in header["files"].items() if file in _GRAPH}
    data.digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return data


def load_store(path: PathLike, *, split: str = "default", split_seed: int = 0) -> Data:
    """`open_store` with all three masks.

    `split`: "own" are the masks in the store; "random" 20 + 30 nodes a class drawn by `split_seed`; "default" the
    former where there is one, else the latter.
    """
    if split not in ("default", "own", "random"):
        raise unknown("split", split, ("default", "own", "random"))
    data = open_store(path)
    own = [data.get(f"{name}_mask") for name in MASKS]
    if split == "own" and own[0] is None:
        raise ConfigError(f"{path} comes with no split of its own; use split='default' or split='random'")
    y = data.get("y")
    if y is not None and (split == "random" or own[0] is None):
        own = list(per_class(y, seed=split_seed))
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
        fits = needed <= set(header["files"]) <= needed | (set(_FILES) - _GRAPH)
        fits &= all(type(number) is int and number >= 0 for number in numbers)
        if fits and all(type(name) is str for name in header["class_names"] or []):
            return header
    raise _damaged(folder, f"{HEADER} does not describe a store")


_FILES = {
    "crow.i64": "<i8",
    "col.i32": "<i4",
    "weight.f32": "<f4",
    "x.f32": "<f4",
    "y.i64": "<i8",
    **{f"{name}.u8": "|u1" for name in MASKS},
}
_GRAPH = {"crow.i64", "col.i32", "weight.f32", "x.f32"}


def _mapped(folder: Path, file: str, shape: tuple[int, ...], about: dict[str, int], verify: bool) -> Tensor:
    path, dtype = folder / file, np.dtype(_FILES[file])
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


# ---- making a store ----------------------------------------------------------------------------------------


@dataclass
class Conversion:
    """What a conversion read, changed and wrote; `edges` counts both directions of an edge once."""

    out: str
    nodes: int = 0
    edges: int = 0
    features: int = 0
    classes: int = 0
    class_names: list[str] | None = None
    weighted: bool = False
    rows_read: int = 0
    self_loops_dropped: int = 0
    duplicates_merged: int = 0
    made_two_way: int = 0
    larger_weight_taken: int = 0
    labelled: int = 0
    bytes: int = 0

    @property
    def notes(self) -> list[str]:
        """What was changed, in words."""
        changes = {
            f"dropped {counted(self.self_loops_dropped, 'self-loop')}": self.self_loops_dropped,
            f"merged {counted(self.duplicates_merged, 'duplicate edge')}": self.duplicates_merged,
            f"made {counted(self.made_two_way, 'one-way edge')} two-way": self.made_two_way,
            f"took the larger weight of {counted(self.larger_weight_taken, 'edge')} whose two directions differ": (
                self.larger_weight_taken
            ),
        }
        return [words for words, number in changes.items() if number]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)


def convert(
    out: PathLike,
    *,
    edges: PathLike | Iterable[np.ndarray],
    nodes: PathLike | None = None,
    features: Values | None = None,
    labels: Values | None = None,
    label: str | None = None,
    train: Values | None = None,
    val: Values | None = None,
    test: Values | None = None,
    columns: Sequence[str] | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    num_nodes: int | None = None,
    memory: int = 1 << 30,
    force: bool = False,
    progress: bool | None = None,
) -> Conversion:
    """Make a store from files of any size, whole or not at all; see :func:`open_store` for how to read it.

    Args:
        out: folder to make.
        edges: CSV, TSV (also with .gz) or Parquet, one edge a row; or .npy of shape [E, 2] or [2, E]; or arrays
            [n, 2] that come one after the other. Nodes are numbered 0 to N - 1.
        nodes: CSV, TSV or Parquet with a header, one node a row, in order.
        features: .npy of shape [N, F], or an array. Else the `columns` of `nodes`.
        labels: .npy of N labels, or an array; -1 for none.
        label: column of `nodes` with the labels, numbers from 0 or names; -1 or empty for none.
        train, val, test: columns of `nodes`, .npy files or arrays, of 0 and 1.
        columns: of `nodes` that are features, as names or patterns ("x*"); all that are nothing else if absent. A
            column `id`, `node` or `node_id` is no feature: it must count 0, 1, 2, ...
        source, target, weight: columns of `edges`: their names or, without a header, their positions from 0. If absent:
            `source` and `target` or the first two, and `weight` or, where there is no header, the third of three;
            weight="none" leaves weights out.
        delimiter: between the columns of text files; guessed if absent.
        num_nodes: needed only where there is nothing else to tell it.
        memory: bytes to stay within, about.
        force: replace a store that is there.
        progress: a bar; `None` shows it on a terminal only.
    """
    if memory < 1:
        raise ConfigError(f"memory must be a positive number of bytes, not {memory}")
    if label is not None and labels is not None:
        raise ConfigError("labels are given twice: as a column (label) and as a file (labels)")
    folder = Path(out)
    _check_out(folder, force)
    masks = {name: mask for name, mask in zip(MASKS, (train, val, test), strict=True) if mask is not None}
    in_table = {name: str(mask) for name, mask in masks.items() if not _is_array(mask)}
    if nodes is None and (label is not None or in_table or columns):
        what = "label" if label is not None else next(iter(in_table), "columns")
        raise ConfigError(f"{what} names a column of a node file, but there is none; give it as nodes")
    delimiter = _delimiter(delimiter)
    table = None if nodes is None else _table(nodes, delimiter, of_nodes=True)
    rows = _edge_table(edges, delimiter)
    chosen = _edge_columns(rows, source, target, weight)

    with _told(folder), _unfinished(folder) as made, _Bar(progress) as bar:
        parts = _Nodes(made, memory, bar)
        if table is not None:
            parts.read_table(table, _node_columns(table, label, in_table, columns, features is None), label, in_table)
        if features is not None:
            parts.read_features(features)
        if labels is not None:
            parts.read_labels(labels)
        for name, mask in masks.items():
            if name not in in_table:
                parts.read_mask(name, mask)
        done = Conversion(str(out), nodes=parts.count(num_nodes), features=parts.features)
        done.class_names, done.labelled = parts.finish_labels()
        done.classes = len(done.class_names or [])
        files = parts.files + _write_edges(rows, chosen, made, done, memory, bar)
        header = {
            "format": FORMAT,
            "pignn": __version__,
            "nodes": done.nodes,
            "entries": 2 * done.edges,
            "features": done.features,
            "classes": done.classes,
            "class_names": done.class_names,
            "weighted": done.weighted,
            "files": {file.name: {"bytes": file.bytes, "crc32": file.crc} for file in files},
        }
        done.bytes = sum(file.bytes for file in files)
        with _File(made / HEADER) as file:
            file.write(json.dumps(header, indent=1, ensure_ascii=False).encode())
        shutil.rmtree(made / "work")
    return done


# ---- the folder ----


def _check_out(out: Path, force: bool) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise OutputError(f"cannot write {out}: a file of that name is there; choose another folder")
    there = {entry.name for entry in out.iterdir()}
    others = sorted(there - {HEADER, *_FILES})
    if others:
        raise OutputError(f"cannot write {out}: it holds other files ({others[0]}); choose another folder")
    if there and not force:
        raise OutputError(f"{out} is there already; --force (force=True) replaces it")


@contextlib.contextmanager
def _told(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "; make room and try again" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
        raise OutputError(f"cannot write {out}: {error.strerror or error}{hint}") from None


@contextlib.contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """A hidden folder beside `out` that takes its place when it is whole.

    Its name has the process that fills it: what a killed one left behind goes away the next time.
    """
    out = Path(os.path.abspath(out))
    new = [parent for parent in out.parents if not parent.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    host = socket.gethostname()
    for left in out.parent.glob(f".{glob.escape(out.name)}{UNFINISHED}*"):
        of_host, _, pid = left.name.partition(UNFINISHED)[2].rpartition("-")[0].rpartition("-")
        if of_host == host and pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    prefix = f".{out.name}{UNFINISHED}{host}-{os.getpid()}-"
    made = Path(tempfile.mkdtemp(dir=out.parent, prefix=prefix))
    old = made.with_name(made.name + "old")
    try:
        (made / "work").mkdir()
        yield made
        made.chmod(0o777 & ~_umask())
        if out.exists():
            _check_out(out, force=True)
            out.rename(old)
        try:
            made.rename(out)
        except BaseException:
            if old.exists():
                old.rename(out)
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
        for parent in new:
            with contextlib.suppress(OSError):
                parent.rmdir()  # only if it is empty


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # alive, and somebody else's
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _block(array: np.ndarray) -> memoryview:
    """The bytes of an array, not copied if they are in order."""
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _write(file: IO[bytes], block: bytes | memoryview) -> None:
    """All of it: the system may take a part at a time."""
    rest = memoryview(block)
    while rest:
        rest = rest[file.write(rest) :]


class _File:
    """A file that is written from beginning to end, and what there is to know of it afterwards."""

    def __init__(self, path: Path) -> None:
        self.name, self.bytes, self.crc = path.name, 0, 0
        self.file: IO[bytes] = open(path, "wb", buffering=0)  # noqa: SIM115

    def write(self, content: np.ndarray | bytes) -> None:
        block = content if isinstance(content, bytes) else _block(np.asarray(content, np.dtype(_FILES[self.name])))
        self.crc, self.bytes = zlib.crc32(block, self.crc), self.bytes + len(block)
        _write(self.file, block)

    def __enter__(self) -> _File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.file:
            if kind is None:
                os.fsync(self.file.fileno())


class _Bar:
    """How far each step is, on a terminal and nowhere else."""

    def __init__(self, show: bool | None) -> None:
        self.show = sys.stderr.isatty() if show is None else show

    def __enter__(self) -> _Bar:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            text, left = TextColumn("{task.description}"), TextColumn("· left")
            shown = (text, BarColumn(), TaskProgressColumn(), left, TimeRemainingColumn())
            self.bar = Progress(*shown, console=Console(stderr=True))
            self.bar.start()
        return self

    def step(self, title: str) -> None:
        if self.show:
            self.task = self.bar.add_task(title, total=1.0)

    def at(self, share: float) -> None:
        if self.show:
            self.bar.update(self.task, completed=min(share, 1.0))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.show:
            self.bar.stop()


# ---- tables, in chunks ----


@dataclass
class _Chunk:
    frame: pd.DataFrame
    first: int  # its first row in the table, from 0
    share: float  # of the table that has been read


class _Table(Protocol):
    name: str
    columns: list[str]
    header: bool
    rows: int  # about

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[_Chunk]:
        """At most `rows` rows at a time; the columns in `text` are not taken for numbers."""
        ...


def _delimiter(name: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    found = None if name is None else named.get(name, name)
    if found is not None and (len(found) != 1 or found in '\r\n"#'):
        raise ConfigError(f"a delimiter is one character, tab or space, not '{name}'")
    return found


def _table(path: PathLike, delimiter: str | None, *, of_nodes: bool = False) -> _Table:
    path = Path(path)
    if not path.is_file():
        raise DataError(f"cannot read {path}: " + ("it is a folder" if path.is_dir() else "no such file"))
    if path.suffix.lower() in (".parquet", ".pq"):
        return _Parquet(path)
    table = _Text(path, delimiter, of_nodes)
    if table.note:
        warnings.warn(table.note, PignnWarning, stacklevel=4)
    return table


def _once(columns: list[str], path: Path) -> list[str]:
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(f"{path} has two columns named '{name}'; rename one")
    return columns


def _edge_table(edges: PathLike | Iterable[np.ndarray], delimiter: str | None) -> _Table:
    if not isinstance(edges, str | os.PathLike):
        return _Arrays("edges", edges, None)
    path = Path(edges)
    if path.suffix.lower() == ".npy":
        array = _array(path)
        if array.ndim != 2 or 2 not in array.shape:
            raise DataError(f"{path} has shape {list(array.shape)}; edges are of shape [edges, 2] or [2, edges]")
        return _Arrays(str(path), [array if array.shape[1] == 2 else array.T], max(array.shape))
    return _table(path, delimiter)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What libraries say about a file that cannot be read, in one line."""
    try:
        yield
    except PignnError:
        raise
    except pd.errors.ParserError as error:
        reason = str(error).strip().rpartition("C error: ")[2]
        raise DataError(f"cannot read {path}: {' '.join(reason.split())}; every row needs the same columns") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or one_line(error)}") from None
    except UnicodeDecodeError:
        raise DataError(f"cannot read {path}: not text in UTF-8") from None
    except (ValueError, EOFError, zlib.error, OverflowError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {one_line(error)}") from None


_NAMED = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}


class _Text:
    """A CSV file or one of its kin. Lines with # or % before the first row are skipped."""

    def __init__(self, path: Path, delimiter: str | None, of_nodes: bool) -> None:
        self.path, self.name, self.note = path, str(path), ""
        self.zipped = path.suffix.lower() == ".gz"
        with _reading(path), self._open() as file:
            self.bom, self.skip, first, second = self._head(file)
        if not first:
            raise DataError(f"{path} is empty")
        kind = Path(path.stem if self.zipped else path.name).suffix.lower()
        expected = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(kind)
        self.delimiter = delimiter or self._guess(first, expected)
        self.columns = self._split(first)
        # An edge has numbers only, and a mistake in the first is not to be taken for a header; a feature of a node
        # may have a number for its name.
        numbers = [_is_number(value) for value in self.columns]
        self.header = not (all(numbers) if of_nodes else any(numbers))
        self.empty = self.header and not second
        self.skip += self.header
        self.columns = _once(self.columns, path) if self.header else [str(i) for i in range(len(self.columns))]
        if delimiter is None and self.delimiter != expected and len(self.columns) > 1:
            header = "with" if self.header else "without"
            self.note = f"{path}: read as columns separated by {_NAMED[self.delimiter]}, {header} a header"
        size = path.stat().st_size * (4 if self.zipped else 1)
        self.rows = size // max(len(second or first) + 1, 2)

    def _open(self) -> IO[bytes]:
        return gzip.open(self.path, "rb") if self.zipped else open(self.path, "rb")  # type: ignore[return-value]

    def _head(self, file: IO[bytes]) -> tuple[bool, int, str, str]:
        """Whether there is a byte order mark, how many lines are before the first row, the first two rows."""
        bom, skip = False, 0
        found: list[str] = []
        while len(found) < 2 and (line := file.readline(1 << 24)):
            bom |= line.startswith(b"\xef\xbb\xbf")
            text = line.decode("utf-8-sig").strip("\r\n")
            if text.strip() and (found or not text.startswith(("#", "%"))):
                found.append(text)
            elif not found:
                skip += 1
        first, second, *_ = [*found, "", ""]
        return bom, skip, first, second

    def _guess(self, line: str, expected: str | None) -> str:
        for candidate in (expected, "\t", ",", ";", "|", " "):
            if candidate and candidate in line.strip():
                return candidate
        return expected or ","

    def _split(self, line: str) -> list[str]:
        if self.delimiter == " ":
            return line.split()
        with _reading(self.path):
            return [value.strip() for value in next(csv.reader([line], delimiter=self.delimiter))]

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[_Chunk]:
        if self.empty:
            return
        size, done = max(self.path.stat().st_size, 1), 0
        with _reading(self.path), open(self.path, "rb") as raw:
            reader = pd.read_csv(
                gzip.GzipFile(fileobj=raw) if self.zipped else raw,
                sep=r"\s+" if self.delimiter == " " else self.delimiter,
                header=None,
                skiprows=self.skip,
                dtype={self.columns.index(column): str for column in text},
                keep_default_na=False,  # "NA" and "None" may be names of classes
                na_values=[""],
                chunksize=rows,
                low_memory=False,
                skipinitialspace=True,
                encoding="utf-8-sig" if self.bom else "utf-8",
            )
            for frame in reader:
                if frame.shape[1] != len(self.columns):
                    raise DataError(
                        f"{self.path}, row {done + 1:,}: {counted(frame.shape[1], 'column')}, "
                        f"but {len(self.columns)} in the header; every row needs the same columns"
                    )
                frame.columns = pd.Index(self.columns)
                yield _Chunk(frame, done, raw.tell() / size)
                done += len(frame)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Parquet:
    header = True

    def __init__(self, path: Path) -> None:
        try:
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise DataError(f"reading {path} needs pyarrow; pip install pyarrow, or save it as CSV") from None
        self.path, self.name = path, str(path)
        with _reading(path):
            self.file = parquet.ParquetFile(path)
            self.rows = int(self.file.metadata.num_rows)
            self.columns = _once([str(name) for name in self.file.schema_arrow.names], path)

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[_Chunk]:
        done = 0
        with _reading(self.path):
            for batch in self.file.iter_batches(batch_size=rows):
                yield _Chunk(batch.to_pandas(), done, (done + batch.num_rows) / max(self.rows, 1))
                done += batch.num_rows


class _Arrays:
    """Edges that are arrays already."""

    header = False
    columns: list[str] = ["0", "1"]  # noqa: RUF012

    def __init__(self, name: str, arrays: Iterable[np.ndarray], rows: int | None) -> None:
        self.name, self.arrays, self.known = name, arrays, rows
        self.rows = 1 << 30 if rows is None else rows

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[_Chunk]:
        done = 0
        for array in self.arrays:
            array = np.asarray(array)
            if array.ndim != 2 or array.shape[1] != 2:
                raise DataError(f"{self.name}: an array of shape {list(array.shape)}; edges are of shape [n, 2]")
            for start in range(0, len(array), rows):
                frame = pd.DataFrame(array[start : start + rows], columns=pd.Index(self.columns))
                yield _Chunk(frame, done, (done + len(frame)) / (self.known or math.inf))
                done += len(frame)


def _column(table: _Table, name: str) -> str:
    if name not in table.columns:
        raise unknown(f"column of {table.name}", name, table.columns)
    return name


def _numbers(column: pd.Series[Any]) -> np.ndarray:
    """A column as numbers, NaN where there is none."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy()
    return pd.to_numeric(column.astype(str), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _shown(value: Any) -> str:
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    text = repr(str(value))
    return "empty" if missing else text if len(text) < 40 else text[:36] + "...'"


# ---- nodes ----


def _is_array(value: Values | None) -> bool:
    return isinstance(value, np.ndarray) or str(value).lower().endswith(".npy")


def _array(value: Values) -> np.ndarray:
    """An array, memory-mapped if it is a file."""
    if isinstance(value, np.ndarray):
        return value
    path = Path(value)
    if path.suffix.lower() != ".npy":
        raise DataError(f"cannot read {path}: expected a .npy file")
    with _reading(path):
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":  # anything else would be taken for a pickle
                raise DataError(f"cannot read {path}: not a .npy file")
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            if "Python objects" in str(error):
                raise DataError(f"{path} holds pickled Python objects, which are refused: save numbers") from None
            raise


def _slices(value: Values, rows: int, bar: _Bar) -> Iterator[tuple[int, np.ndarray]]:
    """Some rows at a time; a file is mapped anew for each, so that what was read does not stay in memory."""
    length = len(_array(value))
    for start in range(0, length, rows):
        yield start, np.asarray(_array(value)[start : start + rows])
        bar.at((start + rows) / length)


def _title(value: Values, name: str) -> str:
    return name if isinstance(value, np.ndarray) else str(value)


_IDS = ("id", "node", "node_id", "")  # the last is how pandas writes the numbers of rows


def _node_columns(
    table: _Table, label: str | None, masks: dict[str, str], wanted: Sequence[str] | None, use: bool
) -> list[str]:
    """Those columns of the node file that are features."""
    if not table.header:
        raise DataError(f"{table.name} needs a header: a first row with the names of its columns")
    taken = {_column(table, name) for name in (label, *masks.values()) if name is not None}
    if not use:
        if wanted:
            raise ConfigError("features are given twice: as an array (features) and as columns of the node file")
        return []
    if wanted is None:
        return [name for name in table.columns if name not in taken and name.lower() not in _IDS]
    chosen = []
    for pattern in wanted:
        found = [name for name in table.columns if fnmatchcase(name, pattern) and name not in taken]
        chosen += found or [_column(table, pattern)]
        if not found:
            raise ConfigError(f"column '{pattern}' is a label or a mask, not a feature")
    return list(dict.fromkeys(chosen))


@dataclass
class _Nodes:
    """What belongs to the nodes, one file after the other."""

    folder: Path
    memory: int
    bar: _Bar
    features: int = 0
    files: list[_File] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)  # where it was told, how many nodes
    classes: dict[str, int] = field(default_factory=dict)  # label as text → number in order of appearance
    label_title: str = ""

    def _rows(self, width: int) -> int:
        """Rows of so many numbers that fit into memory, parsing included."""
        return min(max(self.memory // (64 * max(width, 1)), 16), 1 << 21)

    def _file(self, name: str) -> _File:
        file = _File(self.folder / name)
        self.files.append(file)
        return file

    def count(self, told: int | None) -> int:
        """The number of nodes, if everybody agrees."""
        if told is not None:
            self.lengths["num_nodes"] = told
        if not self.lengths:
            raise ConfigError("how many nodes are there? give features, a node file, labels or num_nodes")
        name, nodes = next(iter(self.lengths.items()))
        for other, length in self.lengths.items():
            if length != nodes:
                raise DataError(f"{name} has {counted(nodes, 'node')}, {other} has {length:,}; they must be the same")
        if nodes < 1:
            raise DataError(f"{name} has no nodes")
        if nodes > MOST_NODES:
            raise DataError(f"{name} has {nodes:,} nodes; a store holds {MOST_NODES:,} at most")
        return nodes

    def read_table(self, table: _Table, columns: list[str], label: str | None, masks: dict[str, str]) -> None:
        self.bar.step("nodes")
        text = [*([label] if label is not None else []), *masks.values()]
        used = {*columns, *text}
        ids = next((name for name in table.columns if name.lower() in _IDS and name not in used), None)
        done = 0
        with contextlib.ExitStack() as stack:
            x = stack.enter_context(self._file("x.f32")) if columns else None
            y = stack.enter_context(open(self.folder / "work" / "y", "wb")) if label is not None else None
            files = {name: stack.enter_context(self._file(f"{name}.u8")) for name in masks}
            for chunk in table.chunks(self._rows(len(table.columns)), text):
                frame, first = chunk.frame, chunk.first
                if ids is not None:
                    self._check_ids(frame[ids], table.name, ids, first)
                if x is not None:
                    x.write(self._features(frame, columns, table.name, first))
                if y is not None:
                    _write(y, _block(self._labels(frame[label], f"{table.name}, column '{label}'")))
                for name, file in files.items():
                    file.write(_mask(frame[masks[name]], f"{table.name}, column '{masks[name]}'", first))
                done += len(frame)
                self.bar.at(chunk.share)
        self.features = len(columns)
        self.lengths[table.name] = done

    def read_features(self, features: Values) -> None:
        self.bar.step("features")
        title, whole = _title(features, "features"), _array(features)
        if whole.ndim != 2 or whole.dtype.kind not in "biuf":
            raise DataError(
                f"{title} must be numbers of shape [nodes, features], not {whole.dtype} {list(whole.shape)}"
            )
        if not whole.shape[1]:
            raise DataError(f"{title} has no columns; give every node at least one feature")
        length, self.features = whole.shape
        del whole
        with self._file("x.f32") as file:
            for first, part in _slices(features, self._rows(self.features), self.bar):
                with np.errstate(over="ignore"):
                    part = part.astype(np.float32)
                _check_finite(part, title, first)
                file.write(part)
        self.lengths[title] = length

    def read_labels(self, labels: Values) -> None:
        self.bar.step("labels")
        title, whole = _title(labels, "labels"), _array(labels)
        if whole.ndim == 0 or whole.size != len(whole) or whole.dtype.kind not in "iufU":
            raise DataError(f"{title} must be one label a node, not {whole.dtype} {list(whole.shape)}")
        self.lengths[title] = len(whole)
        with open(self.folder / "work" / "y", "wb") as file:
            for _, part in _slices(labels, self._rows(4), self.bar):
                _write(file, _block(self._labels(pd.Series(part.reshape(-1)), title)))

    def read_mask(self, name: str, mask: Values) -> None:
        title, whole = _title(mask, name), _array(mask)
        if whole.ndim == 0 or whole.size != len(whole) or whole.dtype.kind not in "biuf":
            raise DataError(f"{title} must be 0 or 1 for each node, not {whole.dtype} {list(whole.shape)}")
        self.lengths[title] = len(whole)
        with self._file(f"{name}.u8") as file:
            for first, part in _slices(mask, self._rows(4), self.bar):
                file.write(_mask(pd.Series(part.reshape(-1)), title, first))

    def _check_ids(self, column: pd.Series[Any], title: str, name: str, first: int) -> None:
        values = _numbers(column)
        wrong = values != np.arange(first, first + len(values))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{title}, row {first + row + 1:,}: {name} is {_shown(column.iloc[row])}, but rows are nodes "
                f"0, 1, 2, ... in this order; number the nodes from 0 and sort the file"
            )

    def _features(self, frame: pd.DataFrame, columns: list[str], title: str, first: int) -> np.ndarray:
        x = np.empty((len(frame), len(columns)), np.float32)
        with np.errstate(over="ignore"):
            for i, name in enumerate(columns):
                column = frame[name]
                x[:, i] = column if column.dtype == np.bool_ else _numbers(column)
        if not np.isfinite(x).all():
            row, i = np.argwhere(~np.isfinite(x))[0]
            value = _shown(frame[columns[i]].iloc[row])
            raise DataError(
                f"{title}: column '{columns[i]}' is not a finite number at node {first + row} ({value}); "
                "replace it, or choose the features with columns"
            )
        return x

    def _labels(self, column: pd.Series[Any], title: str) -> np.ndarray:
        """Numbers in order of appearance; finish_labels makes the final ones."""
        codes, values = pd.factorize(column)
        table = np.full(len(values) + 1, -1, np.int64)  # the last is for missing values, whose code is -1
        for i, value in enumerate(values):
            text = _label(value)
            if text not in ("", "-1"):
                table[i] = self.classes.setdefault(text, len(self.classes))
        if len(self.classes) > MOST_CLASSES:
            raise DataError(f"{title} has more than {MOST_CLASSES:,} different values; is it the label?")
        self.label_title = title
        return table[codes]

    def finish_labels(self) -> tuple[list[str] | None, int]:
        """Write y: labels that are whole numbers keep them, names are numbered by the alphabet."""
        path = self.folder / "work" / "y"
        if not path.exists():
            return None, 0
        names, title = list(self.classes), self.label_title
        if not names:
            raise DataError(f"{title} has no label at all; leave it out")
        if all(re.fullmatch(r"-?[0-9]+", name) for name in names):
            numbers = [int(name) for name in names]
            if min(numbers) < 0:
                raise DataError(f"{title} has the label {min(numbers)}; labels are 0, 1, 2, ..., or -1 for none")
            if max(numbers) >= max(self.count(None), 1000):
                raise DataError(f"{title}: the largest label is {max(numbers)}; number the classes 0, 1, 2, ...")
            class_names = [str(c) for c in range(max(numbers) + 1)]
        elif all(_is_number(name) for name in names):
            wrong = next(name for name in names if not re.fullmatch(r"-?[0-9]+", name))
            raise DataError(f"{title} has the label {wrong}; labels are whole numbers from 0, or names")
        else:
            class_names = sorted(names)
            numbers = [class_names.index(name) for name in names]
        final = np.array([*numbers, -1])
        labelled = 0
        with self._file("y.i64") as file, open(path, "rb") as codes:
            while block := codes.read(8 * self._rows(4)):
                y = final[np.frombuffer(block, np.int64)]
                labelled += int((y >= 0).sum())
                file.write(y)
        return class_names, labelled


def _label(value: Any) -> str:
    """3, 3.0, "3" and "3.0" are one label."""
    text = str(value).strip()
    with contextlib.suppress(ValueError, OverflowError):
        if text[-2:] == ".0" or isinstance(value, float | np.floating):
            number = float(text)
            return str(int(number)) if number == int(number) else text
    return text


_BITS = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}


def _mask(column: pd.Series[Any], title: str, first: int) -> np.ndarray:
    codes, values = pd.factorize(column)
    table = np.zeros(len(values) + 1, np.uint8)
    for i, value in enumerate(values):
        text = _label(value).lower()
        if text not in _BITS:
            node = first + int((codes == i).argmax())
            raise DataError(f"{title}: a mask is 0 or 1, not {_shown(value)} (node {node})")
        table[i] = _BITS[text]
    return table[codes]


def _check_finite(x: np.ndarray, title: str, first: int) -> None:
    finite = np.isfinite(x)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DataError(
            f"{title} has a NaN or infinite value at node {first + row}, column {column}; replace or drop it"
        )


# ---- edges ----


@dataclass
class _EdgeColumns:
    source: str
    target: str
    weight: str | None


def _edge_columns(table: _Table, source: str | None, target: str | None, weight: str | None) -> _EdgeColumns:
    columns = table.columns
    if len(columns) < 2:
        raise DataError(f"{table.name} has one column ({_shown(columns[0])}); edges need two; is the delimiter right?")
    lower = {name.lower(): name for name in reversed(columns)}
    ends = next((pair for pair in (("source", "target"), ("src", "dst"), ("from", "to")) if {*pair} <= {*lower}), None)
    first, second = (lower[name] for name in ends) if ends else columns[:2]
    if weight == "none":
        weight = None
    elif weight is not None:
        weight = _column(table, weight)
    elif table.header:
        weight = lower.get("weight")
    else:
        weight = columns[2] if len(columns) == 3 else None
    source, target = _column(table, source or first), _column(table, target or second)
    if len({source, target, weight}) < 3:
        raise ConfigError(f"source, target and weight must be three columns of {table.name}, not '{source}' twice")
    return _EdgeColumns(source, target, weight)


def _ids(column: pd.Series[Any], nodes: int, title: str, first: int) -> np.ndarray:
    values = _numbers(column)
    if not len(values) or (values.dtype.kind in "iu" and values.min() >= 0 and values.max() < nodes):
        return values.astype(np.int64)
    bad = ~((values >= 0) & (values < nodes) & (values == np.trunc(values)))
    if bad.any():
        row = int(bad.argmax())
        whole = values[row] == np.trunc(values[row])  # not so for NaN
        reason = "is out of range" if whole else "is not a whole number"
        raise DataError(
            f"{title}, row {first + row + 1:,}: node {_shown(column.iloc[row])} {reason}; "
            f"nodes are numbered 0 to {nodes - 1}"
        )
    return values.astype(np.int64)


def _edge_weights(column: pd.Series[Any], title: str, first: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        values = _numbers(column).astype(np.float32)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{title}, row {first + row + 1:,}: a weight must be finite and not negative, not "
            f"{_shown(column.iloc[row])}; --weight none (weight='none') leaves weights out"
        )
    return values


def _write_edges(
    table: _Table, columns: _EdgeColumns, folder: Path, done: Conversion, memory: int, bar: _Bar
) -> list[_File]:
    """crow, col and weight: entries are divided into ranges on disk, then sorted range by range.

    An entry is one integer: (row · N + column) · 2 + (0 for an edge as it was read, 1 for its reverse).
    """
    n, title = done.nodes, table.name
    done.weighted = columns.weight is not None
    most = max(memory // (96 if done.weighted else 64), 16)  # entries that can be sorted at a time
    number = min(3 * table.rows // most + 1, 128)  # half as many again as fit exactly: ranges are not equally full
    ranges = _Ranges(folder / "work", "r", 0, n * n, number, done.weighted)
    bar.step("edges")
    for chunk in table.chunks(min(max(memory // 512, 16), 1 << 21)):
        a = _ids(chunk.frame[columns.source], n, title, chunk.first)
        b = _ids(chunk.frame[columns.target], n, title, chunk.first)
        weight = None
        if columns.weight is not None:
            weight = _edge_weights(chunk.frame[columns.weight], title, chunk.first)
        done.rows_read += len(a)
        keep = a != b
        if not keep.all():
            a, b, weight = a[keep], b[keep], None if weight is None else weight[keep]
            done.self_loops_dropped += int(len(keep) - len(a))
        ranges.add((a * n + b) * 2, weight)
        ranges.add((b * n + a) * 2 + 1, weight)
        bar.at(chunk.share)

    bar.step("sorting")
    total = 0
    with contextlib.ExitStack() as stack:
        crow, col = (stack.enter_context(_File(folder / name)) for name in ("crow.i64", "col.i32"))
        files = [crow, col]
        if done.weighted:
            files.append(stack.enter_context(_File(folder / "weight.f32")))
        crow.write(np.zeros(1, np.int64))
        for low, high, key, weight in ranges.sorted(most):
            pair, merged = _merge_range(key, weight, done)
            # Rows that end in this range: their ends are where the next row would begin.
            for start in range(low // n + 1, high // n + 1, most):
                rows = np.arange(start, min(start + most, high // n + 1))
                crow.write(total + np.searchsorted(pair, rows * n))
            col.write(pair % n)
            if merged is not None:
                files[2].write(merged)
            total += len(pair)
            bar.at(high / (n * n))
    done.edges = total // 2
    done.larger_weight_taken //= 2  # seen from both ends
    return files


def _merge_range(key: np.ndarray, weight: np.ndarray | None, done: Conversion) -> tuple[np.ndarray, np.ndarray | None]:
    """Each pair (row · N + column) once, as `simple_edges` would have it, and its weight."""
    keys, weights = _sort(torch.from_numpy(key), None if weight is None else torch.from_numpy(weight))
    before = int((keys & 1 == 0).sum())
    keys, weights = _merge(keys, weights)
    read = int((keys & 1 == 0).sum())
    done.duplicates_merged += before - read
    pair = keys >> 1
    first = _is_first(pair)
    if weights is not None and len(weights):
        # A pair that is there both as read and as a reverse has its twin right behind it.
        twin = torch.cat([weights[1:], weights[:1]])
        alone = torch.cat([first[1:], first.new_ones(1)])
        done.larger_weight_taken += int((first & ~alone & (weights != twin)).sum())
        weights = torch.where(alone, weights, torch.maximum(weights, twin))[first]
    pair = pair[first]
    done.made_two_way += len(pair) - read
    return pair.numpy(), None if weights is None else weights.numpy()


class _Ranges:
    """Entries in files, one for each of `number` equal ranges of pairs between `low` and `high`."""

    def __init__(self, folder: Path, name: str, low: int, high: int, number: int, weighted: bool) -> None:
        self.width = -(-(high - low) // number)
        number = -(-(high - low) // self.width)
        self.folder, self.name, self.low, self.high, self.weighted = folder, name, low, high, weighted
        self.dtype = np.dtype([("key", "<i8"), ("weight", "<f4")] if weighted else [("key", "<i8")])
        self.files = [open(folder / f"{name}.{i}", "wb", buffering=0) for i in range(number)]  # noqa: SIM115

    def add(self, key: np.ndarray, weight: np.ndarray | None) -> None:
        part = ((key >> 1) - self.low) // self.width
        records = np.empty(len(key), self.dtype)
        records["key"] = key
        if weight is not None:
            records["weight"] = weight
        if len(self.files) > 1:
            # Stable, so that weights are summed in the order in which they came.
            records = records[np.argsort(part.astype(np.uint8), kind="stable")]
        stop = 0
        for file, count in zip(self.files, np.bincount(part, minlength=len(self.files)).tolist(), strict=True):
            _write(file, _block(records[stop : stop + count]))
            stop += count

    def sorted(self, most: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray | None]]:
        """(low, high, keys, weights) of each range in turn; one with more than `most` entries is divided again."""
        for file in self.files:
            file.close()
        for i in range(len(self.files)):
            path = self.folder / f"{self.name}.{i}"
            low, high = self.low + i * self.width, min(self.low + (i + 1) * self.width, self.high)
            if path.stat().st_size > most * self.dtype.itemsize and high - low > 1:
                inner = _Ranges(self.folder, path.name, low, high, min(16, high - low), self.weighted)
                with open(path, "rb") as whole:
                    while len(records := np.fromfile(whole, self.dtype, most)):
                        inner.add(records["key"], records["weight"] if self.weighted else None)
                path.unlink()
                yield from inner.sorted(most)
            else:
                records = np.fromfile(path, self.dtype)
                path.unlink()
                yield low, high, records["key"].copy(), records["weight"].copy() if self.weighted else None
