"""Output folders of runs: what may be replaced, and that a run which fails leaves no empty folder behind."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import OutputError
from ..io import files
from ..training import checkpoint

RUN_FILES = ("model/model.json", "predictions.csv", "history.csv", "learning-curve.png", "run.json")


def has_finished_or_interrupted_run(folder: Path) -> bool:
    """Whether a folder holds a finished or an interrupted training run."""
    return (folder / "run.json").exists() or checkpoint.has_checkpoint(folder)


def check_outputs(paths: Iterable[Path], inputs: Iterable[Path | str | None], *, force: bool) -> None:
    """Refuse outputs that would replace an input or, unless ``force`` is set, any other file."""
    existing_inputs = [path for path in inputs if path is not None and os.path.isfile(path)]
    for path in paths:
        if not path.exists():
            continue
        if any(path.samefile(each) for each in existing_inputs):
            raise OutputError(f"{path} is an input, which stays as it is; choose another output")
        if not force:
            raise OutputError(f"{path} exists already; force=True replaces it")


@contextlib.contextmanager
def open_output_folder(folder: Path | None) -> Iterator[None]:
    """Create a writable folder. If the run fails before it writes anything, remove the folder again."""
    created = [] if folder is None else [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        if folder is not None:
            files.create_writable_folder(folder)
            if (folder / "model").exists() and not (folder / "model").is_dir():
                raise OutputError(f"{folder / 'model'} is a file where the model's folder would go; choose another")
        yield
    except BaseException:
        for path in created:
            with contextlib.suppress(OSError):
                path.rmdir()  # only if it is empty
        raise


@contextlib.contextmanager
def note_checkpoint_on_interrupt(folder: Path | None) -> Iterator[None]:
    """Add to an interrupt that leaves nothing but a checkpoint where that is."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if folder is not None and checkpoint.has_checkpoint(folder) and not hasattr(interrupt, "run"):
            interrupt.add_note(f"a checkpoint is in {folder}; resume=True continues from it")
        raise


def render_html(facts: Mapping[str, Any]) -> str:
    """Facts as a table for a notebook; nested ones are left out."""
    shown = {key: value for key, value in facts.items() if value is not None and not isinstance(value, dict | list)}
    return str(pd.Series(shown, dtype=object).to_frame().to_html(header=False))
