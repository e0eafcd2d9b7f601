"""The HTTP API of a review. Every call is declared once, for the routes and for its description."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from .._version import __version__
from ..serving.answers import EXCEPTION_HANDLERS, build_json_response, decode_body, read_body_up_to_limit
from ..serving.messages import Problem
from . import calls
from . import messages as m
from .agreement import Agreement
from .exchange import EXPORTS, write_export_and_get_path
from .guard import COOKIE, Guard
from .page import build_review_page
from .review_session import ReviewSession, check_and_trim_reviewer_name

NO_CLASS_ON_MAP = 2**16 - 1
MAX_BYTES = 20_000_000  # of a request: a file of decisions on a million labels


@dataclass(frozen=True)
class Call:
    """One call: what it is about, and the types of its request (None for GET) and answer."""

    path: str
    summary: str
    request: Any
    answer: Any
    run: Callable[[ReviewSession, str, Any], Any]


CALLS = (
    Call("/api/project", "The project: classes, sources, reviewers", None, m.ProjectInfo, calls.describe_project),
    Call("/api/progress", "Estimates, models, and what can be undone", None, m.Progress, calls.get_progress),
    Call("/api/queue", "Labels of a query, in its order", m.QueueRequest, m.QueuePage, calls.list_queue),
    Call("/api/decide", "Decide on labels, as one action", m.DecideRequest, m.Outcome, calls.decide),
    Call(
        "/api/decide-all", "One decision on all labels of a query", m.BulkRequest, m.Outcome, calls.decide_all_matching
    ),
    Call("/api/undo", "Take back one's last action", m.StepRequest, m.Outcome, calls.undo),
    Call("/api/redo", "Do again what was undone", m.StepRequest, m.Outcome, calls.redo),
    Call("/api/history", "Who did what, newest first", m.HistoryRequest, m.History, calls.list_history),
    Call("/api/agreement", "How far reviewers agree", None, Agreement, calls.get_agreement),
    Call(
        "/api/dealing",
        "Deal the labels out to reviewers",
        m.DealingRequest,
        m.ProjectInfo,
        calls.deal_labels_to_reviewers,
    ),
    Call("/api/load", "Take over a file of decisions", m.LoadRequest, m.LoadOutcome, calls.load_decisions),
)


def build_app(session: ReviewSession, *, is_local: bool, csrf: str) -> Starlette:
    """The ASGI application of an open project."""

    def make_endpoint(call: Call) -> Any:
        async def endpoint(request: Request) -> Response:
            body = b"{}" if call.request is None else await read_body_up_to_limit(request, MAX_BYTES)
            reviewer = _get_checked_reviewer_name(request)

            def answer() -> Any:
                return call.run(session, reviewer, None if call.request is None else decode_body(body, call.request))

            return build_json_response(await asyncio.to_thread(answer))

        return endpoint

    async def node(request: Request) -> Response:
        number = request.path_params["node"]
        return build_json_response(await asyncio.to_thread(calls.get_node, session, number))

    async def export(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in EXPORTS:
            raise HTTPException(404, f"there is no export of that name; known: {', '.join(EXPORTS)}")
        return await asyncio.to_thread(_build_export_response, session, name)

    async def map_(request: Request) -> Response:
        return Response(await asyncio.to_thread(_encode_map_as_bytes, session), media_type="application/octet-stream")

    async def who(request: Request) -> Response:
        name = request.scope["reviewer"] or ""
        return build_json_response(m.SessionInfo(csrf=csrf, needs_token=not is_local, reviewer=name))

    async def login(request: Request) -> Response:
        wanted = decode_body(await read_body_up_to_limit(request, 10_000), m.LoginRequest).token.strip()
        name = None if is_local else guard_of(wanted)
        if name is None:
            raise HTTPException(403, "nobody has this token; ask whoever started the review for a new one")
        response = build_json_response(m.SessionInfo(csrf=csrf, needs_token=True, reviewer=name))
        is_secure = request.headers.get("x-forwarded-proto") == "https"
        response.set_cookie(COOKIE, wanted, httponly=True, samesite="strict", secure=is_secure, max_age=30 * 86_400)
        return response

    async def openapi(request: Request) -> Response:
        return build_json_response(build_openapi_description())

    async def page(request: Request) -> Response:
        return HTMLResponse(build_review_page())

    find_hashes = session.project.decisions.list_reviewers_and_token_hashes
    guard_of = Guard(None, is_local=is_local, csrf=csrf, find_hashes=find_hashes).find_token_owner_or_none
    routes = [
        Route(call.path, make_endpoint(call), methods=["GET" if call.request is None else "POST"]) for call in CALLS
    ]
    routes += [
        Route("/api/nodes/{node:int}", node), Route("/api/export/{name}", export), Route("/api/map", map_),
        Route("/api/session", who), Route("/api/login", login, methods=["POST"]),
        Route("/openapi.json", openapi), Route("/", page),
    ]  # fmt: skip
    middleware = [Middleware(Guard, is_local=is_local, csrf=csrf, find_hashes=find_hashes)]
    return Starlette(routes=routes, exception_handlers=EXCEPTION_HANDLERS, middleware=middleware)


def _get_checked_reviewer_name(request: Request) -> str:
    return check_and_trim_reviewer_name(request.scope["reviewer"] or "me")


def _build_export_response(session: ReviewSession, name: str) -> Response:
    with tempfile.TemporaryDirectory() as folder:
        path = write_export_and_get_path(session, name, Path(folder))
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name)}"}
        return Response(path.read_bytes(), headers=headers, media_type="application/octet-stream")


def _encode_map_as_bytes(session: ReviewSession) -> bytes:
    """Per node 16 bytes, little endian: x, y (float32), node (uint32), class, status and p_wrong in 255ths.

    Nodes without a label come last; their class is 65535.
    """
    state = session.state
    kinds = [("x", "<f4"), ("y", "<f4"), ("node", "<u4"), ("given", "<u2"), ("status", "u1"), ("p_wrong", "u1")]
    rows = np.zeros(len(state.nodes) + len(state.unlabeled), dtype=kinds)
    labeled, others = rows[: len(state.nodes)], rows[len(state.nodes) :]
    labeled["x"], labeled["y"], labeled["node"] = state.place[:, 0], state.place[:, 1], state.nodes
    labeled["given"], labeled["status"] = state.given, session.status
    labeled["p_wrong"] = np.round(255 * session.ranking.p_wrong)
    others["x"], others["y"], others["node"] = state.unlabeled_place[:, 0], state.unlabeled_place[:, 1], state.unlabeled
    others["given"] = NO_CLASS_ON_MAP
    return rows.tobytes()


def build_openapi_description() -> dict[str, Any]:
    """The OpenAPI description."""
    kinds = [kind for call in CALLS for kind in (call.request, call.answer) if kind is not None]
    kinds = list(dict.fromkeys([*kinds, m.NodeDetail, m.SessionInfo, m.LoginRequest, Problem]))
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema = {
        kind: {"application/json": {"schema": reference}} for kind, reference in zip(kinds, references, strict=True)
    }
    refusal = {"description": "refused, with the reason", "content": schema[Problem]}

    def describe(summary: str, answer: dict[str, Any], request: Any = None) -> dict[str, Any]:
        responses = {"200": {"description": "done", "content": answer}, "4XX": refusal}
        body = {} if request is None else {"requestBody": {"required": True, "content": schema[request]}}
        return {"get" if request is None else "post": {"summary": summary, "responses": responses} | body}

    paths = {call.path: describe(call.summary, schema[call.answer], call.request) for call in CALLS}
    binary: dict[str, Any] = {"application/octet-stream": {}}
    paths |= {
        "/api/nodes/{node}": describe("All about one label", schema[m.NodeDetail]),
        "/api/export/{name}": describe(f"A file: {', '.join(EXPORTS)}", binary),
        "/api/map": describe(" ".join((_encode_map_as_bytes.__doc__ or "").split()), binary),
        "/api/session": describe("Who is asking, and the token against forged requests", schema[m.SessionInfo]),
        "/api/login": describe("Show the token of a reviewer", schema[m.SessionInfo], m.LoginRequest),
    }
    info = {"title": "pignn review", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}
