"""Carry a can from one bin into its quarter of the other. robosuite's PickPlaceCan: same sizes, ranges, rules."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects import CAN, arena
from foretell.policy import Policy
from foretell.rotation import from_yaw
from foretell.scenario import Placement
from foretell.tasks.script import Observations, Phase, Script
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Stage

FROM, TO = (0.10, -0.25), (0.10, 0.28)
"""Centres of the two bins."""
FLOOR = 0.02
"""Inside floor of the bins, m above the task frame."""
QUARTER = ((0.10, 0.295), (0.28, 0.525))
"""x and y range of the can's quarter of the second bin."""
AWAY = math.atanh(0.4) / 10
"""The gripper must have let go: 4.24 cm from the can's middle (robosuite: 1 - tanh(10 d) < 0.6)."""
REACH = 0.03
LIFTED = 0.04


class Can(TabletopTask):
    """Pick the can up and put it into the near right quarter of the other bin."""

    name = "can"
    version = 2
    instruction = "put the can into its place in the other bin"
    robots = {"panda": Mount("panda", (-0.5, -0.1, 0.112))}
    roles = {"can": "MO", "bin2": "RO"}
    table = "bin1"
    fixed = {"RO_Size": "success is judged by the quarters of the bin, which are where they are"}
    clutter = Clutter(x=(-0.08, 0.28), y=(-0.48, -0.02), height=FLOOR, keep_out=((-0.05, -0.10, 0.05),))
    paraphrases = (
        "move the can to its spot in the other bin",
        "take the soda can over to the second bin",
        "pick up the can and drop it in the right quarter of the far bin",
        "the can belongs in the other box, put it there",
    )
    cameras = {
        "front": Camera(pos=(1.0, 0.0, 0.95), target=(0.05, 0.0, 0.0)),
        "overview": Camera(pos=(1.25, -0.95, 0.95), target=(-0.1, 0.0, 0.12)),
    }
    film = Camera(pos=(1.0, -0.40, 0.72), target=(-0.02, 0.0, 0.25), fovy=55.0)
    stages = (
        Stage("reach", "finger tips within 3 cm of the can's middle"),
        Stage("grasp", "both fingers touch the can"),
        Stage("lift", "the can's middle is more than 4 cm above where it stood"),
        Stage("place", "the can lies in its quarter, below the rim, the gripper 4.24 cm or more from its middle"),
    )

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        x, y = rng.uniform((-0.12, -0.17), (0.12, 0.17))
        w, i, j, k = from_yaw(rng.uniform(0, 2 * math.pi)).tolist()
        return {
            "can": Placement(
                asset="can",
                pos=(FROM[0] + x, FROM[1] + y, FLOOR + CAN.rest),
                quat=(w, i, j, k),
            )
        }

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec)
        for name, centre, colour, divided in (
            ("bin1", FROM, (0.80, 0.66, 0.46, 1), False),
            ("bin2", TO, (0.48, 0.33, 0.22, 1), True),
        ):
            body = spec.worldbody.add_body(name=name, pos=[*centre, 0.0])
            arena.box(body, f"{name}/floor", (0, 0, 0), (0.2, 0.25, 0.02), colour)
            arena.legs(body, 0.16, 0.21, -0.02)
            for side in (-1, 1) + ((0,) if divided else ()):
                arena.box(body, f"{name}/y{side:+d}", (0, 0.25 * side, 0.05), (0.21, 0.01, 0.05), colour)
                arena.box(body, f"{name}/x{side:+d}", (0.2 * side, 0, 0.05), (0.01, 0.25, 0.05), colour)

    def reached(self, state: State) -> dict[str, Bools]:
        can = state.pos("can")
        return {
            "reach": np.linalg.norm(state.ee_pos("panda") - can, axis=1) < REACH,
            "grasp": state.holding("panda", "can"),
            "lift": can[:, 2] > FLOOR + CAN.rest * state.size("can") + LIFTED,
            "place": self.solved(state),
        }

    def solved(self, state: State) -> Bools:
        can = state.pos("can")
        (x0, x1), (y0, y1) = QUARTER
        inside = (can[:, 0] > x0) & (can[:, 0] < x1) & (can[:, 1] > y0) & (can[:, 1] < y1)
        below = (can[:, 2] > 0.0) & (can[:, 2] < 0.1)
        away: Bools = np.linalg.norm(state.ee_pos("panda") - can, axis=1) > AWAY
        return inside & below & away

    def expert(self) -> Policy:
        def can(obs: Observations) -> Floats:
            return obs["can/pos"]

        def goal(obs: Observations) -> Floats:
            # the near corner of the quarter: its middle is 86 cm from the base, too far for a hand that points down
            return np.broadcast_to([0.145, 0.325, 0.0], (len(obs["can/pos"]), 3))

        def keep(obs: Observations) -> Floats:
            return np.zeros(len(obs["can/pos"]))

        return Script(
            "panda",
            ("can",),
            (
                Phase(name="above", at=can, yaw=keep, lift=0.12, grip=-1, within=0.02),
                Phase(name="down", at=can, yaw=keep, lift=0.012, grip=-1, within=0.006, speed=0.5),
                Phase(name="close", at=can, yaw=keep, lift=0.012, grip=1, hold=10),
                Phase(name="up", at=can, yaw=keep, lift=0.16, grip=1, within=0.03, frozen=True, speed=0.8),
                Phase(name="across", at=goal, yaw=keep, lift=0.20, grip=1, within=0.012, speed=0.8),
                Phase(name="lower", at=goal, yaw=keep, lift=0.09, grip=1, within=0.012, speed=0.6),
                Phase(name="open", at=goal, yaw=keep, lift=0.09, grip=-1, within=0.02, hold=8),
                Phase(name="leave", at=goal, yaw=keep, lift=0.20, grip=-1),
            ),
        )
