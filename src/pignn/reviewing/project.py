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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import torch

from .. import runs
from ..auditing import Audit, write_spreadsheet_safe_csv
from ..auditing.crossfit import Bools, Singles
from ..core.errors import ConfigError, DataError
from ..core.records import Record
from ..io import files
from ..noise.kinds import Floats, Ints
from ..runs.audit_origin import AuditOrigin
from ..runs.audit_run import AuditRun, read_original_node_table_or_none
from .decision_store import DecisionStore
from .layout import compute_layout
from .node_texts import NodeTexts, write_node_texts
from .project_folder import DECISIONS_FILE, HEADER_FILE, check_project_can_be_created, is_project, project_lock_context

VERSION = 1
STATE_FILE, TEXTS_FILE, LABELS_FILE = "state.safetensors", "nodes.sqlite", "labels.csv"
LABELS_PER_CLUSTER_ROOT, MIN_CLUSTERS, MAX_CLUSTERS = 10, 4, 40


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


@dataclass(frozen=True, eq=False)
class Project:
    """An open project."""

    folder: Path
    header: ProjectHeader
    state: ProjectState
    decisions: DecisionStore
    texts: NodeTexts


def audit_and_create_project(
    folder: Path, arguments: Mapping[str, Any], *, audit: Mapping[str, Any] | None = None
) -> None:
    """Audit the labels of a graph and write what a review needs.

    Args:
        folder: a new folder, or one in which an earlier attempt did not finish.
        arguments: the graph, as `pignn.audit` takes it.
        audit: further options of `pignn.audit`, such as `method`, `noise` and `seed`.
    """
    check_project_can_be_created(folder)
    files.create_folder_and_prove_writable(folder)
    with project_lock_context(folder):
        options = dict(audit or {})
        run = runs.audit(**arguments, **options)
        run.save(folder / "audit", force=True)
        _write_labels_read_only(folder / LABELS_FILE, run.audit)
        seed = int(options.get("seed", 0))
        tensors = {name: torch.from_numpy(np.array(v)) for name, v in _build_state_arrays(run.audit, seed).items()}
        files.write_tensors_and_metadata(folder / STATE_FILE, tensors, {"version": VERSION})
        write_node_texts(
            folder / TEXTS_FILE, run.audit.evidence.graph, read_original_node_table_or_none(run.data.get("origin"))
        )
        header = _build_header(run, {**arguments, **_select_noise_options(options)}, seed)
        files.write_json(folder / HEADER_FILE, header.to_dict())


def _select_noise_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("noise", "rate", "seed") if options.get(name) not in (None, "none")}


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


def _build_state_arrays(audit: Audit, seed: int) -> dict[str, Any]:
    from sklearn.cluster import MiniBatchKMeans

    evidence, rng = audit.evidence, np.random.default_rng(seed)
    issues = audit.issues.sort_values("node")
    similar = evidence.most_similar_positions
    names = sorted(set(evidence.sources or ()))
    code = {name: number for number, name in enumerate(names)}
    num_labels = len(evidence.nodes)
    count = int(np.clip(round((num_labels / LABELS_PER_CLUSTER_ROOT) ** 0.5), MIN_CLUSTERS, MAX_CLUSTERS))
    clusters = MiniBatchKMeans(min(count, num_labels), random_state=seed, n_init=1).fit_predict(evidence.embedding)
    return {
        "nodes": evidence.nodes,
        "given": evidence.given.astype(np.int64),
        "trusted": evidence.trusted,
        "fold": evidence.fold,
        "p_wrong": issues["p_wrong"].to_numpy(dtype=np.float64),
        "suggested": issues["suggested"].to_numpy(dtype=np.int64),
        "probs": issues[[f"p_{c}" for c in range(evidence.num_classes)]].to_numpy(dtype=np.float32),
        "embedding": evidence.embedding,
        "similar": np.empty((num_labels, 0), dtype=np.int64) if similar is None else similar,
        "sources": np.array([code[name] for name in evidence.sources or ()] or [-1] * num_labels, dtype=np.int64),
        "clusters": clusters.astype(np.int64),
        "order": rng.permutation(np.flatnonzero(~evidence.trusted)),
        "place": compute_layout(evidence.embedding, similar, seed),
        "crow": evidence.inputs.adj.crow.numpy().astype(np.int64),
        "col": evidence.inputs.adj.col.numpy().astype(np.int64),
    }


def _build_header(run: AuditRun, arguments: Mapping[str, Any], seed: int) -> ProjectHeader:
    origin, evidence = run.data.get("origin"), run.audit.evidence
    name = run.data.get("name") if origin is None else Path(origin.nodes).name
    plain = {key: str(Path(value).resolve()) if isinstance(value, Path) else value for key, value in arguments.items()}
    plain = {key: value for key, value in plain.items() if value not in (None, False, [], {})}
    try:
        msgspec.json.encode(plain)
    except TypeError:  # a graph in memory cannot be read again
        plain = None  # type: ignore[assignment]
    return ProjectHeader(
        title=f"Review of the labels of {name or 'a graph'}",
        class_names=run.audit.class_names,
        source_names=sorted(set(evidence.sources or ())),
        num_nodes=int(evidence.graph.num_nodes),
        seed=seed,
        notes=run.audit.notes,
        origin=None if origin is None else AuditOrigin(
            nodes=str(Path(origin.nodes).resolve()), id=origin.id, label=origin.label
        ),
        graph=plain,
    )  # fmt: skip


def _write_labels_read_only(path: Path, audit: Audit) -> None:
    issues = audit.issues.sort_values("node")
    names = np.array(audit.class_names, dtype=object)
    table = pd.DataFrame({"node": issues["id" if "id" in issues else "node"], "label": names[issues["given"]]})
    table["trusted"] = issues["trusted"].to_numpy()
    if "source" in issues:
        table["source"] = issues["source"].to_numpy()
    path.unlink(missing_ok=True)  # of an attempt that did not finish
    write_spreadsheet_safe_csv(path, table)
    path.chmod(0o444)
