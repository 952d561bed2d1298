"""What the live page shows: where each run stands, looked up when asked, and the report's contents, made meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foretell.errors import ForetellError, raised
from foretell.report import OneRun, Runs, contents
from foretell.report.page import as_json
from foretell.study.lock import ask_to_stop
from foretell.view.standing import Standing

__all__ = ["Board", "blank"]

LOOK = 0.4
"""Wall seconds for which a look at the disk is good."""
REST, LONG, SHARE = 3.0, 30.0, 0.2
"""Contents are made again after `REST` to `LONG` seconds: so many that making them takes this share of a core."""

BLIND = "is blind, and a person judges it: this page beside the robot has its figures when all trials are in."


class Board:
    """The runs of one page. Safe to ask from several threads."""

    def __init__(self, runs: Sequence[Path]) -> None:
        self.runs = [Path(run) for run in runs]
        self._standings = [Standing(run) for run in self.runs]
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._progress: list[dict[str, Any]] = []
        self._maker: threading.Thread | None = None
        self._made: Any = None
        """What the contents were made of, as far as `_news` tells."""
        self._rested = 0.0
        self._version = 0
        self._contents = b""

    def progress(self) -> dict[str, Any]:
        """Where each run stands, and the version of `contents`; starts making newer ones if it is time."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK:
                self._progress = [standing.look() for standing in self._standings]
                self._looked = time.monotonic()
                self._make_contents()
            return {"runs": self._progress, "contents": self._version}

    @property
    def contents(self) -> bytes:
        """JSON, as the page takes it; empty before the first are made."""
        return self._contents

    def stop(self, index: int) -> bool:
        """Ask a run's study to stop; False if nobody runs it."""
        self._looked = float("-inf")
        return ask_to_stop(self.runs[index])

    def _make_contents(self) -> None:
        news = [(run["writer"] is not None, run["state"], run["rows"], run["problem"]) for run in self._progress]
        busy = self._maker is not None and self._maker.is_alive()
        ended = self._made is not None and [n[0] for n in news] != [n[0] for n in self._made]  # then do not wait
        if not busy and news != self._made and (ended or time.monotonic() >= self._rested):
            self._made = news
            self._maker = threading.Thread(target=self._make, daemon=True)
            self._maker.start()

    def _make(self) -> None:
        began = time.thread_time()
        page = blank(self.runs)
        there = [s.run for s in self._standings if s.there and s.rows and not s.hidden]
        hidden = [f"{s.run.resolve().name} {BLIND}" for s in self._standings if s.hidden]
        try:
            if there:
                page = contents(Runs.open(there), link=self._link)
        except (ForetellError, OSError) as error:
            page["notes"] = [str(error)]
        except Exception as error:  # the view of a study must go on, whatever a single row holds
            page["notes"] = [f"The report could not be made: {raised(error)}"]
        page["notes"] = [*hidden, *page["notes"]]
        data = as_json(page).encode()
        self._rested = time.monotonic() + min(LONG, max(REST, (time.thread_time() - began) / SHARE))
        self._contents, self._version = data, self._version + 1

    def _link(self, run: OneRun, path: str) -> str:
        return f"runs/{self.runs.index(run.path)}/{quote(path)}"


def blank(runs: Sequence[Path]) -> dict[str, Any]:
    """Contents of nothing."""
    from foretell import __version__

    return {
        "title": ", ".join(run.resolve().name for run in runs),
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": __version__,
        "runs": [],
        "sections": [],
        "episodes": {"count": 0},
        "videos": {},
        "notes": [],
    }
