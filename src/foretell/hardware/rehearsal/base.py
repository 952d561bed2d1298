"""A mobile base as LeRobot's LeKiwi shows one: `x.vel` in m/s and `theta.vel` in degrees/s, and where it believes to
be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
from foretell.robots.robot import Robot
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.world import Recordable, World

__all__ = ["RehearsedBase"]

SLOT = np.zeros(1, dtype=np.int32)
MOTION_S = 1.0
"""A velocity that stays is given to the world anew so often: its noise is that of one action."""
SILENT_S = 0.5
"""Without a new velocity for so long the base stops by itself, as LeKiwi's does. 0: it goes on."""
LIMITS = {"x.vel": 0.25, "theta.vel": 30.0}


class RehearsedBase:
    """The robot of a planar world. Its place is what its localisation believes, in the frame of the map."""

    CONTROLLER = "velocity"

    def __init__(self, robot: str, embodiment: Robot, silent: float = SILENT_S):
        self.robot, self._silent = robot, silent
        self.action = list(LIMITS)
        self.observation = [*LIMITS, "x.pos", "y.pos", "theta.pos", "bump"]
        self._home = (0.0, 0.0)
        self._moves: dict[str, float] = {}
        self._stand()

    def start(self, world: World, scenario: Scenario, moved: str) -> Scenario:
        """A person carries it to where the scenario starts."""
        x, y, _ = scenario.placements["room"].pos
        self._home = (x, y)
        self._stand()
        return scenario

    def read(self, world: World) -> dict[str, Any]:
        """What the driver measures."""
        assert isinstance(world, Recordable)
        place = world.trace(0)
        x, y = place["believed_x"] + self._home[0], place["believed_y"] + self._home[1]
        bump, lidar = (f"{self.robot}/{name}" for name in ("bump", "lidar"))
        seen = world.observe(SLOT, {bump: Stream(), lidar: Stream()})
        where = {"x.pos": x, "y.pos": y, "theta.pos": math.degrees(place["believed_yaw"])}
        return {**self._moves, **where, "bump": float(seen[bump][0, 0]), "lidar": seen[lidar][0]}

    def clipped(self, action: Mapping[str, Any]) -> dict[str, float]:
        """The velocities as the wheels take them."""
        sent = {}
        for key, value in action.items():
            if key not in LIMITS:
                raise UsageError(f"action: {key!r} is no key of this base; {suggest(str(key), LIMITS)}")
            if not math.isfinite(float(value)):
                raise UsageError(f"action: {key} is {value}; it should be a finite number")
            sent[key] = min(max(float(value), -LIMITS[key]), LIMITS[key])
        return sent

    def drive(self, world: World, sent: Mapping[str, float]) -> None:
        """Move at velocities; one that an action leaves out stays."""
        moves = {**self._moves, **sent}
        self._heard = self._now(world)
        if moves != self._moves:
            self._moves = moves
            self._begin(world)

    def go_on(self, world: World) -> None:
        """Keep the velocity, or stop where nothing new has come for long."""
        if not any(self._moves.values()):
            return
        now = self._now(world)
        if self._silent and now - self._heard > self._silent:
            self._moves = dict.fromkeys(LIMITS, 0.0)
            self._begin(world)
        elif now - self._since >= MOTION_S:
            self._begin(world)

    def file(self) -> dict[str, Any]:
        """Its part of a world file."""
        pose = ["x.pos", "y.pos", "theta.pos"]
        keys = {"x": "x.vel", "theta": "theta.vel", "unit": "deg/s", "pose": pose, "bump": "bump", "lidar": "lidar"}
        return {"base": keys}

    def _stand(self) -> None:
        self._moves = dict.fromkeys(LIMITS, 0.0)
        self._heard = self._since = 0.0

    def _begin(self, world: World) -> None:
        ahead, turning = (dim.scale for dim in world.action.dims)
        speeds = [self._moves["x.vel"] / ahead, math.radians(self._moves["theta.vel"]) / turning]
        self._since = self._now(world)
        world.command(SLOT, np.array([speeds]), np.array([round(MOTION_S / world.tick)]))

    def _now(self, world: World) -> float:
        return float(world.observe(SLOT, {})["time"][0])
