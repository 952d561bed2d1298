"""`foretell view`: serve the live page until Ctrl-C."""

from __future__ import annotations

import errno
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foretell.errors import UsageError
from foretell.person.desk import DESK
from foretell.report.page import as_json, needs_extra, page

__all__ = ["Served", "listen", "view"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Served:
    """Where the live page is."""

    url: str
    """With the token that allows to stop a study: not for everybody."""
    runs: list[str]
    notes: list[str]
    person: str | None = None
    """The page for the person beside a robot, where a run has one."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        person = [f"beside the robot: {self.person}"] if self.person else []
        notes = [f"note: {note}" for note in self.notes]
        return "\n".join([self.url, *person, *notes, "Ctrl-C ends the view, not the study."])


def view(
    *runs: str | Path | Sequence[str | Path],
    host: str = "127.0.0.1",
    port: int = 0,
    open: bool = False,
    notify: Callable[[Served], None] = lambda served: print(served.text(), flush=True),
) -> None:
    """Serve the report of some runs as a page that updates while they are written, until Ctrl-C. A run folder may
    appear later.

    `port`: 0 takes a free port. `open` opens the page in a browser. `notify` is called with the address. The page can
    stop a study; all finished episodes are kept.
    """
    needs_extra()
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401
    except ImportError as error:
        raise UsageError(f"view needs {error.name}, which is not installed: pip install 'foretell[report]'") from None
    from foretell.view.app import application
    from foretell.view.board import Board, blank

    paths = _paths(runs)
    listener = listen(host, port)
    board = Board(paths)
    token = secrets.token_urlsafe(24)
    html = page(blank(paths), live={"runs": [str(p) for p in paths]}, script=_script())
    config = uvicorn.Config(
        application(board, html, token, host),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    address, number = listener.getsockname()[:2]
    name = socket.gethostname() if address in ("0.0.0.0", "::") else f"[{address}]" if ":" in address else address
    home = f"http://{name}:{number}/"
    attended = any((path / DESK).is_dir() for path in paths)
    served = Served(
        url=f"{home}#token={token}",
        runs=[str(p) for p in paths],
        notes=_notes(paths, address),
        person=f"{home}person#token={token}" if attended else None,
    )
    notify(served)
    threading.Thread(target=board.progress, daemon=True).start()  # the first report is ready sooner
    if open:
        import webbrowser

        webbrowser.open(served.url)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


def _paths(runs: Sequence[str | Path | Sequence[str | Path]]) -> list[Path]:
    paths = [Path(r) for some in runs for r in ([some] if isinstance(some, str | Path) else some)]
    if not paths:
        raise UsageError("runs: give at least one run folder")
    seen: set[Path] = set()
    for path in paths:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is not a run folder: it is a file")
        if path.resolve() in seen:
            raise UsageError(f"run {str(path)!r} is given twice")
        seen.add(path.resolve())
    return paths


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve at; port 0 is any that is free."""
    if not 0 <= port < 65536:
        raise UsageError(f"port is {port}, it must be between 0 (any that is free) and 65535")
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        fix = "; leave out --port for a free one" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise UsageError(f"cannot serve at {host}, port {port}: {error.strerror}{fix}") from None
    return listener


def _notes(paths: Sequence[Path], address: str) -> list[str]:
    notes = [f"there is no folder {path} yet; the page waits for it" for path in paths if not path.is_dir()]
    if not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        notes.append(
            f"everyone who can reach this machine at {address} can read these runs; only the link above can stop a "
            "study"
        )
    return notes


def _script() -> str:
    style = (HERE / "live.css").read_text(encoding="utf-8")
    script = "".join((HERE / name).read_text(encoding="utf-8") for name in ("token.js", "live.js"))
    return f"{{\nconst STYLE = {as_json(style)};\n{script}\n}}"
