"""A graph with what was found about it, for NetworkX and whatever reads from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..core.errors import ConfigError, DataError
from ..graphs.checks import parse_node_ids_or_none
from ..methods.core.base import get_class_names_or_numbers
from .audit_run import AuditRun
from .predictions import Predictions
from .training_run import TrainingRun

if TYPE_CHECKING:
    import networkx

AUDIT_COLUMNS = ("suggested", "p_wrong", "suspect", "trusted")
PREDICTION_COLUMNS = ("predicted", "confidence")


def to_networkx(graph: Data, found: AuditRun | TrainingRun | Predictions | None = None) -> networkx.Graph:
    """Convert a graph to NetworkX, with what was found about its nodes as attributes.

    Nodes are the ids, or numbers from 0. They have ``name`` and ``given`` (the name of the class), and edges
    ``weight``, where the graph has them. The attributes are plain values, so that GraphML and GML can be written.

    Args:
        graph: a PyG graph.
        found: of an audit, nodes get ``suggested``, ``p_wrong``, ``suspect`` and ``trusted``; of a training or
            predictions, ``predicted`` and ``confidence``.
    """
    import networkx

    if not isinstance(graph, Data):
        raise DataError(f"expected a torch_geometric Data, not {type(graph).__name__}")
    num_nodes, ids = int(graph.num_nodes), parse_node_ids_or_none(graph)
    nodes = list(range(num_nodes)) if ids is None else [_to_plain_value(each) for each in ids]
    attributes = _collect_name_and_class_attributes(graph, num_nodes)
    if found is not None:
        table, columns = _build_node_table_and_columns(found)
        if len(table) and int(table["node"].max()) >= num_nodes:
            raise ConfigError("found is about another graph, which has more nodes; give both of the same run")
        for name in columns:
            _set_attribute_of_nodes(attributes, name, table["node"], table[name])
    result = networkx.Graph()
    result.add_nodes_from(zip(nodes, attributes, strict=True))
    pairs = [(nodes[a], nodes[b]) for a, b in graph.edge_index.t().tolist()]
    if graph.get("edge_weight") is None:
        result.add_edges_from(pairs)
    else:
        weights = graph.edge_weight.reshape(-1).tolist()
        result.add_weighted_edges_from((*pair, weight) for pair, weight in zip(pairs, weights, strict=True))
    return result


def _collect_name_and_class_attributes(graph: Data, num_nodes: int) -> list[dict[str, Any]]:
    """Names and given classes of the nodes."""
    attributes: list[dict[str, Any]] = [{} for _ in range(num_nodes)]
    if graph.get("node_name") is not None:
        _set_attribute_of_nodes(attributes, "name", range(num_nodes), graph.node_name)
    if graph.get("y") is not None:
        names, given = np.array(get_class_names_or_numbers(graph), dtype=object), graph.y.cpu().numpy()
        labeled = np.flatnonzero(given >= 0)
        _set_attribute_of_nodes(attributes, "given", labeled, names[given[labeled]])
    return attributes


def _build_node_table_and_columns(audit_or_predictions: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """What was found by numbers of nodes, with names of classes."""
    if isinstance(audit_or_predictions, AuditRun):
        names = np.array(audit_or_predictions.audit.class_names, dtype=object)
        return audit_or_predictions.issues.assign(
            suggested=names[audit_or_predictions.issues["suggested"]]
        ), AUDIT_COLUMNS
    if isinstance(audit_or_predictions, TrainingRun):
        audit_or_predictions = audit_or_predictions.predictions
    if isinstance(audit_or_predictions, Predictions):
        table = audit_or_predictions.table
        return table.assign(node=np.arange(len(table))), PREDICTION_COLUMNS
    raise ConfigError(
        f"found must come from pignn.audit, pignn.train or pignn.predict, not {type(audit_or_predictions).__name__}"
    )


def _set_attribute_of_nodes(attributes: list[dict[str, Any]], name: str, nodes: Any, values: Any) -> None:
    for node, value in zip(nodes, values, strict=True):
        attributes[int(node)][name] = _to_plain_value(value)


def _to_plain_value(value: Any) -> Any:
    """A number or text of Python's own, which every file format knows."""
    return value.item() if isinstance(value, np.generic) else value
