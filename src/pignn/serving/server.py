"""Start the service."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

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
    try:
        import uvicorn

        from .app import build_app
    except ImportError as error:
        raise ConfigError(f"the server is not installed ({error}): pip install 'pignn[serve]'") from None
    from .predictor import Predictor

    app = build_app(Predictor(model, limits))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
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
