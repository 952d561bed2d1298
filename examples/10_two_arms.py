"""Two robots: one picks a block up and hands it over to the other. Check it with
`foretell check task 10_two_arms.py:HandOver`."""

import math
from pathlib import Path

import mujoco
import numpy as np

import foretell
from foretell import Placement
from foretell.answers.show import table
from foretell.objects import ASSETS, Asset, arena
from foretell.objects.asset import box_inertia, set_inertia
from foretell.rotation import from_yaw
from foretell.tasks import Camera, Mount, Stage, TabletopTask
from foretell.tasks.waypoints import Leg, Shift, To, Waypoints, pointing

HALF = np.array([0.10, 0.018, 0.018])
"""Half sizes of the block, m."""
END = 0.06
"""From its middle to where a hand holds it, m."""


def add_block(spec, body, scale, physics):
    """A long block of foam."""
    half = HALF * scale
    mass = 200.0 * 8 * float(np.prod(half)) * physics.mass_scale
    set_inertia(body, mass, box_inertia(mass, half))
    body.add_geom(
        name=f"{body.name}/body",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=half,
        rgba=[0.16, 0.42, 0.70, 1],
        friction=[physics.friction_scale, 0.005, 0.0001],
        condim=4,
        solref=physics.solref,
        priority=1,
    )


ASSETS["block"] = Asset("block", 200.0 * 8 * float(np.prod(HALF)), float(HALF[2]), add_block)
GIVES = pointing((0.4, 0.0, -0.9), (0.0, 1.0, 0.0))
TAKES = pointing((-0.4, 0.0, -0.9), (0.0, 1.0, 0.0))


class HandOver(TabletopTask):
    """Hand a block over from one arm to the other."""

    name = "hand-over"
    instruction = "pick the block up with the left arm and hand it over to the right one"
    robots = {
        "left": Mount("panda", (-0.62, 0.0, 0.0)),
        "right": Mount("panda", (0.62, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),  # it faces the other one
    }
    roles = {"block": "MO"}
    ranges = {"MO_Size": (0.9, 1.2)}
    touch = (("left", "right"),)
    cameras = {"side": Camera(pos=(0.0, -1.35, 0.75), target=(0.0, 0.0, 0.25))}
    stages = (
        Stage("grasp", "both fingers of the left arm touch the block"),
        Stage("lift", "the block's middle is more than 12 cm above the table"),
        Stage("both", "all four fingers touch it while it is lifted"),
        Stage("over", "only the right arm touches it, while it is lifted"),
    )

    def place(self, rng):
        x, y, yaw = rng.uniform(-0.05, 0.03), rng.uniform(-0.08, 0.08), rng.uniform(-0.4, 0.4)
        quat = tuple(map(float, from_yaw(yaw)))
        return {"block": Placement(asset="block", pos=(x, y, float(HALF[2])), quat=quat)}

    def build(self, spec):
        arena.room(spec)
        arena.table(spec, half=(0.45, 0.5))

    def reached(self, state):
        left, right = state.holding("left", "block"), state.holding("right", "block")
        free = np.linalg.norm(state.ee_pos("left") - state.pos("block"), axis=1) > END + 0.03
        lifted = state.pos("block")[:, 2] > 0.12
        return {"grasp": left, "lift": lifted, "both": lifted & left & right, "over": lifted & right & ~left & free}

    def solved(self, state):
        return self.reached(state)["over"]

    def expert(self):
        left = (
            Leg(name="above", way=To("block", (-END, 0, 0.10), GIVES), within=0.02),
            Leg(name="down", way=To("block", (-END, 0, 0), GIVES), within=0.008, turned=0.1, speed=0.5),
            Leg(name="close", way=Shift(), grip=1, hold=12),
            Leg(name="lift", way=To(None, (-END, 0, 0.25), GIVES), grip=1, within=0.03, turned=0.15, speed=0.5),
            Leg(name="open", way=Shift(), grip=-1, hold=10, after=("right", "close")),
            Leg(name="leave", way=Shift((-0.12, 0, 0.05)), grip=-1),
        )
        right = (
            Leg(
                name="near",
                way=To("block", (END + 0.06, 0, 0.10), TAKES),
                within=0.02,
                turned=0.15,
                after=("left", "lift"),
            ),
            Leg(name="at", way=To("block", (END, 0, 0), TAKES), within=0.01, turned=0.1, speed=0.5),
            Leg(name="close", way=Shift(), grip=1, hold=12),
            Leg(name="hold", way=Shift((0, 0, 0.03)), grip=1, after=("left", "leave")),
        )
        return Waypoints({"left": left, "right": right})


if __name__ == "__main__":  # the workers load this file for the class
    study = {
        "name": "hand-over",
        "tasks": [f"{Path(__file__).resolve()}:HandOver"],
        "policies": ["expert"],
        "scenarios": {"count": 10},
    }
    run = foretell.run(study)
    table(foretell.show(run.path))
    seconds = [dict(row["stages"]).get("over", math.nan) for row in foretell.read(run.path).to_pylist()]
    print(f"handed over after {np.mean(seconds):.1f} s on average")
