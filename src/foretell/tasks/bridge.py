"""What SIMPLER's four tasks of the WidowX share: table, robot, placement, rules. They stem from BridgeData V2.

The task frame is that of the robot's base, at the origin of SIMPLER's world: SIMPLER's x and y with the other sign, z
above the table. Every number is that of SIMPLER's code or was measured on its engine (docs/simpler.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects import arena
from foretell.policy import Policy
from foretell.robots.widowx import CAMERAS
from foretell.rotation import Quat, from_yaw, multiply, rotate
from foretell.scenario import Placement, Scenario
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Stage
from foretell.tasks.waypoints import Leg, Over, Shift, Vector, Waypoints, pointing

__all__ = ["TURNED", "BridgeTask", "Thing", "corners", "lying", "on_base", "placed", "stages"]

TABLE = 0.8695316
"""Height of the table in SIMPLER's world, m."""
BASE = (-0.147, -0.028, 0.870 - TABLE)
"""Where the robot stands in the task frame, m."""
MIDDLE = (0.16, 0.0)
"""Middle of the squares on whose corners objects stand."""
MOVED = 0.03
"""How far an object must get in the plane to have been moved, m."""
WITHIN = 0.003
"""How far beyond half the diagonal of the target's box the object's middle may be, m."""
HELD = 5
"""Actions after which the object must be held, for a firm grasp."""
EDGES = ((-0.017, 0.338), (-0.45, 0.293))
"""Ranges of x and y of the table: as SIMPLER's photograph shows three of its edges, and a guess for the fourth."""
WOOD = (0.60, 0.29, 0.16, 1.0)
DOWN = pointing((0, 0, -1), (0, 1, 0))
TURNED = from_yaw(math.pi)
"""From SIMPLER's world to the task frame."""


@dataclass(frozen=True, kw_only=True)
class Thing:
    """An object of a task, as SIMPLER's rules see it."""

    name: str
    asset: str
    size: Vector
    """The box that SIMPLER lists for it, m. Its rule turns the diagonal of the box as the object lies at the start, and
    takes the result for the sides."""
    com: Vector = (0.0, 0.0, 0.0)
    """Its centre of mass, by which it is judged, in its own frame, m."""
    rest: tuple[tuple[Vector, Quat], ...] = (((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),)
    """For each published yaw: where it comes to rest from the point above which it is dropped (m, above the table), and
    how it lies then, in SIMPLER's world."""


def placed(thing: Thing, spot: tuple[float, float], yaw: int = 0) -> Placement:
    """A thing that was dropped at a spot of the task frame with a published yaw, and has come to rest."""
    (x, y, z), quat = thing.rest[yaw]
    return lying(thing, (spot[0] - x, spot[1] - y, z), quat)


def lying(thing: Thing, pos: Vector, quat: Sequence[float]) -> Placement:
    """A thing at a position of the task frame, with an orientation of SIMPLER's world."""
    w, i, j, k = multiply(TURNED, np.asarray(quat)).tolist()
    return Placement(asset=thing.asset, pos=pos, quat=(w, i, j, k))


def on_base(camera: str, base: Vector) -> Camera:
    """A camera that SIMPLER fixes to the base of the robot, in the task frame."""
    own, (x, y, z) = CAMERAS[camera], base
    a, b = own.pos, own.target
    return replace(own, pos=(a[0] + x, a[1] + y, a[2] + z), target=(b[0] + x, b[1] + y, b[2] + z))


def corners(half: float) -> list[tuple[float, float]]:
    """The corners of a published square, in its order."""
    return [(MIDDLE[0] - x, MIDDLE[1] - y) for x, y in itertools.product((-half, half), repeat=2)]


class BridgeTask(TabletopTask):
    """Puts one object on another. Subclasses say which, and where they stand."""

    version = 2
    crowded = True
    source: Thing
    target: Thing
    slack = 0.02
    """How far above the target's top the object's bottom may be, m."""
    alone = True
    """Whether the object must touch nothing but the target and the robot."""
    squares: tuple[float, ...] = (0.075,)
    """Half the sides of the published squares, m."""
    apart = 0.12
    """Least distance of the two objects where they are drawn, m."""

    grasp = (0.0, 0.0)
    """Where the expert's finger tips go: along the object's x axis, and above its origin, m."""
    wide = -1.0
    """How far the expert opens the fingers to take the object: -1 is all the way, +1 shut."""
    release = (0.10, 0.02)
    """How far above the target's origin the expert carries the object, and lets it go, m."""

    robots = {"widowx": Mount("widowx", BASE)}
    controller = "ee_step+gripper:grip_step"
    action_rate = 5.0
    time_limit = 12.0
    success_rule = "end"
    start_noise = 0.0
    ranges = {"Action_Noise": (0.0, 0.005)}  # 1 mm and half a degree: under this controller it adds up
    cameras = {"third_view": on_base("third_view", BASE)}
    clutter: Clutter | None = Clutter(x=(0.02, 0.32), y=(-0.22, 0.22), clearance=0.09)
    film = Camera(pos=(0.62, -0.55, 0.50), target=(0.08, 0.0, 0.06), fovy=45.0)

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Anywhere in the largest published square, turned by anything between the published yaws."""
        half = max(self.squares)
        while True:
            spots = np.asarray(MIDDLE) + rng.uniform(-half, half, (2, 2))
            if np.linalg.norm(spots[0] - spots[1]) >= self.apart:
                break
        placements = {}
        for thing, (x, y) in zip((self.source, self.target), spots.tolist(), strict=True):
            placements[thing.name] = _turned(placed(thing, (x, y)), rng.uniform(0, math.pi / 2), (x, y))
        return placements

    def layouts(self) -> Sequence[Scenario]:
        """Every two corners of each square, in either order, with each yaw."""
        source, target = self.source, self.target
        pairs = [pair for half in self.squares for pair in itertools.permutations(corners(half), 2)]
        return [
            self.layout(index, {source.name: placed(source, a, yaw), target.name: placed(target, b)})
            for index, ((a, b), yaw) in enumerate(itertools.product(pairs, range(len(self.source.rest))))
        ]

    def layout(self, index: int, placements: Mapping[str, Placement]) -> Scenario:
        """The published scenario of a number."""
        start = self.scenario(0).start  # nothing of it is drawn
        return Scenario(task=self.name, seed=index, placements=placements, start=start, instruction=self.instruction)

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec, near=False)
        (near, far), (right, left) = EDGES
        half = (far - near) / 2, (left - right) / 2
        body = spec.worldbody.add_body(name="table", pos=[(near + far) / 2, (right + left) / 2, 0.0])
        arena.box(body, "table/top", (0.0, 0.0, -0.015), (*half, 0.015), WOOD, **arena.SURFACE)
        arena.legs(body, half[0] - 0.04, half[1] - 0.04, -0.03)

    # -- expert -----------------------------------------------------------------------------------------------

    def expert(self) -> Policy:
        return Waypoints({"widowx": self.legs()})

    def legs(self) -> tuple[Leg, ...]:
        """How the expert does it: across the object's length, to above the target, and let go."""
        (x, height), (up, low) = self.grasp, self.release
        source, target = self.source.name, self.target.name
        above = Over(source, (x, 0.0, height + 0.06), DOWN)
        return (
            Leg(name="above", way=above, grip=self.wide, within=0.012, turned=0.1, speed=0.4),
            Leg(name="down", way=Over(source, (x, 0.0, height), DOWN), grip=self.wide, within=0.005, speed=0.25),
            Leg(name="close", way=Shift(), grip=1, within=0.03, hold=3),
            Leg(name="up", way=Shift((0.0, 0.0, up)), grip=1, within=0.02, speed=0.25),
            Leg(name="across", way=Over(target, (0.0, 0.0, up)), grip=1, within=0.008, speed=0.3),
            Leg(name="lower", way=Over(target, (0.0, 0.0, low)), grip=1, within=0.008, hold=1, speed=0.2),
            Leg(name="open", way=Shift(), within=0.03, hold=3),
            Leg(name="leave", way=Shift((0.0, 0.0, 0.08)), within=0.03, speed=0.3),
        )

    # -- rules ------------------------------------------------------------------------------------------------

    def reached(self, state: State) -> dict[str, Bools]:
        held = state.holding("widowx", self.source.name)
        moves = {thing.name: self._way(state, thing) for thing in (self.source, self.target)}
        far = moves[self.source.name]
        moved: Bools = (far > MOVED) & (far > moves[self.target.name])
        return {"grasp": held, "hold": held, "move": moved, "place": self.solved(state)}

    def solved(self, state: State) -> Bools:
        offset = self._middle(state, self.source) - self._middle(state, self.target)
        source, target = self._half(state, self.source), self._half(state, self.target)
        level: Bools = np.linalg.norm(offset[:, :2], axis=1) <= np.linalg.norm(target[:, :2], axis=1) + WITHIN
        height = offset[:, 2]
        on = level & (height > 0) & (height - target[:, 2] - source[:, 2] <= self.slack)
        if not self.alone:
            return on
        name = self.source.name
        allowed = state.contacts(name, self.target.name) + state.contacts(name, "widowx")
        return on & (state.contacts(name, "*") <= allowed)

    @staticmethod
    def _way(state: State, thing: Thing) -> Floats:
        """(n,) how far a thing is from its start in the plane, m."""
        way: Floats = np.linalg.norm((state.pos(thing.name) - state.start_pos(thing.name))[:, :2], axis=1)
        return way

    @staticmethod
    def _middle(state: State, thing: Thing) -> Floats:
        """(n, 3) centre of mass."""
        com = np.asarray(thing.com) * state.size(thing.name)[:, None]
        return state.pos(thing.name) + rotate(state.quat(thing.name), com)

    @staticmethod
    def _half(state: State, thing: Thing) -> Floats:
        """(n, 3) half the box of a thing, as SIMPLER turns it."""
        box = np.asarray(thing.size) * state.size(thing.name)[:, None]
        half: Floats = rotate(state.start_quat(thing.name), box) / 2
        return half


STAGES = (
    Stage("grasp", "both fingers touch the {0}"),
    Stage("hold", "both fingers touch the {0} after 5 successive actions", HELD),
    Stage("move", "the {0} is more than 3 cm from its start, and farther than the {1} from its own"),
    Stage("place", "the {0} is on the {1}, by SIMPLER's rule"),
)


def stages(source: str, target: str) -> tuple[Stage, ...]:
    """The stages of a task, in words."""
    return tuple(Stage(s.name, s.threshold.format(source, target), s.actions) for s in STAGES)


def _turned(placement: Placement, yaw: float, about: tuple[float, float]) -> Placement:
    """A placement turned about a vertical axis."""
    turn = from_yaw(yaw)
    arm = np.array([placement.pos[0] - about[0], placement.pos[1] - about[1], 0.0])
    x, y, _ = (rotate(turn, arm) + [*about, 0.0]).tolist()
    w, i, j, k = multiply(turn, np.asarray(placement.quat)).tolist()
    return placement.model_copy(update={"pos": (x, y, placement.pos[2]), "quat": (w, i, j, k)})
