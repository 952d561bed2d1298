"""What SIMPLER's tasks of the Google Robot share: cabinet, robot, hold. They stem from the data set Fractal (RT-1).

The task frame is SIMPLER's world with the other sign of x and y, and z above the table: the robot looks along x. Every
number is that of SIMPLER's code or was measured on its engine (docs/simpler.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.arrays import Floats
from foretell.camera import Camera
from foretell.objects import arena
from foretell.rotation import multiply, rotate
from foretell.scenario import Placement, Scenario
from foretell.tasks.bridge import TURNED
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Variants
from foretell.tasks.waypoints import Hand, Seen, Vector, pointing

__all__ = ["GRIPPED", "TABLE", "Across", "FractalTask", "lying"]

TABLE = 0.8875322
"""Height of the table in SIMPLER's world, m."""
BASE = 0.07905 - TABLE
"""Height of the robot's base, m."""
FLOOR = BASE - 0.064
"""Where its wheels stand, m."""
GRIPPED = 5
"""Actions after which the object must be held, for a firm grasp."""
EDGES = ((0.018, 0.720), (-0.525, 0.105))
"""Ranges of x and y of the cabinet's top, as SIMPLER's photograph shows them."""
TOP, FRONT, DARK = (0.70, 0.60, 0.52, 1.0), (0.72, 0.69, 0.66, 1.0), (0.12, 0.11, 0.11, 1.0)
INCLINED: Vector = (0.289, 0.143, -0.947)
"""Where the hand points at the start. The wrist turns by 1.79 rad at most, so that it cannot point straight down over
most of the table."""
DEEPEST = 1.09
"""How far below a thing's top the tool goes at most, as a share of half its height."""


def lying(asset: str, pos: Sequence[float], quat: Sequence[float]) -> Placement:
    """An object at a pose of SIMPLER's world."""
    w, i, j, k = multiply(TURNED, np.asarray(quat)).tolist()
    return Placement(asset=asset, pos=(-pos[0], -pos[1], pos[2] - TABLE), quat=(w, i, j, k))


def room(spec: mujoco.MjSpec, centre: Vector) -> None:
    """Floor and light about a point, as the camera on the robot's head needs them."""
    arena.room(spec, FLOOR)
    spec.stat.center = centre
    spec.visual.map.znear = 0.016  # of the extent, 2 cm: the camera sits behind the face of the head


@dataclass(frozen=True, kw_only=True)
class Across:
    """To where the fingers can hold a thing across one of its axes, the hand inclined."""

    part: str
    middle: Vector
    half: Vector
    """Middle and half sides of its box, in its own frame, m."""
    depth: float = 0.036
    """How far below the thing's top the tool goes, m; not much below its middle, however."""
    above: float = 0.0
    """How far short of there it stays, against the direction in which the hand points, m."""
    approach: Vector = INCLINED
    axis: int | None = 0
    """The axis of the thing along which the fingers close: 0, 1 or 2 for x, y or z. None: of those that lie level, the
    one along which it is thinnest; of a thing that stands and is round, any."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,)

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        pos, quat = seen[f"{self.part}/pos"], seen[f"{self.part}/quat"]
        sides = rotate(quat, np.diag(self.half))  # (3, 3) a row for each half side
        goal = pos + rotate(quat, np.array(self.middle))
        up = float(np.abs(sides[:, 2]).sum())
        goal[2] += up - min(self.depth, DEEPEST * up)
        approach = np.array(self.approach) / np.linalg.norm(self.approach)
        fingers = rotate(hand[1], np.array([0.0, 1.0, 0.0]))
        axis = self._thinnest(sides) if self.axis is None else self.axis
        across = fingers if axis is None else np.array([*sides[axis, :2], 0.0])
        if across @ fingers < 0:  # fingers may change places
            across = -across
        (x, y, z), (i, j, k) = approach.tolist(), across.tolist()
        return [(goal - self.above * approach, np.array(pointing((x, y, z), (i, j, k))))]

    def _thinnest(self, sides: Floats) -> int | None:
        """The level axis along which the thing is thinnest; None: it is as thin along another."""
        level = sorted((half, axis) for axis, half in enumerate(self.half) if abs(sides[axis, 2]) < half / 2)
        return None if len(level) > 1 and level[1][0] < 1.1 * level[0][0] else level[0][1]


class FractalTask(TabletopTask):
    """A task on top of the cabinet. Subclasses say what stands there and what is asked."""

    version = 2
    robots: Mapping[str, Mount] = {"google_robot": Mount("google_robot", (-0.35, -0.20, BASE), stand=False)}
    controller = "ee_profile+gripper:grip_profile"
    action_rate = 3.0
    time_limit = 80 / 3
    success_rule = "end"
    start_noise = 0.0
    variants: Variants | None = "tabletop"
    clutter: Clutter | None = Clutter(x=(0.08, 0.42), y=(-0.45, 0.05), clearance=0.10)
    film = Camera(pos=(0.95, -1.05, 0.75), target=(0.10, -0.20, 0.05), fovy=45.0)

    def layout(self, index: int, placements: Mapping[str, Placement], instruction: str | None = None) -> Scenario:
        """The published scenario of a number."""
        robots = {name: self.scenario(0).start[name] for name in self.robots}
        start = robots | self.start(np.random.default_rng(0))
        asked = self.instruction if instruction is None else instruction
        return Scenario(task=self.name, seed=index, placements=placements, start=start, instruction=asked)

    def build(self, spec: mujoco.MjSpec) -> None:
        """A cabinet with three drawers, which are only seen."""
        room(spec, (0.1, -0.2, -0.3))
        (near, far), (right, left) = EDGES
        half = (far - near) / 2, (left - right) / 2
        body = spec.worldbody.add_body(name="table", pos=[(near + far) / 2, (right + left) / 2, 0.0])
        arena.box(body, "table/top", (0.0, 0.0, -0.01), (*half, 0.01), TOP, **arena.SURFACE)
        under = body.add_body(name="table/drawers")
        inner = (half[0] - 0.03, half[1] - 0.02, 0.42)
        arena.box(under, "table/body", (0.02, 0.0, -0.44), inner, FRONT, **arena.SURFACE)
        for number, z in enumerate((-0.14, -0.385, -0.63)):
            front = -half[0] + 0.045
            for name, pos, size, colour in (
                ("front", (front, 0.0, z), (0.006, half[1] - 0.03, 0.075), FRONT),
                ("gap", (front + 0.002, 0.0, z + 0.10), (0.006, half[1] - 0.03, 0.02), DARK),
                ("handle", (front - 0.03, 0.0, z + 0.02), (0.004, 0.05, 0.004), DARK),
            ):
                under.add_geom(
                    name=f"table/{name}{number}",
                    type=mujoco.mjtGeom.mjGEOM_BOX,
                    pos=pos,
                    size=size,
                    rgba=colour,
                    contype=0,
                    conaffinity=0,
                    group=2,
                )

    @staticmethod
    def risen(state: State, name: str) -> Floats:
        """(n,) how far above its start an object is, m."""
        risen: Floats = (state.pos(name) - state.start_pos(name))[:, 2]
        return risen
