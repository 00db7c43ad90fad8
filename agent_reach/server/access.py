"""Who may come in: on loopback everybody, elsewhere who knows the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections import OrderedDict
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from agent_reach.errors import ReachError

COOKIE: Final = "agent_reach_login"
_LOGINS_KEPT: Final = 1_000
_OPEN_PATHS: Final = ("/login", "/static/")


class Access:
    """The token, and who has logged in with it.

    Args:
        token: `""` lets everybody in.
    """

    def __init__(self, token: str = "") -> None:
        self._token = token
        self._logins: OrderedDict[str, None] = OrderedDict()

    @property
    def required(self) -> bool:
        return bool(self._token)

    def is_token(self, given: str) -> bool:
        """Compared in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def allows(self, authorization: str, cookie: str = "") -> bool:
        """By an `Authorization: Bearer …` header or by the cookie of a login."""
        if not self._token:
            return True
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return cookie in self._logins

    def log_in(self) -> str:
        """The value of a new login's cookie; it tells nothing about the token."""
        login = secrets.token_urlsafe(32)
        self._logins[login] = None
        if len(self._logins) > _LOGINS_KEPT:
            self._logins.popitem(last=False)
        return login


def is_loopback(host: str) -> bool:
    """Only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def access_for(host: str, token: str) -> Access:
    """Access on an address.

    Raises:
        ReachError: others can reach it, and there is no token.
    """
    if not is_loopback(host) and not token:
        raise ReachError(
            f"{host} can be reached from other machines: set a token in the environment variable AGENT_REACH_TOKEN, "
            "or listen on 127.0.0.1"
        )
    if token and len(token) < 16:
        raise ReachError("AGENT_REACH_TOKEN: expected at least 16 characters")
    return Access(token)


class RequireToken:
    """Middleware: a page asks for a login, anything else gets 401."""

    def __init__(self, app: Any, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        known = self._access.allows(request.headers.get("authorization", ""), request.cookies.get(COOKIE, ""))
        if known or request.url.path.startswith(_OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        await _ask(request)(scope, receive, send)


def _ask(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/login", 303)
    return PlainTextResponse("a token is required: Authorization: Bearer …\n", 401, {"WWW-Authenticate": "Bearer"})


class HostGuard:
    """Middleware: on loopback only names of this machine are answered, so that no page on the web can reach the panel
    through a name that it points here (DNS rebinding)."""

    def __init__(self, app: Any, loopback: bool) -> None:
        self._app, self._loopback = app, loopback

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._loopback and scope["type"] == "http":
            host = Request(scope).url.hostname or ""
            if not is_loopback(host):
                await PlainTextResponse("this panel answers on this machine only\n", 421)(scope, receive, send)
                return
        await self._app(scope, receive, send)
