"""Lift a cube off the table. robosuite's Lift: sizes, mass, placement and success are the same."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects import CUBE, arena
from foretell.policy import Policy
from foretell.rotation import from_yaw
from foretell.scenario import Placement
from foretell.tasks.script import Observations, Phase, Script, grasp_yaw
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Stage

LIFTED = 0.04
"""Height of the cube's middle above the table that counts as lifted, m; of a larger cube in proportion, for its middle
is that high when it stands on a corner."""
RISEN = LIFTED - CUBE.rest
"""How far another object in the cube's place must rise, m: as far as the cube."""
REACH = 0.03


class Lift(TabletopTask):
    """Pick the cube up."""

    name = "lift"
    version = 2
    instruction = "lift the cube"
    robots = {"panda": Mount("panda", (-0.56, 0.0, 0.112))}
    roles = {"cube": "MO"}
    clutter = Clutter(x=(-0.20, 0.22), y=(-0.30, 0.30), keep_out=((-0.10, 0.0, 0.06),))
    paraphrases = (
        "pick up the cube",
        "raise the block off the table",
        "grab the small block and hold it up",
        "take the cube from the table",
    )
    cameras = {
        "front": Camera(pos=(0.5, 0.0, 0.55), target=(0.0, 0.0, 0.05)),
        "overview": Camera(pos=(0.95, -0.95, 0.75), target=(-0.15, 0.0, 0.15)),
    }
    film = Camera(pos=(0.48, -0.52, 0.38), target=(-0.21, 0.01, 0.29), fovy=63.0)
    stages = (
        Stage("reach", "finger tips within 3 cm of the cube's middle"),
        Stage("grasp", "both fingers touch the cube"),
        Stage("lift", "the cube's middle is more than 4 cm above the table; of a resized cube in proportion"),
    )

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        x, y = rng.uniform(-0.03, 0.03, 2)
        w, i, j, k = from_yaw(rng.uniform(0, 2 * math.pi)).tolist()
        width, depth, height = (rng.uniform(0.020, 0.022, 3) / 0.021).tolist()
        return {
            "cube": Placement(
                asset="cube",
                pos=(x, y, CUBE.rest * height),
                quat=(w, i, j, k),
                scale=(width, depth, height),
            )
        }

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec)
        arena.table(spec)

    def reached(self, state: State) -> dict[str, Bools]:
        cube = state.pos("cube")
        return {
            "reach": np.linalg.norm(state.ee_pos("panda") - cube, axis=1) < REACH,
            "grasp": state.holding("panda", "cube"),
            "lift": _lifted(state),
        }

    def solved(self, state: State) -> Bools:
        return _lifted(state)

    def expert(self) -> Policy:
        def cube(obs: Observations) -> Floats:
            return obs["cube/pos"]

        def yaw(obs: Observations) -> Floats:
            return grasp_yaw(obs["cube/quat"], obs["panda/ee_quat"], math.pi / 2)

        return Script(
            "panda",
            ("cube",),
            (
                Phase(name="above", at=cube, yaw=yaw, lift=0.10, grip=-1, within=0.02),
                Phase(name="down", at=cube, yaw=yaw, grip=-1, within=0.006, speed=0.5),
                Phase(name="close", at=cube, yaw=yaw, grip=1, hold=10),
                Phase(name="up", at=cube, yaw=yaw, lift=0.10, grip=1, frozen=True),
            ),
        )


def _lifted(state: State) -> Bools:
    """(n,) whether the cube, or the object in its place, is high enough."""
    height, bar = state.pos("cube")[:, 2], LIFTED * state.size("cube")
    other = np.array([name != CUBE.name for name in state.asset("cube")])
    lifted: Bools = height > np.where(other, state.start_pos("cube")[:, 2] + RISEN, bar)
    return lifted
