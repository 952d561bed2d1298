"""How closely a world's robot follows recorded motion. The fit of θ to it will come here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.identify.recording import read_recordings
from foretell.identify.replay import Likeness, free_space, replay
from foretell.registry import names, resolve
from foretell.robots import Robot, controllers
from foretell.sim.params import load_world
from foretell.world_file import WorldFile

__all__ = ["Identified", "identify"]


@dataclass(frozen=True)
class Identified:
    """How closely a world follows each sequence of a file."""

    robot: str
    world: str
    sequences: tuple[Likeness, ...]

    def to_list(self) -> list[dict[str, Any]]:
        """One object for each sequence, JSON-able."""
        return [asdict(likeness) for likeness in self.sequences]

    def text(self) -> str:
        """A table."""
        wide = max(len("sequence"), *(len(s.sequence) for s in self.sequences))
        lines = [f"{'sequence':<{wide}}  actions  joint RMS  tool, at most         IK failures (recorded)"]
        for s in self.sequences:
            tool = "not recorded" if s.ee_mm_max is None else f"{s.ee_mm_max:.2f} mm, {s.ee_deg_max:.3f} deg"
            recorded = "" if s.ik_failures_recorded is None else f" ({s.ik_failures_recorded})"
            lines.append(
                f"{s.sequence:<{wide}}  {s.actions:>7}  {s.joint_rms:>9.5f}  {tool:<20}  {s.ik_failures}{recorded}"
            )
        return "\n".join(lines)


def identify(
    file: str | Path,
    robot: str,
    *,
    world: str | Path | Mapping[str, Any] | WorldFile = "mujoco",
    controller: str | None = None,
    fit: bool = True,
) -> Identified:
    """Replay the recorded actions of a file (see `foretell.identify.recording`) in a world, in free space, and compare
    joints and tool after every action.

    `fit=False` compares with θ as it is. To fit θ is not possible yet, so `fit=True` is refused.
    """
    if fit:
        raise UsageError("identify: θ cannot be fitted yet; use --no-fit (fit=False) to compare with θ as it is")
    known = names("robots")
    if robot not in known and ":" not in robot:
        raise UsageError(f"identify: robot {robot!r:.100} is not known; {suggest(robot, known)}")
    kind = resolve("robots", robot)
    if not (isinstance(kind, type) and issubclass(kind, Robot) and kind.groups):
        raise UsageError(f"identify: {robot!r:.100} should be a subclass of foretell.robots.Robot with `groups`")
    task = free_space(robot, kind, controller)
    joints = sum(len(group.joints) for group in kind.groups.values())
    _, action = controllers(task.controller, {"robot": kind()}, 1, 0.002)
    recordings = read_recordings(file, joints, action.size)
    return Identified(robot, load_world(world).name, tuple(replay(recordings, task, world)))
