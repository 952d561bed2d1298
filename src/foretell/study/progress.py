"""Progress of a running study on standard error: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from foretell.study.run import Progress

__all__ = ["Bar"]


class Bar:
    """Shows what `run(progress=bar.update)` reports: how many, how fast, how long still."""

    def __init__(self) -> None:
        self._live: Any = None
        self._began = self._spoke = time.monotonic()

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._live.add_task("starting", total=None, rate="")
            self._live.start()
        return self

    def say(self, text: str) -> None:
        """What is done before the first episode."""
        if self._live is not None:
            self._live.update(self._task, description=text)
        else:
            print(text, file=sys.stderr, flush=True)

    def update(self, state: Progress) -> None:
        now = time.monotonic()
        if state.ran == 0:
            self._began = now
        rate = state.ran / max(now - self._began, 1e-9)
        if self._live is not None:
            self._live.update(
                self._task, description="episodes", total=state.planned, completed=state.done, rate=f"{rate:.1f}/s"
            )
        elif now - self._spoke >= 10:
            self._spoke = now
            left = (state.planned - state.done) / rate if rate > 0 else float("inf")
            print(
                f"{state.done} of {state.planned} episodes, {rate:.1f}/s, about {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
