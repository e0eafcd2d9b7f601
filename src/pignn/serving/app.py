"""The HTTP API: predict, health, version, and a page that describes it. Whatever comes in, an answer is JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from .._version import __version__
from .answers import EXCEPTION_HANDLERS, build_json_response, decode_body, read_body_up_to_limit
from .messages import Health, PredictRequest, build_openapi_description
from .page import build_api_page
from .predictor import Predictor


def build_app(predictor: Predictor) -> Starlette:
    """The ASGI application of a model."""

    async def predict(request: Request) -> Response:
        body = await read_body_up_to_limit(request, predictor.limits.max_bytes)
        return build_json_response(
            await asyncio.to_thread(lambda: predictor.predict(decode_body(body, PredictRequest)))
        )

    async def health(request: Request) -> Response:
        return build_json_response(Health("ok"))

    async def version(request: Request) -> Response:
        return build_json_response(predictor.build_version_info())

    async def openapi(request: Request) -> Response:
        return build_json_response(build_openapi_description(__version__))

    async def page(request: Request) -> Response:
        return HTMLResponse(build_api_page(predictor.build_version_info(), build_openapi_description(__version__)))

    endpoints: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/": page, "/health": health, "/version": version, "/openapi.json": openapi,
    }  # fmt: skip
    routes = [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]
    routes.append(Route("/predict", predict, methods=["POST"]))
    return Starlette(routes=routes, exception_handlers=EXCEPTION_HANDLERS)
