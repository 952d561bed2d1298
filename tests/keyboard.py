"""A real terminal for tests: a process of its own behind a pseudo-terminal that is its controlling one."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path
from types import TracebackType

import foretell

SOURCE = str(Path(foretell.__file__).parents[1])


class Keyboard:
    """Runs Python at a terminal. `press` types keys, `see` waits for words on the screen."""

    def __init__(self, *arguments: str, folder: Path, patience: float = 30.0):
        self.patience = patience
        self.screen = ""
        self._seen = 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # tests may run where these are ignored
                signal.signal(number, signal.SIG_DFL)
            os.chdir(folder)
            path = os.pathsep.join([SOURCE, str(folder), str(Path(__file__).parent)])
            environment = {**os.environ, "PYTHONPATH": path, "TERM": "xterm"}
            os.execve(sys.executable, [sys.executable, *arguments], environment)

    def __enter__(self) -> Keyboard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def see(self, words: str) -> str:
        """Wait until words are on the screen, after those that were waited for before. Returns what came up to them."""
        until = time.monotonic() + self.patience
        while (at := self.screen.find(words, self._seen)) < 0:
            assert time.monotonic() < until and self._read(), f"no {words!r} on the screen:\n{self.screen}"
        part, self._seen = self.screen[self._seen : at + len(words)], at + len(words)
        return part

    def see_any(self, choices: list[str]) -> str | None:
        """Wait until one of some words is on the screen, for `see` to take; None where the process ends first."""
        until = time.monotonic() + self.patience
        while not any(words in self.screen[self._seen :] for words in choices):
            if not self._read():
                return None
            assert time.monotonic() < until, f"none of {choices} on the screen:\n{self.screen}"
        return min(choices, key=lambda words: self.screen[self._seen :].find(words) % (1 << 62))

    def _read(self) -> bool:
        """Whether there may be more."""
        if not select.select([self.fd], [], [], 0.5)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode()).replace("\r", "")
        return True

    def end(self) -> int:
        """Wait for the end of the process; its exit code, negative for a signal."""
        while self._read():
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                break
        else:
            _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def hang_up(self) -> None:
        """Close the terminal window."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)
