"""New nodes that link to old ones: both are read, and the new ones are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from ..core.errors import ConfigError, warn_user
from ..core.text import format_count
from ..graphs import FeatureEncoder
from ..graphs.importers.node_ids import ID_NAMES, to_id_texts
from ..graphs.tables import has_graph_suffix, open_table


def join_node_tables_preferring_new(
    nodes: Any, known: Any, encoder: FeatureEncoder, id: str | None, delimiter: str | None
) -> tuple[pd.DataFrame, str, int]:
    """One table of the new nodes and, below them, the old ones; the column of ids; and how many are new.

    The columns are those of both that the model knows. An old node that is among the new ones is left out.
    """
    frames, titles = [], []
    for table in (nodes, known):
        if not isinstance(table, pd.DataFrame) and has_graph_suffix(table):
            raise ConfigError(f"{table} holds a whole graph; known= joins two tables of nodes: save it as a table")
        opened = None if isinstance(table, pd.DataFrame) else open_table(table, delimiter)
        columns = list(table.columns if opened is None else opened.columns)
        id = id or next((name for name in (encoder.roles.get("id"), *ID_NAMES) if name in columns), None)
        titles.append("the table" if opened is None else str(table))
        if id is None or id not in columns:
            raise ConfigError(
                f"{titles[-1]} has no column of ids '{id or 'id'}', by which edges join new and old nodes; give id="
            )
        frame = table if opened is None else opened.read_dataframe([id])
        encoder.check_has_columns(frame.columns, titles[-1])
        frames.append(frame[[id, *(name for name in encoder.input_columns if name != id)]])
    new, old = frames
    assert id is not None
    again = to_id_texts(old[id]).isin(to_id_texts(new[id]))
    if again.any():
        message = (
            f"{format_count(int(again.sum()), 'node')} of {titles[1]} are in {titles[0]} too; the new rows are taken"
        )
        warn_user(message)
        old = old[~again]
    return pd.concat([new, old], ignore_index=True), id, len(new)


def copy_first_nodes_without_features(data: Data, number: int) -> Data:
    """The graph of the first nodes, as tables and summaries read it; features and inner edges are not kept."""
    kept = Data(y=data.y[:number], num_nodes=number)
    kept.edge_index = data.edge_index[:, (data.edge_index < number).any(dim=0)]
    for name in ("train_mask", "val_mask", "test_mask"):
        kept[name] = torch.zeros(number, dtype=torch.bool)
    kept.node_id = np.asarray(data.node_id)[:number]
    kept.name, kept.class_names, kept.origin = data.name, data.class_names, data.origin
    return kept
