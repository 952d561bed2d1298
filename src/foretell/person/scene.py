"""A scene in words and as a drawing: where each object goes, in the task frame and from the robot's base, and what else
to set."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.errors import ForetellError
from foretell.person.drawing import STYLE, bounds, close_up, overview
from foretell.scenario import Scenario
from foretell.tasks.frame import from_base

__all__ = ["objects_of", "scene_svg", "scene_words"]


def scene_words(scenario: Scenario, about: Mapping[str, Any] | None) -> str:
    """How to set a scene. `about`: the frame of its task (see `tasks.frame`), where it is known."""
    lines = [*_spots(scenario, about), *_joints(scenario, about)]
    lines += [line for thing in objects_of(scenario, about) if (line := _from_base(thing))]
    return "\n".join([scenario.card(), *(f"  {line}" for line in lines)])


def scene_svg(scenario: Scenario, about: Mapping[str, Any] | None) -> str:
    """The scene from above: a table, or a room where the robot drives. Empty where nothing can be drawn."""
    if about is None or not scenario.placements:
        return ""
    if _drives(about):
        return _room(scenario, about)
    inside = bounds([scenario], about)
    whole, part = overview(scenario, about, inside), close_up(scenario, about, inside)
    return _beside(whole, part)


def _beside(first: str, second: str) -> str:
    """Two drawings below each other, in one picture."""
    sizes = [re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing) for drawing in (first, second)]
    (wide, high), (wide_2, high_2) = ((int(size[1]), int(size[2])) for size in sizes if size is not None)
    width, gap = max(wide, wide_2), 12
    places = [(first, (width - wide) / 2, 0), (second, (width - wide_2) / 2, high + gap)]
    parts = [drawing.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1) for drawing, x, y in places]
    size = f'viewBox="0 0 {width} {high + gap + high_2}"'
    name = 'xmlns="http://www.w3.org/2000/svg"'
    paper = '<rect width="100%" height="100%" fill="#fff"/>'
    return f"<svg {name} {size}><style>{STYLE}</style>{paper}{''.join(parts)}</svg>"


def _drives(about: Mapping[str, Any] | None) -> list[str]:
    """Robots whose start is a place on the floor."""
    return [name for name, robot in (about or {}).get("robots", {}).items() if robot.get("drives")]


def _room(scenario: Scenario, about: Mapping[str, Any]) -> str:
    from foretell.rooms import Room, plan
    from foretell.rooms.picture import Trail

    if "room" not in scenario.placements:
        return ""
    home = scenario.placements["room"].pos
    trails = []
    for name in _drives(about):
        x, y, yaw = scenario.start.get(name, (0.0, 0.0, 0.0))
        x, y = x - home[0], y - home[1]
        trails.append(Trail(points=np.array([(x, y), (x + 0.4 * math.cos(yaw), y + 0.4 * math.sin(yaw))]), group=name))
    goals = [(p.pos[0] - home[0], p.pos[1] - home[1]) for name, p in scenario.placements.items() if name != "room"]
    try:
        return plan(Room.named(scenario.placements["room"].asset), trails, goals=goals)
    except ForetellError:  # a room of somebody else's, which is not here
        return ""


def objects_of(scenario: Scenario, about: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Of each object: object, asset, `x` and `y` in the task frame, `ahead` and `left` of the base of the first `robot`
    (m; None if the frame is unknown), `yaw` in degrees, and `scale`."""
    driving = _drives(about)
    robots = [(name, robot) for name, robot in (about or {}).get("robots", {}).items() if name not in driving]
    objects = []
    for name, placed in sorted(scenario.placements.items()):
        ahead, left, _ = from_base(robots[0][1], placed.pos) if robots else (None, None, None)
        objects.append(
            {
                "object": name,
                "asset": placed.model,
                "x": placed.pos[0],
                "y": placed.pos[1],
                "yaw": math.degrees(placed.yaw),
                "scale": list(placed.scale),
                "robot": robots[0][0] if robots else None,
                "ahead": ahead,
                "left": left,
            }
        )
    return objects


def _spots(scenario: Scenario, about: Mapping[str, Any] | None) -> list[str]:
    """Where robots that drive start."""
    lines = []
    for name in _drives(about):
        if len(start := scenario.start.get(name, ())) == 3:
            x, y, yaw = start
            lines.append(f"{name}: put it at x {x:+.3f} m, y {y:+.3f} m, facing {math.degrees(yaw):+.0f}°")
    return lines


def _joints(scenario: Scenario, about: Mapping[str, Any] | None) -> list[str]:
    """How far to open drawers, lids and the like."""
    lines = []
    for name, joints in ((about or {}).get("joints") or {}).items():
        for (joint, unit), value in zip(joints, scenario.start.get(name, ()), strict=False):
            where = f"{math.degrees(value):+.0f}°" if unit == "rad" else f"{value:+.3f} {unit}"
            lines.append(f"{name}: set {joint} to {where}")
    return lines


def _from_base(thing: Mapping[str, Any]) -> str:
    if thing["robot"] is None:
        return ""
    aside = f"{abs(thing['left']):.3f} m to its {'left' if thing['left'] >= 0 else 'right'}"
    where = f"{thing['ahead']:.3f} m ahead, {aside}"
    return f"{thing['object']} from the base of {thing['robot']}: {where}"
