"""The page of an audit: hostile text stays text, nothing is fetched, and 10,000 suspects fit."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import pignn.cli
from pignn import graphs
from pignn.auditing import Audit, audit_labels, sample_for_review, write_spreadsheet_safe_csv
from pignn.auditing.evidence import build_checked_evidence
from pignn.auditing.neighborhoods import build_neighborhoods
from pignn.auditing.tables import replace_class_numbers_by_names
from pignn.core.errors import ConfigError
from pignn.noise import NoiseEstimate, corrupt
from pignn.report.audit import AuditPageContent, build_audit_page
from pignn.report.audit.page import encode_json_for_script

from .reading import HOSTILE, Elements, admitted


def content(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert match is not None
    return json.loads(match.group(1))


def make_audit(num_labels: int, num_classes: int, *, id_of: Any = None, names: list[str] | None = None) -> Audit:
    """An audit, made up from random numbers, of a graph of nodes on a ring with chords."""
    rng = np.random.default_rng(0)
    given = rng.integers(0, num_classes, num_labels)
    nodes = np.arange(num_labels)
    ends = np.concatenate([np.stack([nodes, (nodes + step) % num_labels]) for step in (1, 2, 3, 7, 50, 51, 52)], axis=1)
    data = Data(
        x=torch.from_numpy(rng.random((num_labels, 8), dtype=np.float32)),
        edge_index=torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1)),
        y=torch.from_numpy(given),
        class_names=[f"class {c}" for c in range(num_classes)] if names is None else names,
    )
    posterior = rng.dirichlet(np.ones(num_classes), num_labels)
    p = np.sort(rng.beta(0.5, 2, num_labels))[::-1]
    columns: dict[str, Any] = {"node": nodes}
    if id_of is not None:
        data.node_id = [id_of(i) for i in range(num_labels)]
        columns["id"] = data.node_id
    columns |= {
        "given": given,
        "suggested": (given + 1) % num_classes,
        "p_wrong": p,
        "flagged": p > 0.4,
        "suspect": p > 0.5,
    }
    columns |= {"num_neighbors": 14, "neighbor_agreement": 0.25, "similar_agreement": 0.5, "trusted": False}
    issues = pd.DataFrame(columns | {f"p_{c}": posterior[:, c] for c in range(num_classes)})
    transition = np.full((num_classes, num_classes), 0.2 / (num_classes - 1))
    np.fill_diagonal(transition, 0.8)
    noise = NoiseEstimate(0.2, transition, np.full(num_classes, 1 / num_classes), posterior, (0.15, 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small ring has edges twice
        evidence = build_checked_evidence(data, 2, 0)
    return Audit(issues, noise, evidence, "smoothed", 0.0, warnings=["<b>note</b>"])


def test_hostile_text_is_only_ever_data() -> None:
    audit = make_audit(len(HOSTILE), 3, id_of=lambda i: HOSTILE[i], names=HOSTILE[:3])
    audit.issues["source"] = [HOSTILE[-1 - i] for i in range(len(HOSTILE))]
    table = pd.DataFrame({name[:50]: HOSTILE for name in HOSTILE}, dtype=object)
    page = audit.report(node_table=table, title=HOSTILE[1])
    harmless = make_audit(5, 3).report()
    page.encode()
    elements = [e for e in Elements(page).elements if e[0] != "meta"]
    assert elements == [e for e in Elements(harmless).elements if e[0] != "meta"]  # as without hostile text
    assert not [name for _, attrs in elements for name in attrs if name.startswith("on") or name == "style"]
    shown = content(page)
    assert shown["suspects"]["node"] == HOSTILE  # whole: apply looks for these ids
    assert shown["class_names"] == HOSTILE[:3]
    assert shown["title"] == HOSTILE[1]
    assert shown["cells"]["rows"][0][0] == HOSTILE[0]
    assert shown["cells"]["rows"][-1][0].endswith("(6,000 more characters)")
    assert max(map(len, shown["named_nodes"]["id"])) <= 60


@pytest.mark.parametrize("text", [*HOSTILE, "half \ud800 pair"])
def test_json_cannot_end_its_block(text: str) -> None:
    block = encode_json_for_script({text[:100]: [text]})
    assert not re.search("[<>&\u2028\u2029]", block)
    assert json.loads(block) == {text[:100]: [text]}
    block.encode()


def test_nothing_is_fetched_and_the_policy_admits_only_the_page_itself() -> None:
    page = make_audit(30, 3).report()
    elements = Elements(page)
    for tag, attrs in elements.elements:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base", "form")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp|@import|url\(", page
    )
    assert admitted(page) == 2


def test_ten_thousand_suspects_fit() -> None:
    audit = make_audit(12_000, 10, id_of=lambda i: f"a rather long identifier of node {i}")
    table = pd.DataFrame({"text": ["größer & <b>lang</b> " * 100] * 12_000})
    page = audit.report(review=sample_for_review(audit.issues, 300), node_table=table)
    assert len(page.encode()) < 15_000_000
    shown = content(page)
    assert {len(values) for values in shown["suspects"].values()} == {10_000}
    assert sum(part != "" for part in shown["suspects"]["part"]) == shown["review_size"] == 300
    assert len(shown["neighborhoods"]["degree"]) > 5_000
    assert 1_000 < len(shown["cells"]["rows"]) < 10_000  # as many as there is room for


def test_long_ids_leave_suspects_out_but_not_the_review() -> None:
    audit = make_audit(2_000, 2, id_of=lambda i: f"{i}" + "é" * 10_000)
    page = audit.report(review=sample_for_review(audit.issues, 40))
    assert len(page.encode()) < 15_000_000
    suspects = content(page)["suspects"]
    assert 40 < len(suspects["node"]) < 2_000
    assert sum(part != "" for part in suspects["part"]) == 40


def test_the_page_shows_the_evidence_of_the_audit() -> None:
    clean = graphs.csbm(200, 3, homophily=0.9, degree=6, signal=2.0, num_features=5)
    graph = corrupt(clean, "symmetric", 0.2, splits="all")
    audit = audit_labels(graph)
    shown = content(audit.report())
    neighbors: dict[int, set[int]] = {}
    for a, b in graph.edge_index.t().tolist():
        neighbors.setdefault(a, set()).add(b)
        neighbors.setdefault(b, set()).add(a)
    issues, suspects, near = audit.issues, shown["suspects"], shown["neighborhoods"]
    assert suspects["node"] == [str(node) for node in issues["node"]]
    np.testing.assert_allclose(suspects["p_wrong"], issues["p_wrong"], rtol=1e-5)
    for i, (node, similar) in enumerate(zip(suspects["node"], issues["similar_agreement"], strict=True)):
        own = neighbors.get(int(node), set()) - {int(node)}
        drawn = [int(shown["named_nodes"]["id"][n]) for n in near["neighbors"][i]]
        assert near["degree"][i] == len(own)
        assert set(drawn) <= own
        assert len(drawn) == min(12, len(own))
        votes = dict(map(tuple, near["votes"][i]))
        assert votes == {c: sum(int(graph.y[n]) == c for n in own) for c in {int(graph.y[n]) for n in own}}
        for a, b in near["links"][i]:
            assert drawn[b] in neighbors[drawn[a]]
        assert node not in [shown["named_nodes"]["id"][n] for n in near["similar"][i]]
        # The same most similar nodes as those that the audit asked.
        assert dict(map(tuple, near["similar_votes"][i])).get(suspects["given"][i], 0) / 15 == pytest.approx(similar)
    assert sum(shown["histogram"]["counts"]) == 200
    assert suspects["suspect"] == issues["suspect"].astype(int).tolist()
    assert shown["overview"]["num_suspects"] == issues["suspect"].sum()
    assert shown["overview"]["rate_dawid_skene"] == audit.rate_dawid_skene
    flagged = issues[issues["flagged"]]
    for given, suggested in ((0, 1), (2, 0)):
        both = (flagged["given"] == given) & (flagged["suggested"] == suggested)
        assert shown["flagged_confusion"][given][suggested] == both.sum()


def test_the_page_uses_the_embedding_of_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = audit_labels(corrupt(graphs.csbm(100, 3, signal=2.0), "symmetric", 0.2, splits="all"))
    for name in ("embed_nodes", "build_inputs_and_warn_of_edge_changes", "find_most_similar_rows"):
        monkeypatch.setattr(f"pignn.auditing.evidence.{name}", None)
    assert len(content(audit.report())["neighborhoods"]["similar"]) == 100


def test_without_neighborhoods_the_page_has_none() -> None:
    audit = make_audit(30, 3)
    names, graph = audit.class_names, audit.evidence.graph
    page = build_audit_page(
        AuditPageContent("t", audit.overview, names, audit.noise.transition, [], [], audit.issues, {}, graph)
    )
    shown = content(page)
    assert len(shown["suspects"]["node"]) == 30
    assert shown["neighborhoods"] == {}
    assert shown["named_nodes"] == {"id": [], "given": []}


def test_trusted_labels_are_not_listed() -> None:
    audit = make_audit(40, 2)
    audit.issues.loc[audit.issues["node"] < 10, "trusted"] = True
    assert len(content(audit.report())["suspects"]["node"]) == 30


def test_unlabeled_neighbors_are_drawn_last() -> None:
    data = make_audit(40, 2).evidence.graph
    data.y[::2] = -1
    (one,) = build_neighborhoods(build_checked_evidence(data, 2, 0), np.array([1]))
    labeled = [bool(data.y[node] >= 0) for node in one.neighbors]
    assert labeled == sorted(labeled, reverse=True)
    assert sum(count for _, count in one.votes) <= one.degree


HALVES = """
from pignn.auditing import AuditColumn
from pignn.report import PageColumn

HALF = AuditColumn("half", "half the number of the node", lambda f: f.evidence.nodes / 2, PageColumn("Half", "number"))
"""


def test_a_column_of_another_package_is_in_the_file_and_on_the_page(
    install_package: Callable[[str, str], None], tmp_path: Path
) -> None:
    install_package(HALVES, "[pignn.audit_columns]\nhalf = other_package:HALF\n")
    audit = audit_labels(corrupt(graphs.csbm(100, 3, signal=2.0), "symmetric", 0.2, splits="all"))
    halves = [node / 2 for node in audit.issues["node"]]
    write_spreadsheet_safe_csv(
        tmp_path / "suspects.csv", replace_class_numbers_by_names(audit.issues, audit.class_names)
    )
    assert pd.read_csv(tmp_path / "suspects.csv")["half"].tolist() == halves
    assert list(audit.issues)[-1] == "half"
    shown = content(audit.report())
    assert shown["suspects"]["half"] == halves
    assert shown["columns"][-1] == {
        "name": "half",
        "heading": "Half",
        "kind": "number",
        "total": None,
        "is_minor": True,
    }


def test_a_column_of_the_wrong_length_is_refused(install_package: Callable[[str, str], None]) -> None:
    source = HALVES.replace("nodes / 2", "nodes[:7]").replace('"half"', '"short"')
    install_package(source, "[pignn.audit_columns]\nshort = other_package:HALF\n")
    with pytest.raises(ConfigError, match="audit column 'short' has 7 values for 100 labels"):
        audit_labels(corrupt(graphs.csbm(100, 3, signal=2.0), "symmetric", 0.2, splits="all"))


def test_the_command_writes_the_page_with_the_columns_of_the_file(tmp_path: Path) -> None:
    graph = corrupt(graphs.csbm(60, 2, signal=3.0, num_features=2), "symmetric", 0.2, splits="all")
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(60)], "a": graph.x[:, 0].numpy(), "b": graph.x[:, 1].numpy()})
    frame["topic"] = [f"t{c}" for c in graph.y.tolist()]
    frame["remark"] = [f"remark <{i}>" for i in range(60)]
    frame.to_csv(tmp_path / "nodes.csv", index=False)
    edges = pd.DataFrame(graph.edge_index.t().numpy(), columns=["source", "target"])
    edges.map(lambda i: f"n{i}").to_csv(tmp_path / "edges.csv", index=False)
    files = ["--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv", "--label", "topic"]
    arguments = ["audit", *files, "--features", "a,b", "--review", 9, "--out", tmp_path / "out", "--json"]
    assert pignn.cli.run([str(argument) for argument in arguments]) == 0
    shown = content((tmp_path / "out" / "audit.html").read_text(encoding="utf-8"))
    assert shown["title"] == "Audit of the labels of nodes.csv"
    assert shown["cells"]["names"] == ["a", "b", "remark"]
    for node, cells in zip(shown["suspects"]["node"], shown["cells"]["rows"], strict=True):
        assert cells[2] == f"remark <{node[1:]}>"
    assert sum(part != "" for part in shown["suspects"]["part"]) == shown["review_size"] == 9
