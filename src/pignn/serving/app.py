"""The HTTP API: predict, health, version, and a page that describes it. Whatever comes in, an answer is JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from .._version import __version__
from ..core.errors import PignnError
from ..core.text import format_error_in_one_line
from .messages import Health, PredictRequest, Problem, describe_api
from .page import build_api_page
from .predictor import Predictor


def build_app(predictor: Predictor) -> Starlette:
    """The ASGI application of a model."""

    async def predict(request: Request) -> Response:
        body = await _read_body(request, predictor.limits.max_bytes)
        answer = await asyncio.to_thread(_decode_and_predict, predictor, body)
        return _respond(answer)

    async def health(request: Request) -> Response:
        return _respond(Health("ok"))

    async def version(request: Request) -> Response:
        return _respond(predictor.describe())

    async def openapi(request: Request) -> Response:
        return _respond(describe_api(__version__))

    async def page(request: Request) -> Response:
        return HTMLResponse(build_api_page(predictor.describe(), describe_api(__version__)))

    endpoints: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/": page, "/health": health, "/version": version, "/openapi.json": openapi,
    }  # fmt: skip
    routes = [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]
    routes.append(Route("/predict", predict, methods=["POST"]))
    handlers: dict[Any, Any] = {
        HTTPException: _refuse,
        PignnError: _refuse_mistake,
        Exception: _print_error_and_get_code,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


async def _read_body(request: Request, max_bytes: int) -> bytes:
    """The body, read no further than it may be long: its header may lie."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise HTTPException(413, f"the body is longer than the limit of {max_bytes:,} bytes; send it in parts")
    except ClientDisconnect:
        raise HTTPException(400, "the client left before the body was whole") from None
    return bytes(body)


def _decode_and_predict(predictor: Predictor, body: bytes) -> Any:
    try:
        request = msgspec.json.decode(body, type=PredictRequest)  # it admits no NaN and no Infinity
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise HTTPException(400, f"the body is not such JSON: {format_error_in_one_line(error)}") from None
    return predictor.predict(request)


def _respond(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


async def _refuse(request: Request, error: HTTPException) -> Response:
    return _respond(Problem(str(error.detail)), error.status_code, dict(error.headers or {}))


async def _refuse_mistake(request: Request, error: PignnError) -> Response:
    return _respond(Problem(format_error_in_one_line(error)), 422)


async def _print_error_and_get_code(request: Request, error: Exception) -> Response:
    """A fault of ours: the log has its traceback, the answer has none."""
    return _respond(Problem("the server failed; its log says why"), 500)
