"""Your own task: put one cube on another. Check it with `foretell check task 03_your_task.py:Stack`."""

import math
from pathlib import Path

import numpy as np

import foretell
from foretell import Placement
from foretell.answers.show import table
from foretell.objects import ASSETS, CUBE, Asset, arena
from foretell.rotation import from_yaw
from foretell.tasks import Camera, Mount, Stage, TabletopTask
from foretell.tasks.script import Phase, Script, grasp_yaw


def add_green_cube(spec, body, scale, physics):
    """The red cube, painted. An object of your own adds geoms to `body` here and sets its inertia."""
    CUBE.add(spec, body, scale, physics)
    body.first_geom().rgba = [0.15, 0.55, 0.20, 1]


ASSETS["green-cube"] = Asset("green-cube", CUBE.mass, CUBE.rest, add_green_cube)
HEIGHT = 2 * CUBE.rest


class Stack(TabletopTask):
    """Put the red cube on the green one."""

    name = "stack"
    instruction = "put the red cube on the green one"
    robots = {"panda": Mount("panda", (-0.56, 0.0, 0.112))}
    roles = {"red": "MO", "green": "RO"}
    cameras = {"front": Camera(pos=(0.5, 0.0, 0.55), target=(0.0, 0.0, 0.05))}
    stages = (
        Stage("grasp", "both fingers touch the red cube"),
        Stage("lift", "the red cube's middle is more than 6 cm above the table"),
        Stage("above", "its middle is within 2 cm of the green one's, seen from above, while lifted"),
        Stage("stack", "it rests on the green one (within 5 mm of the height) and the fingers have let go"),
    )

    def place(self, rng):
        """Each in its own half of the table, so that they never overlap."""
        placements = {}
        for name, asset, side in (("red", "cube", -1), ("green", "green-cube", 1)):
            x, y = rng.uniform(-0.06, 0.06), side * rng.uniform(0.05, 0.12)
            yaw = rng.uniform(0, 2 * math.pi)
            placements[name] = Placement(asset=asset, pos=(x, y, CUBE.rest), quat=tuple(map(float, from_yaw(yaw))))
        return placements

    def build(self, spec):
        arena.room(spec)
        arena.table(spec)

    def reached(self, state):
        red, green, held = state.pos("red"), state.pos("green"), state.holding("panda", "red")
        over = np.linalg.norm(red[:, :2] - green[:, :2], axis=1) < 0.02
        lifted = red[:, 2] > 0.06
        rests = np.abs(red[:, 2] - green[:, 2] - HEIGHT) < 0.005
        away = np.linalg.norm(state.ee_pos("panda") - red, axis=1) > 0.04
        return {"grasp": held, "lift": lifted, "above": lifted & over, "stack": over & rests & away & ~held}

    def solved(self, state):
        return self.reached(state)["stack"]

    def expert(self):
        def red(seen):
            return seen["red/pos"]

        def green(seen):
            return seen["green/pos"]

        def line_up(seen):
            return grasp_yaw(seen["red/quat"], seen["panda/ee_quat"], symmetry=math.pi / 2)

        return Script(
            "panda",
            ("red", "green"),
            (
                Phase(name="over red", at=red, yaw=line_up, lift=0.10, grip=-1, within=0.02),
                Phase(name="down", at=red, yaw=line_up, grip=-1, within=0.006, speed=0.5),
                Phase(name="close", at=red, yaw=line_up, grip=1, hold=10),
                Phase(name="up", at=red, lift=0.12, grip=1, within=0.02, frozen=True),
                Phase(name="over green", at=green, lift=0.12, grip=1, within=0.006, speed=0.6),
                Phase(name="lower", at=green, lift=HEIGHT + 0.002, grip=1, within=0.006, speed=0.3),
                Phase(name="open", at=green, lift=HEIGHT + 0.002, grip=-1, within=0.02, hold=8),
                Phase(name="leave", at=green, lift=0.16, grip=-1, speed=0.5),
            ),
        )


if __name__ == "__main__":  # the workers load this file for the class
    study = {
        "name": "stack",
        "tasks": [f"{Path(__file__).resolve()}:Stack"],
        "policies": {"expert": "expert", "shaky": {"use": "noisy-expert", "noise": 0.2}},
        "scenarios": {"count": 20},
    }
    run = foretell.run(study)
    table(foretell.show(run.path))
    for policy in study["policies"]:
        rows = [row for row in foretell.read(run.path).to_pylist() if row["policy"] == policy]
        counts = {stage.name: sum(stage.name in dict(row["stages"]) for row in rows) for stage in Stack.stages}
        print(f"{policy} reached " + ", ".join(f"{stage} {n}" for stage, n in counts.items()) + f" of {len(rows)}")
