"""A task's frame: where it lies from the robot's base, and what stands in it. Plain numbers, so that a run folder can
keep them and a person can set the table without the task's code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mujoco

from foretell.errors import ForetellError
from foretell.objects import Fixture, asset
from foretell.objects.outline import object_outline, outlines
from foretell.registry import resolve
from foretell.tasks.starts import robot_kinds
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["describe", "frame", "from_base"]

HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)


def frame(task: Task) -> dict[str, Any]:
    """`robots`: name -> robot, `pos` of its base (m) and `yaw` (degrees) in the task frame, and `drives` if it starts
    anywhere on the floor. `still`: what stands still, as `outlines` gives it. `objects`: asset -> its outline.
    `joints`: fixture, or group of a robot that scenarios start besides its arm -> name and unit of each of its joints,
    in the order of `Scenario.start`. What cannot be drawn is left out."""
    spec = mujoco.MjSpec()
    if isinstance(task, TabletopTask):
        task.build(spec)
    described: dict[str, Any] = {"robots": {}, "still": [], "objects": {}, "joints": {}}
    for name, mount in task.robots.items():
        w, x, y, z = mount.quat
        yaw = math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
        described["robots"][name] = {"robot": mount.robot, "pos": list(mount.pos), "yaw": round(yaw, 3)}
        if resolve("robots", mount.robot).first() == "base":
            described["robots"][name]["drives"] = True
    described["joints"] |= _groups(task)
    try:
        described["still"] = outlines(spec.compile())
        for name, placed in task.scenario(0).placements.items():
            if isinstance(fixture := asset(placed.asset), Fixture) and fixture.joints:
                described["joints"][name] = [[joint, has.unit] for joint, has in fixture.joints.items()]
            described["objects"][placed.asset] = object_outline(placed.asset)
    except (ForetellError, ValueError):  # a shape that has no outline, or a scene that compiles only as a whole
        pass
    return described


def _groups(task: Task) -> dict[str, list[list[str]]]:
    """Groups of robots that scenarios start somewhere, but for first ones and grippers, which robots set themselves."""
    starts, joints = task.scenario(0).start, dict[str, list[list[str]]]()
    for name, kind in robot_kinds(task).items() if isinstance(task, TabletopTask) else ():
        wanted = {
            f"{name}/{key}": group for key, group in kind.groups.items() if key != kind.first() and not group.pads
        }
        for called in wanted.keys() & starts.keys():
            spec = kind().spec(visuals=False)
            hinges = [int(spec.joint(joint).type) == HINGE for joint in wanted[called].joints]
            units = ["rad" if turns else "m" for turns in hinges]
            joints[called] = [list(pair) for pair in zip(wanted[called].joints, units, strict=True)]
    return joints


def from_base(robot: Mapping[str, Any], pos: tuple[float, ...]) -> tuple[float, float, float]:
    """A point of the task frame as seen from a robot's base: ahead, to the left, and up, m."""
    x, y, z = (a - b for a, b in zip(pos, robot["pos"], strict=True))
    turn = math.radians(robot["yaw"])
    ahead, left = x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)
    return ahead + 0.0, left + 0.0, z + 0.0


def describe(table: Mapping[str, Any]) -> str:
    """Where the task frame lies, in words; nothing for a task without a robot."""
    sentences = []
    for name, robot in table["robots"].items():
        ahead, left, up = from_base(robot, (0.0, 0.0, 0.0))
        where = [f"{abs(ahead):.3f} m {'in front of' if ahead >= 0 else 'behind'} the base of {name}"]
        if abs(left) >= 0.0005:
            where.append(f"{abs(left):.3f} m to its {'left' if left > 0 else 'right'}")
        if abs(up) >= 0.0005:
            where.append(f"{abs(up):.3f} m {'above' if up > 0 else 'below'} its foot")
        turned = -robot["yaw"]
        axes = "x points straight ahead of the robot, y to its left"
        if abs(turned) >= 0.05:
            side = "left" if turned > 0 else "right"
            axes = f"x points {abs(turned):.1f}° to the {side} of straight ahead, y 90° to the left of x"
        sentences.append(f"The origin of the task frame is {', '.join(where)}; {axes}, z up.")
    return " ".join(sentences)
