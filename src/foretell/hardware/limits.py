"""What is never exceeded by what is sent to a robot. It is enforced at the last moment, by who sends.

Limits of the world file and of the embodiment hold together, so that a file can only make them tighter. What was
clipped is counted by its reason: `joint`, `velocity`, `step` or `workspace`.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.hardware.file import GripperEntry, RobotFile
from foretell.hardware.mapping import ArmMap, BaseMap
from foretell.hardware.reading import Reading
from foretell.robots.kinematics import Kinematics
from foretell.robots.robot import Robot

__all__ = ["REASONS", "ArmLimits", "BaseLimits", "SendLimits", "make_limits"]

REASONS = ("joint", "velocity", "step", "workspace")
SLACK = 1e-9
"""Rounding does not count as clipped."""
AHEAD_S = 0.25
"""Seconds of driving within which a base must not leave its workspace."""
SLOT = np.zeros(1, dtype=np.int32)


class SendLimits:
    """What arms and bases share."""

    def allow(self, wanted: Floats, last: Floats, seconds: float, reading: Reading) -> tuple[Floats, tuple[str, ...]]:
        """(k,) what may be sent in the place of what is wanted (k,), `seconds` after `last` (k,) was sent; and why it
        differs."""
        raise NotImplementedError

    def still(self, resting: Floats) -> Floats:
        """(k,) targets that hold the robot, within its limits."""
        raise NotImplementedError

    def check(self, reading: Reading) -> str | None:
        """What is wrong with where the robot is, before it moves; None where nothing is."""
        return None

    def text(self) -> str:
        """The limits in words."""
        raise NotImplementedError


class ArmLimits(SendLimits):
    """Of joints and grippers, and of the tool."""

    OUTSIDE = 0.1
    """How far beyond its range a joint may be measured, rad or m; more is a wrong unit, sign or offset."""

    def __init__(self, file: RobotFile, robot: Robot, mapping: ArmMap):
        given, self._names = file.limits, mapping.channels
        if given.turning is not None:
            raise UsageError(f"{file.name}: limits.turning: is for a mobile base; an arm has velocity and step")
        bounds: list[tuple[float, float, float, float]] = []
        turning: list[bool] = []  # joints that turn, of all channels
        for name in mapping.groups:
            group = robot.groups[name]
            if isinstance(file.joints[name], GripperEntry):
                spans = [abs(wide - shut) for _, shut, wide in group.spans]
                bounds.append((0.0, 1.0, min(v / s for v, s in zip(group.speed, spans, strict=True)), np.inf))
                turning.append(False)
                continue
            turns = group.unit == "rad"
            turning += [turns] * len(group.joints)
            fastest, step = (given.velocity or np.inf, given.step or np.inf) if turns else (np.inf, np.inf)
            own = zip(group.low, group.high, group.speed, strict=True)
            bounds += [(low, high, min(speed, fastest), step) for low, high, speed in own]
        self._turning = np.array(turning, dtype=bool)
        self.low, self.high, self.speed, self.step = np.array(bounds, dtype=float).T.copy()
        self._tighten(file)
        self._groups, self._box = mapping.groups, given.workspace
        tools = [name for name in mapping.groups if robot.groups[name].tool]
        self._tool = tools[0] if tools else None
        self._kinematics: Kinematics | None = None
        if self._box is not None:
            if self._tool is None or len(self._box.low) != 3:
                raise UsageError(
                    f"{file.name}: limits.workspace: low and high should have x, y and z of the tool, in m, and the "
                    "arm must be among `joints`"
                )
            self._kinematics = Kinematics(robot, 1, self._tool)  # of the sending thread alone

    def _tighten(self, file: RobotFile) -> None:
        """Take in the limits of single joints."""
        for joint, (least, most) in file.limits.joints.items():
            if joint not in self._names:
                raise UsageError(f"{file.name}: limits.joints.{joint}: no such joint; {suggest(joint, self._names)}")
            at = self._names.index(joint)
            self.low[at], self.high[at] = max(self.low[at], least), min(self.high[at], most)
            if not self.low[at] < self.high[at]:
                raise UsageError(
                    f"{file.name}: limits.joints.{joint}: [{least:g}, {most:g}] leaves nothing of the joint's own range"
                )

    def allow(self, wanted: Floats, last: Floats, seconds: float, reading: Reading) -> tuple[Floats, tuple[str, ...]]:
        if not np.isfinite(wanted).all():
            return last.copy(), ("joint",)
        reasons = []
        target = np.clip(wanted, self.low, self.high)
        if (np.abs(target - wanted) > SLACK).any():
            reasons.append("joint")
        for most, reason in ((self.speed * seconds, "velocity"), (self.step, "step")):
            shorter = self._shortened(target - last, most)
            if (np.abs(last + shorter - target) > SLACK).any():
                reasons.append(reason)
                target = last + shorter
        if self._kinematics is not None and self._tool is not None:
            at = self._groups[self._tool]
            there = self._outside(target[at])
            if there > SLACK and there >= self._outside(last[at]) - SLACK:
                target[at] = last[at]
                reasons.append("workspace")
        return target, tuple(reasons)

    def _shortened(self, way: Floats, most: Floats) -> Floats:
        """(k,) ways (k,) that no channel goes further on than (k,): those of a group shrink together, so that the
        direction is kept."""
        short = way.copy()
        for where in self._groups.values():
            excess = float(np.max(np.abs(way[where]) / most[where]))
            if excess > 1.0:
                short[where] = way[where] / excess
        return short

    def _outside(self, joints: Floats) -> float:
        """m by which the tool is outside its box."""
        assert self._kinematics is not None and self._box is not None
        pos = self._kinematics.forward(SLOT, joints[None])[0][0]
        return float(np.linalg.norm(pos - np.clip(pos, self._box.low, self._box.high)))

    def still(self, resting: Floats) -> Floats:
        return np.clip(resting, self.low, self.high)

    def check(self, reading: Reading) -> str | None:
        for name, value, low, high in zip(self._names, reading.channels, self.low, self.high, strict=True):
            if not low - self.OUTSIDE <= value <= high + self.OUTSIDE:
                return (
                    f"joint {name!r} is measured at {value:.3g}, outside its range of {low:.3g} to {high:.3g}: look at "
                    "its unit, sign, offset and limits in the world file"
                )
        return None

    def text(self) -> str:
        turns = self._turning
        words = [f"joints at most {self.speed[turns].max():.3g} rad/s"] if turns.any() else []
        if np.isfinite(self.step).any():
            words.append(f"{self.step[np.isfinite(self.step)].min():.3g} rad from one send to the next")
        if self._box is not None:
            words.append(f"the tool within {list(self._box.low)} to {list(self._box.high)} m of the robot's base")
        else:
            words.append("no workspace is given, so the tool may go wherever the joints allow")
        return "; ".join(words)


class BaseLimits(SendLimits):
    """Of a mobile base."""

    def __init__(self, file: RobotFile, robot: Robot):
        given, own = file.limits, robot.groups[robot.first()].speed
        for field in ("step", "joints"):
            if getattr(given, field):
                raise UsageError(f"{file.name}: limits.{field}: is for an arm; a base has velocity, turning, workspace")
        self.most = np.array([min(own[0], given.velocity or np.inf), min(own[2], given.turning or np.inf)])
        self._box = given.workspace
        if self._box is not None and len(self._box.low) != 2:
            raise UsageError(f"{file.name}: limits.workspace: low and high should have x and y, in m, for a base")
        if self._box is not None and file.base is not None and file.base.frame == "start":
            raise UsageError(
                f"{file.name}: limits.workspace: is a box in the room, and `base.frame: start` does not tell where the "
                "robot is in it: leave the workspace out, or localise in the map"
            )

    def allow(self, wanted: Floats, last: Floats, seconds: float, reading: Reading) -> tuple[Floats, tuple[str, ...]]:
        if not np.isfinite(wanted).all():
            return np.zeros(2), ("velocity",)
        target = np.clip(wanted, -self.most, self.most)
        reasons = ["velocity"] if (np.abs(target - wanted) > SLACK).any() else []
        if self._box is not None and target[0]:
            x, y, heading = reading.channels
            way = AHEAD_S * target[0] * np.array([np.cos(heading), np.sin(heading)])
            here = np.array([x, y])
            if (there := self._outside(here + way)) > 0 and there >= self._outside(here):
                target[0] = 0.0
                reasons.append("workspace")
        return target, tuple(reasons)

    def _outside(self, place: Floats) -> float:
        assert self._box is not None
        return float(np.linalg.norm(place - np.clip(place, self._box.low, self._box.high)))

    def still(self, resting: Floats) -> Floats:
        return resting

    def text(self) -> str:
        words = f"at most {self.most[0]:.3g} m/s and {np.degrees(self.most[1]):.3g} degrees/s"
        box = self._box
        return f"{words}; within {list(box.low)} to {list(box.high)} m" if box is not None else words


def make_limits(file: RobotFile, robot: Robot, mapping: ArmMap | BaseMap) -> SendLimits:
    """The limits of a world file and its embodiment. Raises UsageError where they do not fit."""
    return ArmLimits(file, robot, mapping) if isinstance(mapping, ArmMap) else BaseLimits(file, robot)
