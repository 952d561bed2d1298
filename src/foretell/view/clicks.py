"""A page in which somebody clicks known points in a picture. It works over ssh: only a port is needed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import ForetellError, UsageError
from foretell.files import require_writable
from foretell.match.camera import solve
from foretell.match.picture import encode_png, read_picture
from foretell.match.pinhole import project
from foretell.match.points import Point, read_points, write_points
from foretell.report.page import as_json
from foretell.view.app import Guard
from foretell.view.serve import listen

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["click_points", "clicking"]

HERE = Path(__file__).parent
REPORT = HERE.parent / "report"
LARGEST = 1 << 20
"""Bytes of a request."""


def click_points(
    image: str | Path,
    points: str | Path,
    *,
    lens: Sequence[float] = (),
    fit: str | None = None,
    port: int = 0,
    open: bool = False,
    notify: Callable[[str], None] = lambda url: print(f"{url}\nClick the points, then Save.", flush=True),
) -> list[Point]:
    """Serve a page until somebody has clicked the points of a file in a picture and saved them; they are written into
    the file. `notify` is called with the address, which only this machine can reach."""
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401
    except ImportError as error:
        raise UsageError(f"click needs {error.name}, which is not installed: pip install 'foretell[report]'") from None
    picture, known = read_picture(image, "image"), read_points(points)
    require_writable(Path(points), "points")
    saved: list[Point] = []

    def save(clicked: list[Point]) -> None:
        write_points(Path(points), clicked)
        saved[:] = clicked
        server.should_exit = True

    token = secrets.token_urlsafe(24)
    app = clicking(picture, known, token, save=save, lens=lens, fit=fit)
    listener = listen("127.0.0.1", port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
    )
    server = uvicorn.Server(config)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/#token={token}"
    notify(url)
    if open:
        import webbrowser

        webbrowser.open(url)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
    if not saved:
        raise ForetellError("the page was closed before the points were saved; nothing was written")
    return saved


def clicking(
    picture: np.ndarray,
    points: Sequence[Point],
    token: str,
    *,
    save: Callable[[list[Point]], None],
    lens: Sequence[float] = (),
    fit: str | None = None,
) -> Starlette:
    """The application: the page and the picture for whoever asks, a solution or an end for who has the token."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    html, png = _page(picture, points), encode_png(picture)

    def index(request: Any) -> Response:
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    def image(request: Any) -> Response:
        return Response(png, media_type="image/png")

    async def answer(request: Any) -> Response:
        if not secrets.compare_digest(request.headers.get("x-foretell-token", "").encode(), token.encode()):
            return JSONResponse({"error": "this needs the token in the link that foretell printed"}, 403)
        if int(request.headers.get("content-length") or LARGEST) >= LARGEST:
            return JSONResponse({"error": "this is too much for a few clicks"}, 413)
        try:
            clicked = _clicked(points, json.loads(await request.body()))
            match = solve(picture, [point for point in clicked if point.uv is not None], lens=lens, fit=fit)
            if request.url.path == "/save":
                save([point for point in clicked if point.uv is not None])
        except ForetellError as error:
            return JSONResponse({"error": str(error)}, 422)
        except (ValueError, OSError) as error:
            return JSONResponse({"error": f"this could not be read or saved: {error}"}, 400)
        shown = project(match.camera, np.array([point.xyz for point in points]))
        seen = {p.name: s.tolist() for p, s in zip(points, shown, strict=True) if np.isfinite(s).all()}
        return JSONResponse({"text": match.text(), "shown": seen, "doubted": match.doubted})

    routes = [
        Route("/", index),
        Route("/image", image),
        Route("/solve", answer, methods=["POST"]),
        Route("/save", answer, methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, host="127.0.0.1")])


def _clicked(points: Sequence[Point], given: Any) -> list[Point]:
    """The points with the pixels that a page sent: name -> [u, v]. Raises ValueError for what is none."""
    if not isinstance(given, dict):
        raise ValueError("it should be an object of pixels by the names of points")
    pixels = {name: (float(u), float(v)) for name, (u, v) in given.items()}
    return [replace(point, uv=pixels.get(point.name)) for point in points]


def _page(picture: np.ndarray, points: Sequence[Point]) -> str:
    height, width = picture.shape[:2]
    known = [{"name": p.name, "xyz": list(p.xyz), "uv": p.uv} for p in points]
    parts = {
        "css": (REPORT / "page.css").read_text(encoding="utf-8") + (HERE / "clicks.css").read_text(encoding="utf-8"),
        "data": as_json({"width": width, "height": height, "points": known}),
        "js": (HERE / "clicks.js").read_text(encoding="utf-8"),
        "policy": escape(
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'"
        ),
    }
    html = (HERE / "clicks.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace(f"{{{{{name}}}}}", text, 1)
    return html
