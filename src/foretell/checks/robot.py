"""Checks of a robot's world file: what is missing before a study can run on it. Nothing here ever sends an action.

The names of the findings are stable: `file`, `task`, `limits`, `driver`, `keys`, `frames` without touching the robot;
`connects`, `measures`, `rate`, `still`, `leaves` with `connect`.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np

from foretell.checks.report import Report
from foretell.checks.setting import task_of
from foretell.counting import counted
from foretell.hardware.driver import connect as connected
from foretell.hardware.driver import features_of
from foretell.hardware.file import RobotFile
from foretell.hardware.reading import Reading
from foretell.hardware.world import RobotWorld
from foretell.tasks.task import Task

__all__ = ["check_robot"]

LOOKS = 50
"""Observations that are read of a robot that is connected."""
STILL = 0.02
"""rad or m by which a robot that nobody commands may seem to move."""


def check_robot(world: Any, task: str | Task | type[Task], connect: bool = False) -> Report:
    """Check a robot's world file on a task. `connect`: connect to the robot and read it; nothing is sent."""
    report = Report(f"world {world}")
    made: list[Any] = []

    def file() -> tuple[bool, str]:
        made.append(RobotFile.load(str(world) if not isinstance(world, dict) else world))
        joints = sum(1 if not isinstance(j, tuple) else len(j) for j in made[0].joints.values())
        what = counted(joints, "joint") if joints else "a base"
        cameras = counted(len(made[0].cameras), "camera")
        return True, f"{made[0].name!r} maps {what} and {cameras} of {made[0].robot!r}; its hash is {made[0].hash}."

    def fits() -> tuple[bool, str]:
        made.append(RobotWorld(task_of(task), made[0]))
        names = ", ".join(dim.meaning for dim in made[1].action.dims)
        return True, f"task {made[1].task.name!r} with controller {made[1].controller!r} commands {names}."

    if not report.look("file", file) or not report.look("task", fits):
        return report
    robot: RobotWorld = made[1]
    try:
        report.look("limits", lambda: (True, f"{robot.limits.text()}; {_silence(robot)}."))
        report.look("frames", lambda: _frames(robot))
        if report.look("driver", lambda: _driver(robot)) and report.look("keys", lambda: _keys(robot)) and connect:
            _touch(report, robot)
    finally:
        robot.close()
    return report


def _silence(robot: RobotWorld) -> str:
    times = robot.watchdog
    return (
        f"the robot is stopped after {times.policy:g} s without an action, {times.link:g} s without the robot, "
        f"{times.terminal:g} s without the terminal"
    )


def _frames(robot: RobotWorld) -> tuple[bool, str]:
    if not robot.cameras:
        return True, "no camera is mapped: a trial is judged by who sees it, and cannot be judged again."
    if importlib.util.find_spec("av") is None:
        return False, "frames are always kept, and PyAV is missing: pip install 'foretell[video]'."
    return True, f"frames of {', '.join(robot.cameras)} are kept."


def _driver(robot: RobotWorld) -> tuple[bool, str]:
    return True, f"{type(robot.driver).__name__} was made, and is not connected."


def _keys(robot: RobotWorld) -> tuple[bool, str]:
    gives, takes = (features_of(robot.driver, side) for side in ("observation_features", "action_features"))
    streams = ", ".join(robot.features)
    return True, f"the driver gives {len(gives)} and takes {len(takes)} keys; policies can read {streams}."


def _touch(report: Report, robot: RobotWorld) -> None:
    """Connect and read. The driver's `send_action` is never called."""
    readings: list[Reading] = []

    def connects() -> tuple[bool, str]:
        began = time.perf_counter()
        connected(robot.driver)
        return True, f"in {time.perf_counter() - began:.1f} s, without calibration."

    def measures() -> tuple[bool, str]:
        readings.append(robot.measure())
        if (wrong := robot.limits.check(readings[0])) is not None:
            return False, f"{wrong}."
        values = ", ".join(f"{value:.3g}" for value in readings[0].channels)
        return True, f"in our units: {values}. Compare them with the robot: a wrong sign or offset shows here."

    def rate() -> tuple[bool, str]:
        began = time.perf_counter()
        readings.extend(robot.measure() for _ in range(LOOKS))
        each = (time.perf_counter() - began) / LOOKS
        gaps = np.diff([reading.at for reading in readings[1:]])
        most, period = float(gaps.max()), robot.tick
        words = (
            f"an observation takes {1e3 * each:.1f} ms, {1e3 * most:.1f} ms at most; a period has {1e3 * period:.1f} ms"
        )
        if most > robot.watchdog.link:
            return False, f"{words}: the watchdog of the link ({robot.watchdog.link:g} s) would stop the robot."
        if each > period:
            return False, f"{words}: fewer than {robot.tick**-1:g} sends per second are possible; lower `rate`."
        return True, f"{words}."

    def still() -> tuple[bool, str]:
        spread = np.ptp([reading.channels for reading in readings], axis=0)
        return float(spread.max()) <= STILL, f"nobody commands the robot, and it moved by up to {spread.max():.2g}."

    def leaves() -> tuple[bool, str]:
        robot.driver.disconnect()
        return True, "the robot is disconnected; nothing was sent."

    if report.look("connects", connects):
        if report.look("measures", measures):
            report.look("rate", rate)
            report.look("still", still)
        report.look("leaves", leaves)
