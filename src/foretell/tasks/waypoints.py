"""Waypoints: scripted experts that drive one robot or several, along lines, paths and arcs, with grip and rotation.

    Waypoints({
        "panda": (
            Leg(name="before", way=To("cabinet/handle", (-0.1, 0, 0), pointing((1, 0, 0), (0, 1, 0)))),
            Leg(name="at", way=To("cabinet/handle", facing=pointing((1, 0, 0), (0, 1, 0))), speed=0.5),
            Leg(name="close", way=Shift(), grip=1, hold=10),
            Leg(name="pull", way=Shift((-0.2, 0, 0)), grip=1, speed=0.4),
        )
    })

They see and command what any policy does. Positions in m; orientations are quaternions (w, x, y, z) of the tool, whose
z points out of the hand and whose y is the direction in which the fingers open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.policy import Policy, PolicySpec
from foretell.registry import resolve
from foretell.rotation import (
    Quat,
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    rotate,
    to_axis_angle,
    yaw,
)
from foretell.spec import ActionSpec, DimSpec, Stream

__all__ = ["Arc", "Leg", "Over", "Path", "Shift", "To", "Way", "Waypoints", "pointing"]

Vector = tuple[float, float, float]
Seen = Mapping[str, np.ndarray]
Hand = tuple[np.ndarray, np.ndarray]
"""Position (3,) and orientation (4,) of a tool in the task frame."""
STEP = 0.1
"""Angle between two points of an arc, rad."""


@lru_cache(maxsize=256)  # a thing at rest is asked for at every action
def pointing(approach: Vector, opening: Vector) -> Quat:
    """The orientation of a tool that points along `approach` and whose fingers open along `opening`."""
    z = np.asarray(approach, dtype=float) / np.linalg.norm(approach)
    y = np.asarray(opening, dtype=float)
    y = y - (y @ z) * z  # at a right angle to the approach
    if np.linalg.norm(y) < 1e-6:
        raise UsageError(f"pointing: the fingers cannot open along {tuple(opening)}, which is the approach itself")
    y /= np.linalg.norm(y)
    w, i, j, k = from_matrix(np.column_stack([np.cross(y, z), y, z])).tolist()
    return w, i, j, k


class Way(Protocol):
    """How a hand gets somewhere."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts whose poses it depends on."""

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        """The poses to go through, the goal last; `hand` is the pose at which the leg began."""


@dataclass(frozen=True)
class To:
    """Straight to a pose in the frame of a part, or of the task."""

    part: str | None
    """`cube`, `cabinet/handle`; None: the task frame."""
    pos: Vector = (0.0, 0.0, 0.0)
    facing: Quat | None = None
    """None: keep the orientation that the hand has. Fingers may change places, whichever is nearer."""
    symmetry: float | None = None
    """The part looks the same after a turn by this about its z, rad: of these poses the hand takes the nearest."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,) if self.part else ()

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        pos, quat = self._frame(seen)
        if self.facing is None:
            return [(pos + rotate(quat, np.array(self.pos)), hand[1])]
        turns = round(2 * math.pi / self.symmetry) if self.symmetry else 1
        about = [multiply(quat, from_yaw(2 * math.pi * k / turns)) for k in range(turns)]
        poses = [
            (pos + rotate(q, np.array(self.pos)), multiply(multiply(q, np.array(self.facing)), half))
            for q in about
            for half in (from_yaw(0.0), from_yaw(math.pi))  # two fingers hold as well when they change places
        ]
        return [min(poses, key=lambda pose: float(np.linalg.norm(_turn(pose[1], hand[1]))))]

    def _frame(self, seen: Seen) -> Hand:
        return _pose(self.part, seen)


@dataclass(frozen=True)
class Over(To):
    """As `To`, in a frame that is upright: turned about the vertical as the part's x axis points. For what may roll."""

    def _frame(self, seen: Seen) -> Hand:
        pos, quat = _pose(self.part, seen)
        return pos, from_yaw(float(yaw(quat)))


@dataclass(frozen=True)
class Shift:
    """Straight on by so much in the task frame, from where the leg began. By nothing: stay."""

    by: Vector = (0.0, 0.0, 0.0)
    parts: tuple[str, ...] = ()

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        return [(hand[0] + np.array(self.by), hand[1])]


@dataclass(frozen=True)
class Path:
    """Through several ways, one after the other, without a stop."""

    ways: tuple[Way, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for way in self.ways for part in way.parts)

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        hands: list[Hand] = []
        for way in self.ways:
            hands += way.points(hands[-1] if hands else hand, seen)
        return hands


@dataclass(frozen=True, kw_only=True)
class Arc:
    """Round an axis, from where the leg began: a lid, a knob, a door."""

    part: str | None
    """The part in whose frame the axis lies; None: the task frame."""
    axis: Vector
    angle: float
    """rad, by the right-hand rule."""
    centre: Vector = (0.0, 0.0, 0.0)
    """A point on the axis."""
    turns: bool = True
    """Whether the hand turns with it, as one that holds a lid does."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,) if self.part else ()

    def points(self, hand: Hand, seen: Seen) -> list[Hand]:
        pos, quat = _pose(self.part, seen)
        centre, axis = pos + rotate(quat, np.array(self.centre)), rotate(quat, np.array(self.axis, dtype=float))
        axis /= np.linalg.norm(axis)
        steps = max(1, math.ceil(abs(self.angle) / STEP))
        hands = []
        for step in range(1, steps + 1):
            turn = from_axis_angle(axis * self.angle * step / steps)
            facing = multiply(turn, hand[1]) if self.turns else hand[1]
            hands.append((centre + rotate(turn, hand[0] - centre), facing))
        return hands


@dataclass(frozen=True, kw_only=True)
class Leg:
    """One leg of a robot's way. It ends at the goal, after `hold` actions there."""

    name: str
    way: Way
    grip: float = -1.0
    """-1 open, +1 closed, and between."""
    within: float = 0.01
    """Distance from the goal that counts as there, m."""
    turned: float = 0.06
    """Rotation error that counts as there, rad."""
    hold: int = 0
    speed: float = 1.0
    """Share of the full speed."""
    frozen: bool = False
    """Look at the parts once, when the leg begins: for a goal in the frame of what the hand moves."""
    after: tuple[str, str] | None = None
    """(robot, leg): it begins when that robot has ended that leg; till then the hand stays."""


class Waypoints(Policy):
    """Takes each robot along its legs, in every slot at its own pace. A robot stays at the end of its last leg."""

    TRANSLATION, ROTATION = 0.6, 0.35
    """Largest action used, as a share of the action's range."""
    PASS = 0.02
    """Distance at which a point on the way counts as passed, m."""

    def __init__(self, legs: Mapping[str, Sequence[Leg]]):
        self.legs = {robot: tuple(way) for robot, way in legs.items()}
        ends = [(robot, leg.name) for robot, way in self.legs.items() for leg in way]
        for robot, leg in ((robot, leg) for robot, way in self.legs.items() for leg in way):
            if leg.after is not None and leg.after not in ends:
                awaited, known = "/".join(leg.after), ["/".join(end) for end in ends]
                what = f"leg {leg.name!r} of {robot} waits for {awaited!r}, which is no leg"
                raise UsageError(f"waypoints: {what}; {suggest(awaited, known)}")
        parts = dict.fromkeys(part for way in self.legs.values() for leg in way for part in leg.way.parts)
        self._poses = {f"{part}/{what}": Stream((n,)) for part in parts for what, n in (("pos", 3), ("quat", 4))}
        self._runs: dict[tuple[str, int], _Run] = {}

    def bind(self, task: Any, action: ActionSpec) -> None:
        reads = dict(self._poses)
        self._dims: list[tuple[DimSpec, str]] = []  # with the stream that it reads, if any
        for dim in action.dims:
            robot = dim.robot or next(iter(self.legs))
            if robot not in self.legs:
                raise UsageError(f"waypoints: robot {robot!r} of task {task.name!r} has no legs")
            if dim.mode == "absolute" and dim.grips is None:  # a group that stays where it starts
                group = dim.group or ""
                if group == resolve("robots", task.robots[robot].robot).first():
                    raise UsageError(f"waypoints: the arm of {robot!r} needs `ee_delta`, it has {action.name!r}")
                reads[stream := f"{robot}/{group}/joint_pos"] = Stream((dim.size,))
                self._dims.append((dim, stream))
            elif dim.grips is None and dim.rotation is None and (dim.size, dim.unit) != (3, "m"):
                raise UsageError(
                    f"waypoints: they move and turn the tool and grip, and cannot give the action's {dim.meaning!r} "
                    f"({dim.size} in {dim.unit}); a gripper declares `grips`"
                )
            else:
                self._dims.append((dim, ""))
        self._base = {name: np.array(task.robots[name].quat) for name in self.legs}
        # whether a controller adds to its last target, which lags behind nothing, and turns it about the tool
        arm = action.name.partition("+")[0]
        self._about_tool: bool | None = getattr(resolve("controllers", arm), "about_tool", None) if arm else None
        for name in self.legs:
            reads |= {f"{name}/ee_pos": Stream((3,)), f"{name}/ee_quat": Stream((4,))}
        self.spec = PolicySpec(reads=reads, action=action, action_rate=task.action_rate, batch=None)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._runs |= {(robot, slot): _Run() for slot in slots.tolist() for robot in self.legs}

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        actions = np.zeros((len(slots), self.spec.action.size))
        arrays = {k: v for k, v in observations.items() if isinstance(v, np.ndarray)}
        for row, slot in enumerate(slots.tolist()):
            seen = {name: values[row] for name, values in arrays.items()}
            ended = {(r, leg.name) for r, way in self.legs.items() for leg in way[: self._runs[r, slot].leg]}
            moves = {robot: self._move(robot, self._runs[robot, slot], seen, ended) for robot in self.legs}
            parts = [self._part(d, stream, slot, moves, seen) for d, stream in self._dims]
            actions[row] = np.concatenate(parts)
            if self._about_tool is not None:
                for robot in self.legs:
                    self._aim_on(robot, self._runs[robot, slot], seen, parts)
        return actions

    def _part(self, dim: DimSpec, stream: str, slot: int, moves: Mapping[str, _Move], seen: Seen) -> np.ndarray:
        """(size,) what some neighbouring dimensions of the action are."""
        robot = dim.robot or next(iter(self.legs))
        if stream:
            return self._runs[robot, slot].still.setdefault(stream, np.array(seen[stream]))
        move, back = moves[robot], conjugate(self._base[robot])
        if dim.grips is not None:
            return np.array([-move.grip if dim.grips == "opening" else move.grip])
        if dim.rotation is None:
            most = self.TRANSLATION * float(np.min(dim.high)) * move.speed
            return _shorten(rotate(back, move.by) / dim.scale, most)
        return _shorten(rotate(back, move.turn) / dim.scale, self.ROTATION * float(np.min(dim.high)))

    def _aim_on(self, robot: str, run: _Run, seen: Seen, parts: Sequence[np.ndarray]) -> None:
        """Keep account of the pose that a robot's controller was last told to reach."""
        dims = [(dim, part) for (dim, _), part in zip(self._dims, parts, strict=True) if (dim.robot or robot) == robot]
        by, turn = np.zeros(3), np.zeros(3)
        for dim, part in dims:
            if dim.mode == "absolute" or dim.grips is not None:
                continue
            if dim.rotation is None:
                by = rotate(self._base[robot], part * dim.scale)
            else:
                turn = rotate(self._base[robot], part * dim.scale)
        assert run.aim is not None
        turned = from_axis_angle(turn)
        pivot = seen[f"{robot}/ee_pos"] if self._about_tool else run.aim[0]
        run.aim = pivot + rotate(turned, run.aim[0] - pivot) + by, multiply(turned, run.aim[1])

    def _move(self, robot: str, run: _Run, seen: Seen, ended: set[tuple[str, str]]) -> _Move:
        """What one robot of one slot does now."""
        hand = seen[f"{robot}/ee_pos"], seen[f"{robot}/ee_quat"]
        if run.aim is None or self._about_tool is None:
            run.aim = hand
        leg = self.legs[robot][run.leg] if run.leg < len(self.legs[robot]) else None
        if leg is not None and run.began is None and (leg.after is None or leg.after in ended):
            run.began, run.point, run.stayed = (hand, seen), 0, 0
        if leg is None or run.began is None:  # between two legs, or at the end: stay
            goal = run.goal = run.goal or hand
            return _Move(goal[0] - run.aim[0], _turn(goal[1], run.aim[1]), run.grip, 1.0)
        points = leg.way.points(run.began[0], run.began[1] if leg.frozen else seen)
        while run.point < len(points) - 1 and _near(points[run.point], hand, self.PASS, 2 * STEP):
            run.point += 1
        goal = run.goal = points[run.point]
        run.grip = leg.grip
        if run.point == len(points) - 1 and _near(goal, hand, leg.within, leg.turned):
            run.stayed += 1
            if run.stayed > leg.hold:
                run.leg, run.began = run.leg + 1, None
        return _Move(goal[0] - run.aim[0], _turn(goal[1], run.aim[1]), leg.grip, leg.speed)


@dataclass(kw_only=True)
class _Run:
    """How far one robot of one slot is."""

    leg: int = 0
    point: int = 0
    stayed: int = 0
    grip: float = -1.0
    goal: Hand | None = None
    aim: Hand | None = None
    """What an action is added to: the hand, or the pose that the controller was last told to reach."""
    began: tuple[Hand, Seen] | None = None
    """Hand and parts at the beginning of the leg; None: it has not begun."""
    still: dict[str, np.ndarray] = field(default_factory=dict)
    """Stream of a group that stays -> its start."""


class _Move(NamedTuple):
    by: np.ndarray
    turn: np.ndarray
    grip: float
    speed: float


def _pose(part: str | None, seen: Seen) -> Hand:
    """The pose of a part, or of the task frame."""
    return (seen[f"{part}/pos"], seen[f"{part}/quat"]) if part else (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def _turn(goal: np.ndarray, now: np.ndarray) -> np.ndarray:
    """(3,) the rotation from one orientation to another, axis-angle in the task frame."""
    return to_axis_angle(multiply(goal, conjugate(now)))


def _near(goal: Hand, hand: Hand, within: float, turned: float) -> bool:
    return bool(np.linalg.norm(goal[0] - hand[0]) < within and np.linalg.norm(_turn(goal[1], hand[1])) < turned)


def _shorten(vector: np.ndarray, longest: float) -> np.ndarray:
    """A vector no longer than `longest`, its direction kept."""
    return vector * min(1.0, longest / max(float(np.linalg.norm(vector)), 1e-12))
