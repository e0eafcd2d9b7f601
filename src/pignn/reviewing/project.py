"""A project folder: the audit, the original labels, what the page shows, and the decisions.

| file | content |
|---|---|
| `project.json` | what was audited, and with which options; written last, so a folder that has it is whole |
| `audit/` | what `pignn audit` writes |
| `labels.csv` | the labels as they were given; never written again |
| `state.safetensors` | embedding, probabilities, folds, map and random order: what live models start from |
| `nodes.sqlite` | ids, names and columns of the nodes |
| `decisions.sqlite` | who decided what, with its history |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..auditing.crossfit import Bools, Singles
from ..core.errors import ConfigError, DataError
from ..core.records import Record
from ..io import files
from ..noise.kinds import Floats, Ints
from ..runs.audit_origin import AuditOrigin
from .decision_store import DecisionStore
from .node_texts import NodeTexts
from .project_folder import DECISIONS_FILE, HEADER_FILE, is_project

VERSION = 1
STATE_FILE, TEXTS_FILE, LABELS_FILE = "state.safetensors", "nodes.sqlite", "labels.csv"


class ProjectHeader(Record, kw_only=True):
    """The content of project.json."""

    version: int = VERSION
    title: str
    class_names: list[str]
    source_names: list[str] = msgspec.field(default_factory=list)
    num_nodes: int
    seed: int
    notes: list[str] = msgspec.field(default_factory=list)  # why the audit may be doubted
    origin: AuditOrigin | None = None  # the table whose labels can be corrected
    graph: dict[str, Any] | None = None  # the arguments of pignn.train for the same graph; None for an object


@dataclass(frozen=True, eq=False)
class ProjectState:
    """What live models start from. Arrays have one row per label, in the order of `nodes`."""

    nodes: Ints
    given: Ints
    trusted: Bools
    fold: Ints
    p_wrong: Floats
    suggested: Ints
    probs: Floats  # of each class, without the own label
    embedding: Singles
    similar: Ints  # [labels, k] positions, most similar first
    sources: Ints  # -1 where it is not known
    clusters: Ints
    order: Ints  # positions of labels that were not trusted, in the random order of the estimate
    place: Floats  # [labels, 2], the map
    crow: Ints  # the edges of all nodes
    col: Ints
    unlabeled: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # nodes on the map without a label
    unlabeled_place: Floats = field(default_factory=lambda: np.empty((0, 2), dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Project:
    """An open project."""

    folder: Path
    header: ProjectHeader
    state: ProjectState
    decisions: DecisionStore
    texts: NodeTexts


def open_project(folder: Path) -> Project:
    """Read a project folder. Whoever writes to it holds `project_lock_context`."""
    if not is_project(folder):
        raise ConfigError(
            f"{folder} is no project of `pignn review`: it has no {HEADER_FILE}; name a graph to make one"
        )
    try:
        header = msgspec.json.decode((folder / HEADER_FILE).read_bytes(), type=ProjectHeader)
    except (OSError, msgspec.DecodeError):
        raise DataError(f"{folder / HEADER_FILE} is damaged; restore it from a copy") from None
    if header.version > VERSION:
        raise DataError(f"{folder} was written by a newer pignn; update this one")
    tensors, _ = files.read_tensors_and_metadata(folder / STATE_FILE)
    state = ProjectState(**{name: tensor.numpy() for name, tensor in tensors.items()})
    return Project(folder, header, state, DecisionStore(folder / DECISIONS_FILE), NodeTexts(folder / TEXTS_FILE))
