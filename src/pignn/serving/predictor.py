"""Requests as graphs, predictions as answers."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from .. import graphs
from .._version import __version__
from ..core.errors import DataError, PignnWarning
from ..methods import load_model
from ..runs import Predictions
from .messages import Limits, NodePrediction, PredictRequest, PredictResponse, Version


class Predictor:
    """A loaded model that answers requests. One at a time computes: models are not safe to share between threads."""

    def __init__(self, folder: str | Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.model = load_model(folder)
        self.encoder = graphs.load_feature_encoder(folder)
        if self.encoder is not None and self.encoder.is_passthrough:
            self.encoder = None
        self._lock = threading.Lock()

    def build_version_info(self) -> Version:
        columns = None if self.encoder is None else list(self.encoder.input_columns)
        names = list(self.model.class_names_)
        return Version(__version__, self.model.name, names, columns, self.model.num_features_, self.limits)

    def predict(self, request: PredictRequest) -> PredictResponse:
        """Classes and probabilities of the nodes of a request; a request that makes no graph is refused."""
        ids = self._check_request_and_list_ids(request)
        ends = _find_edge_end_positions(ids, request.edges)
        # Warnings are global, and so is the state of a network: one request after the other.
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PignnWarning)
            if self.encoder is None:
                data = self._build_graph_from_numbers(request, ends)
            else:
                data = self._build_graph_from_columns(request, ends, len(ids))
            probs = Predictions.infer(self.model, data).probs
        if not np.isfinite(probs).all():
            raise DataError("the numbers are too large for the model; give features as it was trained on")
        names = self.model.class_names_
        predictions = [
            NodePrediction(id, names[best], row[best], dict(zip(names, row, strict=True)))
            for id, best, row in zip(ids, probs.argmax(1).tolist(), probs.tolist(), strict=True)
        ]
        notes = [str(each.message) for each in caught if issubclass(each.category, PignnWarning)]
        return PredictResponse(predictions, list(dict.fromkeys(notes)))

    def _check_request_and_list_ids(self, request: PredictRequest) -> list[str | int]:
        has_columns = self.encoder is not None
        needed, other = ("columns", "x") if has_columns else ("x", "columns")
        if getattr(request, needed) is None or getattr(request, other) is not None:
            raise DataError(f"this model needs '{needed}' and takes no '{other}'; /version describes it")
        lengths = {len(values) for values in request.columns.values()} if request.columns else set()
        if request.x is not None:
            lengths = {len(request.x)}
            if any(len(row) != self.model.num_features_ for row in request.x):
                raise DataError(f"every row of 'x' must have {self.model.num_features_} numbers")
        if request.ids is not None:
            lengths.add(len(request.ids))
        if len(lengths) != 1:
            raise DataError("'ids' and all columns must have one value per node")
        (num_nodes,) = lengths
        if not num_nodes:
            raise DataError("there are no nodes; give at least one")
        for name, count, most in (
            ("nodes", num_nodes, self.limits.max_nodes),
            ("edges", len(request.edges), self.limits.max_edges),
        ):
            if count > most:
                raise DataError(f"{count:,} {name} are more than the limit of {most:,}; send them in parts")
        return list(range(num_nodes)) if request.ids is None else request.ids

    def _build_graph_from_columns(self, request: PredictRequest, ends: np.ndarray, num_nodes: int) -> Data:
        assert self.encoder is not None
        edges = pd.DataFrame({"source": ends[0], "target": ends[1]})
        names = list(self.model.class_names_)
        columns = {
            name: values for name, values in (request.columns or {}).items() if name in self.encoder.input_columns
        }
        frame = pd.DataFrame(columns, index=range(num_nodes))  # other columns, of ids perhaps, have no say
        return graphs.read_graph(frame, edges, encoder=self.encoder, class_names=names, edge_columns="source,target")

    def _build_graph_from_numbers(self, request: PredictRequest, ends: np.ndarray) -> Data:
        data = Data(x=torch.tensor(request.x, dtype=torch.float32), edge_index=torch.from_numpy(ends))
        data.y = torch.full((data.x.shape[0],), -1)
        return data


def _find_edge_end_positions(ids: list[str | int], edges: list[tuple[str | int, str | int]]) -> np.ndarray:
    """The positions of the ends of all edges, [2, E]."""
    index = pd.Index(ids, dtype=object)
    if not index.is_unique:
        raise DataError(f"the id '{str(index[index.duplicated()][0])[:80]}' appears twice; give each node its own")
    if not edges:
        return np.empty((2, 0), dtype=np.int64)
    named = pd.Index([end for edge in edges for end in edge], dtype=object)
    ends = index.get_indexer(named)
    if (ends < 0).any():
        raise DataError(f"an edge names '{str(named[int(np.argmax(ends < 0))])[:80]}', which is not among the nodes")
    return ends.reshape(-1, 2).T.astype(np.int64)
