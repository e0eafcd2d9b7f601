"""Atomic writers: a file or folder is either complete or absent. Nothing is pickled."""

from __future__ import annotations

import contextlib
import csv
import errno
import glob
import io
import json
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import ModelFileError, OutputError
from .digests import compute_digest_of_parts

if TYPE_CHECKING:
    from torch import Tensor

UNFINISHED = ".unfinished-"  # in the name of a folder that is being filled


@contextlib.contextmanager
def output_errors_context(path: Path) -> Iterator[None]:
    """Turn errors of the system while `path` is written into an OutputError of one line."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "make room and try again" if full else "choose another path"
        raise OutputError(f"cannot write {path}: {error.strerror or error}; {hint}") from None


def create_folder_and_prove_writable(path: Path) -> Path:
    """Create a folder and prove that it can be written, before hours are spent on what goes into it."""
    with output_errors_context(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OutputError(f"cannot write into {path}: it is a file, not a folder; choose another") from None
        with tempfile.TemporaryFile(dir=path):
            return path


def write_bytes_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file, perhaps piece by piece, so that a reader sees the old one or the new one, never a part."""
    with output_errors_context(path):
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "not a file but a device or pipe"
            raise OutputError(f"cannot write {path}: it is {what}; choose another name")
        path = _resolve_if_link(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_get_umask())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _resolve_if_link(path: Path) -> Path:
    """What a link points to: that is replaced, and the link stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def new_folder_context(path: Path, check_replaceable: Callable[[Path, Path], None] | None = None) -> Iterator[Path]:
    """A folder to fill, which takes the place of ``path`` when the context ends without an error.

    Until then it is a hidden folder beside ``path``; what a killed process left there is removed. An old folder with
    files that the new one lacks is the user's own and is not replaced, unless ``check_replaceable(old, new)`` says so.
    """
    target = Path(os.path.abspath(_resolve_if_link(path)))
    with output_errors_context(path):
        new_parents = [parent for parent in target.parents if not parent.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned_folders(target)
        process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        new = target.with_name(f".{target.name}{UNFINISHED}{process}")
        new.mkdir()
    old = new.with_name(new.name + "old")
    try:
        yield new
        with output_errors_context(path):
            if target.exists():
                (check_replaceable or _check_replaces_no_other_files)(path, new)
                os.replace(target, old)
            try:
                os.replace(new, target)
            except BaseException:
                if old.exists():
                    os.replace(old, target)
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
        for parent in new_parents:
            with contextlib.suppress(OSError):
                parent.rmdir()  # only if it is empty


def _check_replaces_no_other_files(old: Path, new: Path) -> None:
    if not old.is_dir():
        raise OutputError(f"cannot write {old}: a file of that name is there; choose another folder")
    others = sorted({entry.name for entry in old.iterdir()} - {entry.name for entry in new.iterdir()})
    if others:
        raise OutputError(f"cannot replace {old}: it holds other files ({others[0]}); choose another folder")


def _remove_abandoned_folders(path: Path) -> None:
    """The name of an unfinished folder has the process that fills it. Remove those whose process is gone."""
    for folder in path.parent.glob(f".{glob.escape(path.name)}{UNFINISHED}*"):
        host, _, process_id = folder.name.partition(UNFINISHED)[2].rpartition("-")[0].rpartition("-")
        if host == socket.gethostname() and process_id.isdigit() and not _is_process_alive(int(process_id)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_process_alive(process_id: int) -> bool:
    if os.name == "nt":  # there, signal 0 would end the process
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # alive, and of another user
    return True


def write_json(path: Path, content: Any) -> None:
    write_bytes_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_bytes_atomically(path, buffer.getvalue().encode())


def write_csv_records(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write mappings as a CSV. The columns are all keys in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(path, columns, ([row.get(key) for key in columns] for row in rows))


def _compute_digest_of_tensors_and_metadata(tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> str:
    parts = [part for name in sorted(tensors) for part in (name, tensors[name])]
    return compute_digest_of_parts(json.dumps(metadata), *parts, length=64)


def write_tensors_and_metadata(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write a safetensors file. ``metadata`` goes into its header as JSON, with a checksum of it and the tensors."""
    from safetensors.torch import save

    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # One entry: safetensors writes several in no particular order, and equal content should be equal bytes.
    header = json.dumps({"metadata": metadata, "sha256": _compute_digest_of_tensors_and_metadata(ready, metadata)})
    write_bytes_atomically(path, save(ready, metadata={"pignn": header}))


def read_tensors_and_metadata(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and metadata that :func:`write_tensors_and_metadata` wrote."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ModelFileError(f"{path} does not exist; is it the right folder?")
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["pignn"])
            metadata, digest = header["metadata"], header["sha256"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError):
        raise ModelFileError(f"{path} is damaged or not a pignn file; write it again") from None
    if digest != _compute_digest_of_tensors_and_metadata(tensors, metadata):
        raise ModelFileError(f"{path} is damaged (its checksum differs); write it again")
    return tensors, metadata
