"""The driver's numbers and ours: units, order and signs of joints, the range of a gripper, cameras and their crops.

What is commanded goes over *channels*: each joint of an arm in rad (a slide in m), a gripper as the share that it is
open. A base has two, its speed ahead (m/s) and its turning speed (rad/s), and measures a pose instead.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.arrays import Bytes, Floats
from foretell.errors import UsageError, WorldError, suggest
from foretell.hardware.cameras import check_camera, picture_of
from foretell.hardware.driver import RobotDriver, features_of
from foretell.hardware.file import BaseEntry, GripperEntry, JointEntry, RobotFile
from foretell.hardware.reading import Reading
from foretell.robots.robot import Group, Robot

__all__ = ["ArmMap", "BaseMap", "KeyMap", "make_map"]

PER_UNIT = {"rad": 1.0, "deg": 180.0 / math.pi, "m": 1.0, "mm": 1000.0}
"""The driver's units for a rad or a metre."""


class KeyMap:
    """What arms and bases share: cameras, and what is held."""

    channels: tuple[str, ...]
    """Our name of each channel that is commanded."""
    coasts = False
    """Whether the robot goes on by itself until it is told otherwise."""

    def __init__(self, file: RobotFile):
        self.file = file
        self._held = dict(file.hold)

    def read(self, observation: Any) -> Reading:
        """An observation in our units. Raises WorldError where it is not what the driver declares."""
        if not isinstance(observation, Mapping):
            raise WorldError(f"get_observation returned {type(observation).__name__} instead of a mapping of keys")
        frames = {name: picture_of(observation, camera) for name, camera in self.file.cameras.items()}
        kept = {key: number_of(observation, key) for key, value in self.file.hold.items() if value is None}
        return self._read(observation, frames, kept)

    def begin(self, reading: Reading) -> None:
        """A trial begins: what is held as it is measured is held so from now on."""
        self._held |= reading.raw

    def write(self, targets: Floats) -> dict[str, float]:
        """The driver's action for targets (k,) of the channels."""
        held = {key: value for key, value in self._held.items() if value is not None}
        return {**held, **self._write(targets)}

    def back(self, action: Any, targets: Floats) -> Floats:
        """(k,) the channels of an action that the driver says it has sent; those of `targets` where it does not say."""
        raise NotImplementedError

    def resting(self, reading: Reading) -> Floats:
        """(k,) the targets that hold the robot where it is."""
        raise NotImplementedError

    def _read(self, observation: Mapping[str, Any], frames: dict[str, Bytes], kept: dict[str, float]) -> Reading:
        raise NotImplementedError

    def _write(self, targets: Floats) -> dict[str, float]:
        raise NotImplementedError

    @property
    def _keys(self) -> tuple[dict[str, str], dict[str, str]]:
        """Field -> key of what is observed, and of what is sent."""
        raise NotImplementedError

    def check(self, driver: RobotDriver) -> None:
        """Raises UsageError for a key that the driver does not have, has in another shape, or wants and does not get.
        The driver need not be connected."""
        where = f"{self.file.name}: driver"
        gives, takes = (features_of(driver, side, where) for side in ("observation_features", "action_features"))
        observed, sent = self._keys
        observed |= {f"hold.{key}": key for key, value in self.file.hold.items() if value is None}
        sent |= {f"hold.{key}": key for key in self.file.hold}
        for known, keys, side in ((gives, observed, "observation"), (takes, sent, "action")):
            for field, key in keys.items():
                if twice := next((other for other in keys if other != field and keys[other] == key), None):
                    raise UsageError(
                        f"{self.file.name}: {field}: key {key!r} is that of {twice} too; each has a key of its own"
                    )
                if key not in known:
                    raise UsageError(
                        f"{self.file.name}: {field}: the driver's {side} has no key {key!r}; {suggest(key, known)}"
                    )
                if known[key] != () and not field.endswith("lidar"):
                    raise UsageError(
                        f"{self.file.name}: {field}: key {key!r} of the driver's {side} has shape {known[key]}, and it "
                        "should be a single number"
                    )
        for key, value in self.file.hold.items():
            if value is not None and (value != 0 if self.coasts else key in gives):
                why = "a base would go on driving" if self.coasts else "the robot would jump there: use null to keep it"
                raise UsageError(f"{self.file.name}: hold.{key}: {value:g} is sent at once, without limits, and {why}")
        if left := [key for key in takes if key not in sent.values()]:
            raise UsageError(
                f"{self.file.name}: hold: the driver's action also has {', '.join(map(repr, left))}: give each a "
                f"number that is always sent, or null to keep what is measured, such as hold: {{{left[0]}: null}}"
            )
        for name, camera in self.file.cameras.items():
            check_camera(f"{self.file.name}: cameras.{name}", camera, gives)


class ArmMap(KeyMap):
    """Joints and grippers."""

    def __init__(self, file: RobotFile, robot: Robot):
        super().__init__(file)
        self.robot = robot
        self.groups: dict[str, slice] = {}
        """Group -> its channels."""
        names: list[str] = []
        entries: list[JointEntry | GripperEntry] = []
        for name, given in file.joints.items():
            group = _group(file, robot, name, given)
            begin = len(entries)
            names += [name] if isinstance(given, GripperEntry) else list(group.joints)
            entries += [given] if isinstance(given, GripperEntry) else given
            self.groups[name] = slice(begin, len(entries))
        self.channels, self._entries = tuple(names), entries
        ends = [_line(entry) for entry in entries]
        self._zero, self._slope = np.array([z for z, _ in ends]), np.array([s for _, s in ends])

    @property
    def _keys(self) -> tuple[dict[str, str], dict[str, str]]:
        keys = {f"joints.{name}": e.key for name, e in zip(self.channels, self._entries, strict=True)}
        return dict(keys), dict(keys)

    def _read(self, observation: Mapping[str, Any], frames: dict[str, Bytes], kept: dict[str, float]) -> Reading:
        values = np.array([number_of(observation, entry.key) for entry in self._entries])
        channels = (values - self._zero) / self._slope
        return Reading(at=time.monotonic(), channels=channels, frames=frames, raw=kept)

    def _write(self, targets: Floats) -> dict[str, float]:
        values = self._zero + self._slope * targets
        return {entry.key: float(value) for entry, value in zip(self._entries, values, strict=True)}

    def back(self, action: Any, targets: Floats) -> Floats:
        sent = np.array(targets, dtype=float)
        for at, entry in enumerate(self._entries):
            value = action.get(entry.key) if isinstance(action, Mapping) else None
            if isinstance(value, int | float | np.number) and math.isfinite(value):
                sent[at] = (float(value) - self._zero[at]) / self._slope[at]
        return sent

    def resting(self, reading: Reading) -> Floats:
        return reading.channels.copy()

    def joints(self, group: str, channels: Floats) -> Floats:
        """(joints,) positions of a group of the embodiment."""
        own, has = channels[self.groups[group]], self.robot.groups[group]
        if not isinstance(self.file.joints[group], GripperEntry):
            return own.copy()
        return np.array([shut + own[0] * (wide - shut) for _, shut, wide in has.spans])

    def targets(self, group: str, motors: Floats) -> Floats:
        """(channels,) of a group, of targets (width,) for the actuators of the embodiment."""
        if not isinstance(self.file.joints[group], GripperEntry):
            return np.asarray(motors)
        _, shut, wide = self.robot.groups[group].spans[0]
        return np.array([np.clip((float(np.mean(motors)) - shut) / (wide - shut), 0.0, 1.0)])


class BaseMap(KeyMap):
    """A mobile base."""

    channels = ("ahead", "turning")
    coasts = True

    def __init__(self, file: RobotFile, robot: Robot):
        super().__init__(file)
        assert file.base is not None
        self.entry: BaseEntry = file.base
        self._degrees = self.entry.unit == "deg/s"
        self._beams = int(getattr(robot, "BEAMS", 0))

    @property
    def _keys(self) -> tuple[dict[str, str], dict[str, str]]:
        entry = self.entry
        observed = {f"base.pose.{axis}": key for axis, key in zip(("x", "y", "theta"), entry.pose, strict=True)}
        observed |= {f"base.{n}": key for n in ("bump", "lidar") if (key := getattr(entry, n)) is not None}
        return observed, {"base.x": entry.x, "base.theta": entry.theta}

    def _read(self, observation: Mapping[str, Any], frames: dict[str, Bytes], kept: dict[str, float]) -> Reading:
        x, y, heading = (number_of(observation, key) for key in self.entry.pose)
        pose = np.array([x, y, math.radians(heading) if self._degrees else heading])
        bump = number_of(observation, self.entry.bump) if self.entry.bump is not None else 0.0
        lidar = np.zeros(0)
        if (key := self.entry.lidar) is not None:
            lidar = np.asarray(observation.get(key, ()), dtype=float)
            if lidar.shape != (self._beams,) or not np.isfinite(lidar).all():
                raise WorldError(
                    f"base.lidar: key {key!r} should hold {self._beams} finite distances (given: shape {lidar.shape})"
                )
        return Reading(at=time.monotonic(), channels=pose, frames=frames, bump=bump, lidar=lidar, raw=kept)

    def _write(self, targets: Floats) -> dict[str, float]:
        ahead, turning = targets.tolist()
        return {self.entry.x: ahead, self.entry.theta: math.degrees(turning) if self._degrees else turning}

    def back(self, action: Any, targets: Floats) -> Floats:
        sent = np.array(targets, dtype=float)
        for at, key in enumerate((self.entry.x, self.entry.theta)):
            value = action.get(key) if isinstance(action, Mapping) else None
            if isinstance(value, int | float | np.number) and math.isfinite(value):
                sent[at] = math.radians(value) if at and self._degrees else value
        return sent

    def resting(self, reading: Reading) -> Floats:
        return np.zeros(2)


def make_map(file: RobotFile, robot: Robot) -> ArmMap | BaseMap:
    """The mapping of a world file to an embodiment. Raises UsageError where they do not fit."""
    return BaseMap(file, robot) if file.base is not None else ArmMap(file, robot)


def _group(file: RobotFile, robot: Robot, name: str, given: tuple[JointEntry, ...] | GripperEntry) -> Group:
    where = f"{file.name}: joints.{name}"
    if name not in robot.groups:
        raise UsageError(f"{where}: robot {robot.name!r} has no such group; {suggest(name, robot.groups)}")
    group = robot.groups[name]
    if isinstance(given, GripperEntry):
        if not group.pads:
            raise UsageError(f"{where}: this group is no gripper; list its joints: {', '.join(group.joints)}")
    elif len(given) != len(group.joints) or group.width != len(group.joints):
        raise UsageError(
            f"{where}: {len(given)} joints are given, and the group has {len(group.joints)}, in this order: "
            f"{', '.join(group.joints)}"
        )
    elif wrong := next((e for e in given if e.scale is None and e.unit not in _UNITS.get(group.unit, ())), None):
        allowed = " or ".join(_UNITS.get(group.unit, ())) or "no unit"
        raise UsageError(f"{where}: key {wrong.key!r} has unit {wrong.unit!r}, and the group takes {allowed}")
    return group


_UNITS = {"rad": ("rad", "deg"), "m": ("m", "mm")}


def _line(entry: JointEntry | GripperEntry) -> tuple[float, float]:
    """The driver's number at our 0, and how many of its units one of ours is."""
    if isinstance(entry, GripperEntry):
        return entry.closed, entry.open - entry.closed
    return entry.offset, entry.sign * (PER_UNIT[entry.unit] if entry.scale is None else entry.scale)


def number_of(observation: Mapping[str, Any], key: str) -> float:
    """A number of an observation. Raises WorldError."""
    if key not in observation:
        raise WorldError(f"get_observation returned no key {key!r}; {suggest(key, map(str, observation))}")
    value = observation[key]
    if np.size(value) != 1 or not np.issubdtype(np.asarray(value).dtype, np.number):
        raise WorldError(f"get_observation: {key!r} should be a single number (given: {value!r:.80})")
    number = float(np.asarray(value).reshape(()))
    if not math.isfinite(number):
        raise WorldError(f"get_observation: {key!r} is {number}, which is no position; is the sensor connected?")
    return number
