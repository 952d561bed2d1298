"""Calls of what runs in another process. One that gets no answer in time, or nonsense for an answer, ends the link: the
caller never waits for longer than it says, and never takes an old answer for a new one."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from foretell import __version__
from foretell.errors import ForetellError, UsageError
from foretell.hardware import wire
from foretell.hardware.spawn import finish, spawn
from foretell.hardware.wire import LinkLost, WireError

__all__ = ["CallFailed", "Calls", "HostedCalls"]


class CallFailed(ForetellError):  # noqa: N818 - says what happened
    """What was called raised; the message is its own."""

    def __init__(self, message: str, trace: str | None = None):
        super().__init__(message)
        self.trace = trace


class Calls:
    """One end of a link. Subclasses make it (`_dial`) and take in what the other end says of itself (`_describe`)."""

    what = "driver"
    """What errors call the other end, and the field of a world file that names it."""
    peer = "robot"

    def __init__(self, address: str, *, opening: float):
        """opening: wall seconds for the other end to say what it is."""
        self.address, self.opening = address, opening
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._calls = 0

    def close(self) -> None:
        """End the link."""
        self._hang_up()

    @property
    def linked(self) -> bool:
        """Whether there is a link, as far as is known."""
        return self._link is not None

    def _dial(self) -> tuple[socket.socket, dict[str, Any]]:
        """A new link, and what to say first."""
        raise NotImplementedError

    def _describe(self, hello: dict[str, Any]) -> None:
        """Take in what the other end says of itself."""
        raise NotImplementedError

    def _hang_up(self) -> None:
        """End the link, and wait for nobody."""
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _open(self) -> None:
        self._link, first = self._dial()
        hello = {"protocol": wire.PROTOCOL, "version": __version__, **first}
        try:
            wire.send(self._link, hello, self.opening)
            answer = wire.receive(self._link, self.opening)
        except (LinkLost, WireError) as error:
            self.close()
            raise LinkLost(f"{self.address} did not say what it is: {error}") from None
        words = answer.get("refused") or wire.refusal(answer, "this end", __version__, f"the {self.what}'s process")
        if words or not isinstance(answer.get("hello"), dict):
            self.close()
            raise UsageError(f"{self.what}: {words or 'its process gave no list of features'}")
        self._describe(answer["hello"])

    def _call(self, name: str, arguments: dict[str, Any], patience: float) -> Any:
        with self._lock:
            link = self._link
            if link is None:
                raise LinkLost(f"{name}: there is no link to the {self.peer}; connect again")
            self._calls += 1
            number = self._calls
            try:
                wire.send(link, {"id": number, "call": name, "arguments": arguments}, patience)
                answer = wire.receive(link, patience)
                if answer.get("id") != number:
                    raise WireError(f"the answer is to call {answer.get('id')!r:.20} instead of {number}")
            except LinkLost as error:
                self._hang_up()
                raise LinkLost(f"{name}: {error} ({patience:g} s at most)") from None
            except WireError as error:
                self._hang_up()
                raise LinkLost(f"{name}: {error}") from None
        if "error" in answer:
            raise CallFailed(f"{name}: {answer['error']}", answer.get("trace"))
        return answer.get("answer")


class HostedCalls(Calls):
    """The other end is a script in another Python environment, which needs nothing of ours. It ends with us."""

    script = Path(__file__).with_name("host.py")
    grace = 6.0
    """Wall seconds that it has to end by itself."""
    quiet = False
    """Whether what it prints is kept for errors (`printed`) instead of shown."""

    def __init__(self, address: str, *, python: str | Path = sys.executable, opening: float):
        super().__init__(address, opening=opening)
        self._prints: IO[bytes] | None = None
        self._python = str(python)
        self._process: subprocess.Popen[bytes] | None = None
        self._ending: threading.Thread | None = None

    def close(self) -> None:
        """End the link, and wait until the other process has ended."""
        super().close()
        if self._ending is not None:
            self._ending.join()

    def printed(self, most: int = 4000) -> str:
        """The end of what a quiet one has printed."""
        if self._prints is None:
            return ""
        size = os.fstat(self._prints.fileno()).st_size
        return os.pread(self._prints.fileno(), most, max(0, size - most)).decode(errors="replace")

    def _first(self) -> dict[str, Any]:
        """What to say first."""
        raise NotImplementedError

    def _hang_up(self) -> None:
        super()._hang_up()
        process, self._process = self._process, None
        if process is not None:
            self._ending = threading.Thread(target=finish, args=(process, self.grace), daemon=True)
            self._ending.start()

    def _dial(self) -> tuple[socket.socket, dict[str, Any]]:
        if self._ending is not None:
            self._ending.join()  # it may hold the robot's port
        if self.quiet:
            self._prints = tempfile.TemporaryFile()  # noqa: SIM115 - it is read when the process has ended
        self._process, ours = spawn(self._python, self.script, field=f"{self.what}.python", prints=self._prints)
        return ours, self._first()
