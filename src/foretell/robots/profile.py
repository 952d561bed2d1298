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
        self._lead = np.zeros(width)

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
        ahead: Floats = self._at[rows, index] + self._lead * self._rate[rows, index]
        return ahead

    def fastest(self, start: Floats, rate: Floats, goal: Floats, ticks: Ints, limits: Limits) -> tuple[Floats, Floats]:
        """(n, most ticks + 1, width) the fastest way from positions and velocities (n, width) to rest at a goal, as far
        as it gets in `ticks` (n,)."""
        most = int(np.max(ticks))
        at, speed = np.empty((len(start), most + 1, start.shape[1])), np.zeros((len(start), most + 1, start.shape[1]))
        for row, count in enumerate(ticks.tolist()):
            at[row, : count + 1], speed[row, : count + 1] = fastest(
                start[row], rate[row], goal[row], count, self.tick, limits
            )
            at[row, count + 1 :] = at[row, count]
        return at, speed


Limits = tuple[float, float, float]
"""Of speed, acceleration and jerk."""
TINY = 1e-9
"""Ways and speeds that count as none, rad and rad/s."""


def fastest(
    start: Floats, rate: Floats, goal: Floats, ticks: int, tick: float, limits: Limits
) -> tuple[Floats, Floats]:
    """(ticks + 1, width) positions and velocities on the time-optimal way from a moving start to rest at a goal, all
    joints arriving together. It begins without acceleration."""
    width = len(start)
    # Ruckig fails on ways shorter than it can time
    start = np.where(np.abs(goal - start) < TINY, goal, start)
    rate = np.where(np.abs(rate) < TINY, 0.0, rate)
    hold = np.tile(start, (ticks + 1, 1)), np.zeros((ticks + 1, width))
    asked = ruckig.InputParameter(width)
    asked.current_position, asked.current_velocity = start.tolist(), rate.tolist()
    asked.current_acceleration = [0.0] * width
    asked.target_position = goal.tolist()
    asked.target_velocity = asked.target_acceleration = [0.0] * width
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = ([limit] * width for limit in limits)
    way = ruckig.Trajectory(width)
    try:
        ruckig.Ruckig(width).calculate(asked, way)
    except ruckig.RuckigError:
        return hold
    times = np.minimum(np.arange(ticks + 1) * tick, way.duration)
    points = [way.at_time(time) for time in times.tolist()]
    return np.array([p for p, _, _ in points]), np.array([v for _, v, _ in points])
