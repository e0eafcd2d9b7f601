"""The page of an audit: hostile text stays text, nothing is fetched, and 10,000 suspects fit."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import pignn.cli
from pignn import graphs
from pignn.auditing import Audit, audit_labels, sample_for_review
from pignn.auditing.neighborhoods import describe_neighborhoods
from pignn.noise import NoiseEstimate, corrupt
from pignn.report.audit import build_audit_page
from pignn.report.audit.page import embedded

from .reading import HOSTILE, Elements, admitted


def content(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


def made(labels: int, classes: int, *, id_of: Any = None, names: list[str] | None = None) -> tuple[Data, Audit]:
    """A graph of `labels` nodes on a ring with chords, and an audit of it made up from random numbers."""
    rng = np.random.default_rng(0)
    given = rng.integers(0, classes, labels)
    at = np.arange(labels)
    ends = np.concatenate([np.stack([at, (at + step) % labels]) for step in (1, 2, 3, 7, 50, 51, 52)], axis=1)
    data = Data(
        x=torch.from_numpy(rng.random((labels, 8), dtype=np.float32)),
        edge_index=torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1)),
        y=torch.from_numpy(given),
    )
    posterior = rng.dirichlet(np.ones(classes), labels)
    p = np.sort(rng.beta(0.5, 2, labels))[::-1]
    columns: dict[str, Any] = {"node": at}
    if id_of is not None:
        data.node_id = [id_of(i) for i in range(labels)]
        columns["id"] = data.node_id
    columns |= {
        "given": given,
        "suggested": (given + 1) % classes,
        "p_wrong": p,
        "flagged": p > 0.4,
        "suspect": p > 0.5,
    }
    columns |= {"num_neighbors": 14, "neighbor_agreement": 0.25, "similar_agreement": 0.5, "trusted": False}
    issues = pd.DataFrame(columns | {f"p_{c}": posterior[:, c] for c in range(classes)})
    names = [f"class {c}" for c in range(classes)] if names is None else names
    transition = np.full((classes, classes), 0.2 / (classes - 1))
    np.fill_diagonal(transition, 0.8)
    noise = NoiseEstimate(0.2, transition, np.full(classes, 1 / classes), posterior, (0.15, 0.25))
    quality = [{"class": n, "labels": 1, "expected_wrong": 0.1, "quality": 0.9, "suspects": 0} for n in names]
    return data, Audit(issues, noise, at, names, quality, [], 0.5, 0.4, "smoothed", 5, notes=["<b>note</b>"])


def page_of(data: Data, found: Audit, *about: Any, **more: Any) -> str:
    return build_audit_page(
        data, found, *about, around=partial(describe_neighborhoods, data, labelled=found.nodes), **more
    )


def test_hostile_text_is_only_ever_data() -> None:
    data, found = made(len(HOSTILE), 3, id_of=lambda i: HOSTILE[i], names=HOSTILE[:3])
    found.issues["source"] = [HOSTILE[-1 - i] for i in range(len(HOSTILE))]
    columns = pd.DataFrame({name[:50]: HOSTILE for name in HOSTILE}, dtype=object)
    page = page_of(data, found, None, columns, title=HOSTILE[1])
    plain = page_of(*made(5, 3))
    page.encode()
    bare = [e for e in Elements(page).elements if e[0] != "meta"]
    assert bare == [e for e in Elements(plain).elements if e[0] != "meta"]  # the same elements as without hostile text
    assert not [name for _, attrs in bare for name in attrs if name.startswith("on") or name == "style"]
    told = content(page)
    assert [row[0] for row in told["rows"]] == HOSTILE  # whole: apply looks for these ids
    assert told["classes"] == HOSTILE[:3]
    assert told["title"] == HOSTILE[1]
    assert told["cells"]["rows"][0][0] == HOSTILE[0]
    assert told["cells"]["rows"][-1][0].endswith("(6,000 more characters)")
    assert max(len(name) for name, _ in told["names"]) <= 60


@pytest.mark.parametrize("text", [*HOSTILE, "half \ud800 pair"])
def test_json_cannot_end_its_block(text: str) -> None:
    block = embedded({text[:100]: [text]})
    assert not re.search("[<>&\u2028\u2029]", block)
    assert json.loads(block) == {text[:100]: [text]}
    block.encode()


def test_nothing_outside_is_named_and_the_policy_admits_what_is_there() -> None:
    page = page_of(*made(30, 3))
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
    data, found = made(12_000, 10, id_of=lambda i: f"a rather long identifier of node {i}")
    columns = pd.DataFrame({"text": ["größer & <b>lang</b> " * 100] * 12_000})
    page = page_of(data, found, sample_for_review(found.issues, 300), columns)
    assert len(page.encode()) < 15_000_000
    told = content(page)
    assert len(told["rows"]) == 10_000
    assert sum(row[9] != "" for row in told["rows"]) == told["budget"] == 300
    assert len(told["around"]) > 5_000
    assert 1_000 < len(told["cells"]["rows"]) < 10_000  # as many as there is room for


def test_ids_that_do_not_fit_leave_suspects_out_but_not_the_review() -> None:
    data, found = made(2_000, 2, id_of=lambda i: f"{i}" + "é" * 10_000)
    page = page_of(data, found, sample_for_review(found.issues, 40))
    assert len(page.encode()) < 15_000_000
    told = content(page)
    assert 40 < len(told["rows"]) < 2_000
    assert sum(row[9] != "" for row in told["rows"]) == 40


def test_what_is_told_of_a_suspect() -> None:
    clean = graphs.csbm(200, 3, homophily=0.9, degree=6, signal=2.0, num_features=5)
    graph = corrupt(clean, "symmetric", 0.2, splits="all")
    found = audit_labels(graph)
    told = content(page_of(graph, found))
    neighbours: dict[int, set[int]] = {}
    for a, b in graph.edge_index.t().tolist():
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    issues = found.issues
    assert [row[0] for row in told["rows"]] == [str(node) for node in issues["node"]]
    np.testing.assert_allclose([row[3] for row in told["rows"]], issues["p_wrong"], rtol=1e-5)
    for row, near, similar in zip(told["rows"], told["around"], issues["similar_agreement"], strict=True):
        own = neighbours.get(int(row[0]), set()) - {int(row[0])}
        shown = [int(told["names"][i][0]) for i in near[0]]
        assert near[1] == len(own)
        assert set(shown) <= own
        assert len(shown) == min(12, len(own))
        votes = dict(map(tuple, near[2]))
        assert votes == {c: sum(int(graph.y[n]) == c for n in own) for c in {int(graph.y[n]) for n in own}}
        for a, b in near[3]:
            assert shown[b] in neighbours[shown[a]]
        assert row[0] not in [told["names"][i][0] for i in near[4]]
        # The same most similar nodes as those that the audit asked.
        assert dict(map(tuple, near[5])).get(row[1], 0) / 15 == pytest.approx(similar)
    assert sum(told["histogram"]["count"]) == 200
    assert [row[13] for row in told["rows"]] == issues["suspect"].astype(int).tolist()
    assert told["suspects"] == issues["suspect"].sum()
    assert told["byViews"] == found.rate_dawid_skene
    flagged = issues[issues["flagged"]]
    for given, suggested in ((0, 1), (2, 0)):
        both = (flagged["given"] == given) & (flagged["suggested"] == suggested)
        assert told["confused"][given][suggested] == both.sum()


def test_without_surroundings_the_page_says_nothing_of_them() -> None:
    told = content(build_audit_page(*made(30, 3)))
    assert len(told["rows"]) == 30
    assert told["around"] == told["names"] == []


def test_trusted_labels_are_not_listed_and_unlabelled_neighbours_are_drawn_last() -> None:
    data, found = made(40, 2)
    found.issues.loc[found.issues["node"] < 10, "trusted"] = True
    assert len(content(page_of(data, found))["rows"]) == 30
    data.y[::2] = -1
    one = describe_neighborhoods(data, np.array([1]), np.arange(1, 40, 2))[0]
    labelled = [bool(data.y[node] >= 0) for node in one.neighbours]
    assert labelled == sorted(labelled, reverse=True)
    assert sum(count for _, count in one.votes) <= one.degree


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
    told = content((tmp_path / "out" / "audit.html").read_text(encoding="utf-8"))
    assert told["title"] == "Audit of the labels of nodes.csv"
    assert told["cells"]["names"] == ["a", "b", "remark"]
    for row, cells in zip(told["rows"], told["cells"]["rows"], strict=True):
        assert cells[2] == f"remark <{row[0][1:]}>"
    assert sum(row[9] != "" for row in told["rows"]) == told["budget"] == 9
