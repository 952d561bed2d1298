"""A trace: where the parts of a scene truly are, as named numbers."""

from __future__ import annotations

from collections.abc import Collection

from foretell.sim.layout import Layout
from foretell.sim.state import Rows

__all__ = ["traced"]


def traced(layout: Layout, slot: int, state: Rows, placed: Collection[str]) -> dict[str, float]:
    """Positions of tools and of placed parts in m, openings of grippers, and joints of placed parts. `state` is that of
    the slot alone."""
    scene = layout.scene
    points = {name: state.ee_pos(name)[0] for name in layout.tools}
    points |= {name: state.pos(name)[0] for name in placed}
    values = {f"{name}/{axis}": float(v) for name, p in points.items() for axis, v in zip("xyz", p, strict=True)}
    for name, robot in scene.robots.items():
        for key, group in robot.groups.items():
            if group.pads:
                values[f"{name}/{key}"] = float(layout.qpos[slot, layout.joints[name, key]].sum())
    for name, has in scene.startable.items():
        if name in placed:
            values |= {joint: float(layout.qpos[slot, layout.address[joint]]) for joint in has.joints}
    return values
