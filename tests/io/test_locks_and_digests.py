"""One process at a time, names for contents, and where the cache is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from pignn.core.errors import OutputError
from pignn.io.cache_dir import get_cache_dir
from pignn.io.digests import compute_digest_of_parts, compute_file_digest
from pignn.io.locks import file_lock_context

HOLD = """
import sys
from pathlib import Path
from pignn.io.locks import file_lock_context
with file_lock_context(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_is_held_by_one_process_and_dies_with_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(OutputError, match="somebody else is here"),
            file_lock_context(path, "somebody else is here"),
        ):
            pass
        other.kill()
    with file_lock_context(path, "busy"):
        pass


def test_a_lock_in_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"), file_lock_context(tmp_path / "file" / ".lock", "busy"):
        pass


def test_equal_contents_have_equal_digests_and_others_have_not() -> None:
    array = np.arange(6, dtype=np.int64)
    assert compute_digest_of_parts("a", array) == compute_digest_of_parts("a", torch.from_numpy(array))
    assert compute_digest_of_parts("a", array.reshape(2, 3).T) == compute_digest_of_parts(
        "a", np.ascontiguousarray(array.reshape(2, 3).T)
    )
    different = [
        compute_digest_of_parts("a", array),
        compute_digest_of_parts("a", array.reshape(2, 3)),
        compute_digest_of_parts("a", array.astype(np.int32)),
        compute_digest_of_parts("a", array[::-1]),
        compute_digest_of_parts("ab", "c"),
        compute_digest_of_parts("a", "bc"),
        compute_digest_of_parts("abc"),
    ]
    assert len(set(different)) == len(different)
    assert compute_digest_of_parts("a", length=16) == compute_digest_of_parts("a")[:16]


def test_a_file_has_the_digest_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert compute_file_digest(tmp_path / "a").startswith("ba7816bf8f01cfea")


def test_the_cache_is_where_the_variables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIGNN_CACHE", str(tmp_path / "mine"))
    assert get_cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("PIGNN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert get_cache_dir() == tmp_path / "xdg" / "pignn"
    assert get_cache_dir().is_absolute()
