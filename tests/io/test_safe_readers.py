"""Readers of other people's files refuse code and name the file that is damaged."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pignn.core.errors import DataError
from pignn.io import safe_readers
from pignn.io.safe_readers import read_integer_lines, read_npy, read_npz, read_pickle_without_code, read_tsv


class Malicious:
    """A pickle of it makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_arrays_come_back_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3), names=np.array(["a", "b"]))
    arrays = read_npz(tmp_path / "a.npz", "x")
    assert arrays["x"].tolist() == [0, 1, 2]
    assert arrays["names"].tolist() == ["a", "b"]
    with pytest.raises(DataError, match=r"a\.npz is damaged or another file: it has no y, z"):
        read_npz(tmp_path / "a.npz", "x", "y", "z")


def test_pickled_objects_in_arrays_are_refused_and_do_not_run(tmp_path: Path) -> None:
    objects = np.array([Malicious(tmp_path / "ran")], dtype=object)
    np.savez(tmp_path / "a.npz", labels=objects)
    np.save(tmp_path / "a.npy", objects)
    with pytest.raises(DataError, match="'labels' holds pickled Python objects, which are refused"):
        read_npz(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"a\.npy holds pickled Python objects, which are refused"):
        read_npy(tmp_path / "a.npy")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_array_file_is_said(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    (tmp_path / "one.npz").write_bytes((tmp_path / "a.npy").read_bytes())
    (tmp_path / "text.npy").write_text("1, 2, 3")
    with pytest.raises(DataError, match=r"one\.npz is damaged or not an \.npz file"):
        read_npz(tmp_path / "one.npz")
    with pytest.raises(DataError, match=r"text\.npy: it is not an \.npy file"):
        read_npy(tmp_path / "text.npy")
    with pytest.raises(DataError, match=r"the file of labels is damaged"):
        read_npz(tmp_path / "absent.npz", title="the file of labels")


def test_a_truncated_archive_is_damaged(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3000))
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(b"\x93NUMPY", b"\x93NUMPX"))
    with pytest.raises(DataError, match=r"a\.npz is damaged"):
        read_npz(tmp_path / "a.npz")


def test_an_archive_that_unpacks_to_absurd_sizes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_readers, "MAX_UNPACKED_BYTES", 1000)
    content = io.BytesIO()
    np.save(content, np.zeros(10**6))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content.getvalue())
    with pytest.raises(DataError, match="would unpack to 0 GiB; that is refused"):
        read_npz(tmp_path / "bomb.npz")


def test_an_array_can_be_mapped_into_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    assert isinstance(read_npy(tmp_path / "a.npy", memory_map=True), np.memmap)
    assert read_npy(tmp_path / "a.npy").sum() == 10


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_may_hold_data_only(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps({"a": [np.arange(3)]}, protocol=protocol))
    assert read_pickle_without_code(path, "it")["a"][0].tolist() == [0, 1, 2]
    path.write_bytes(pickle.dumps([Malicious(tmp_path / "ran")], protocol=protocol))
    with pytest.raises(DataError, match="it contains code, refused"):
        read_pickle_without_code(path, "it")
    assert not (tmp_path / "ran").exists()


def test_text_files_have_the_columns_and_numbers_they_should(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n1\t2\n")
    assert read_tsv(tmp_path / "a.tsv", "it", num_columns=2)["y"].tolist() == ["2"]
    with pytest.raises(DataError, match="not every line has 3 columns"):
        read_tsv(tmp_path / "a.tsv", "it", num_columns=3)
    (tmp_path / "numbers").write_text("4\n5\n")
    assert read_integer_lines(tmp_path / "numbers", "it").tolist() == [4, 5]
    with pytest.raises(DataError, match="it is damaged"):
        read_integer_lines(tmp_path / "a.tsv", "it")
