"""The service answers as `predict` does, and refuses hostile input with a reason and no traceback."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import pignn

pytest.importorskip("starlette")
from pignn.serving import Limits, Predictor, build_app

EDGES = [["a", "b"], ["b", "c"]]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    data = pignn.graphs.csbm(num_nodes=120, num_classes=3, signal=2.0, seed=0)
    folder = tmp_path_factory.mktemp("served") / "model"
    pignn.PIGNN(epochs=5, warmup=1).fit(data, progress=False).save(folder)
    return folder


@pytest.fixture(scope="module")
def app(model_folder):
    return build_app(Predictor(model_folder, Limits(max_bytes=20_000, max_nodes=50, max_edges=60)))


def call(app, path, body=None, method=None):
    """(status, JSON or text) of one request, without a network."""
    sent = []
    scope = {
        "type": "http", "method": method or ("GET" if body is None else "POST"), "path": path,
        "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": [],
        "http_version": "1.1", "scheme": "http",
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    chunks = [] if body is None else [body[i : i + 4096] for i in range(0, len(body), 4096)]

    async def receive():
        part = chunks.pop(0) if chunks else b""
        return {"type": "http.request", "body": part, "more_body": bool(chunks)}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    content = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], json.loads(content) if content.startswith("{") else content


def rows(app, count=3):
    return [[0.1 * i] * call(app, "/version")[1]["num_features"] for i in range(count)]


def test_predictions_are_those_of_the_model(app, model_folder):
    x = rows(app)
    body = json.dumps({"ids": ["a", "b", "c"], "x": x, "edges": EDGES}).encode()
    status, answer = call(app, "/predict", body)
    assert status == 200
    data = Data(x=torch.tensor(x), edge_index=torch.tensor([[0, 1], [1, 2]]))
    expected = pignn.load_model(model_folder).predict_proba(data)
    got = [list(node["probabilities"].values()) for node in answer["predictions"]]
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert [node["id"] for node in answer["predictions"]] == ["a", "b", "c"]


def test_a_model_of_tables_takes_their_columns(tmp_path):
    kinds, topics = [*"xy"] * 30, [*"AB"] * 30
    kinds[:4] = "yxyx"
    frame = pd.DataFrame({"id": range(60), "size": np.arange(60) % 7, "kind": kinds, "topic": topics})
    edges = pd.DataFrame({"source": range(58), "target": range(2, 60)})
    pignn.train(None, "prototypes", nodes=frame, edges=edges, label="topic", id="id", out=tmp_path / "run")
    app = build_app(Predictor(tmp_path / "run"))
    assert set(call(app, "/version")[1]["columns"]) == {"size", "kind"}
    columns = {"size": [1, 2], "kind": ["x", "y"], "id": [9, 9]}
    body = json.dumps({"columns": columns, "ids": ["n1", 2], "edges": [["n1", 2]]}).encode()
    status, answer = call(app, "/predict", body)
    new = pd.DataFrame({"id": [0, 1], "size": [1, 2], "kind": ["x", "y"]})
    new_edges = pd.DataFrame({"source": [0], "target": [1]})
    expected = pignn.predict(tmp_path / "run", nodes=new, edges=new_edges, id="id").probs
    got = [list(node["probabilities"].values()) for node in answer["predictions"]]
    assert status == 200
    np.testing.assert_allclose(got, expected, atol=1e-6)
    status, answer = call(app, "/predict", b'{"columns": {"size": [1]}}')
    assert (status, "lacks the column 'kind'" in answer["error"]) == (422, True)


def test_health_version_and_description(app):
    assert call(app, "/health") == (200, {"status": "ok"})
    assert call(app, "/version")[1]["pignn"] == pignn.__version__
    api = call(app, "/openapi.json")[1]
    assert set(api["paths"]) == {"/predict", "/health", "/version"}
    assert "PredictRequest" in api["components"]["schemas"]
    assert "POST" in call(app, "/")[1]


HOSTILE = {
    "empty": (b"", 400),
    "not JSON": (b"\xff\xfe{", 400),
    "NaN": (b'{"x": [[NaN]]}', 400),
    "Infinity": (b'{"x": [[Infinity]]}', 400),
    "out of range": (b'{"x": [[1e999]]}', 400),
    "deep": (b"[" * 19_000, 400),
    "deep inside": (b'{"x": ' + b"[" * 15_000 + b"]" * 4_000, 400),
    "list": (b"[1, 2]", 400),
    "text for a number": (b'{"x": [["1"]]}', 400),
    "unknown field": (b'{"file": "/etc/passwd"}', 400),
    "no nodes": (b'{"x": []}', 422),
    "nothing": (b"{}", 422),
    "wrong width": (b'{"x": [[1.0, 2.0]]}', 422),
    "columns": (b'{"columns": {"a": [1]}}', 422),
    "too long": (b'{"x": [' + b" " * 30_000 + b"]}", 413),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_refused_with_a_reason(app, name):
    body, expected = HOSTILE[name]
    status, answer = call(app, "/predict", body)
    assert status == expected
    assert answer["error"]
    assert "Traceback" not in answer["error"]
    assert "\n" not in answer["error"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ids": ["a", "a", "b"]}, "appears twice"),
        ({"ids": ["a", "b"]}, "one value per node"),
        ({"edges": [[0, 7]]}, "not among the nodes"),
        ({"edges": [[0, 1]] * 61}, "limit of 60"),
        ({"ids": [10**30, 1, 2], "edges": [[10**30, 5]]}, "not among the nodes"),
    ],
)
def test_graphs_that_cannot_be_are_refused(app, change, reason):
    status, answer = call(app, "/predict", json.dumps({"x": rows(app)} | change).encode())
    assert (status, reason in answer["error"]) == (422, True)


def test_numbers_beyond_the_precision_are_refused(app):
    x = rows(app)
    x[0][0] = 1e300
    status, answer = call(app, "/predict", json.dumps({"x": x}).encode())
    assert (status, bool(answer["error"])) == (422, True)


def test_too_many_nodes_are_refused(model_folder):
    small = build_app(Predictor(model_folder, Limits(max_nodes=2)))
    status, answer = call(small, "/predict", json.dumps({"x": rows(small)}).encode())
    assert (status, "limit of 2" in answer["error"]) == (422, True)


@pytest.mark.parametrize(
    ("path", "method", "expected"), [("/../etc/passwd", "GET", 404), ("/predict", "GET", 405), ("/health", "PUT", 405)]
)
def test_other_paths_and_methods_are_refused(app, path, method, expected):
    status, answer = call(app, path, b"" if method == "PUT" else None, method)
    assert (status, bool(answer["error"])) == (expected, True)
