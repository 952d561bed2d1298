"""A robot whose driver runs elsewhere: in a process that listens on a socket, or in another Python environment.

Both have LeRobot's `Robot` methods. A call that gets no answer in time, or nonsense for an answer, ends the link: the
caller never waits for longer than it says, and never takes an old answer for a new one. `connect` makes a new link.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell import __version__
from foretell.errors import ForetellError, UsageError
from foretell.hardware import wire
from foretell.hardware.spawn import finish, spawn
from foretell.hardware.wire import LinkLost, WireError

__all__ = ["DriverFailed", "HostedRobot", "RemoteRobot"]

PATIENCE_S, OPENING_S = 1.0, 120.0
"""Wall seconds for an answer; for one to `connect` and for a driver to load."""
TYPES = {"float": float, "int": int, "bool": bool, "str": str}


class DriverFailed(ForetellError):  # noqa: N818 - says what happened
    """The driver raised; the message is the driver's."""

    def __init__(self, message: str, trace: str | None = None):
        super().__init__(message)
        self.trace = trace


class RemoteRobot:
    """A robot behind an address such as 127.0.0.1:8700, for example a rehearsal."""

    def __init__(self, address: str, patience: float = PATIENCE_S, opening: float = OPENING_S):
        self.address, self.patience, self.opening = address, patience, opening
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._calls, self.is_connected = 0, False
        self._open()

    # -- LeRobot's methods ------------------------------------------------------------------------------------

    def connect(self, calibrate: bool = False) -> None:
        """Connect the robot; after a loss, over a new link. It is never calibrated here: its own tool does that."""
        if self._link is None:
            self._open()
        self._call("connect", {}, self.opening)
        self.is_connected = True

    def get_observation(self) -> dict[str, Any]:
        """Key -> number or picture."""
        return _table(self._call("get_observation", {}, self.patience), "get_observation")

    def send_action(self, action: Mapping[str, float]) -> dict[str, Any]:
        """Send targets; returns what the driver says it sent."""
        return _table(self._call("send_action", {"action": dict(action)}, self.patience), "send_action")

    def disconnect(self) -> None:
        """Disconnect the robot where the link is there to say so, and end the link."""
        try:
            if self._link is not None and self.is_connected:
                self._call("disconnect", {}, self.opening)
        finally:
            self.close()

    def stop(self) -> None:
        """Hold at once. Only robots that can are said to have it."""
        self._call("stop", {}, self.patience)

    # ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the link. Whoever is at its other end holds the robot."""
        self._hang_up()

    def _hang_up(self) -> None:
        """End the link, and wait for nobody."""
        self.is_connected = False
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _dial(self) -> tuple[socket.socket, dict[str, Any]]:
        """A new link, and what to say first."""
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit():
            raise UsageError(f"address: {self.address!r:.100} should be written HOST:PORT, such as 127.0.0.1:8700")
        try:
            link = socket.create_connection((host, int(port)), timeout=self.opening)
        except OSError as error:
            raise LinkLost(f"nobody answers at {self.address}: {error}") from None
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link, {}

    def _open(self) -> None:
        self._link, first = self._dial()
        hello = {"protocol": wire.PROTOCOL, "version": __version__, **first}
        try:
            wire.send(self._link, hello, self.opening)
            answer = wire.receive(self._link, self.opening)
        except (LinkLost, WireError) as error:
            self.close()
            raise LinkLost(f"{self.address} did not say what it is: {error}") from None
        words = answer.get("refused") or wire.refusal(answer, "this end", __version__, "the driver's process")
        if words or not isinstance(answer.get("hello"), dict):
            self.close()
            raise UsageError(f"driver: {words or 'its process gave no list of features'}")
        self._describe(answer["hello"])

    def _describe(self, hello: dict[str, Any]) -> None:
        self.name = str(hello.get("name", ""))
        self.observation_features = {k: _feature(v) for k, v in hello.get("observation", {}).items()}
        self.action_features = {k: _feature(v) for k, v in hello.get("action", {}).items()}
        if not hello.get("stops"):
            self.stop = None  # type: ignore[method-assign, assignment] # as of a driver that has no such method

    def _call(self, name: str, arguments: dict[str, Any], patience: float) -> Any:
        with self._lock:
            link = self._link
            if link is None:
                raise LinkLost(f"{name}: there is no link to the robot; connect again")
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
            raise DriverFailed(f"{name}: {answer['error']}", answer.get("trace"))
        return answer.get("answer")


class HostedRobot(RemoteRobot):
    """A driver in another Python environment: `host.py` runs there, which needs nothing but the driver's own packages.
    It ends with this process, and holds the robot before."""

    def __init__(
        self,
        use: str,
        options: Mapping[str, Any] | None = None,
        *,
        python: str | Path = sys.executable,
        rest: Mapping[str, float] | None = None,
    ):
        """`use`: "package.module:Class" there, or "file.py:Class". `rest`: key of an action -> what it is where the
        robot is held, such as 0 of a velocity; the others are then sent as they are measured."""
        self._use, self._python, self._options, self._rest = use, str(python), dict(options or {}), dict(rest or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._ending: threading.Thread | None = None
        super().__init__(f"{use} in {python}")

    def close(self) -> None:
        """End the link, and wait until the other process has let go of the robot."""
        super().close()
        if self._ending is not None:
            self._ending.join()

    def _hang_up(self) -> None:
        super()._hang_up()
        process, self._process = self._process, None
        if process is not None:
            self._ending = threading.Thread(target=finish, args=(process,), daemon=True)
            self._ending.start()

    def _dial(self) -> tuple[socket.socket, dict[str, Any]]:
        if self._ending is not None:
            self._ending.join()  # it may hold the robot's port
        host = Path(__file__).with_name("host.py")
        self._process, ours = spawn(self._python, host, field="driver.python")
        return ours, {"use": self._use, "options": self._options, "rest": self._rest}


def _feature(stated: Any) -> Any:
    return tuple(stated) if isinstance(stated, list) else TYPES.get(stated, float)


def _table(answer: Any, name: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise DriverFailed(f"{name}: the driver returned {answer!r:.100} instead of a table of keys and numbers")
    return answer
