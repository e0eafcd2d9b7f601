"""The folder of a run: what it may hold before, and that nothing is left of one that never began."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


def holds_run(out: Path) -> bool:
    from ..training import checkpoint

    return (out / "run.json").exists() or checkpoint.exists(out)


@contextlib.contextmanager
def made(out: Path | None) -> Iterator[None]:
    """Make a folder that can be written; where nothing came into it and the command failed, take it away again."""
    from ..training import files

    new = [] if out is None else [path for path in (out, *out.parents) if not path.exists()]
    try:
        if out is not None:
            files.writable_folder(out)
        yield
    except BaseException:
        for path in new:
            with contextlib.suppress(OSError):
                path.rmdir()  # only if it is empty
        raise
