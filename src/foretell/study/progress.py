"""Progress of a running study on standard error: a live table on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from foretell.counting import counted
from foretell.study.status import Progress
from foretell.terminal import plain

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Bar", "lasting"]

PERIOD, SHARE = 0.5, 0.005
"""Wall seconds between two drawings, and the share of them that drawing may take: else they are rarer."""
NAMES = ("world", "task", "policy", "clock", "arm")
RIGHT = ("done", "success", "pace", "left")


class Bar:
    """Shows what `run(progress=bar.update)` reports: how many, how fast, how long still, and the figures so far."""

    def __init__(self, live: bool = True) -> None:
        """`live` False: lines only, even on a terminal."""
        self._wanted = live
        self._live: Any = None
        self._state: Progress | None = None
        self._text = "starting"
        self._began = self._spoke = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Bar:
        if self._wanted and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"):
            from rich.console import Console
            from rich.live import Live

            from foretell.terminal import raw

            self._live = Live(console=Console(file=raw(sys.stderr), highlight=False), auto_refresh=False)
            self._live.start()
            self._thread.start()
        return self

    def say(self, text: str) -> None:
        """What is done before the first episode, or after the last."""
        self._text, self._state = text, None
        if self._live is None:
            print(text, file=sys.stderr, flush=True)

    def update(self, state: Progress) -> None:
        self._state = state
        if self._live is not None:
            return
        now = time.monotonic()
        if state.ran == 0:
            self._began = now
        if now - self._spoke >= 10:
            self._spoke = now
            rate = state.ran / max(now - self._began, 1e-9)
            most = "at most " if state.until else ""
            word = "at most" if state.until else "about"
            left = f", {word} {(state.planned - state.done) / rate:.0f} s left" if rate > 0 else ""
            print(
                f"{state.done} of {most}{counted(state.planned, 'episode')}, {rate:.1f}/s{left}",
                file=sys.stderr,
                flush=True,
            )

    def _beat(self) -> None:
        wait = 0.0
        while not self._ended.wait(wait):
            began = time.thread_time()
            self._draw()
            wait = max(PERIOD, (time.thread_time() - began) / SHARE)

    def _draw(self, figures: bool = True) -> None:
        from rich.text import Text

        state, console = self._state, self._live.console
        page = draw(state, console.width, console.height, figures) if state else Text(plain(self._text), no_wrap=True)
        self._live.update(page, refresh=True)

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if self._live is not None:
            self._ended.set()
            self._thread.join()
            self._draw(figures=kind is not None)  # else the same figures follow as the study's result
            self._live.stop()


def draw(state: Progress, width: int, height: int, figures: bool = True) -> Text:
    """Progress in a line and, below, the figures so far, as wide and as high as the terminal allows."""
    from rich.text import Text

    page = Text(no_wrap=True, overflow="crop", end="")
    page.append_text(_line(state, width))
    if figures:
        shown, notes = _chosen(state.tally.figures(), max(3, height - 6))
        for line in _table(shown, width):
            page.append("\n").append_text(line)
        for note in notes:
            page.append("\n").append(note[: width - 1], "dim")
    return page


def _line(state: Progress, width: int) -> Text:
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    pace, left = state.tally.pace(), state.planned - state.done
    words = [
        f"{state.done}/{state.planned}",
        "episodes",
        speed(pace),
        f"{'at most ' * state.until}{lasting(left / pace)} left" if pace and left else "",
    ]
    words = [word for word in words if word]
    while len(words) > 1 and len(" ".join(words)) >= width:
        words.pop()
    room = width - len(" ".join(words)) - 2
    line, name = Text(), state.study or "study"
    if room >= 16:
        name = set_cell_size(name, min(cell_len(name), room - 9))
        size = min(40, room - cell_len(name) - 1)
        full = size * state.done // max(1, state.planned)
        line.append(name + " ", "bold").append("━" * full, "green").append("━" * (size - full), "dim").append(" ")
    return line.append(" ".join(words))


def _chosen(rows: list[dict[str, Any]], height: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The cells for which there is room, those that run first, and what is to be said of the others."""
    running = [row for row in rows if row["running"] and row["finished"]]
    complete = [row for row in rows if not row["running"]]
    kept = running[:height]
    kept += complete[len(complete) - (height - len(kept)) :] if len(complete) > height - len(kept) else complete
    counts = {
        "more running": len(running) - sum(row["running"] for row in kept),
        "more complete": len(complete) - sum(not row["running"] for row in kept),
        "waiting": len(rows) - len(running) - len(complete),
    }
    notes = ["; ".join(f"{count} {what}" for what, count in counts.items() if count)]
    notes += ["running: covers the leading complete scenarios; holds at any time"] if running else []
    stopped = sum(row["stopped"] for row in rows)
    notes += [f"{counted(stopped, 'cell')} of {len(rows)} stopped by `until`; its intervals hold at any time"] * (
        stopped > 0
    )
    fixed = [name for name in NAMES[:1] + NAMES[3:] if len({row[name] for row in rows}) == 1]
    ids = {id(row) for row in kept}
    shown = [{k: v for k, v in row.items() if k not in fixed} for row in rows if id(row) in ids]
    return shown, [note for note in notes if note]


def _table(rows: list[dict[str, Any]], width: int) -> list[Text]:
    """Names give way to figures: on a narrow terminal columns go, and then names are cut."""
    from rich.cells import cell_len
    from rich.text import Text

    if not rows:
        return []
    columns = {name: [plain(str(row[name])) for row in rows] for name in NAMES if name in rows[0]}
    names = list(columns)
    columns["done"] = [f"{row['finished']}/{row['planned']}" for row in rows]
    columns["success"] = ["-" if row["rate"] is None else f"{row['rate']:.0%}" for row in rows]
    columns[f"{1 - rows[0]['alpha']:.0%} interval"] = [_bounds(row) for row in rows]
    columns["pace"] = [speed(row["pace"]) for row in rows]
    columns["left"] = [lasting((row["planned"] - row["finished"]) / row["pace"]) if row["pace"] else "" for row in rows]
    steady = {"pace": 7, "left": 5, f"{1 - rows[0]['alpha']:.0%} interval": 19}  # so that columns stay where they are
    sizes = {title: max(steady.get(title, 0), *map(cell_len, (title, *cells))) for title, cells in columns.items()}
    least = {title: min(size, 8) if title in names else size for title, size in sizes.items()}
    for title in ("pace", "left", "world", *reversed(columns)):
        if title not in ("policy", "done") and sum(least[t] + 2 for t in columns) - 2 >= width:
            columns.pop(title, None)
    while sum(sizes[t] + 2 for t in columns) - 2 >= width:
        widest = max((t for t in names if t in columns), key=lambda t: sizes[t])
        if sizes[widest] <= 4:
            break
        sizes[widest] -= 1
    lines = [Text("  ".join(_fit(t, sizes[t], t in RIGHT) for t in columns).rstrip(), "dim")]
    for i in range(len(rows)):
        lines.append(Text("  ".join(_fit(columns[t][i], sizes[t], t in RIGHT) for t in columns).rstrip()))
    return lines


def _fit(text: str, size: int, right: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) > size:
        return set_cell_size(text, size - 1) + "…"
    return " " * (size - cell_len(text)) + text if right else set_cell_size(text, size)


def _bounds(row: dict[str, Any]) -> str:
    bounds = "" if row["low"] is None else f"{row['low']:.0%} to {row['high']:.0%}"
    state = " running" if row["running"] else " stopped" if row["stopped"] else ""
    return f"{bounds}{state}".strip()


def speed(pace: float | None) -> str:
    """Episodes per second, or per minute where they are slow."""
    if not pace:
        return ""
    return f"{pace:.0f}/s" if pace >= 100 else f"{pace:.1f}/s" if pace >= 0.2 else f"{60 * pace:.1f}/min"


def lasting(seconds: float) -> str:
    """A time span such as 0:42, 12:05 or 3:10:00."""
    whole = math.ceil(min(seconds, 8.64e6))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
