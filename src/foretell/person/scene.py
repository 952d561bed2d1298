"""A scene in words: where each object goes, in the task frame and from the robot's base, and what else to set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from foretell.scenario import Scenario
from foretell.tasks.frame import from_base

__all__ = ["objects_of", "scene_words"]


def scene_words(scenario: Scenario, about: Mapping[str, Any] | None) -> str:
    """How to set a scene. `about`: the frame of its task (see `tasks.frame`), where it is known."""
    lines = _joints(scenario, about)
    lines += [line for thing in objects_of(scenario, about) if (line := _from_base(thing))]
    return "\n".join([scenario.card(), *(f"  {line}" for line in lines)])


def objects_of(scenario: Scenario, about: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Of each object: object, asset, `x` and `y` in the task frame, `ahead` and `left` of the base of the first `robot`
    (m; None if the frame is unknown), `yaw` in degrees, and `scale`."""
    robots = list((about or {}).get("robots", {}).items())
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
