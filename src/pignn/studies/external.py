"""Somebody's own method against ours: tasks go out without the truth, predictions come back and become a row."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import DataError
from ..graphs.sparse import Pattern
from ..io import files
from .code_hash import digest
from .results import EXTERNAL
from .results_store import ResultsStore
from .run_spec import plan_runs
from .study import Study
from .sweep import STORE

TASKS = "tasks.json"  # in the folder of the results: what the names of tasks stand for
KEPT = ("dataset", "options", "split", "split_seed", "noise", "rate", "noisy", "seed", "trusted", "data", "labels")


def export(study: Study, folder: str | Path, to: str | Path) -> list[str]:
    """Write every graph of a study with its given labels as ``<task>.npz``; returns the names of the tasks.

    A file holds ``x``, ``edge_index``, ``y`` (given labels; -1 where there is none), the three masks, ``class_names``
    and ``task``. A name ends in a checksum of the graph, its labels and masks. The true labels are not in it.
    """
    from . import run_graphs as graphs_of_runs

    folder, to = Path(folder), files.create_writable_folder(Path(to))
    with ResultsStore(folder / STORE) as store:
        runs = plan_runs(study, store)
    least = min(run.job["trusted"] for run in runs)  # some rows of ours may need trusted labels; a task has none more
    jobs = {_name(run.job): {key: run.job[key] for key in KEPT} for run in runs if run.job["trusted"] == least}
    for name, job in jobs.items():
        data, _ = graphs_of_runs.noisy(job)
        arrays = {"x": data.x.cpu().numpy(), "edge_index": _edge_index(data).cpu().numpy(), "y": data.y.cpu().numpy()}
        arrays |= {f"{split}_mask": data[f"{split}_mask"].cpu().numpy() for split in ("train", "val", "test")}
        arrays |= {"class_names": np.array([str(one) for one in data.class_names]), "task": np.array(name)}
        more = [key for key in ("edge_weight", "trusted_mask") if data.get(key) is not None]
        arrays |= {key: data[key].cpu().numpy() for key in more}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        files.write_bytes(to / f"{name}.npz", buffer.getvalue())
    files.write_json(folder / TASKS, _tasks(folder) | jobs)
    return list(jobs)


def score(path: str | Path, label: str, folder: str | Path) -> list[dict[str, Any]]:
    """Score predictions against the truth and keep them as the row ``label`` of every study that has their tasks.

    The file is an ``.npz``: under the name of each task, classes [nodes] or probabilities [nodes, classes] of all
    nodes. Scoring the same task again under the same label replaces what was there.
    """
    from ..methods.core.base import truth
    from ..training.metrics import METRICS
    from ..training.metrics import score as metric_score
    from . import run_graphs as graphs_of_runs

    path, folder = Path(path), Path(folder)
    if not label.strip() or len(label) > 80 or not label.isprintable():
        raise DataError("the name of a method must be a line of 1 to 80 letters")
    known = _tasks(folder)
    predictions = _read(path)
    for name in predictions:
        if name not in known:
            raise DataError(
                f"{path}: no task '{name}' was exported from {folder}; name arrays after the exported files"
            )
    found: dict[str, dict[str, Any]] = {}
    for name, array in predictions.items():
        job = known[name]
        _, fingerprint = graphs_of_runs.graph(job)
        data, labels = graphs_of_runs.noisy(job)
        if (fingerprint, labels) != (job["data"], job["labels"]):
            raise DataError(
                f"task '{name}' cannot be scored: the files of {job['dataset']} are not those it was made of"
            )
        proba, classes = _checked(array, data.num_nodes, len(data.class_names), f"{path}, {name}")
        nodes, true = truth(data, "test")
        found[name] = {
            metric: metric_score(true, classes[nodes], None if proba is None else proba[nodes], metric)
            for metric in METRICS
            if proba is not None or metric != "average_precision"
        }
    rows = [
        (digest(EXTERNAL, label, name), known[name] | {"method": EXTERNAL, "label": label, "task": name}, result)
        for name, result in found.items()
    ]
    with ResultsStore(folder / STORE) as store:
        store.put_all(rows, replace=True)
    return [{"task": name} | result for name, result in found.items()]


def _edge_index(data: Data) -> Tensor:
    """Edges as PyG has them; a store on disk has them row by row."""
    if data.get("crow") is None:
        return data.edge_index
    pattern = Pattern(data.crow, data.col, (data.num_nodes, data.num_nodes))
    return torch.stack([pattern.row, pattern.col.long()])


def _name(job: dict[str, Any]) -> str:
    rate = "" if job["rate"] is None else f"-{job['rate']:g}"
    kind = Path(job["noise"]).stem
    check = digest(job["data"], job["labels"])[:12]
    return f"{Path(job['dataset']).name}-{kind}{rate}-seed{job['seed']}-{check}"


def _tasks(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / TASKS
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        assert all(set(KEPT) <= set(job) for job in found.values())
        return found
    except (OSError, ValueError, AssertionError, TypeError):
        raise DataError(f"{path} is damaged; export the tasks again") from None


def _read(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file of predictions")
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise DataError(f"{path} holds one array without a name; save an .npz with the names of tasks")
        with loaded:
            found = {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        if "pickle" in str(error):
            raise DataError(f"{path} holds pickled Python objects, which are refused: save plain arrays") from None
        raise DataError(
            f"{path} cannot be read as .npz: {str(error).splitlines()[0] if str(error) else error}"
        ) from None
    if not found:
        raise DataError(f"{path} holds no predictions")
    return found


def _checked(
    array: NDArray[Any], nodes: int, classes: int, where: str
) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
    """(probabilities or nothing, classes) of predictions that can be scored."""
    if array.ndim == 2 and array.shape == (nodes, classes) and array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError(f"{where}: probabilities must be finite")
        return array, array.argmax(1)
    if array.ndim == 1 and len(array) == nodes and array.dtype.kind in "iu":
        if array.min(initial=0) < 0 or array.max(initial=0) >= classes:
            raise DataError(f"{where}: classes must be 0 to {classes - 1}, found {array.min()} to {array.max()}")
        return None, array.astype(np.int64)
    shape = f"{array.dtype} of shape {list(array.shape)}"
    raise DataError(f"{where}: needs whole numbers [{nodes}] or probabilities [{nodes}, {classes}], found {shape}")
