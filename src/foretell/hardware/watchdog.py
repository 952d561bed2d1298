"""The watchdog: who has been silent for too long, while a robot moves, and who is to blame for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from foretell.hardware.file import WatchdogEntry

__all__ = ["Silence", "Watchdog"]


@dataclass(frozen=True)
class Silence:
    """Somebody was silent for too long."""

    blame: Literal["policy", "machine"]
    why: str


class Watchdog:
    """Looked at in every tick. Times are those of `time.monotonic()`."""

    def __init__(self, entry: WatchdogEntry):
        self.entry = entry
        self._until = self._since = 0.0

    def start(self, now: float) -> None:
        """The robot may move from now on. Silence before does not count."""
        self._until, self._since = max(self._until, now), now

    def acted(self, now: float, seconds: float) -> None:
        """The policy gave an action that lasts so long."""
        self._until = max(self._until, now + seconds)

    def silent(self, now: float, *, robot: float, person: float, policy: bool = True) -> Silence | None:
        """Who has been silent for too long. robot, person: when the robot and the terminal were last heard; policy:
        whether a policy drives."""
        entry = self.entry
        if now - robot > entry.link:
            return Silence("machine", f"the robot was silent for {entry.link:g} s (watchdog.link), and was stopped")
        if now - max(person, self._since) > entry.terminal:
            return Silence(
                "machine",
                f"the terminal was silent for {entry.terminal:g} s (watchdog.terminal); the robot was stopped",
            )
        if policy and now - self._until > entry.policy:
            return Silence(
                "policy",
                f"it gave no action for {entry.policy:g} s after the last one ended (watchdog.policy); the robot was "
                "stopped",
            )
        return None
