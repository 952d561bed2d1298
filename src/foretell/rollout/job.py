"""What goes into a driver: one episode to run. What comes out is an `Outcome`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from foretell.episode import Outcome
from foretell.scenario import Scenario

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One episode to run."""

    policy: str
    """Key into the policies that the driver was given."""
    scenario: Scenario
    trial: int = 0
    key: str = ""
    """The episode's key; for messages."""
    video: Path | None = None
    """Where to write an mp4, or None."""
    events: Path | None = None
    """Where to write what happened when, as Parquet, or None."""
    steps: Path | None = None
    """Where to write the true state and the action after every action, as Parquet, or None. The strip of pictures of
    a film goes beside it, as `.jpg`."""
    camera: str | None = None
    """The camera that films; None leaves it to the world."""

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold, for a worker. Paths are absolute, because a worker may run in another folder."""
        values = {}
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            values[name] = str(value.resolve()) if isinstance(value, Path) else value
        return {**values, "scenario": self.scenario.model_dump(mode="json")}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Job:
        """Inverse of `to_dict`."""
        paths = {name: Path(given[name]) for name in ("video", "events", "steps") if given.get(name)}
        return cls(**{**given, **paths, "scenario": Scenario.model_validate(given["scenario"])})
