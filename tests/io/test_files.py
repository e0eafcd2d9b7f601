"""Files and folders are written whole or not at all."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import torch

from pignn.core.errors import ModelFileError, OutputError
from pignn.io import files


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"a": 1})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OutputError, match=r"No space left on device; make room and try again"):
        files.write_json(path, {"a": 2})
    assert path.read_text() == '{\n "a": 1\n}\n'
    assert list_names(tmp_path) == ["a.json"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write_bytes_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_records_become_columns_in_order_of_appearance(tmp_path: Path) -> None:
    files.write_csv_records(tmp_path / "a.csv", [{"b": 1}, {"a": "x,y", "b": 2}])
    assert (tmp_path / "a.csv").read_text() == 'b,a\n1,\n2,"x,y"\n'


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out"
    with pytest.raises(ZeroDivisionError), files.new_folder_context(path) as new:
        (new / "a").write_text(str(1 / 0))
    assert list_names(tmp_path) == []  # parents that were made for it are gone, too
    with files.new_folder_context(path) as new:
        (new / "a").touch()
        assert not path.exists()
    assert list_names(path) == ["a"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.mkdir()
    (path / "thesis.tex").touch()
    with (
        pytest.raises(OutputError, match=r"it holds other files \(thesis\.tex\)"),
        files.new_folder_context(path) as new,
    ):
        (new / "a").touch()
    assert list_names(tmp_path) == ["out"]
    with files.new_folder_context(path, lambda old, new: None) as new:  # the caller knows better
        (new / "a").touch()
    assert list_names(path) == ["a"]


def test_folders_of_dead_processes_are_removed_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    mark = f".out{files.UNFINISHED}"
    dead = tmp_path / f"{mark}{socket.gethostname()}-{2**22 + 1}-abcd"
    alive = tmp_path / f"{mark}{socket.gethostname()}-{os.getpid()}-abcd"
    elsewhere = tmp_path / f"{mark}another-host-{2**22 + 1}-abcd"
    for folder in (dead, alive, elsewhere):
        folder.mkdir()
    with files.new_folder_context(tmp_path / "out") as new:
        (new / "a").touch()
    assert not dead.exists()
    assert alive.exists()
    assert elsewhere.exists()


def test_a_folder_that_cannot_be_written_is_found_early(tmp_path: Path) -> None:
    assert files.create_folder_and_prove_writable(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="it is a file, not a folder"):
        files.create_folder_and_prove_writable(tmp_path / "file")


def test_tensors_come_back_with_their_metadata_and_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    files.write_tensors_and_metadata(path, {"w": torch.arange(6.0).view(2, 3)}, {"kind": "test"})
    first = path.read_bytes()
    tensors, metadata = files.read_tensors_and_metadata(path)
    assert torch.equal(tensors["w"], torch.arange(6.0).view(2, 3))
    assert metadata == {"kind": "test"}
    files.write_tensors_and_metadata(path, tensors, metadata)
    assert path.read_bytes() == first  # equal content is equal bytes
    path.write_bytes(first[:-1] + bytes([first[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="its checksum differs"):
        files.read_tensors_and_metadata(path)
    with pytest.raises(ModelFileError, match="does not exist"):
        files.read_tensors_and_metadata(tmp_path / "absent")
