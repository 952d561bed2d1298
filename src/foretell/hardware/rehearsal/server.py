"""Serves a rehearsal's table over two sockets: one is the robot, the other the hands that set the table."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from foretell import __version__
from foretell.errors import UsageError
from foretell.hardware import wire
from foretell.hardware.rehearsal.faults import LinkFaults
from foretell.hardware.rehearsal.table import RehearsalTable
from foretell.hardware.wire import LinkLost, WireError
from foretell.scenario import Scenario

__all__ = ["RehearsalServer"]

LOOPBACK = "127.0.0.1"
"""Nobody on another machine can reach a rehearsal."""
KEPT = 200_000
"""Calls that the log keeps."""
ACCEPT_S = 0.1
LEAVES_S = 0.5
"""Wall seconds in which one who has lost the link makes room for the next."""


class RehearsalServer:
    """Two listening sockets and the threads behind them. The table runs in the thread that calls `run`."""

    def __init__(self, table: RehearsalTable, faults: LinkFaults, port: int = 0, hands: int = 0):
        self._table, self._faults = table, faults
        self._ended = threading.Event()
        self._robot: socket.socket | None = None
        self._connected = False
        self._log: list[list[Any]] = []  # wall s (monotonic), call, action
        self._doors = [_listen(port, "port"), _listen(hands, "hands")]
        self.address, self.hands = (f"{LOOPBACK}:{door.getsockname()[1]}" for door in self._doors)

    def run(self) -> None:
        """Serve until `end`."""
        for door, serve in zip(self._doors, (self._serve_robot, self._serve_hands), strict=True):
            threading.Thread(target=self._admit, args=(door, serve), daemon=True).start()
        try:
            self._table.run(self._ended.is_set)
        finally:
            self.end()

    def end(self) -> None:
        """Close the sockets and return from `run`."""
        self._ended.set()
        for door in self._doors:
            door.close()
        self._cut()

    def _admit(self, door: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        door.settimeout(ACCEPT_S)
        while not self._ended.is_set():
            try:
                link, _ = door.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._greet, args=(link, serve), daemon=True).start()

    def _greet(self, link: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        with link, contextlib.suppress(LinkLost, WireError, OSError):
            hello = wire.receive(link, 5.0)
            if words := wire.refusal(hello, "the rehearsal", __version__, "the other end"):
                wire.send(link, {"refused": words, "protocol": wire.PROTOCOL, "version": __version__})
            else:
                serve(link)

    # -- the robot --------------------------------------------------------------------------------------------

    def _serve_robot(self, link: socket.socket) -> None:
        if self._faults.cut:
            return
        until = time.monotonic() + LEAVES_S
        while self._robot is not None and time.monotonic() < until:
            time.sleep(0.01)
        if self._robot is not None:
            wire.send(link, {"refused": "somebody else is connected to this robot", "protocol": wire.PROTOCOL})
            return
        self._robot = link
        try:
            wire.send(link, {"hello": self._described(), "protocol": wire.PROTOCOL, "version": __version__})
            while not self._ended.is_set():
                asked = wire.receive(link)
                answer = {"id": asked.get("id"), **_answered(lambda a=asked: self._call(a))}  # type: ignore[misc]
                self._faults.wait(lambda: self._ended.is_set() or self._faults.cut)
                link.settimeout(5.0)
                link.sendall(self._faults.spoiled(wire.encode(answer)))
        finally:
            self._robot, self._connected = None, False
            self._note("link ended")

    def _described(self) -> dict[str, Any]:
        """Its features, as `host.described` has them."""
        pictures = {key: list(value.shape) for key, value in self._table.latest.items() if hasattr(value, "shape")}
        numbers = dict.fromkeys(self._table.robot.observation, "float")
        action = dict.fromkeys(self._table.robot.action, "float")
        return {"name": "rehearsal", "observation": {**numbers, **pictures}, "action": action, "stops": False}

    def _call(self, asked: dict[str, Any]) -> Any:
        name, arguments = asked.get("call"), asked.get("arguments", {})
        self._note(str(name), arguments.get("action"))
        if name == "connect":
            self._connected = True
        elif name == "disconnect":
            self._connected = False
        elif not self._connected:
            raise UsageError(f"{name!s:.50}: the robot is not connected; call connect first")
        elif name == "get_observation":
            return self._faults.observed(self._table.latest)
        elif name == "send_action":
            return self._table.send(arguments["action"])
        else:
            raise UsageError(f"{name!r:.50} is no call of a robot")
        return None

    def _note(self, call: str, action: Any = None) -> None:
        if len(self._log) < KEPT:
            self._log.append([time.monotonic(), call, action])

    def _cut(self) -> None:
        link = self._robot
        if link is not None:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    # -- the hands --------------------------------------------------------------------------------------------

    def _serve_hands(self, link: socket.socket) -> None:
        wire.send(link, {"hello": {"robot": self.address}, "protocol": wire.PROTOCOL, "version": __version__})
        calls: dict[str, Callable[..., Any]] = {
            "set": self._set,
            "truth": lambda: self._table.ask(self._table.truth),
            "fault": self._fault,
            "mend": self._faults.mend,
            "log": lambda since=0: self._log[since:],
            "end": self._ended.set,
        }
        while True:
            asked = wire.receive(link)
            call = calls.get(str(asked.get("call")))
            answer = {"error": f"hands: {asked.get('call')!r:.50} is none of {', '.join(calls)}"}
            if call is not None:
                answer = _answered(lambda c=call, a=asked: c(**a.get("arguments", {})))  # type: ignore[misc]
            wire.send(link, {"id": asked.get("id"), **answer})

    def _set(self, scenario: dict[str, Any], trial: int = 0, moved: str = "stay") -> None:
        meant = Scenario.model_validate(scenario)
        self._table.ask(lambda: self._table.set(meant, trial, moved))

    def _fault(self, kind: str, **values: Any) -> None:
        self._faults.add(kind, **values)
        if kind == "cut":
            self._cut()


def _answered(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"answer": call()}
    except Exception as error:
        return {"error": str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"}


def _listen(port: int, field: str) -> socket.socket:
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((LOOPBACK, port))
    except OSError as error:
        raise UsageError(f"{field}: {port} cannot be used: {error}; choose another, or 0 for any") from None
    door.listen()
    return door
