"""The folder of a run: what it may hold before, what goes into it, and that nothing is left of one that never began."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
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
        files.write_bytes(folder / "card.md", card(model, graph, facts).encode())


def card(model: Method, graph: Data, facts: Mapping[str, Any]) -> str:
    """What one should know of a model before one uses it, in a page of Markdown; ``facts`` are those of its run."""
    from ..graphs import summarize_import
    from ..methods.core.fingerprint import fingerprint

    origin, about = graph.origin, summarize_import(graph)
    noise = graph.get("noise")
    lines = [
        f"# {model.name} on {graph.name}",
        "",
        f"Made by pignn {__version__}. Classes: {', '.join(model.class_names_)}.",
        "",
        "## Data",
        "",
        f"- nodes {origin.nodes}, edges {origin.edges or 'in the same file'}, labels '{origin.label}'",
        f"- fingerprint {fingerprint(graph)}"
        + (f", SHA-256 of the node file {origin.sha256}" if origin.sha256 else ""),
        *(f"- {line.strip()}" for line in str(about).splitlines()),
        "",
        "## Protocol",
        "",
        *_protocol(model, graph, facts),
        f"- seed {model.seed}",
    ]
    if noise is not None:
        lines.append(f"- labels were made wrong on purpose: {noise['kind']}, rate {noise['rate']}")
    lines += [
        "",
        "## How far to believe it",
        "",
        "The given labels may be wrong. A score against them is agreement, not accuracy.",
        f"An audit estimated that {facts['estimated_wrong']:.1%} of them are."
        if "estimated_wrong" in facts
        else "What the method itself found is above; `pignn audit` says more."
        if hasattr(model, "explanation_")
        else "How many are was not estimated here; `pignn audit` does.",
        "",
    ]
    return "\n".join(lines)


def _protocol(model: Method, graph: Data, facts: Mapping[str, Any]) -> list[str]:
    """What it learnt from, and what it did not see."""
    from ..report.training.numbers import learns_from_val

    trusted, labelled = graph.get("trusted_mask"), int((graph.y >= 0).sum())
    held_out = int((graph.val_mask & (graph.y >= 0)).sum())
    if learns_from_val(model):
        held_out = 0
    lines = [f"- learnt from {labelled - held_out:,} given labels of {labelled:,}"]
    if trusted is not None:
        lines[0] += f", {int(trusted.sum()):,} of them trusted"
    if "suspects" in facts:
        lines.append(f"- an audit came first: {facts['suspects']:,} suspects were {facts['suspects_were']}")
    if held_out:
        lines.append(f"- {held_out:,} labels held out")
    if getattr(model, "selection_", None):
        lines.append(f"- epoch chosen by: {model.selection_}")
    if getattr(model, "explanation_", None):
        lines.append(f"- {model.explanation_}")
    return lines
