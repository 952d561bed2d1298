"""A process beside the world's: it runs the policy, or draws for the cameras. This end starts, asks and buries it."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from typing import Any

from foretell.process import start

__all__ = ["Companion", "CompanionDied", "CompanionFailed"]


class CompanionDied(Exception):  # noqa: N818 - says what happened
    """The process ended, hung, or refused; the message says which."""


class CompanionFailed(Exception):  # noqa: N818 - says what happened
    """It lives, and could not do what it was asked to."""


class Companion:
    """A child that takes JSON messages, one a line, and answers so. What is large goes through shared memory."""

    def __init__(self, module: str, opening: dict[str, Any], fds: tuple[int, ...]):
        self.process = start(module, fds=fds)
        self._said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell(opening)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in self.process.stdout:
                self._said.put(json.loads(line))
        self._said.put(None)

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, OSError, ValueError):  # it has died; whoever listens will hear
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def heard(self) -> dict[str, Any] | None:
        """A message that has come, or None. Raises CompanionDied where there will be no more."""
        try:
            message = self._said.get_nowait()
        except queue.Empty:
            return None
        if message is None:
            raise CompanionDied(self.end())
        return message

    def wait(self, word: str, patience: float, number: Any = True) -> dict[str, Any]:
        """The answer to a question: the message whose `word` is `number`, within so many seconds."""
        until = time.monotonic() + patience
        while True:
            try:
                message = self._said.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise CompanionDied(f"was silent for {patience:g} s") from None
            if message is None:
                raise CompanionDied(self.end())
            if "refused" in message:
                raise CompanionDied(message["refused"])
            if message.get("failed") == number:
                raise CompanionFailed(message["error"])
            if message.get(word) == number:
                return message

    def end(self) -> str:
        """How the process ended, in words."""
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its pipe"
        return f"died (signal {-code})" if code < 0 else f"died (exit code {code})"

    def kill(self) -> None:
        """End it, and leave nothing behind."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
