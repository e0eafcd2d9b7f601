"""Start the service."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, OutputError
from .messages import Limits


def serve(
    model: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Answer requests for predictions until a signal ends it. Requests that have begun are answered first.

    Args:
        model: folder of a model or of a training run.
        host: address to listen on; the default is reached from this machine only.
        port: its port; 0 takes a free one.
        limits: how much one request may ask for.
        on_ready: called with the address when the port is open.
    """
    check_server_packages_installed("serve")
    from .app import build_app
    from .predictor import Predictor

    serve_app_until_signal(build_app(Predictor(model, limits)), host, port, on_ready)


def check_server_packages_installed(suggested_extra: str) -> None:
    """Refuse to go on without the packages of a server."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"the server is not installed ({error}): pip install 'pignn[{suggested_extra}]'") from None


def serve_app_until_signal(app: Any, host: str, port: int, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve an ASGI application until a signal ends it. Requests that have begun are answered first."""
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches off waiting for full packets (40 ms an answer) only where the protocol is named.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(2048)  # who comes before the server is up waits
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"cannot listen on {host}, port {port}: {reason}; choose another --port") from None
        if on_ready is not None:
            name = f"[{host}]" if ":" in host else host
            on_ready(f"http://{name}:{listener.getsockname()[1]}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=10)
        uvicorn.Server(config).run(sockets=[listener])
