"""Put a square nut on a square peg. robosuite's NutAssemblySquare: same sizes, ranges, rules."""

from __future__ import annotations

import math
from dataclasses import replace

import mujoco
import numpy as np

from foretell.arrays import Bools, Floats
from foretell.camera import Camera
from foretell.objects import SQUARE_NUT, arena
from foretell.objects.nut import HANDLE
from foretell.policy import Policy
from foretell.rotation import from_yaw, rotate, yaw
from foretell.scenario import Placement
from foretell.spec import Stream
from foretell.tasks.script import Observations, Phase, Script, hand_yaw
from foretell.tasks.state import State
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Clutter, Mount, Stage

PEG, ROUND = (0.23, 0.10), (0.23, -0.10)
"""The square peg, and the round one that is only in the way."""
TOP = 0.13
"""Height of the pegs, m."""
ON = 0.03
BELOW = 0.05
AWAY = math.atanh(0.4) / 10
"""4.24 cm from the middle of the nut (robosuite: 1 - tanh(10 d) < 0.6); its handle is farther out."""
REACH = 0.03
LIFTED = 0.04


class Square(TabletopTask):
    """Pick the nut up by its handle and put it over the square peg."""

    name = "square"
    version = 3
    instruction = "put the square nut on the square peg"
    robots = {"panda": Mount("panda", (-0.56, 0.0, 0.092))}
    roles = {"nut": "MO", "peg": "RO"}
    ranges = {"MO_Size": (1.0, 1.5), "RO_Size": (0.85, 1.15)}  # as the paper's insert_onto_square_peg
    clutter = Clutter(
        x=(-0.22, 0.20),
        y=(-0.30, 0.30),
        clearance=0.15,  # the nut may be half as large again
        keep_out=((*PEG, 0.08), (*ROUND, 0.04), (-0.10, 0.0, 0.06)),
    )
    paraphrases = (
        "place the square ring over the square peg",
        "slide the nut onto the matching post",
        "pick the nut up by its handle and drop it on the square pin",
        "fit the nut onto the peg with the square section",
    )
    cameras = {
        "front": Camera(pos=(0.5, 0.0, 0.53), target=(0.0, 0.0, 0.03), fovy=52.0),
        "overview": Camera(pos=(0.95, -0.95, 0.75), target=(-0.15, 0.0, 0.15)),
    }
    film = Camera(pos=(0.66, -0.62, 0.42), target=(-0.12, 0.02, 0.26), fovy=56.0)
    stages = (
        Stage("reach", "finger tips within 3 cm of the middle of the handle"),
        Stage("grasp", "both fingers touch the nut"),
        Stage("lift", "the nut is more than 4 cm above where it lay"),
        Stage("place", "the nut's middle within 3 cm of the peg in x and y and below 5 cm, gripper 4.24 cm away"),
    )

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        x, y = rng.uniform((-0.115, 0.11), (-0.11, 0.225))
        w, i, j, k = from_yaw(rng.uniform(0, 2 * math.pi)).tolist()
        return {"nut": Placement(asset="square-nut", pos=(x, y, SQUARE_NUT.rest), quat=(w, i, j, k))}

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec)
        arena.table(spec)
        peg = spec.worldbody.add_body(name="peg", pos=[*PEG, 0.0])
        arena.box(peg, "peg/body", (0, 0, TOP / 2), (0.016, 0.016, TOP / 2), (0.72, 0.56, 0.24, 1))
        other = spec.worldbody.add_body(name="round-peg", pos=[*ROUND, 0.0])
        other.add_geom(
            name="round-peg/body",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=[0, 0, TOP / 2],
            size=[0.02, TOP / 2, 0],
            rgba=[0.62, 0.64, 0.66, 1],
        )

    def reached(self, state: State) -> dict[str, Bools]:
        nut = state.pos("nut")
        handle = _handle(nut, state.quat("nut"), state.size("nut"))
        return {
            "reach": np.linalg.norm(state.ee_pos("panda") - handle, axis=1) < REACH,
            "grasp": state.holding("panda", "nut"),
            "lift": nut[:, 2] > SQUARE_NUT.rest * state.size("nut") + LIFTED,
            "place": self.solved(state),
        }

    def solved(self, state: State) -> Bools:
        nut = state.pos("nut")
        on = (np.abs(nut[:, 0] - PEG[0]) < ON) & (np.abs(nut[:, 1] - PEG[1]) < ON) & (nut[:, 2] < BELOW)
        away: Bools = np.linalg.norm(state.ee_pos("panda") - nut, axis=1) > AWAY
        return on & away

    def expert(self) -> Policy:
        def handle(obs: Observations) -> Floats:
            return _handle(obs["nut/pos"], obs["nut/quat"], obs["nut/size"][:, 0])

        def along(obs: Observations) -> Floats:
            # fingers close across the handle, so the hand lies along it: better with the palm towards the nut, so
            # that the hand faces forward once the handle points at the robot; the other way where joint 7 ends
            nut, now = yaw(obs["nut/quat"]), forward(hand_yaw(obs["panda/ee_quat"]))
            wanted = forward(nut - math.pi)
            wanted = np.where((wanted > -1.6) & (wanted < 3.0), wanted, forward(nut))
            return now + np.clip(wanted - now, -1.0, 1.0)

        def aligned(obs: Observations) -> Floats:
            # turn until the handle points at the robot: on the far side of the peg it is out of reach
            nut, now = yaw(obs["nut/quat"]), forward(hand_yaw(obs["panda/ee_quat"]))
            palm_first = np.cos(nut - now) < 0
            expected = np.where(palm_first, 0.0, math.pi) - now
            turn = math.pi - nut
            turn += 2 * math.pi * np.round((expected - turn) / (2 * math.pi))
            return now + np.clip(turn, -1.0, 1.0)

        def over_peg(obs: Observations) -> Floats:
            # where the finger tips must be for the middle of the hole to be over the peg
            offset = obs["panda/ee_pos"] - obs["nut/pos"]
            tips: Floats = np.array([*PEG, 0.0]) + offset * np.array([1.0, 1.0, 0.0])
            return tips

        script = Script(
            "panda",
            ("nut",),
            (
                Phase(name="above", at=handle, yaw=along, lift=0.10, grip=-1, within=0.02),
                Phase(name="down", at=handle, yaw=along, lift=0.0, grip=-1, within=0.005, speed=0.5),
                Phase(name="close", at=handle, yaw=along, grip=1, hold=12, within=0.02),
                Phase(name="up", at=handle, yaw=along, lift=0.20, grip=1, within=0.02, frozen=True, speed=0.7),
                Phase(name="turn", at=over_peg, yaw=aligned, lift=0.21, grip=1, within=0.01, turned=0.03, speed=0.6),
                Phase(
                    name="centre",
                    at=over_peg,
                    yaw=aligned,
                    lift=0.17,
                    grip=1,
                    within=0.004,
                    turned=0.03,
                    hold=3,
                    speed=0.4,
                ),
                Phase(name="lower", at=over_peg, yaw=aligned, lift=0.045, grip=1, within=0.01, speed=0.35),
                Phase(name="open", at=over_peg, yaw=aligned, lift=0.045, grip=-1, hold=8, within=0.05, frozen=True),
                Phase(name="leave", at=over_peg, yaw=aligned, lift=0.25, grip=-1, frozen=True),
            ),
        )
        script.spec = replace(script.spec, reads={**script.spec.reads, "nut/size": Stream((1,))})
        return script


def forward(angle: Floats) -> Floats:
    """Hand yaws on the branch that joint 7 can turn through: (-2.2, 4.1)."""
    return np.mod(angle + 2.2, 2 * math.pi) - 2.2


def _handle(pos: Floats, quat: Floats, size: Floats) -> Floats:
    """(n, 3) middle of the handle of a nut so many times as large."""
    return pos + rotate(quat, size[:, None] * np.array([HANDLE, 0.0, 0.0]))
