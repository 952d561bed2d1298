"""Events: why an episode went as it did, judged from the true state after each action, for every task alike.

What begins and ends between two actions is not seen. The counter works on arrays with a leading slot axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.rotation import conjugate, rotate
from foretell.tasks.state import State

__all__ = ["EVENTS", "Event", "EventCounter", "ended_early"]

HELD = 3
"""Successive actions after which all pads must touch an object, for it to be grasped."""
FALL = 0.02
"""An object that falls so far after it left the pads may have been dropped, m."""
GRACE_S = 1.0
"""What left the pads and brings the task further within so many seconds was put down, not dropped."""
SHUT, OPEN = 0.05, 0.20
"""Shares of a gripper's range: it is shut below the first, or where its fingers touch each other, and open above the
second."""
TILTED, UPRIGHT = math.cos(math.radians(45)), math.cos(math.radians(20))
"""Cosines of the tilt from which an object is knocked over, and up to which it stands again."""
APART_S = 0.5
"""A robot that touches furniture or a robot again within so many seconds has hit it once."""
BELOW, BEYOND = 0.10, 1.5
"""An object has left the scene so far below the lower of start and `Task.lowest`, or so far from the task frame, m."""
STUCK, STUCK_S = 0.005, 2.0
"""An end effector is stuck that stays within so many metres of a point for so many seconds."""
MOVED = 0.02
"""An end effector that never gets so far from its start never moved, m."""
NEVER = np.iinfo(np.int64).min // 2
"""The tick of what has not happened."""


@dataclass(frozen=True)
class Event:
    """One kind of event."""

    words: str
    """What tables call it."""
    definition: str
    """When it is counted, in words a person could check by."""
    wrong: bool = True
    """Whether it tells of something that went wrong."""


EVENTS: dict[str, Event] = {
    "grasped": Event(
        "grasped an object",
        "All pads of a gripper touch an object after 3 successive actions. It counts again once no pad has touched the "
        "object.",
        wrong=False,
    ),
    "wrong_object": Event(
        "grasped the wrong object",
        "As `grasped`, and the object's role is not MO (the object to manipulate). Tasks without an MO have no wrong "
        "object.",
    ),
    "dropped": Event(
        "dropped an object",
        "A grasped object that no pad touches any more falls more than 2 cm, and within 1 s no pads hold it again, the "
        "task is not solved and no further stage is reached.",
    ),
    "closed_on_nothing": Event(
        "closed on nothing",
        "A gripper that was open (above 20 % of its range) closes (below 5 %, or its fingers touch each other) and no "
        "pad touches an object or fixture.",
    ),
    "knocked_over": Event(
        "knocked an object over",
        "An object that no gripper holds tilts more than 45 degrees from how it stood at the start. It counts "
        "again once it has stood within 20 degrees. To roll is not to tilt: a can may turn about its axis, and a ball "
        "as it likes (assets `Round`). An object to manipulate (MO) that a gripper has held does not count while the "
        "task is solved.",
    ),
    "hit_table": Event(
        "hit the table",
        "Any part of a robot touches the table, floor or other furniture of the scene that it did not touch in the "
        "0.5 s before. Fixtures such as drawers do not count.",
    ),
    "hit_wall": Event(
        "hit a wall",
        "A step ahead of a mobile robot ends short of where it should because of a wall or furniture. Each such action "
        "counts.",
    ),
    "self_collision": Event(
        "hit itself or another robot",
        "A part of a robot touches another part of it, or another robot, that it did not touch in the 0.5 s before. "
        "Fingers of one gripper may touch each other. Only models whose parts can collide notice: the Panda, the "
        "WidowX and the Google robot touch other robots, and their own links pass through each other.",
    ),
    "left_scene": Event(
        "lost an object from the scene",
        "An object is more than 10 cm below the table top (or below its start, or the drawer that it is put into, "
        "where that is lower), or 1.5 m or more from the middle of the task in x or y. Each object counts once.",
    ),
    "stuck": Event(
        "got stuck",
        "An end effector stays within 5 mm of a point for 2 s, and every action in that time tells its arm to move: by "
        "10 % of the range of some delta, or 1 % of a joint's range away from where the joint is. A mobile robot is "
        "stuck if it stays within 5 cm of a point for 8 s and collides twice or more in that time.",
    ),
    "never_moved": Event(
        "never moved",
        "No end effector gets more than 2 cm away from its start in the whole episode. Of a mobile robot it is 10 cm.",
    ),
    "ended_early": Event("ended too early", "The policy declares itself done, and the task is not solved."),
}
"""Event -> what it means. The order is that of tables."""


def ended_early(end: str, success: bool | None) -> bool:
    """Whether the policy ended an episode that it had not solved."""
    return end == "terminated" and success is False


class EventCounter:
    """Counts the events of some slots whose scenes have the same robots and objects.

    `targets` are the objects to manipulate; `tick` is in seconds. `arms` are the robots with an end effector,
    `grippers` those with pads. `lowest` is `Task.lowest`.
    """

    def __init__(
        self,
        slots: int,
        *,
        tick: float,
        objects: Sequence[str],
        targets: Sequence[str] = (),
        robots: Sequence[str] = (),
        arms: Sequence[str] = (),
        grippers: Sequence[str] = (),
        lowest: float = 0.0,
    ):
        self.robots, self.arms, self.grippers = tuple(robots), tuple(arms), tuple(grippers)
        self._asked = np.array([name in targets for name in objects], dtype=bool)
        self._wrong = np.array([bool(targets) and name not in targets for name in objects], dtype=bool)
        self._slots, self._objects, self._lowest = slots, len(objects), lowest
        self._grace, self._apart, self._stuck = (round(s / tick) for s in (GRACE_S, APART_S, STUCK_S))
        grip, things, arm = (slots, len(grippers), len(objects)), (slots, len(objects)), (slots, len(arms))
        self._counts = {name: np.zeros(slots, dtype=np.int64) for name in EVENTS}
        self._streak, self._held = np.zeros(grip, dtype=np.int64), np.zeros(grip, dtype=bool)
        self._lost = np.full(things, NEVER)  # tick at which the pads lost it
        self._height, self._fell = np.zeros(things), np.zeros(things, dtype=bool)
        self._up, self._over = np.zeros((*things, 3)), np.zeros(things, dtype=bool)
        self._handled = np.zeros(things, dtype=bool)  # held at some time
        self._round = np.zeros((*things, 3))  # the axis that an object is round about, or 0
        self._ball = np.zeros(things, dtype=bool)
        self._floor, self._left = np.zeros(things), np.zeros(things, dtype=bool)
        self._open = np.zeros((slots, len(grippers)), dtype=bool)
        self._touched = np.full((2, slots, len(robots)), NEVER)  # tick of the last touch: furniture, robots
        self._home, self._anchor = np.zeros((*arm, 3)), np.zeros((*arm, 3))
        self._far, self._since, self._reported = np.zeros(arm), np.zeros(arm, dtype=np.int64), np.zeros(arm, dtype=bool)

    def start(self, slots: Ints, state: State) -> None:
        """An episode begins in these slots."""
        for count in self._counts.values():
            count[slots] = 0
        for field in (
            self._streak,
            self._held,
            self._handled,
            self._fell,
            self._over,
            self._left,
            self._far,
            self._since,
            self._reported,
        ):
            field[slots] = 0
        self._lost[slots] = NEVER
        pos = state.object_pos()
        up = np.broadcast_to(np.array([0.0, 0.0, 1.0]), pos.shape)
        self._up[slots] = rotate(conjugate(state.object_quat()), up)
        rolls = np.array(state.object_rolls(), dtype=object).reshape(pos.shape[:2])
        self._round[slots] = np.stack([rolls == axis for axis in "xyz"], axis=2)
        self._ball[slots] = rolls == "any"
        self._floor[slots] = np.minimum(pos[:, :, 2], self._lowest) - BELOW
        for column, robot in enumerate(self.grippers):
            self._open[slots, column] = state.opening(robot) > OPEN
        for column, robot in enumerate(self.robots):
            for touched, now in zip(self._touched, (state.hits(robot), state.clashes(robot)), strict=True):
                touched[slots, column] = np.where(now, 0, NEVER)
        for column, robot in enumerate(self.arms):
            self._home[slots, column] = self._anchor[slots, column] = state.ee_pos(robot)

    def look(self, slots: Ints, state: State, ticks: Ints, gained: Bools, commanded: Mapping[str, Bools]) -> None:
        """After an action, at `ticks` (n,) of the episodes. `gained` (n,): the task is solved, or a stage was reached
        for the first time. `commanded`: arm -> (n,) whether the last action tells it to move."""
        at = slice(None) if len(slots) == self._slots else slots  # views are quicker than copies
        if self._objects:
            self._look_at_objects(at, state, ticks[:, None], gained)
        for column, robot in enumerate(self.grippers):
            opening, was = state.opening(robot), self._open[at, column]
            shut = (opening < SHUT) | state.clenched(robot)
            if (closed := was & shut).any():
                self._add("closed_on_nothing", at, closed & ~state.pads(robot).any(axis=(1, 2)))
            self._open[at, column] = (opening > OPEN) | (was & ~shut)
        for column, robot in enumerate(self.robots):
            for name, touched, touches in (
                ("hit_table", self._touched[0], state.hits(robot)),
                ("self_collision", self._touched[1], state.clashes(robot)),
            ):
                if touches.any():
                    self._add(name, at, touches & (ticks - touched[at, column] > self._apart))
                    touched[slots[touches], column] = ticks[touches]
        for column, robot in enumerate(self.arms):
            self._look_at_arm(slots, at, column, state.ee_pos(robot), ticks, commanded[robot])

    def _look_at_arm(self, slots: Ints, at: Any, column: int, ee: Floats, ticks: Ints, commanded: Bools) -> None:
        self._far[at, column] = np.maximum(self._far[at, column], _length(ee - self._home[at, column]))
        away = _length(ee - self._anchor[at, column]) >= STUCK
        free = away | ~commanded
        moved = slots[free]
        self._anchor[moved, column], self._since[moved, column] = ee[free], ticks[free]
        stuck = ticks - self._since[at, column] >= self._stuck
        if stuck.any():
            self._add("stuck", at, stuck & ~self._reported[at, column])
        self._reported[at, column] = stuck | (self._reported[at, column] & ~away)

    def _look_at_objects(self, at: Any, state: State, now: Ints, gained: Bools) -> None:
        pos, before = state.object_pos(), self._held[at]
        height = pos[:, :, 2]
        held = before
        if self.grippers:
            pads = [state.pads(robot)[:, None, : self._objects] for robot in self.grippers]
            every = _side_by_side([np.logical_and.reduce(touch, axis=3) for touch in pads])
            self._streak[at] = streak = (self._streak[at] + 1) * every
            if every.any() or before.any():
                firm = streak >= HELD
                held = firm | (before & _side_by_side([np.logical_or.reduce(touch, axis=3) for touch in pads]))
                fresh = (firm & ~before).any(axis=1)
                self._add("grasped", at, fresh.sum(axis=1))
                self._add("wrong_object", at, (fresh & self._wrong).sum(axis=1))
        carried = held.any(axis=1)
        if before.any() or (self._lost[at] != NEVER).any():
            lost = (before & ~held).any(axis=1) & ~carried
            since = np.where(carried | gained[:, None], NEVER, np.where(lost, now, self._lost[at]))
            waits = since != NEVER
            self._height[at] = np.where(lost, height, self._height[at])
            fell = waits & ((self._fell[at] & ~lost) | (height < self._height[at] - FALL))
            over = waits & (now - since >= self._grace)
            self._add("dropped", at, (over & fell).sum(axis=1))
            self._lost[at], self._fell[at] = np.where(over, NEVER, since), fell & ~over
        self._held[at] = held
        self._handled[at] |= carried

        upright = self._upright(at, state.object_quat())
        tilted, was = upright < TILTED, self._over[at]
        if tilted.any() or was.any():
            # what a hand put where it belongs may lie as it likes
            tilted &= ~(gained[:, None] & self._asked & self._handled[at])
            self._add("knocked_over", at, (tilted & ~was & ~carried).sum(axis=1))
            self._over[at] = tilted | (was & (upright < UPRIGHT))
        away = (height < self._floor[at]) | (np.abs(pos[:, :, :2]) >= BEYOND).any(axis=2)
        if away.any():
            self._add("left_scene", at, (away & ~self._left[at]).sum(axis=1))
            self._left[at] |= away

    def _upright(self, at: Any, quat: Floats) -> Floats:
        """(n, objects) cosine of the angle by which objects have tilted, other than about what they are round about."""
        w, x, y, z = quat[..., 0], quat[..., 1], quat[..., 2], quat[..., 3]
        # the third row of the rotation: what points up now, in the object's frame
        now = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
        up, about, ball = self._up[at], self._round[at], self._ball[at]
        upright: Floats = now[0] * up[..., 0] + now[1] * up[..., 1] + now[2] * up[..., 2]
        if about.any():
            along = now[0] * about[..., 0] + now[1] * about[..., 1] + now[2] * about[..., 2]
            began = np.einsum("nok,nok->no", up, about)
            least = along * began + np.sqrt(np.clip(1 - along**2, 0, 1) * np.clip(1 - began**2, 0, 1))
            upright = np.where(about.any(axis=2), least, upright)
        return np.where(ball, 1.0, upright) if ball.any() else upright

    def _add(self, name: str, at: Any, count: Ints | Bools) -> None:
        self._counts[name][at] += count

    def counts(self, slots: Ints, solved: Bools) -> list[dict[str, float]]:
        """Event -> how often it happened, of episodes that end here; `solved` (n,): the task is."""
        dropped: Ints = self._counts["dropped"][slots] + np.where(solved, 0, self._fell[slots].sum(axis=1))
        still = np.logical_and.reduce(self._far[slots] <= MOVED, axis=1) & bool(self.arms)
        counts: dict[str, Ints] = {name: count[slots] for name, count in self._counts.items()}
        counts |= {"dropped": dropped, "never_moved": still.astype(np.int64)}
        return [{name: float(count[row]) for name, count in counts.items() if count[row]} for row in range(len(slots))]


def _length(vectors: Floats) -> Floats:
    """(n,) of vectors (n, 3)."""
    length: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return length


def _side_by_side(parts: list[Bools]) -> Bools:
    """(n, 1, objects) of each gripper -> (n, grippers, objects)."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
