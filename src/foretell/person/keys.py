"""Single keys from a terminal, and the terminal given back as it was, whatever ends the program.

Keys arrive at once and are not echoed. Ctrl-C still raises KeyboardInterrupt. Ctrl-Z, Ctrl-\\ and Ctrl-S are ordinary
keys, because each would freeze a program that drives a robot.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from codecs import getincrementaldecoder
from collections import deque
from types import FrameType
from typing import Any

__all__ = ["KeyParser", "Keys"]

LONE_S = 0.05
"""Seconds after which an Esc that nothing followed is the key, and not the start of a sequence such as an arrow's."""
ASK, ALIVE = b"\x1b[5n", "\x1b[0n"
"""What a terminal is asked, and what it answers if it is alive."""
ASK_S = 0.5
"""Seconds between two such questions."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class KeyParser:
    """Bytes of a terminal -> keys. Sequences of arrow keys and the like are dropped; an answer to `ASK` is counted."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("ignore")
        self._rest = ""
        """A sequence that may go on."""
        self._since = 0.0
        self.alive = 0
        """Answers so far."""

    def feed(self, data: bytes, now: float) -> list[str]:
        """The keys that are complete by now, `time.monotonic()`."""
        if data:
            self._rest, self._since = self._rest + self._decoder.decode(data), now
        keys: list[str] = []
        while self._rest:
            length = _sequence(self._rest) if self._rest[0] == "\x1b" else 1
            if length == 0 and now - self._since < LONE_S:
                break
            key, self._rest = self._rest[: length or 1], self._rest[length or 1 :]
            self.alive += key == ALIVE
            keys += [] if len(key) > 1 else ["\n" if key == "\r" else key]
        return keys


def _sequence(text: str) -> int:
    """How long the sequence is that begins with Esc: 1 for the key alone, 0 where the end is not there yet."""
    if len(text) < 2:
        return 0
    if text[1] not in "[O":
        return 1
    for at, letter in enumerate(text[2:], start=3):
        if "@" <= letter <= "~":
            return at
        if not " " <= letter <= "?":
            return 1
    return 0


class Keys:
    """The terminal of standard input, one key at a time. Use it as a context, or `close` it."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = sys.stdin.fileno() if fd is None else fd
        self.gone = False
        """Whether the terminal was closed."""
        self._parser = KeyParser()
        self._keys: deque[str] = deque()
        self._heard = self._asked = time.monotonic()
        self._before = termios.tcgetattr(self.fd)
        self._open = True
        self._handlers: dict[signal.Signals, Any] = {}
        atexit.register(self.close)
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._handlers[number] = signal.signal(number, self._signalled)
        self._grab()

    def _grab(self) -> None:
        mode = termios.tcgetattr(self.fd)
        mode[0] &= ~(termios.IXON | termios.IXOFF)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        letters = list(mode[6])
        letters[termios.VMIN], letters[termios.VTIME] = b"\x01", b"\x00"
        for name in ("VSUSP", "VDSUSP", "VQUIT", "VSTOP", "VSTART", "VLNEXT", "VDISCARD"):
            if hasattr(termios, name):
                letters[getattr(termios, name)] = os.fpathconf(self.fd, "PC_VDISABLE").to_bytes(1, "little")
        mode[6] = letters
        termios.tcsetattr(self.fd, termios.TCSADRAIN, mode)

    def __enter__(self) -> Keys:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the terminal back as it was; keys that nobody read are dropped. It may be called twice."""
        if not self._open:
            return
        self._open = False
        atexit.unregister(self.close)
        with contextlib.suppress(termios.error, OSError):  # there may be no terminal any more
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, self._before)
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._signalled:  # else somebody else's, who comes later
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """The terminal is given back first; then what would have happened happens: where that is the end of the
        program, as after Ctrl-C, so that robots are stopped and finished trials kept."""
        self.gone |= number == signal.SIGHUP
        handler = self._handlers.get(signal.Signals(number))
        self.close()
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            raise KeyboardInterrupt(number)

    def read(self, wait: float = 0.0) -> str | None:
        """The next key; None after `wait` seconds without one, or where the terminal is gone. 0 never blocks."""
        until = time.monotonic() + wait
        while True:
            self._look(max(0.0, min(LONE_S, until - time.monotonic())))
            if self._keys:
                return self._keys.popleft()
            if self.gone or time.monotonic() >= until:
                return None

    def drain(self) -> None:
        """Forget keys that were pressed before what comes now was asked."""
        while self.read() is not None:
            pass
        self._look(0.0)
        self._keys.clear()

    def _look(self, wait: float) -> None:
        if self.gone:
            return
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        ready = poller.poll(round(1000 * wait))
        data = b""
        if ready and ready[0][1] & select.POLLIN:
            try:
                data = os.read(self.fd, 4096)
                self.gone = not data
            except OSError:
                self.gone = True
        elif ready:  # hung up
            self.gone = True
        now, answers = time.monotonic(), self._parser.alive
        self._keys.extend(self._parser.feed(data, now))
        if self.gone:
            return
        if data or not answers:  # a terminal that never answers is alive while it is open
            self._heard = now

    def ask_alive(self) -> None:
        """Ask the terminal whether it is there, but seldom: a line that broke is noticed although nothing is closed. It
        never blocks."""
        now = time.monotonic()
        if self.gone or not self._open or now - self._asked < ASK_S:
            return
        self._asked = now
        if select.select([], [self.fd], [], 0)[1]:
            with contextlib.suppress(OSError):
                os.write(self.fd, ASK)

    def heard(self) -> float:
        """`time.monotonic()` at which the terminal was last seen alive."""
        return self._heard
