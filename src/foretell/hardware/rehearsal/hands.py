"""The hands in a rehearsal: whoever plays the person sets the table with them, asks how it went, and makes the link
fail."""

from __future__ import annotations

import socket
import threading
from typing import Any

from foretell import __version__
from foretell.errors import UsageError
from foretell.hardware import wire
from foretell.scenario import Scenario

__all__ = ["Hands"]

PATIENCE_S = 30.0


class Hands:
    """A link to a rehearsal's second socket, such as 127.0.0.1:8701."""

    def __init__(self, address: str):
        host, _, port = address.rpartition(":")
        try:
            self._link = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        except (OSError, ValueError) as error:
            raise UsageError(f"hands: nobody answers at {address!r:.100}: {error}; is the rehearsal running?") from None
        self._lock, self._calls = threading.Lock(), 0
        wire.send(self._link, {"protocol": wire.PROTOCOL, "version": __version__}, PATIENCE_S)
        answer = wire.receive(self._link, PATIENCE_S)
        if words := answer.get("refused"):
            self.close()
            raise UsageError(f"hands: {words}")

    def set(self, scenario: Scenario, trial: int = 0, moved: str = "stay") -> None:
        """Set the table as a scenario has it. The arm stays where it stands, or is moved `home`. A base is carried to
        its start."""
        self._call("set", scenario=scenario.model_dump(mode="json"), trial=trial, moved=moved)

    def truth(self) -> dict[str, Any]:
        """How the task judges what happened since the table was set: success at this moment, score, stages (s), events,
        metrics; and `seconds` since then."""
        answer: dict[str, Any] = self._call("truth")
        return answer

    def fault(self, kind: str, **values: Any) -> None:
        """Let the link fail; see `LinkFaults.KINDS`."""
        self._call("fault", kind=kind, **values)

    def mend(self) -> None:
        """End all faults."""
        self._call("mend")

    def log(self, since: int = 0) -> list[tuple[float, str, dict[str, float] | None]]:
        """Every call of the robot: when (`time.monotonic`), which, and the action."""
        return [(when, call, action) for when, call, action in self._call("log", since=since)]

    def end(self) -> None:
        """End the rehearsal."""
        self._call("end")
        self.close()

    def close(self) -> None:
        self._link.close()

    def _call(self, name: str, **arguments: Any) -> Any:
        with self._lock:
            self._calls += 1
            wire.send(self._link, {"id": self._calls, "call": name, "arguments": arguments}, PATIENCE_S)
            answer = wire.receive(self._link, PATIENCE_S)
        if "error" in answer:
            raise UsageError(str(answer["error"]))
        return answer.get("answer")
