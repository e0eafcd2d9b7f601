"""Predictions of a trained model for all nodes of a graph, from one inference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from .. import graphs
from ..core.errors import ConfigError, ModelFileError, warn_user
from ..core.notebook import CardTable, render_card_html
from ..core.progress import ShowProgress, progress_context
from ..core.records import Record
from ..graphs.checks import has_csr_edges
from ..methods import Method, load_model
from ..methods.core.scoring import select_scored_nodes_and_labels
from ..report.predictions import build_prediction_table, write_predictions_csv
from ..training.metrics import score as metric_score
from .graph_source import GraphSource
from .known_nodes import copy_first_nodes_without_features, join_node_tables_preferring_new
from .run_folder import check_outputs_may_be_written
from .store_limits import StoreLimits

NUM_SHOWN_NODES, MAX_SHOWN_COLUMNS = 10, 12  # in a notebook


class PredictionSummary(Record, kw_only=True):
    """What was predicted, and how it compares with the labels that the graph has."""

    model: str | None = None  # its folder
    method: str
    dataset: str | None
    nodes: int
    edges: int | None = None
    labels_given: int | None = None
    agreement: float | None = None  # with given labels, some of which may be wrong
    test_accuracy: float | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of every node of ``data``.

    ``logits`` come from one inference; everything else is derived from them.
    """

    model: Method
    data: Data
    logits: np.ndarray
    model_folder: Path | None = None
    has_true_labels: bool = True

    @classmethod
    def infer(cls, model: Method, data: Data, **options: Any) -> Predictions:
        return cls(model, data, model.embed(data), **options)

    @cached_property
    def probs(self) -> np.ndarray:
        """Class probabilities [N, classes]."""
        return torch.from_numpy(self.logits).softmax(dim=1).numpy()

    @cached_property
    def predicted_classes(self) -> np.ndarray:
        """The most probable class of every node, as an integer."""
        return torch.from_numpy(self.logits).argmax(dim=1).numpy()

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per node: id, split, given label, predicted class, confidence and class probabilities."""
        return build_prediction_table(self.data, self.probs, self.model.class_names_)

    def score(self, *, split: str = "test", metric: str = "accuracy", against: str = "truth") -> float:
        """The same as :meth:`pignn.methods.Method.score`, without another inference."""
        nodes, labels = select_scored_nodes_and_labels(self.data, split, None, against)
        probs = self.probs[nodes]
        return metric_score(labels, probs.argmax(1), probs, metric=metric, num_classes=len(self.model.class_names_))

    @cached_property
    def summary(self) -> PredictionSummary:
        data = self.data
        summary = PredictionSummary(
            model=None if self.model_folder is None else str(self.model_folder),
            method=self.model.name,
            dataset=data.get("name"),
            nodes=int(data.num_nodes),
        )
        if not self.has_true_labels:
            edges = data.col if has_csr_edges(data) else data.edge_index[0]
            summary.edges = len(edges) // 2
            labeled = np.zeros(0, bool) if data.get("y") is None else (data.y >= 0).numpy()
            if labeled.any():
                agrees = (self.predicted_classes == data.y.numpy())[labeled]
                summary.labels_given, summary.agreement = len(agrees), float(agrees.mean())
        elif self.can_be_scored:
            summary.test_accuracy = self.score()
        return summary

    @property
    def can_be_scored(self) -> bool:
        """Whether test nodes have true labels of the model's own classes."""
        mask = self.data.get("test_mask")
        names = self.data.get("class_names")
        has_test_nodes = mask is not None and mask.dim() == 1 and bool(mask.any())
        return has_test_nodes and list(names or []) == self.model.class_names_

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the table as CSV."""
        check_outputs_may_be_written([Path(path)], [], force=force)
        write_predictions_csv(Path(path), self.table)

    def _repr_html_(self) -> str:
        rows = self.table.head(NUM_SHOWN_NODES).to_dict("records")
        table = CardTable("The first nodes", [dict(list(row.items())[:MAX_SHOWN_COLUMNS]) for row in rows])
        return render_card_html(f"Predictions of {self.model.name}", self.summary.to_dict(), [table])


def predict(
    model: Method | str | Path,
    graph: Data | str | Path | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    known: str | Path | pd.DataFrame | None = None,
    memory: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    progress: ShowProgress = None,
    **graph_options: Any,
) -> Predictions:
    """Predict classes and probabilities of all nodes of a graph with a trained model.

    A model that was trained on files knows its columns, and makes the same features of new nodes and new graphs.

    Args:
        model: a fitted method, the folder of a model, or the folder of a training run.
        graph: a graph, the name of a dataset or the folder of a graph store; None for files.
        out: the CSV file to write, if any.
        force: replace ``out`` if it exists.
        known: table of old nodes that ``edges`` join the new ones to. They are read, and not predicted.
        memory: bytes to stay within, for ``auto`` and a graph store, with ``ray`` and ``resume``: see ``StoreLimits``.
        progress: show stages and the time left (None: where somebody looks), or a function to tell of them.
        graph_options: of files, as :func:`pignn.read_graph` takes them (``nodes=``, ``edges=``, ...); of a dataset, as
            :func:`pignn.load` takes them.
    """
    if not isinstance(model, Method | str | Path):
        raise ConfigError(
            f"model must be a fitted method or a folder, not {type(model).__name__}; run.save() writes one"
        )
    source = GraphSource(graph, graph_options)
    folder = None if isinstance(model, Method) else resolve_model_folder(Path(model))
    if out is not None:
        model_files = folder.iterdir() if folder is not None and folder.is_dir() else ()
        check_outputs_may_be_written([Path(out)], [*source.input_paths, *model_files], force=force)
    fitted = model if isinstance(model, Method) else load_model(model)
    if known is not None:
        return _predict_with_known_nodes(fitted, folder, source, known, out)
    limits = StoreLimits(memory, ray, resume).check_options_fit(source, fitted, "auto")
    data = _load_graph_with_model_features(fitted, folder, source) if source.graph is None else source.load()
    if (
        isinstance(graph, str | Path) and not source.is_dataset_or_experiment_store
    ):  # a graph store, whose labels are compared and no more
        data.train_mask = data.train_mask & False
    has_true_labels = source.is_dataset_or_experiment_store or data.get("y_true") is not None
    with limits.block_work_context(source, None if out is None else Path(out)), progress_context(progress):
        predictions = Predictions.infer(fitted, data, model_folder=folder, has_true_labels=has_true_labels)
    if out is not None:
        write_predictions_csv(Path(out), predictions.table)
    if has_true_labels and list(data.get("class_names") or []) != fitted.class_names_:
        warn_user("the graph has other classes than the model; nothing is scored")
    return predictions


def _predict_with_known_nodes(
    model: Method, folder: Path | None, source: GraphSource, known: Any, out: str | Path | None
) -> Predictions:
    """Predict new nodes with the old ones that they link to as neighbors."""
    encoder = None if folder is None else graphs.load_feature_encoder(folder)
    if encoder is None or source.options.get("nodes") is None:
        raise ConfigError("known= is for tables of nodes and the folder of a model that was trained on such")
    options = dict(source.options)
    frame, id, num_new = join_node_tables_preferring_new(
        options["nodes"], known, encoder, options.get("id"), options.get("delimiter")
    )
    joined = GraphSource(None, options | {"nodes": frame, "id": id, "label": None, "name": None})
    data = joined.load(encoder=encoder, class_names=model.class_names_)
    logits = model.embed(data)[:num_new]
    predictions = Predictions(
        model, copy_first_nodes_without_features(data, num_new), logits, folder, has_true_labels=False
    )
    if out is not None:
        write_predictions_csv(Path(out), predictions.table)
    return predictions


def resolve_model_folder(folder: Path) -> Path:
    """The folder of the model in the folder of a run, or the folder itself."""
    return folder / "model" if (folder / "model").is_dir() else folder


def _load_graph_with_model_features(model: Method, folder: Path | None, source: GraphSource) -> Data:
    """The user's files with the features that the model was trained on."""
    encoder = None if folder is None else graphs.load_feature_encoder(folder)
    data = source.load(encoder=encoder, class_names=model.class_names_)
    if encoder is None and not data.encoder.is_passthrough:
        raise ModelFileError(
            f"{folder or 'the model'} was not trained on files and does not know how columns become features; "
            "give features that are numbers: an .npy file as features, or an .npz or .pt file as nodes"
        )
    data.train_mask = data.train_mask & False  # labels, where there are any, are compared and no more
    return data
