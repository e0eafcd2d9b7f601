"""How servers read bodies and answer: always in JSON, and a mistake with its reason in one line."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..core.errors import PignnError
from ..core.text import format_error_in_one_line
from .messages import Problem

T = TypeVar("T")


async def read_body_up_to_limit(request: Request, max_bytes: int) -> bytes:
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


def decode_body(body: bytes, kind: type[T]) -> T:
    """A typed request."""
    try:
        return msgspec.json.decode(body, type=kind)  # it admits no NaN and no Infinity
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise HTTPException(400, f"the body is not such JSON: {format_error_in_one_line(error)}") from None


def build_json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


async def _respond_to_http_error(request: Request, error: HTTPException) -> Response:
    return build_json_response(Problem(str(error.detail)), error.status_code, dict(error.headers or {}))


async def _respond_to_user_mistake(request: Request, error: PignnError) -> Response:
    return build_json_response(Problem(format_error_in_one_line(error)), 422)


async def _respond_to_fault_without_details(request: Request, error: Exception) -> Response:
    """A fault of ours: the log has its traceback, the answer has none."""
    return build_json_response(Problem("the server failed; its log says why"), 500)


EXCEPTION_HANDLERS: dict[Any, Any] = {
    HTTPException: _respond_to_http_error,
    PignnError: _respond_to_user_mistake,
    Exception: _respond_to_fault_without_details,
}
