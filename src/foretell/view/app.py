"""The web application of the live view, and what keeps it to oneself.

Whoever can reach the port can read. What changes something (stopping a study) needs the token, in a header: other
pages in the same browser can neither know the token nor send such a header without being asked about first
(preflight), which this server never allows. No cookie: those of 127.0.0.1 go to every port of it. The token travels
in the fragment of the address that `foretell view` prints, which a browser keeps to itself.

Requests that call this server by a name that is not its own are refused, so that no other site can have its name
resolve to this machine and read along (DNS rebinding). Addresses in figures are nobody's name, and pass.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from foretell.episodes.blind import mask_of
from foretell.files import inside
from foretell.view.board import Board
from foretell.view.person import person_routes

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["Guard", "application", "file_of"]

FILES = {"videos": {".mp4": "video/mp4", ".webm": "video/webm"}, "events": {".parquet": "application/octet-stream"}}
"""Folders of a run that are served, and what in them. No HTML: it could act in the page's name."""
HEADERS = {
    b"content-security-policy": b"frame-ancestors 'none'",  # nobody puts a stop button under your mouse
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}


def application(board: Board, html: str, token: str, host: str) -> Starlette:
    """Serves the page, where the runs stand, their contents and videos; stops a run for who has the token. The page
    `/person` is for the person beside a robot."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    fresh = {"cache-control": "no-store"}

    def index(request: Any) -> Response:
        return HTMLResponse(html, headers=fresh)

    def progress(request: Any) -> Response:
        return JSONResponse(board.progress(), headers=fresh)

    def contents(request: Any) -> Response:
        return Response(board.contents or b"null", media_type="application/json", headers=fresh)

    def file(request: Any) -> Response:
        target = file_of(board, request.path_params["run"], request.path_params["path"])
        if target is None:
            return JSONResponse({"error": "there is no such file in the run folders"}, 404)
        path, kind = target
        return FileResponse(path, media_type=kind, headers={"cache-control": "no-cache"})

    def stop(request: Any) -> Response:
        if not secrets.compare_digest(request.headers.get("x-foretell-token", "").encode(), token.encode()):
            return JSONResponse({"error": "this needs the token in the link that `foretell view` printed"}, 403)
        if not 0 <= request.path_params["run"] < len(board.runs):
            return JSONResponse({"error": "there is no such run"}, 404)
        try:
            stopped = board.stop(request.path_params["run"])
        except OSError as error:
            return JSONResponse({"error": f"the run folder cannot be written: {error}"}, 500)
        return JSONResponse(
            {"asked": stopped} if stopped else {"error": ("no process is running it now")}, 200 if stopped else 409
        )

    routes = [
        Route("/", index),
        Route("/progress", progress),
        Route("/contents", contents),
        Route("/runs/{run:int}/{path:path}", file),
        Route("/stop/{run:int}", stop, methods=["POST"]),
        *person_routes(board, token),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, host=host)])


class Guard:
    """Turns away who calls us by a foreign name or comes from a foreign page, and adds headers."""

    def __init__(self, app: Any, host: str) -> None:
        self.app = app
        self.names = {"localhost", host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        called, origin = headers.get(b"host", ""), headers.get(b"origin")
        if not self._ours(called):
            await _refuse(send, 421, "this server has another name; open the link that foretell printed")
            return
        if origin is not None and origin.lower() != f"http://{called.lower()}":
            await _refuse(send, 403, "requests from other pages are refused")
            return

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS.items()]
            await send(message)

        await self.app(scope, receive, guarded)

    def _ours(self, called: str) -> bool:
        try:
            name = urlsplit(f"//{called}").hostname or ""
        except ValueError:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


async def _refuse(send: Any, status: int, why: str) -> None:
    body = why.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *HEADERS.items()]})
    await send({"type": "http.response.body", "body": body})


def file_of(board: Board, index: int, path: str) -> tuple[Path, str] | None:
    """A file of a run that may be served, and its kind. Wherever links lead, it must lie in the run's own folder."""
    if not 0 <= index < len(board.runs):
        return None
    folder, _, name = path.partition("/")
    kind = FILES.get(folder, {}).get(Path(name).suffix.lower())
    if kind is None:
        return None
    if folder == "events" and mask_of(board.runs[index]) is not None:
        return None  # how long a policy thinks tells which one it is
    target = inside(board.runs[index], path)
    mine = target is not None and target.is_relative_to(board.runs[index].resolve() / folder)
    return (target, kind) if target is not None and mine else None
