"""The API refuses what is not its reviewer's: other origins, wrong tokens, hostile bodies; and loses no decision."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import io
import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette")
import pignn
from pignn.reviewing.api import MAX_BYTES, build_app
from pignn.reviewing.guard import hash_token
from pignn.reviewing.project import open_project
from pignn.reviewing.project_creation import audit_and_create_project
from pignn.reviewing.project_folder import project_lock_context
from pignn.reviewing.review_session import ReviewSession

CSRF = "the-token-of-this-server"
OWN = {"host": "127.0.0.1:8000"}


def call(app, path, body=None, *, headers=None, method=None, raw=None, csrf=CSRF):
    """(status, content, headers) of one request, without a network; JSON is decoded."""
    sent = []
    given = {**OWN, **(headers or {})}
    if body is not None or raw is not None:
        given = {"content-type": "application/json", "x-csrf": csrf, **given}
    content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    parts = iter([content] if isinstance(content, bytes) else content)
    scope = {
        "type": "http", "method": method or ("GET" if body is None and raw is None else "POST"), "path": path,
        "raw_path": path.encode(), "root_path": "", "query_string": b"", "http_version": "1.1", "scheme": "http",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None],
        "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def receive():
        part = next(parts, None)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    answer = b"".join(message.get("body", b"") for message in sent)
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    is_json = names.get("content-type", "").startswith("application/json")
    return sent[0]["status"], json.loads(answer) if is_json else answer, names


@pytest.fixture
def app(session):
    return build_app(session, is_local=True, csrf=CSRF)


def decide(app, node, decision, *, key="key-000001", **more):
    change = {"node": node, "decision": decision, "label": more.pop("label", ""), "note": more.pop("note", "")}
    return call(app, "/api/decide", {"key": key, "changes": [change], **more})


def test_a_decision_is_on_disk_when_it_is_answered_and_sent_twice_happens_once(app, session):
    for _ in range(2):
        status, outcome, _ = decide(app, 3, "keep")
        assert (status, outcome["count"]) == (200, 1)
    assert len(session.project.decisions.list_actions_newest_first()) == 1
    progress = call(app, "/api/progress")[1]
    assert (progress["panel"]["decided"], progress["undo"]) == (1, 1)
    assert call(app, "/api/undo", {"key": "key-000002"})[1]["nodes"] == [3]
    assert call(app, "/api/redo", {"key": "key-000003"})[1]["done"]
    assert not call(app, "/api/redo", {"key": "key-000004"})[1]["done"]


def test_bulk_decisions_need_the_number_that_was_seen_and_are_undone_at_once(app, session):
    query = {"given": 1, "order": "errors"}
    total = call(app, "/api/queue", {"query": query})[1]["total"]
    body = {"key": "key-000001", "query": query, "expected": total - 1, "decision": "relabel"}
    status, answer, _ = call(app, "/api/decide-all", body)
    assert (status, "look at them again" in answer["error"]) == (422, True)
    for _ in range(2):  # also when it is sent again
        assert call(app, "/api/decide-all", body | {"expected": total})[1]["count"] == total
    assert call(app, "/api/progress")[1]["panel"]["found"] == total
    call(app, "/api/undo", {"key": "key-000002"})
    assert call(app, "/api/progress")[1]["panel"]["decided"] == 0


def test_all_about_a_label(app, session):
    status, one, _ = call(app, "/api/nodes/5")
    assert status == 200
    assert one["degree"] == sum(count for _, count in one["votes"])
    assert sum(p for _, p in one["without_label"]) == pytest.approx(1, abs=0.01)
    assert dict(map(tuple, one["with_label"])).get(one["given"], 0) == pytest.approx(1 - one["p_wrong"], abs=1e-3)
    assert len(one["similar"]) == 8
    points = np.frombuffer(call(app, "/api/map")[1], dtype="<f4,<f4,<u4,<u2,u1,u1")
    assert len(points) == len(session.state.nodes)


REFUSED = {
    "another host": ({"host": "evil.example"}, 403),
    "rebound name": ({"host": "evil.example:8000"}, 403),
    "another origin": ({"origin": "http://evil.example"}, 403),
    "null origin": ({"origin": "null"}, 403),
    "another site": ({"sec-fetch-site": "cross-site"}, 403),
    "no csrf": ({"x-csrf": None}, 403),
    "wrong csrf": ({"x-csrf": "x"}, 403),
    "form": ({"content-type": "application/x-www-form-urlencoded"}, 415),
    "text": ({"content-type": "text/plain"}, 415),
}


@pytest.mark.parametrize("name", REFUSED)
def test_requests_of_other_pages_are_refused_and_change_nothing(app, session, name):
    headers, expected = REFUSED[name]
    body = {"key": "key-000001", "changes": [{"node": 3, "decision": "keep"}]}
    status, answer, _ = call(app, "/api/decide", body, headers=headers)
    assert (status, bool(answer["error"])) == (expected, True)
    assert session.project.decisions.get_revision() == 0


HOSTILE = {
    "not JSON": (b"{", 400),
    "deep": (b"[" * 100_000, 400),
    "other type": (b'{"key": 5}', 400),
    "unknown field": (b'{"key": "12345678", "changes": [], "file": "/etc/passwd"}', 400),
    "no change": (b'{"key": "12345678", "changes": []}', 422),
    "short key": (b'{"key": "1", "changes": [{"node": 1, "decision": "keep"}]}', 422),
    "no node": (b'{"key": "12345678", "changes": [{"node": 99999999, "decision": "keep"}]}', 422),
    "huge number": (b'{"key": "12345678", "changes": [{"node": 1%s, "decision": "keep"}]}' % (b"0" * 40), 422),
    "no decision": (b'{"key": "12345678", "changes": [{"node": 1, "decision": "<script>"}]}', 422),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_refused_with_a_reason(app, session, name):
    raw, expected = HOSTILE[name]
    status, answer, _ = call(app, "/api/decide", raw=raw)
    assert (status, bool(answer["error"])) == (expected, True)
    assert "Traceback" not in answer["error"]
    assert session.project.decisions.get_revision() == 0


def test_a_body_of_a_gigabyte_is_not_read_to_its_end(app):
    read = []

    def chunks():
        for i in range(1000):
            read.append(i)
            yield b" " * 1_000_000

    status, _, _ = call(app, "/api/load", raw=chunks())
    assert status == 413
    assert len(read) <= MAX_BYTES // 1_000_000 + 2


@pytest.mark.parametrize("path", ["/../etc/passwd", "/api/export/../project.json", "/api/export/..%2f", "/static/x"])
def test_paths_that_lead_elsewhere_are_refused(app, path):
    assert call(app, path)[0] == 404


def test_every_answer_forbids_to_be_framed_and_the_page_to_load_anything(app):
    status, page, headers = call(app, "/")
    assert status == 200
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    text = page.decode()
    assert "default-src 'none'" in text
    assert "connect-src 'self'" in text
    assert "unsafe" not in text.partition("</head>")[0].partition("<style>")[0]
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert call(app, "/nowhere")[2]["x-frame-options"] == "DENY"


def test_the_api_describes_itself(app):
    api = call(app, "/openapi.json")[1]
    assert {"/api/decide", "/api/queue", "/api/nodes/{node}", "/api/export/{name}"} <= set(api["paths"])
    assert "DecideRequest" in api["components"]["schemas"]


def test_others_come_in_with_a_token_only(session):
    token = "a-long-random-token"
    session.project.decisions.add_or_update_reviewer("ann", hash_token(token))
    app = build_app(session, is_local=False, csrf=CSRF)
    elsewhere = {"host": "review.example:8000"}
    for cookie in (None, "pignn-review=wrong", "pignn-review=", "=;;", f"other={token}"):
        for path in ("/api/project", "/api/progress", "/api/map", "/api/export/decisions", "/openapi.json"):
            assert call(app, path, headers={**elsewhere, "cookie": cookie})[0] == 401
    assert call(app, "/", headers=elsewhere)[0] == 200
    assert call(app, "/api/login", {"token": "wrong"}, headers=elsewhere)[0] == 403
    status, answer, headers = call(app, "/api/login", {"token": token}, headers=elsewhere)
    assert (status, answer["reviewer"]) == (200, "ann")
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()
    mine = {**elsewhere, "cookie": f"pignn-review={token}", "x-reviewer": "bob"}
    body = {"key": "key-000001", "changes": [{"node": 3, "decision": "keep"}]}
    assert call(app, "/api/decide", body, headers=mine)[0] == 200
    assert session.project.decisions.list_current_verdicts()[0][1] == "ann", "nobody can pass for another one"
    assert token.encode() not in (session.project.folder / "decisions.sqlite").read_bytes()


def test_two_reviewers_agree_and_settle(app, session):
    for name, decision in (("ann", "keep"), ("bob", "unsure")):
        body = {"key": f"key-{name}-1", "changes": [{"node": 3, "decision": decision}]}
        assert call(app, "/api/decide", body, headers={"x-reviewer": name})[0] == 200
    for name in ("ann", "bob"):
        body = {"key": f"key-{name}-2", "changes": [{"node": 4, "decision": "keep"}]}
        call(app, "/api/decide", body, headers={"x-reviewer": name})
    assert call(app, "/api/progress")[1]["panel"]["disputed"] == 1
    agreement = call(app, "/api/agreement")[1]
    assert (agreement["labels"], agreement["pairs"][0]["agreement"]) == (1, 1.0)
    status, info, _ = call(app, "/api/dealing", {"reviewers": ["ann", "bob"], "overlap": 0.5})
    assert (status, info["dealt"]) == (200, ["ann", "bob"])
    assert call(app, "/api/dealing", {"reviewers": ["ann"], "overlap": 7.0})[0] == 422
    assert [entry["verb"] for entry in call(app, "/api/history", {})[1]["entries"]] == ["decide"] * 4


HOSTILE_TEXT = '</script><img src=x onerror="alert(1)">=1+1'


@pytest.fixture(scope="module")
def own_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    data = pignn.corrupt(
        pignn.graphs.csbm(120, 2, signal=2.0, num_features=3, seed=0), "symmetric", 0.2, seed=0, splits=("all",)
    )
    frame = pd.DataFrame(data.x.numpy(), columns=["a", "b", "c"]).assign(
        id=[f"n{i}" if i else HOSTILE_TEXT for i in range(120)],
        topic=np.array(["<b>x", "'y"])[data.y.numpy()], remark=HOSTILE_TEXT,
    )  # fmt: skip
    frame.to_csv(folder / "papers.csv", index=False)
    ends = np.array(frame["id"], dtype=object)[data.edge_index.numpy()]
    pd.DataFrame({"source": ends[0], "target": ends[1]}).to_csv(folder / "links.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def own_project(own_files):
    arguments = {"nodes": own_files / "papers.csv", "edges": own_files / "links.csv", "id": "id", "label": "topic",
                 "features": "a,b,c"}  # fmt: skip
    audit_and_create_project(
        own_files / "project", {"graph": None, **arguments}, audit={"warn": False, "intervals": False}
    )
    return own_files / "project"


def test_what_leaves_a_project_is_what_was_decided(own_project, own_files):
    original = (own_files / "papers.csv").read_bytes()
    with project_lock_context(own_project):
        session = ReviewSession(open_project(own_project))
        app = build_app(session, is_local=True, csrf=CSRF)
        other = {name: session.class_names[1 - i] for i, name in enumerate(session.class_names)}
        for node in (0, 1, 2):
            given = session.class_names[session.state.given[node]]
            decide(app, node, "relabel", label=other[given], key=f"key-00000{node}", note=HOSTILE_TEXT)
        decide(app, 3, "keep", key="key-000009")
        table = list(csv.DictReader(io.StringIO(call(app, "/api/export/decisions")[1].decode())))
        assert len([row for row in table if row["decision"] == "relabel"]) == 3
        status, corrected, headers = call(app, "/api/export/corrected")
        assert (status, "papers.corrected.csv" in headers["content-disposition"]) == (200, True)
        lines = zip(original.splitlines(), corrected.splitlines(), strict=True)
        assert [i for i, (old, new) in enumerate(lines) if old != new] == [1, 2, 3]
        for name in ("trusted", "label-studio", "argilla", "report", "parquet"):
            status, content, _ = call(app, f"/api/export/{name}")
            assert (status, len(content) > 20) == (200, True)
        assert b"<img" not in call(app, "/api/export/report")[1]
        tasks = json.loads(call(app, "/api/export/label-studio")[1])
        assert tasks[0]["annotations"][0]["result"][0]["value"]["choices"][0] in session.class_names
        assert "completed_by" not in tasks[0]["annotations"][0], "an annotator that is not known makes the import fail"
        assert tasks[0]["data"]["reviewers"] == "me"
        records = {record["id"]: record for record in json.loads(call(app, "/api/export/argilla")[1])}
        assert records["n3"]["label"] == records["n3"]["given"]
        assert records["n1"]["label"] == other[records["n1"]["given"]]
        assert call(app, "/api/nodes/0")[1]["cells"][-1] == ["remark", HOSTILE_TEXT]
        # A decisions.csv goes in again, as one action that can be undone.
        text = call(app, "/api/export/decisions")[1].decode()
        call(app, "/api/load", {"key": "key-load-1", "text": text}, headers={"x-reviewer": "bob"})
        assert session.project.decisions.list_actions_newest_first()[0].verb == "load"
        assert call(app, "/api/load", {"key": "key-load-2", "text": "a,b\n1,2\n"})[0] == 422
        session.close()
    assert (own_files / "papers.csv").read_bytes() == original


def test_training_learns_from_a_project(own_project, tmp_path, capsys):
    import pignn.cli

    with project_lock_context(own_project):
        session = ReviewSession(open_project(own_project))
        app = build_app(session, is_local=True, csrf=CSRF)
        for node in range(20, 30):
            decide(app, node, "keep", key=f"key-train-{node}")
        session.close()
    command = ["train", "--project", own_project, "--method", "prototypes", "--no-assess", "--out", tmp_path / "run"]
    assert pignn.cli.run([str(word) for word in command]) == 0
    assert (tmp_path / "run" / "run.json").exists()
    assert (own_project / "decisions.csv").exists()
    assert pignn.cli.run(["train", "--project", str(own_project), "--dataset", "digits"]) == 2


def test_many_at_once_are_refused_once_the_models_ranked_anew(app, session):
    query = {"low": 0.5}
    page = call(app, "/api/queue", {"query": query})[1]
    body = {"query": query, "expected": page["total"], "refit": page["refit"], "decision": "relabel"}
    session.ranking = dataclasses.replace(session.ranking, number=session.ranking.number + 1)
    status, answer, _ = call(app, "/api/decide-all", {"key": "key-000001", **body})
    assert (status, "the models learned meanwhile" in answer["error"]) == (422, True)
    assert call(app, "/api/progress")[1]["panel"]["decided"] == 0
    total = call(app, "/api/queue", {"query": {"given": 1}})[1]["total"]
    body |= {"query": {"given": 1}, "expected": total, "decision": "keep"}  # no ranking has a part in that
    assert call(app, "/api/decide-all", {"key": "key-000002", **body})[1]["count"] == total


TOO_LARGE = 2**63
NUMBERS = {
    "lasso": ("/api/queue", {"query": {"nodes": [TOO_LARGE]}}),
    "huge lasso": ("/api/queue", {"query": {"nodes": [10**30]}}),
    "node of the history": ("/api/history", {"node": TOO_LARGE}),
    "end of the history": ("/api/history", {"before": TOO_LARGE}),
    "before the history": ("/api/history", {"before": -TOO_LARGE - 1}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_nothing_can_hold_are_refused(app, name):
    status, answer, _ = call(app, *NUMBERS[name])
    assert (status, "error" in answer) == (400, True)


@pytest.mark.parametrize("label", ["two\nlines", "\u202eevil", "\u200b", "nul\x00"])
def test_a_new_class_can_be_read(app, label):
    change = {"node": 3, "decision": "relabel", "label": label}
    status, answer, _ = call(app, "/api/decide", {"key": "key-000001", "changes": [change], "new_class": True})
    assert (status, "printable" in answer["error"]) == (422, True)


def test_a_new_class_is_not_one_that_is_there_in_other_letters(app, session):
    def add(label, key):
        change = {"node": 3, "decision": "relabel", "label": label}
        return call(app, "/api/decide", {"key": key, "changes": [change], "new_class": True})

    assert add("Größe neu", "key-000001")[0] == 200
    status, answer, _ = add("GRÖSSE  NEU", "key-000002")
    assert (status, "is there already, written 'Größe neu'" in answer["error"]) == (422, True)
    assert add("Größe neu", "key-000003")[0] == 200
    assert session.class_names[-1] == "Größe neu"


def test_a_file_that_replaces_decisions_says_how_many(app):
    decide(app, 3, "keep")
    decide(app, 4, "keep", key="key-000002")
    text = "node,given,decision,label\n3,,unsure,\n4,,keep,\n5,,keep,\n"
    loaded = call(app, "/api/load", {"key": "key-load-1", "text": text})[1]
    assert loaded == {"loaded": 3, "replaced": 1, "unknown": 0}
    text = "node,given,decision,label\n3,,relabel,unheard of\n"
    status, answer, _ = call(app, "/api/load", {"key": "key-load-2", "text": text})
    assert (status, "with the key W" in answer["error"]) == (422, True)
