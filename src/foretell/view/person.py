"""The page for the person beside a robot: what is asked, how to set the scene, and large buttons to answer.

Everything here needs the token, reading too: cameras see more than a table. The page shows the desk of a run (see
`person.desk`) and writes answers into its inbox. It drives nothing by itself.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.files import create, inside, read_file
from foretell.person.desk import DESK, INBOX
from foretell.person.review import FILMS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from foretell.view.board import Board

__all__ = ["person_page", "person_routes"]

HERE = Path(__file__).parent
REPORT = HERE.parent / "report"
LARGEST = 1 << 14
"""Bytes of an answer."""
MOST = 512 << 20
"""Bytes of a picture or a film."""
KINDS = {".svg": "text/plain; charset=utf-8", ".png": "image/png", ".mp4": "video/mp4"}
"""No SVG as such: a drawing of somebody else's run could act in the page's name."""
FRESH = {"cache-control": "no-store"}
KEY = 8
"""Letters of a key, at most."""


def person_page() -> str:
    """The page, the same for every run."""
    parts = {
        "css": (REPORT / "page.css").read_text(encoding="utf-8") + (HERE / "person.css").read_text(encoding="utf-8"),
        "js": "".join((HERE / name).read_text(encoding="utf-8") for name in ("token.js", "person.js")),
        "policy": escape(
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:; "
            "media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
        ),
    }
    html = (HERE / "person.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace(f"{{{{{name}}}}}", text, 1)
    return html


def person_routes(board: Board, token: str) -> list[Route]:
    """`/person`, what it shows and where it answers. Of several runs, the one whose desk is open is meant."""
    from starlette.routing import Route

    pages = PersonPages(board, token)
    return [
        Route("/person", pages.index),
        Route("/person/now", pages.now),
        Route("/person/desk/{name:path}", pages.file),
        Route("/person/answer", pages.answer, methods=["POST"]),
    ]


class PersonPages:
    """What the routes serve."""

    def __init__(self, board: Board, token: str) -> None:
        self._board, self._token, self._html = board, token.encode(), person_page()

    def index(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        return HTMLResponse(self._html, headers=FRESH)

    def now(self, request: Request) -> Response:
        """What is asked now."""
        if (refusal := self._refused(request)) is not None:
            return refusal
        run = _attended(self._board)
        nothing = {"question": "", "state": "closed", "text": "No study that needs a person has begun yet."}
        return _json({**((_now(run) if run else None) or nothing), "time": time.time()})

    def file(self, request: Request) -> Response:
        """A picture or a film of the desk."""
        from starlette.responses import Response

        if (refusal := self._refused(request)) is not None:
            return refusal
        run, name = _attended(self._board), request.path_params["name"]
        path = None if run is None else inside(run, f"{DESK}/{name}")
        kind = KINDS.get(Path(name).suffix)
        try:
            if path is not None and kind is not None and path.parent.name in (DESK, FILMS):
                return Response(read_file(path, MOST), media_type=kind, headers=FRESH)
        except OSError:
            pass
        return _json({"error": "there is no such picture"}, 404)

    async def answer(self, request: Request) -> Response:
        """Take an answer to the question that is asked now. While the robot runs, every answer is taken: a stop must
        not fail because the page is late."""
        if (refusal := self._refused(request)) is not None:
            return refusal
        if int(request.headers.get("content-length") or LARGEST) >= LARGEST:
            return _json({"error": "this is too much for an answer"}, 413)
        given = _given(await request.body())
        if given is None:
            return _json({"error": "an answer has a question and a key or a text"}, 400)
        run = _attended(self._board)
        shown = _now(run) if run else None
        if run is None or shown is None or shown["state"] == "closed":
            return _json({"error": "nobody asks now"}, 409)
        if shown["question"] != given["question"] and shown["state"] != "run":
            return _json({"error": "this question is not asked any more"}, 409)
        try:
            _put(run, given)
        except OSError as error:
            return _json({"error": f"the run folder cannot be written: {error.strerror}"}, 500)
        return _json({"taken": True})

    def _refused(self, request: Request) -> Response | None:
        if secrets.compare_digest(request.headers.get("x-foretell-token", "").encode(), self._token):
            return None
        return _json({"error": "this needs the token in the link that `foretell view` printed"}, 403)


def _json(answer: dict[str, Any], status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(answer, status, headers=FRESH)


def _attended(board: Board) -> Path | None:
    """The run whose desk is open, or else the first that has one."""
    there = [run for run in board.runs if (run / DESK / "now.json").is_file()]
    opened = [run for run in there if (shown := _now(run)) is not None and shown["state"] != "closed"]
    return next(iter([*opened, *there]), None)


def _now(run: Path) -> dict[str, Any] | None:
    try:
        shown: Any = json.loads(read_file(run / DESK / "now.json", LARGEST * 16))
    except (OSError, ValueError, RecursionError):
        return None
    sound = isinstance(shown, dict) and isinstance(shown.get("question"), str) and isinstance(shown.get("state"), str)
    return shown if sound else None


def _given(body: bytes) -> dict[str, Any] | None:
    """An answer as the page sent it; None for anything else."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not isinstance(given.get("question"), str):
        return None
    key, text = given.get("key"), given.get("text")
    if not (isinstance(key, str) and 0 < len(key) <= KEY) and not isinstance(text, str):
        return None
    return {"question": given["question"], "key": key, "text": text}


def _put(run: Path, given: dict[str, Any]) -> None:
    """Into the inbox, whole, under a name of its own. Names sort by time."""
    inbox = run / DESK / INBOX
    if (run / DESK).is_symlink() or inbox.is_symlink():
        raise OSError(0, "its desk is a link")
    name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
    with open(create(part := inbox / f"{name}.part"), "w", encoding="utf-8") as file:
        json.dump(given, file)
    os.replace(part, inbox / f"{name}.json")
