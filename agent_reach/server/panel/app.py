"""The panel as an application: routes, headers, languages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agent_reach.contracts import Routes
from agent_reach.errors import StoreError
from agent_reach.server.access import COOKIE, Access, HostGuard, RequireToken
from agent_reach.server.ingest import Ingest
from agent_reach.server.jobs import Jobs
from agent_reach.server.panel.filters import RANGES, Filters
from agent_reach.server.panel.texts import LANGUAGES, language_of, translator
from agent_reach.server.panel.views import Views
from agent_reach.store.port import Store

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_VIEWS: Final = (
    ("/", "Now", "now"),
    ("/sessions", "Sessions", "sessions"),
    ("/intents", "Intents", "intents"),
    ("/knowledge", "Knowledge", "knowledge"),
    ("/compensation", "Compensation", "compensation"),
    ("/evaluations", "Evaluations", "evaluations"),
)


def panel(store: Store, ingest: Ingest, jobs: Jobs, routes: Routes, access: Access, *, loopback: bool, otlp_port: int) -> Starlette:
    """The application that the browser talks to.

    Args:
        loopback: only names of this machine are answered.
        otlp_port: of OTLP/HTTP, for the pages that say where to send spans.
    """
    pages = _Pages(store, ingest, jobs, routes, access, otlp_port)
    listed = [Route(path, pages.view(name), name=name) for path, _, name in _VIEWS]
    more = [
        Route("/session/{id:path}", pages.session, name="session"),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/health", pages.health),
        Mount("/static", StaticFiles(directory=str(files("agent_reach.server.panel") / "static"))),
    ]
    guards = [Middleware(_Headers), Middleware(HostGuard, loopback=loopback), Middleware(RequireToken, access=access)]
    return Starlette(routes=[*listed, *more], middleware=guards, exception_handlers={404: pages.not_found})


class _Headers:
    """Middleware: the security headers on every answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


class _Pages:
    def __init__(self, store: Store, ingest: Ingest, jobs: Jobs, routes: Routes, access: Access, otlp_port: int) -> None:
        self._otlp_port = otlp_port
        self._views = Views(store, routes, time.time)
        self._ingest, self._jobs, self._access = ingest, jobs, access
        self._store = store
        self._templates = Environment(
            loader=PackageLoader("agent_reach.server.panel"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(score=_score, percent=_percent, number=_number, moment=_moment)

    def view(self, name: str) -> Callable[[Request], Any]:
        """The handler of a view with filters."""

        async def handler(request: Request) -> Response:
            filters = Filters.of(request.query_params)
            made = getattr(self._views, name, None)
            return await self._page(request, name, filters, lambda: made(filters) if made else {})

        return handler

    async def session(self, request: Request) -> Response:
        filters = Filters.of(request.query_params)
        id, chosen = request.path_params["id"], request.query_params.get("event", "")
        return await self._page(request, "session", filters, lambda: self._views.session(id, chosen), id=id)

    async def _page(
        self, request: Request, name: str, filters: Filters, make: Callable[[], Mapping[str, Any] | None], **more: Any
    ) -> Response:
        def work() -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
            choices = self._views.choices(filters)
            return make(), choices()

        try:
            content, choices = await to_thread.run_sync(work)
        except StoreError as error:
            return self._render(request, "fault", 503, filters=filters, text=str(error))
        if content is None:
            return self._render(request, "missing", 404, filters=filters, view_of=name, **more)
        return self._render(request, name, 200, filters=filters, choices=choices, **more, **content)

    def _render(self, request: Request, name: str, status: int, **content: Any) -> Response:
        chosen = request.query_params.get("lang", "") or request.cookies.get("lang", "")
        language = language_of(chosen, request.headers.get("accept-language", ""))
        known = self._access.allows(request.headers.get("authorization", ""), request.cookies.get(COOKIE, ""))
        shared = {
            "t": translator(language),
            "language": language,
            "languages": LANGUAGES,
            "views": _VIEWS,
            "view": name,
            "ranges": RANGES,
            "choices": {"agents": [], "intents": [], "versions": []},
            "alerts": list(self._jobs.alerts.firing.values()) if known else [],
            "waiting": self._ingest.waiting if known else 0,
            "now": time.time(),
            "endpoint": f"http://{request.url.hostname}:{self._otlp_port}",
            "path": request.url.path,
        }
        page = self._templates.get_template(f"{name}.html").render({**shared, **content})
        response = HTMLResponse(page, status)
        if request.query_params.get("lang") in LANGUAGES:
            response.set_cookie("lang", language, max_age=31_536_000, httponly=True, samesite="strict")
        return response

    async def not_found(self, request: Request, _error: Exception) -> Response:
        return self._render(request, "missing", 404, filters=Filters(), view_of="", id=request.url.path)

    async def login(self, request: Request) -> Response:
        """A form for the token; it travels in the body, never in a URL."""
        wrong = False
        if request.method == "POST":
            form = await request.form(max_fields=2, max_part_size=4_096)
            token = form.get("token", "")
            if isinstance(token, str) and self._access.is_token(token):
                response: Response = RedirectResponse("/", 303)
                secure = request.url.scheme == "https"
                response.set_cookie(COOKIE, self._access.log_in(), httponly=True, samesite="strict", secure=secure)
                return response
            wrong = True
        return self._render(request, "login", 401 if wrong else 200, filters=Filters(), wrong=wrong)

    async def health(self, _request: Request) -> Response:
        """For a load balancer: whether the store answers, and what waits."""
        try:
            stored = await to_thread.run_sync(lambda: self._store.select("stored")[0])
        except StoreError as error:
            return JSONResponse({"ok": False, "error": str(error)}, 503)
        return JSONResponse({"ok": True, "waiting_bytes": self._ingest.waiting, **stored, **self._ingest.counts})


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}" if value < 1 else f"{value:.1f}"


def _moment(at: float | None) -> str:
    return "–" if not at else datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M:%S")
