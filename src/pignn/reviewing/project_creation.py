"""Make a project: of a graph, whose labels are audited first, or of an audit that was saved."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from .. import runs
from ..auditing import Evidence, write_spreadsheet_safe_csv
from ..auditing.crossfit import Singles
from ..auditing.evidence import EMBEDDING_ALPHA, build_checked_evidence
from ..auditing.similarity import find_most_similar_rows
from ..auditing.views import embed_nodes
from ..core.errors import ConfigError
from ..io import files
from ..noise.kinds import Floats, Ints
from ..runs.audit_origin import AuditOrigin
from ..runs.audit_run import read_original_node_table_or_none
from ..runs.early_checks import build_json_arguments_or_none
from ..runs.run_folder import AUDIT_FILES
from .layout import compute_layout
from .node_texts import write_node_texts
from .project import LABELS_FILE, STATE_FILE, TEXTS_FILE, VERSION, ProjectHeader
from .project_folder import (
    HEADER_FILE,
    check_project_can_be_created,
    copy_with_absolute_paths,
    project_lock_context,
)

LABELS_PER_CLUSTER_ROOT, MIN_CLUSTERS, MAX_CLUSTERS = 10, 4, 40
MAX_UNLABELED_ON_MAP = 100_000  # of more, as many are drawn at random


@dataclass(frozen=True, eq=False)
class AuditedLabels:
    """What a project is made of. `issues` has one row per label."""

    evidence: Evidence
    issues: pd.DataFrame
    notes: list[str]
    data: Data  # as it was read
    arguments: dict[str, Any] | None  # that `runs.rebuild_audited_graph` takes; None for a graph in memory


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
        run = runs.audit(**arguments, **(audit or {}))
        run.save(folder / "audit", force=True)
        evidence, notes = run.audit.evidence, run.audit.notes
        _write_project_files(folder, AuditedLabels(evidence, run.issues, notes, run.data, run.arguments))


def create_project_from_audit(folder: Path, audit_folder: Path, arguments: Mapping[str, Any] | None = None) -> None:
    """Write what a review needs of an audit that was saved, without auditing again.

    Args:
        folder: a new folder, or one in which an earlier attempt did not finish.
        audit_folder: the `out` of `pignn.audit`. It is copied, and stays as it is.
        arguments: the graph that was audited, where the audit does not know where to read it.
    """
    check_project_can_be_created(folder)
    known = dict(arguments) if arguments else runs.read_audit_arguments_or_none(audit_folder)
    if known is None:
        raise ConfigError(
            f"{audit_folder} does not say which graph was audited; name it too, with --nodes or --dataset"
        )
    data = runs.rebuild_audited_graph(known)
    saved = runs.read_saved_audit(audit_folder, data)
    evidence = build_checked_evidence(data, saved.folds, int(known.get("seed", 0)))
    files.create_folder_and_prove_writable(folder)
    with project_lock_context(folder):
        (folder / "audit").mkdir(exist_ok=True)
        for name in AUDIT_FILES:
            if (audit_folder / name).exists():
                shutil.copy2(audit_folder / name, folder / "audit" / name)
        plain = build_json_arguments_or_none(known)
        _write_project_files(folder, AuditedLabels(evidence, saved.issues, saved.notes, data, plain))


def _write_project_files(folder: Path, audited: AuditedLabels) -> None:
    """Everything but the audit. project.json comes last and says that the rest is whole."""
    evidence, issues = audited.evidence, audited.issues.sort_values("node")
    _write_labels_read_only(folder / LABELS_FILE, evidence)
    arrays = _build_state_arrays(evidence, issues)
    tensors = {name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}
    files.write_tensors_and_metadata(folder / STATE_FILE, tensors, {"version": VERSION})
    origin = audited.data.get("origin")
    write_node_texts(folder / TEXTS_FILE, evidence.graph, read_original_node_table_or_none(origin))
    name = audited.data.get("name") if origin is None else Path(origin.nodes).name
    header = ProjectHeader(
        title=f"Review of the labels of {name or 'a graph'}",
        class_names=evidence.class_names,
        source_names=sorted(set(evidence.sources or ())),
        num_nodes=int(evidence.graph.num_nodes),
        seed=evidence.seed,
        notes=audited.notes,
        origin=None if origin is None else AuditOrigin(
            nodes=str(Path(origin.nodes).resolve()), id=origin.id, label=origin.label
        ),
        graph=None if audited.arguments is None else copy_with_absolute_paths(audited.arguments),
    )  # fmt: skip
    files.write_json(folder / HEADER_FILE, header.to_dict())


def _build_state_arrays(evidence: Evidence, issues: pd.DataFrame) -> dict[str, Any]:
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(evidence.seed)
    similar = evidence.most_similar_positions
    names = sorted(set(evidence.sources or ()))
    code = {name: number for number, name in enumerate(names)}
    num_labels = len(evidence.nodes)
    count = int(np.clip(round((num_labels / LABELS_PER_CLUSTER_ROOT) ** 0.5), MIN_CLUSTERS, MAX_CLUSTERS))
    kmeans = MiniBatchKMeans(min(count, num_labels), random_state=evidence.seed, n_init=1)
    order = rng.permutation(np.flatnonzero(~evidence.trusted))
    unlabeled, place = _draw_map(evidence, rng)
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
        "clusters": kmeans.fit_predict(evidence.embedding).astype(np.int64),
        "order": order,
        "place": place[:num_labels],
        "crow": evidence.inputs.adj.crow.numpy().astype(np.int64),
        "col": evidence.inputs.adj.col.numpy().astype(np.int64),
        "unlabeled": unlabeled,
        "unlabeled_place": place[num_labels:],
    }


def _draw_map(evidence: Evidence, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Nodes without a label that are on the map, and the places of all labels and then of those."""
    unlabeled = np.setdiff1d(np.arange(evidence.graph.num_nodes), evidence.nodes, assume_unique=True)
    if len(unlabeled) > MAX_UNLABELED_ON_MAP:
        unlabeled = np.sort(rng.choice(unlabeled, MAX_UNLABELED_ON_MAP, replace=False))
    if not len(unlabeled):
        return unlabeled, compute_layout(evidence.embedding, evidence.most_similar_positions, evidence.seed)
    others = embed_nodes(evidence.inputs, unlabeled, EMBEDDING_ALPHA, evidence.num_classes, evidence.seed)
    rows: Singles = np.concatenate([evidence.embedding, others])
    return unlabeled, compute_layout(rows, find_most_similar_rows(rows), evidence.seed)


def _write_labels_read_only(path: Path, evidence: Evidence) -> None:
    ids, names = evidence.graph.get("node_id"), np.array(evidence.class_names, dtype=object)
    nodes = evidence.nodes if ids is None else [ids[node] for node in evidence.nodes.tolist()]
    table = pd.DataFrame({"node": nodes, "label": names[evidence.given], "trusted": evidence.trusted})
    if evidence.sources is not None:
        table["source"] = evidence.sources
    path.unlink(missing_ok=True)  # of an attempt that did not finish
    write_spreadsheet_safe_csv(path, table)
    path.chmod(0o444)
