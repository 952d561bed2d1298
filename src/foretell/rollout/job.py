"""What goes into a driver and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from foretell.scenario import Scenario

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True)
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


@dataclass
class Outcome:
    """How one episode went; the study makes a row of it."""

    success_any: bool | None = None
    success_end: bool | None = None
    success: bool | None = None
    score: float | None = None
    stages: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    events: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    sim_s: float = 0.0
    end: str = "time_limit"
    blame: str | None = None
    error: str | None = None
    failure_reason: str | None = None
    judge: str = "task"
    """Who judged: task, person or detector."""
    wall_started: float = 0.0
    wall_s: float = 0.0
    wall_policy_s: float = 0.0
    trace: str | None = None
    """The traceback of what the policy raised. No column: it goes into a file of its own."""
