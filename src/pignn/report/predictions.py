"""Predictions as a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..io import files
from ..methods.core.base import Method
from .spreadsheet import neutral


def write_predictions(path: Path, model: Method, data: Data) -> None:
    """One row a node: its split, given label (empty where there is none), predicted class, probabilities.

    ``disagrees`` marks nodes whose given label is not the predicted class. Ids and classes that a spreadsheet would run
    as formulas get an apostrophe before them.
    """
    proba = model.predict_proba(data)
    names = np.array([neutral(name) for name in model.class_names_], dtype=object)
    best = proba.argmax(axis=1)
    given = data.y.reshape(-1).cpu().numpy() if data.get("y") is not None else np.full(len(proba), -1)
    split = np.full(len(proba), "", dtype=object)
    for name in ("train", "val", "test"):
        mask = data.get(f"{name}_mask")
        if mask is not None and mask.dim() == 1:
            split[mask.bool().cpu().numpy()] = name
    ids = data.get("node_id")
    labelled = (given >= 0) & (given < len(names))
    table = pd.DataFrame(
        {
            "node": np.arange(len(proba)) if ids is None else [neutral(i) for i in ids],
            "split": split,
            "given": np.where(labelled, names[np.where(labelled, given, 0)], ""),
            "predicted": names[best],
            "confidence": proba.max(axis=1).round(6),
            "disagrees": (labelled & (given != best)).astype(int),
        }
    )
    columns = pd.DataFrame(proba.round(6), columns=[f"p_{name}" for name in model.class_names_])
    files.write_bytes(path, pd.concat([table, columns], axis=1).to_csv(index=False, lineterminator="\n").encode())
