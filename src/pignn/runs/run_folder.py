"""Output folders of runs: what may be replaced, and that a run which fails leaves no empty folder behind."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, OutputError
from ..io import files
from ..io.locks import file_lock_context
from ..training.checkpoint_files import has_checkpoint

RUN_FILES = (
    "model/model.json",
    "predictions.csv",
    "history.csv",
    "learning-curve.png",
    "disagreements.csv",
    "run.json",
)
LOCK_FILE = ".pignn.lock"
OTHER_FILES = ("report.html", "review.csv")
AUDIT_FILES = ("suspects.csv", "card.md", "audit.html", "audit.json")


def has_finished_or_interrupted_run(folder: Path) -> bool:
    """Whether a folder holds a finished or an interrupted training run."""
    return (folder / "run.json").exists() or has_checkpoint(folder)


def check_outputs_may_be_written(paths: Iterable[Path], inputs: Iterable[Path | str | None], *, force: bool) -> None:
    """Refuse outputs that would replace an input or, unless ``force`` is set, any other file."""
    existing_inputs = [path for path in inputs if path is not None and os.path.isfile(path)]
    for path in paths:
        if not path.exists():
            continue
        if any(path.samefile(each) for each in existing_inputs):
            raise OutputError(f"{path} is an input, which stays as it is; choose another output")
        if not force:
            raise OutputError(f"{path} exists already; force=True replaces it")


def check_folder_is_no_file(folder: Path) -> None:
    """Refuse a file where a folder would go."""
    if folder.is_file():
        raise OutputError(f"cannot write into {folder}: it is a file, not a folder; choose another")


def check_training_folder_options(folder: Path | None, *, report: bool, resume: bool, force: bool) -> None:
    """Refuse options about the folder of a training that contradict each other."""
    if resume and force:
        raise ConfigError("resume=True continues a run, force=True replaces it; give one of them")
    for name, value, purpose in (("report", report, "for report.html"), ("resume", resume, "of the run to continue")):
        if value and folder is None:
            raise ConfigError(f"{name}=True needs out=, the folder {purpose}")
    if folder is not None:
        check_folder_is_no_file(folder)
    if folder is not None and (folder / "audit.json").exists():
        raise OutputError(f"{folder} holds an audit, whose files stay together; choose another folder for the training")


def check_can_take_audit(
    folder: Path, has_review: bool, inputs: Any, *, force: bool, more_files: Sequence[str] = ()
) -> None:
    """Refuse to replace an audit unasked, an input, or a file that is of no audit."""
    check_folder_is_no_file(folder)
    if has_finished_or_interrupted_run(folder):
        raise OutputError(f"{folder} holds a training run, whose files stay together; choose another folder")
    if (folder / "audit.json").exists() and not force:
        raise OutputError(f"{folder} holds an audit already; force=True replaces it, decisions in review.csv included")
    names = (*AUDIT_FILES, *more_files, *(["review.csv"] if has_review else []))
    check_outputs_may_be_written((folder / name for name in names), inputs, force=force)


def check_folder_holds_no_run_or_audit(folder: Path | None) -> None:
    """Refuse a folder whose files are of a training or of an audit."""
    if folder is None:
        return
    check_folder_is_no_file(folder)
    for name, kind in (("run.json", "a training run"), ("audit.json", "an audit")):
        if (folder / name).exists():
            raise OutputError(f"{folder} holds {kind}, whose files stay together; choose another folder")


@contextlib.contextmanager
def locked_output_folder_or_cleanup_context(folder: Path | None) -> Iterator[None]:
    """Create a writable folder. If the run fails before it writes anything, remove the folder again."""
    created = [] if folder is None else [path for path in (folder, *folder.parents) if not path.exists()]
    before = set() if folder is None or not folder.is_dir() else {path.name for path in folder.iterdir()}
    try:
        if folder is not None:
            files.create_folder_and_prove_writable(folder)
            if (folder / "model").exists() and not (folder / "model").is_dir():
                raise OutputError(f"{folder / 'model'} is a file where the model's folder would go; choose another")
        with _folder_lock_context(folder):
            yield
    except BaseException as error:
        if folder is not None and isinstance(error, OutputError):  # a part would stand in the way of the next try
            for name in {path.partition("/")[0] for path in (*RUN_FILES, *AUDIT_FILES, *OTHER_FILES)} - before:
                path = folder / name
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        for path in created:
            with contextlib.suppress(OSError):
                path.rmdir()  # only if it is empty
        raise


@contextlib.contextmanager
def _folder_lock_context(folder: Path | None) -> Iterator[None]:
    """Let one run at a time write into a folder. Of the processes that torchrun started, the first one holds it."""
    if folder is None or os.environ.get("RANK", "0") != "0":
        yield
        return
    path = folder / LOCK_FILE
    with file_lock_context(path, f"another run is writing into {folder} now; wait for it, or choose another folder"):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def note_checkpoint_on_interrupt_context(folder: Path | None) -> Iterator[None]:
    """Add to an interrupt that leaves nothing but a checkpoint where that is."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if folder is not None and has_checkpoint(folder) and not hasattr(interrupt, "run"):
            interrupt.add_note(f"a checkpoint is in {folder}; resume=True continues from it")
        raise
