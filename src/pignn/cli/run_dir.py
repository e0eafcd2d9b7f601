"""The folder of a run: what it may hold before, what goes into it, and that nothing is left of one that never began."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import OutputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..methods import Method


RUN = ("model/model.json", "predictions.csv", "history.csv", "learning-curve.png", "run.json")


def holds_run(out: Path) -> bool:
    from ..training import checkpoint

    return (out / "run.json").exists() or checkpoint.has_checkpoint(out)


def check_free(paths: Iterable[Path], inputs: Iterable[Path | str | None], *, replace: bool) -> None:
    """What is about to be written: never in the place of an input, and of another file only if it may be replaced."""
    read = [each for each in inputs if each is not None and os.path.isfile(each)]
    for path in paths:
        if not path.exists():
            continue
        if any(path.samefile(each) for each in read):
            raise OutputError(f"{path} is an input, which stays as it is; choose another --out")
        if not replace:
            raise OutputError(f"{path} is there already; --force replaces it")


@contextlib.contextmanager
def made(out: Path | None) -> Iterator[None]:
    """Make a folder that can be written; where nothing came into it and the command failed, take it away again."""
    from ..io import files

    new = [] if out is None else [path for path in (out, *out.parents) if not path.exists()]
    try:
        if out is not None:
            files.create_writable_folder(out)
            if (out / "model").exists() and not (out / "model").is_dir():
                raise OutputError(f"{out / 'model'} is a file where the model's folder would go; choose another --out")
        yield
    except BaseException:
        for path in new:
            with contextlib.suppress(OSError):
                path.rmdir()  # only if it is empty
        raise


@contextlib.contextmanager
def resumable(out: Path | None) -> Iterator[None]:
    """Where an interrupt leaves a checkpoint and nothing else, say so along with it."""
    from ..training import checkpoint

    try:
        yield
    except KeyboardInterrupt as interrupt:
        if out is not None and checkpoint.has_checkpoint(out):
            interrupt.add_note(f"a checkpoint is in {out}, go on with --resume")
        raise


def save_model(path: Path, model: Method, graph: Data, facts: Mapping[str, Any]) -> None:
    """Write a model and, of a graph of the user's own, how its columns become features, and a card; all or nothing."""
    from ..io import files
    from ..report.cards import build_model_card

    encoder = graph.get("encoder")
    if encoder is None:
        model.save(path)
        return
    with files.open_new_folder(path) as folder:
        model.save(folder / "saved")
        for file in (folder / "saved").iterdir():
            os.replace(file, folder / file.name)
        (folder / "saved").rmdir()
        encoder.save(folder)
        files.write_bytes(folder / "card.md", build_model_card(model, graph, facts).encode())
