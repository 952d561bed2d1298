"""PointNav: drive to a point that is given by its distance and direction, and declare to have arrived.

Rules as in "Sim2Real Predictivity" (Kadian et al., 2020): STOP within 0.2 m of the goal, along the floor; 200 actions
of a second each; at most 40 collisions. The published layouts are the legs of the lab in three rooms; other scenarios
are in apartments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.errors import UsageError
from foretell.policy import Policy
from foretell.robots.locobot import LoCoBot
from foretell.rooms import Room, draw_route, ways_of
from foretell.rooms.lab import LEGS
from foretell.scenario import Placement, Scenario
from foretell.seeding import generator
from foretell.tasks.journey import Journey, journey
from foretell.tasks.route import ShortestPath
from foretell.tasks.state import State
from foretell.tasks.task import Mount, Stage, Task

__all__ = ["PointNav", "polar", "soft_spl", "spl"]

ROOMS = ("lab_easy", "lab_medium", "lab_hard")
APARTMENTS = 1000
"""Seeds fall into so many apartments."""
SAME, SAME_M = 0.01, 0.02
"""A stored way may be off by this share, or by so many m: others measure with other meshes."""


def polar(pose: Sequence[float], goal: Sequence[float]) -> tuple[float, float]:
    """How a robot at a pose (x, y, yaw) sees a goal (x, y): distance in m, and angle to the left in rad. Habitat has
    the same: (rho, -phi)."""
    dx, dy = goal[0] - pose[0], goal[1] - pose[1]
    angle = math.atan2(dy, dx) - pose[2]
    return math.hypot(dx, dy), math.atan2(math.sin(angle), math.cos(angle))


def spl(success: Bools, way: Journey) -> Floats:
    """(n,) success weighted by path length: the shortest way over the way travelled, or over itself if that is more."""
    return np.asarray(success * _ratio(way))


def soft_spl(way: Journey) -> Floats:
    """(n,) as `spl`, with the share of the way that is done in the place of success."""
    done = 1.0 - way.remaining / np.where(way.shortest > 0, way.shortest, 1.0)
    return np.asarray(np.clip(done, 0.0, 1.0) * _ratio(way))


def _ratio(way: Journey) -> Floats:
    longest = np.maximum(way.shortest, way.travelled)
    return np.asarray(np.where(longest > 0, way.shortest / np.where(longest > 0, longest, 1.0), 1.0))


class PointNav(Task):
    """Drive to a point and stop there."""

    name = "pointnav"
    version = 1
    instruction = "go to the point and stop there"
    robots = {"locobot": Mount("locobot", (0.0, 0.0, 0.0))}
    controller = "steps"
    action_rate = 1.0
    time_limit = 200.0
    success_rule = "any"
    NEAR, CLOSE, COLLISIONS = 0.2, 1.0, 40
    stages = (
        Stage("halfway", "less than half of the shortest way is left, along the floor"),
        Stage("close", "less than 1 m is left, along the floor"),
        Stage("arrival", "less than 0.2 m is left, along the floor"),
        Stage("stop", "the robot declares that it has arrived, less than 0.2 m from the goal along the floor"),
    )

    def layouts(self) -> Sequence[Scenario]:
        """The five legs of each room of the lab: A to B, and so on to E, and back to A."""
        rooms = [Room.named(name) for name in ROOMS]
        return [
            self.between(room, room.spots[start], room.spots[goal], seed=5 * at + leg)
            for at, room in enumerate(rooms)
            for leg, (start, goal) in enumerate(LEGS)
        ]

    def layout_count(self) -> int:
        return len(ROOMS) * len(LEGS)  # to measure their ways takes longer

    def scenario(self, seed: int) -> Scenario:
        rng = generator(self.name, seed, "placement")
        room = Room.named(f"apartment:{rng.integers(APARTMENTS)}")
        start, goal, _ = draw_route(room, LoCoBot.RADIUS, rng)
        return self.between(room, start, goal, seed=seed)

    def between(self, room: Room, start: Sequence[float], goal: Sequence[float], seed: int = 0) -> Scenario:
        """The scenario of a start (x, y, yaw) and a goal (x, y) in a room. Raises UsageError where no way leads."""
        x, y, yaw = (round(float(value), 6) for value in start)
        if not math.isfinite(yaw):
            raise UsageError(f"start.locobot: yaw should be a finite number, in rad (given: {yaw})")
        to = round(float(goal[0]), 6), round(float(goal[1]), 6)
        rho, phi = polar((x, y, yaw), to)
        side = f"{math.degrees(abs(phi)):.0f} degrees to the {'left' if phi >= 0 else 'right'}"
        return Scenario(
            task=self.name,
            seed=seed,
            placements={
                "room": Placement(asset=room.asset, pos=(0.0, 0.0, 0.0)),
                "goal": Placement(asset="point", pos=(*to, 0.0)),
            },
            start={"locobot": (x, y, yaw)},
            instruction=f"go to the point {rho:.2f} m away, {side}, and stop",
            facts={"shortest": self.shortest(room, (x, y), to)},
        )

    @staticmethod
    def shortest(room: Room, start: Sequence[float], goal: Sequence[float]) -> float:
        """m along the floor. Raises UsageError where the robot cannot stand, or no way leads."""
        ways = ways_of(room, LoCoBot.RADIUS)
        for name, at in (("start.locobot", start), ("placements.goal.pos", goal)):
            if not ways.free(np.array([at[:2]]))[0]:
                x0, y0, x1, y1 = room.bounds
                why = "a wall is in its way or nearer than that"
                if not (x0 <= at[0] <= x1 and y0 <= at[1] <= y1):
                    why = f"the room reaches from ({x0:g}, {y0:g}) to ({x1:g}, {y1:g})"
                raise UsageError(
                    f"{name}: a robot of radius {LoCoBot.RADIUS:g} m cannot stand at ({at[0]:g}, {at[1]:g}) in room "
                    f"{room.name!r}: {why}"
                )
        length = float(ways.distance(np.array([start[:2]]), np.array([goal[:2]]))[0])
        if not math.isfinite(length):
            raise UsageError(
                f"placements.goal.pos: no way leads from ({start[0]:g}, {start[1]:g}) to ({goal[0]:g}, {goal[1]:g}) in "
                f"room {room.name!r}: choose a goal that the robot can reach"
            )
        return round(length, 6)

    def check(self, scenario: Scenario) -> None:
        length, asset = self.length(scenario), scenario.placements["room"].asset
        if asset.endswith(".json"):
            raise UsageError(
                f"placements.room.asset: {asset!r:.100} is a file, which may change: write {Room.named(asset).asset!r}"
            )
        given = scenario.facts.get("shortest", length)
        if not abs(given - length) <= max(SAME_M, SAME * length):
            raise UsageError(
                f"facts.shortest: is {given:g} m, and the map of room {asset!r:.100} gives {length:g} m: correct it, "
                "or leave it out"
            )

    def length(self, scenario: Scenario) -> float:
        """m along the floor from start to goal, by the map. Raises UsageError where the scenario cannot be run."""
        for name in ("room", "goal"):
            if name not in scenario.placements:
                raise UsageError(f"placements: {name!r} is missing; a scenario of {self.name!r} places room and goal")
        start = scenario.start.get("locobot")
        if start is None or len(start) != 3:
            raise UsageError(f"start.locobot: should be x, y (m) and yaw (rad) (given: {start!r:.100})")
        home, goal = scenario.placements["room"].pos, scenario.placements["goal"].pos
        room = Room.named(scenario.placements["room"].asset)
        return self.shortest(room, (start[0] - home[0], start[1] - home[1]), (goal[0] - home[0], goal[1] - home[1]))

    def reached(self, state: State) -> dict[str, Bools]:
        way = journey(state)
        near = way.remaining < self.NEAR
        return {
            "halfway": np.asarray(way.remaining < 0.5 * way.shortest),
            "close": np.asarray(way.remaining < self.CLOSE),
            "arrival": np.asarray(near),
            "stop": self.solved(state),
        }

    def solved(self, state: State) -> Bools:
        way = journey(state)
        return np.asarray(way.stopped & (way.remaining < self.NEAR) & (way.collisions <= self.COLLISIONS))

    def over(self, state: State) -> Bools:
        """(n,) the episode ends here: the robot declares that it has arrived, or it has collided too often."""
        way = journey(state)
        return np.asarray(way.stopped | (way.collisions > self.COLLISIONS))

    def horizon(self, shortest: Floats) -> Floats:
        """(n,) m: beyond it no stage depends on how far the goal is along the floor."""
        return np.maximum(0.5 * shortest, self.CLOSE)

    def score(self, state: State) -> Floats:
        """(n,) SoftSPL, the score of an episode that fails."""
        return soft_spl(journey(state))

    def metrics(self, state: State) -> Mapping[str, Floats | Bools]:
        way = journey(state)
        return {
            "spl": spl(self.solved(state), way),
            "softspl": soft_spl(way),
            "collisions": way.collisions.astype(float),
            "distance_to_goal": way.remaining,
            "path_length": way.travelled,
        }

    def expert(self) -> Policy:
        return ShortestPath()
