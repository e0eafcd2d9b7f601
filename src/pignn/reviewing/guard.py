"""Who may ask: this machine's browser, or reviewers with a token; never a page of somebody else."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from ..serving.messages import Problem

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")
COOKIE = "pignn-review"
OPEN_PATHS = ("/", "/api/session", "/api/login")  # before somebody has shown a token
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def make_token() -> str:
    """A token that nobody guesses. What is kept of it is `hash_token`."""
    return secrets.token_urlsafe(24)


def hash_token(token: str) -> str:
    """Tokens are random and long, so that one round of SHA-256 hides them."""
    return hashlib.sha256(token.encode()).hexdigest()


class Guard:
    """ASGI middleware: refuses what comes from other pages, and without tokens where they are needed."""

    def __init__(
        self, app: Any, *, is_local: bool, csrf: str, find_hashes: Callable[[], Iterable[tuple[str, str | None]]]
    ):
        self.app, self.is_local, self.csrf, self.find_hashes = app, is_local, csrf, find_hashes

    async def __call__(self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        scope["reviewer"] = self._find_reviewer_or_none(headers)
        if (refusal := self._get_refusal_status_and_reason_or_none(scope, headers)) is not None:
            status, reason = refusal
            response = Response(msgspec.json.encode(Problem(reason)), status, media_type="application/json")
            await response(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _get_refusal_status_and_reason_or_none(self, scope: Any, headers: Headers) -> tuple[int, str] | None:
        """(status, reason) if the request is refused."""
        host, origin = headers.get("host", ""), headers.get("origin")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and ":" in host else host
        if self.is_local and name not in LOCAL_NAMES:
            return 403, "this review is open on this machine only; ask for it as 127.0.0.1"
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "a page of another site asked; open the review itself"
        if scope["path"] != "/" and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "a page of another site asked; open the review itself"
        if scope["method"] not in ("GET", "HEAD"):
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "send JSON, with Content-Type: application/json"
            if not hmac.compare_digest(headers.get("x-csrf", "").encode(), self.csrf.encode()):
                return 403, "the header X-Csrf is not that of /api/session; reload the page"
        if not self.is_local and scope["reviewer"] is None and scope["path"] not in OPEN_PATHS:
            return 401, "show the token of a reviewer first, at /"
        return None

    def _find_reviewer_or_none(self, headers: Headers) -> str | None:
        """Whose token came with the request; on this machine, the name that the page sent."""
        if self.is_local:
            return unquote(headers.get("x-reviewer", ""))
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return None
        return None if cookie is None else self.find_token_owner_or_none(cookie.value)

    def find_token_owner_or_none(self, token: str) -> str | None:
        """The reviewer with this token."""
        hashed = hash_token(token)
        owners = [name for name, kept in self.find_hashes() if kept and hmac.compare_digest(kept, hashed)]
        return owners[0] if owners else None
