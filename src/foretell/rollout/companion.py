"""A process beside the world's: it runs the policy, or draws for the cameras. This end starts, asks and buries it."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import time
from typing import Any

from foretell.process import end, gone, listen, start

__all__ = ["Companion", "CompanionDied", "CompanionFailed"]

LOOK_S = 0.2
"""Wall seconds between two looks whether a silent process lives."""


class CompanionDied(Exception):  # noqa: N818 - says what happened
    """The process ended, hung, or refused; the message says which."""

    def __init__(self, message: str, killed: bool = False):
        super().__init__(message)
        self.killed = killed
        """Whether somebody else killed it (SIGKILL), as the system does when memory runs out."""


class CompanionFailed(Exception):  # noqa: N818 - says what happened
    """It lives, and could not do what it was asked to."""

    def __init__(self, message: str, trace: str | None = None):
        super().__init__(message)
        self.trace = trace


class Companion:
    """A child that takes JSON messages, one a line, and answers so. What is large goes through shared memory."""

    def __init__(self, module: str, opening: dict[str, Any], fds: tuple[int, ...], says: str | None = None):
        """`says`: the file to which its prints are appended; None: they go to our standard error."""
        self.process = start(module, fds=fds, says=says)
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        listen(self.process, self._messages.put)
        self.tell(opening)

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, OSError, ValueError):  # it has died; whoever listens will hear
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def heard(self) -> dict[str, Any] | None:
        """A message that has come, or None. Raises CompanionDied where there will be no more."""
        try:
            message = self._messages.get_nowait()
        except queue.Empty:
            if not gone(self.process):
                return None
            message = self._last()
        if message is None:
            raise self.end()
        return message

    def _last(self) -> dict[str, Any] | None:
        """What a dead process has left to say. Its pipe need not end: a helper of the policy may hold it."""
        try:
            return self._messages.get(timeout=LOOK_S)
        except queue.Empty:
            return None

    def wait(self, word: str, patience: float, number: Any = True) -> dict[str, Any]:
        """The answer to a question: the message whose `word` is `number`, within so many seconds."""
        until = time.monotonic() + patience
        while True:
            left = until - time.monotonic()
            try:
                message = self._messages.get(timeout=max(0.0, min(LOOK_S, left)))
            except queue.Empty:
                if gone(self.process):
                    message = self._last()
                elif left > LOOK_S:
                    continue
                else:
                    self.kill()
                    raise CompanionDied(f"was silent for {patience:g} s") from None
            if message is None:
                raise self.end()
            if "refused" in message:
                raise CompanionDied(message["refused"])
            if message.get("failed") == number:
                raise CompanionFailed(message["error"], message.get("trace"))
            if message.get(word) == number:
                return message

    def end(self) -> CompanionDied:
        """How the process ended, to be raised."""
        until = time.monotonic() + 5.0
        while not gone(self.process):
            if time.monotonic() > until:
                self.kill()
                return CompanionDied("closed its pipe")
            time.sleep(0.005)
        code = end(self.process)
        if code < 0:
            return CompanionDied(f"died (signal {-code})", killed=-code == signal.SIGKILL)
        return CompanionDied(f"died (exit code {code})")

    def kill(self) -> None:
        """End it, and leave nothing behind."""
        end(self.process)
