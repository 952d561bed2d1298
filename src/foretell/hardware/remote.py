"""A robot whose driver runs elsewhere: in a process that listens on a socket, or in another Python environment.

Both have LeRobot's `Robot` methods. `connect` makes a new link after one was lost (see `calls`).
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.errors import UsageError
from foretell.hardware.calls import CallFailed, Calls, HostedCalls
from foretell.hardware.wire import LinkLost

__all__ = ["DriverFailed", "HostedRobot", "RemoteRobot"]

PATIENCE_S, OPENING_S = 1.0, 120.0
"""Wall seconds for an answer; for one to `connect` and for a driver to load."""
FROZEN_S = 2.0
"""Wall seconds without a call after an action, after which the driver's process takes this one for frozen and holds the
robot. Whoever drives a robot asks for an observation at least once a second."""
TYPES = {"float": float, "int": int, "bool": bool, "str": str}
DriverFailed = CallFailed
"""The driver raised; the message is the driver's."""


class _Robot(Calls):
    """LeRobot's methods, called over a link."""

    patience = PATIENCE_S
    is_connected = False

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

    def _hang_up(self) -> None:
        self.is_connected = False  # whoever is at the other end holds the robot
        super()._hang_up()

    def _describe(self, hello: dict[str, Any]) -> None:
        self.name = str(hello.get("name", ""))
        self.observation_features = {k: _feature(v) for k, v in hello.get("observation", {}).items()}
        self.action_features = {k: _feature(v) for k, v in hello.get("action", {}).items()}
        if not hello.get("stops"):
            self.stop = None  # type: ignore[method-assign, assignment] # as of a driver that has no such method


class RemoteRobot(_Robot):
    """A robot behind an address such as 127.0.0.1:8700, for example a rehearsal."""

    def __init__(self, address: str, patience: float = PATIENCE_S, opening: float = OPENING_S):
        super().__init__(address, opening=opening)
        self.patience = patience
        self._open()

    def _dial(self) -> tuple[socket.socket, dict[str, Any]]:
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit():
            raise UsageError(f"address: {self.address!r:.100} should be written HOST:PORT, such as 127.0.0.1:8700")
        try:
            link = socket.create_connection((host, int(port)), timeout=self.opening)
        except OSError as error:
            raise LinkLost(f"nobody answers at {self.address}: {error}") from None
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link, {}


class HostedRobot(_Robot, HostedCalls):
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
        self._use, self._options, self._rest = use, dict(options or {}), dict(rest or {})
        super().__init__(f"{use} in {python}", python=python, opening=OPENING_S)
        self._open()

    def _first(self) -> dict[str, Any]:
        return {"use": self._use, "options": self._options, "rest": self._rest, "silence": FROZEN_S}


def _feature(stated: Any) -> Any:
    return tuple(stated) if isinstance(stated, list) else TYPES.get(stated, float)


def _table(answer: Any, name: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise DriverFailed(f"{name}: the driver returned {answer!r:.100} instead of a table of keys and numbers")
    return answer
