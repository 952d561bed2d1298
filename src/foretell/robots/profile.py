"""Controllers whose plan is a profile: a target for every tick of an action, handed to the engine in one piece."""

from __future__ import annotations

import numpy as np
import ruckig

from foretell.arrays import Floats, Ints
from foretell.robots.controller import Controller
from foretell.robots.robot import Robot

__all__ = ["Profile", "fastest"]


class Profile(Controller):
    """Base: a plan is positions and velocities at ticks 0 (where it begins), 1, 2, ... of an action. After its end the
    last position holds. Subclasses set `dims` and `_plan`."""

    def __init__(self, robot: Robot, *, group: str, slots: int, tick: float, most_delay: int = 0):
        super().__init__(robot, group=group, slots=slots, tick=tick, most_delay=most_delay)
        width = self.group.width
        self._at, self._rate = np.zeros((slots, 1, width)), np.zeros((slots, 1, width))
        self._lead = np.zeros((slots, width))

    def reset(self, slots: Ints, q: Floats, delay: Ints) -> None:
        super().reset(slots, q, delay)
        self._at[slots], self._rate[slots] = q[:, None], 0.0

    def command(self, slots: Ints, actions: Floats, q: Floats, v: Floats, ticks: Ints) -> None:
        at, rate = self._plan(slots, actions, q, v, ticks)
        self._hold(at.shape[1])
        self._at[slots], self._rate[slots] = at[:, -1:], 0.0
        self._at[slots, : at.shape[1]], self._rate[slots, : at.shape[1]] = at, rate
        self._ramp[slots], self._elapsed[slots] = ticks, 0

    def _hold(self, length: int) -> None:
        """Room for plans of this length."""
        if (more := length + 1 - self._at.shape[1]) > 0:
            self._at = np.concatenate([self._at, np.repeat(self._at[:, -1:], more, axis=1)], axis=1)
            self._rate = np.concatenate([self._rate, np.zeros((len(self._rate), more, self.group.width))], axis=1)

    def _plan(self, slots: Ints, actions: Floats, q: Floats, v: Floats, ticks: Ints) -> tuple[Floats, Floats]:
        """(n, most ticks + 1, width) positions and velocities; a plan that is shorter than others repeats its last
        position, at rest."""
        raise NotImplementedError

    def _now(self, slots: Ints) -> tuple[Floats, Floats]:
        """(n, width) position and velocity of the plans at this tick."""
        elapsed = np.minimum(self._elapsed[slots], self._at.shape[1] - 1)
        return self._at[slots, elapsed], self._rate[slots, elapsed]

    def current(self, slots: Ints) -> Floats:
        return self._now(slots)[0]

    def _coming(self, slots: Ints, elapsed: Ints) -> Floats:
        index = np.minimum(elapsed, self._at.shape[1] - 1)
        rows = slots[:, None]
        ahead: Floats = self._at[rows, index] + self._lead[rows] * self._rate[rows, index]
        return ahead


Limits = tuple[float, float, float]
"""Of speed, acceleration and jerk."""
TINY = 1e-9
"""Ways and speeds that count as none, rad and rad/s."""


def fastest(
    start: Floats, rate: Floats, goal: Floats, ticks: Ints, tick: float, limits: Limits
) -> tuple[Floats, Floats]:
    """(n, most ticks + 1, width) positions and velocities at every tick of time-optimal ways, as far as they get in
    `ticks` (n,): from moving starts to rest at goals, all (n, width), all joints of a way arriving together. They begin
    without acceleration."""
    # Ruckig fails on ways shorter than it can time
    start = np.where(np.abs(goal - start) < TINY, goal, start)
    rate = np.where(np.abs(rate) < TINY, 0.0, rate)
    ways = [_way(*row, limits) for row in zip(start.tolist(), rate.tolist(), goal.tolist(), strict=True)]
    whole = np.arange(int(np.max(ticks)) + 1)
    ends = np.array([0.0 if way is None else way.duration for way in ways])
    times = np.minimum(np.minimum(whole, ticks[:, None]) * tick, ends[:, None])  # (n, most ticks + 1)
    at, speed = _sampled(ways, start, times)
    speed[whole > ticks[:, None]] = 0.0
    return at, speed


def _way(start: list[float], rate: list[float], goal: list[float], limits: Limits) -> ruckig.Trajectory | None:
    """None where there is none: it holds its start."""
    width = len(start)
    asked, way = ruckig.InputParameter(width), ruckig.Trajectory(width)
    asked.current_position, asked.current_velocity, asked.target_position = start, rate, goal
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = ([limit] * width for limit in limits)
    try:
        ruckig.Ruckig(width).calculate(asked, way)
    except ruckig.RuckigError:
        return None
    return way


def _sampled(ways: list[ruckig.Trajectory | None], start: Floats, times: Floats) -> tuple[Floats, Floats]:
    """(n, times, width) positions and velocities at times (n, times). A way is seven pieces of constant jerk for each
    joint; what comes before them where a start is beyond its limits is left to Ruckig."""
    shape = (*start.shape, 8)
    ends, at, rate, force, jerk = (np.zeros(shape) for _ in range(5))
    at[:] = start[:, :, None]
    braked = []
    for row, way in enumerate(ways):
        joints = [] if way is None else way.profiles[0]
        if any(joint.brake.duration > 0 for joint in joints):
            braked.append(row)
        for k, joint in enumerate(joints):
            ends[row, k, :7], jerk[row, k, :7] = joint.t, joint.j
            at[row, k], rate[row, k], force[row, k] = joint.p, joint.v, joint.a
    np.cumsum(ends, axis=2, out=ends)
    begins = np.concatenate([np.zeros((*start.shape, 1)), ends[:, :, :7]], axis=2)
    piece = np.zeros((len(ways), times.shape[1], start.shape[1]), dtype=np.int64)
    for number in range(6):
        piece += times[:, :, None] >= ends[:, None, :, number]
    # one index of all pieces is faster than three, of row, joint and piece
    piece += 8 * np.arange(start.size).reshape(len(ways), 1, -1)
    p, v, a, j, began = (np.take(values, piece) for values in (at, rate, force, jerk, begins))
    t = times[:, :, None] - began
    positions, speeds = p + t * (v + t * (a / 2 + t * j / 6)), v + t * (a + t * j / 2)
    for row in braked:
        way = ways[row]
        assert way is not None
        points = [way.at_time(time) for time in times[row].tolist()]
        positions[row], speeds[row] = [p for p, _, _ in points], [v for _, v, _ in points]
    return positions, speeds
