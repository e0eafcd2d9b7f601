"""Somebody's own method against ours: tasks go out without the truth, predictions come back and become a row."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import DataError
from ..graphs.sparse import SparsityPattern
from ..io import files
from ..io.digests import compute_digest_of_parts
from ..io.safe_readers import read_npz
from .execute import compute_all_metrics, score_training_nodes
from .planning import plan_runs
from .results import EXTERNAL
from .results_store import open_results
from .run_spec import GraphSpec, RunResult, RunSpec
from .study import Study

TASKS_FILE = "tasks.json"  # in the folder of the results: what the names of tasks stand for
MAX_LABEL_LENGTH = 80


def export_tasks(study: Study, results_folder: str | Path, tasks_folder: str | Path) -> list[str]:
    """Write every graph of a study with its given labels as ``<task>.npz``; returns the names of the tasks.

    A file holds ``x``, ``edge_index``, ``y`` (given labels; -1 where there is none), the three masks, ``class_names``
    and ``task``. A name ends in a checksum of the graph, its labels and masks. The true labels are not in it.
    """
    from . import run_graphs

    results_folder, tasks_folder = Path(results_folder), files.create_folder_and_prove_writable(Path(tasks_folder))
    with open_results(results_folder) as store:
        graphs = [run.spec.graph for run in plan_runs(study, store)]
    trusted = min(graph.trusted for graph in graphs)  # some rows of ours need trusted labels; a task has no more
    tasks = {_build_task_name(graph): graph for graph in graphs if graph.trusted == trusted}
    for name, graph in tasks.items():
        data, _ = run_graphs.load_noisy_graph_and_digest(graph)
        tensors = {"x": data.x, "edge_index": _build_edge_index(data), "y": data.y}
        tensors |= {f"{split}_mask": data[f"{split}_mask"] for split in ("train", "val", "test")}
        tensors |= {key: data[key] for key in ("edge_weight", "trusted_mask") if data.get(key) is not None}
        arrays = {key: tensor.cpu().numpy() for key, tensor in tensors.items()}
        arrays |= {"class_names": np.array([str(one) for one in data.class_names]), "task": np.array(name)}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        files.write_bytes_atomically(tasks_folder / f"{name}.npz", buffer.getvalue())
    files.write_bytes_atomically(
        results_folder / TASKS_FILE, msgspec.json.encode(read_graph_specs_of_exported_tasks(results_folder) | tasks)
    )
    return list(tasks)


def score_and_save_predictions(
    predictions_path: str | Path, row_label: str, results_folder: str | Path
) -> dict[str, RunResult]:
    """Score predictions against the truth and keep them as the row ``row_label`` of every study that has their tasks.

    The file is an ``.npz``: under the name of each task, classes [nodes] or probabilities [nodes, classes] of all
    nodes. Scoring the same task again under the same label replaces the earlier scores. Returns the results by task.
    """
    predictions_path, results_folder = Path(predictions_path), Path(results_folder)
    if not row_label.strip() or len(row_label) > MAX_LABEL_LENGTH or not row_label.isprintable():
        raise DataError(f"the name of a method must be a line of 1 to {MAX_LABEL_LENGTH} letters")
    tasks = read_graph_specs_of_exported_tasks(results_folder)
    predictions = _read_prediction_arrays(predictions_path)
    for name in predictions:
        if name not in tasks:
            raise DataError(
                f"{predictions_path}: no task '{name}' was exported from {results_folder}; "
                "name arrays after the exported files"
            )
    results = {
        name: _check_and_score_task(name, array, tasks[name], predictions_path) for name, array in predictions.items()
    }
    specs = {name: RunSpec(graph=tasks[name], method=EXTERNAL, settings={"label": row_label}) for name in results}
    with open_results(results_folder) as store:
        store.save_runs([(specs[name].key, specs[name], result) for name, result in results.items()], replace=True)
    return results


def _check_and_score_task(name: str, predictions: NDArray[Any], graph: GraphSpec, path: Path) -> RunResult:
    from ..methods.core.scoring import select_scored_nodes_and_labels
    from . import run_graphs

    _, graph_digest = run_graphs.load_clean_graph_and_digest(graph)
    data, labels_digest = run_graphs.load_noisy_graph_and_digest(graph)
    if (graph_digest, labels_digest) != (graph.graph_digest, graph.labels_digest):
        raise DataError(f"task '{name}' cannot be scored: the files of {graph.dataset} are not those it was made of")
    probs, classes = _parse_probs_and_classes(predictions, data.num_nodes, len(data.class_names), f"{path}, {name}")
    nodes, y = select_scored_nodes_and_labels(data, "test")
    metrics = compute_all_metrics(y, classes[nodes], None if probs is None else probs[nodes])
    return RunResult(metrics=metrics | score_training_nodes(data, classes))


def _build_edge_index(data: Data) -> Tensor:
    """Edges as PyG has them. A graph store has them row by row."""
    if data.get("crow") is None:
        return data.edge_index
    pattern = SparsityPattern(data.crow, data.col, (data.num_nodes, data.num_nodes))
    return torch.stack([pattern.row, pattern.col.long()])


def _build_task_name(graph: GraphSpec) -> str:
    rate = "" if graph.rate is None else f"-{graph.rate:g}"
    checksum = compute_digest_of_parts(graph.graph_digest, graph.labels_digest)[:12]
    return f"{Path(graph.dataset).name}-{Path(graph.noise).stem}{rate}-seed{graph.seed}-{checksum}"


def read_graph_specs_of_exported_tasks(results_folder: Path) -> dict[str, GraphSpec]:
    """The graphs behind the tasks that were exported from a folder of results."""
    path = results_folder / TASKS_FILE
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, GraphSpec])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise DataError(f"{path} is damaged; export the tasks again") from None


def _read_prediction_arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file of predictions")
    arrays = read_npz(path)
    if not arrays:
        raise DataError(f"{path} holds no predictions")
    return arrays


def _parse_probs_and_classes(
    array: NDArray[Any], num_nodes: int, num_classes: int, title: str
) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
    """(probabilities if there are any, classes) of predictions that can be scored."""
    if array.ndim == 2 and array.shape == (num_nodes, num_classes) and array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError(f"{title}: probabilities must be finite")
        return array, array.argmax(1)
    if array.ndim == 1 and len(array) == num_nodes and array.dtype.kind in "iu":
        if array.min(initial=0) < 0 or array.max(initial=0) >= num_classes:
            raise DataError(f"{title}: classes must be 0 to {num_classes - 1}, found {array.min()} to {array.max()}")
        return None, array.astype(np.int64)
    shape = f"{array.dtype} of shape {list(array.shape)}"
    raise DataError(
        f"{title}: needs whole numbers [{num_nodes}] or probabilities [{num_nodes}, {num_classes}], found {shape}"
    )
