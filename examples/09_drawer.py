"""Furniture with joints: a cabinet whose drawer is pulled open. Check it with
`foretell check task 09_drawer.py:Drawer`."""

from pathlib import Path

import mujoco
import numpy as np

import foretell
from foretell import Placement
from foretell.answers.show import table
from foretell.objects import ASSETS, Fixture, Joint, arena
from foretell.objects.asset import box_inertia, set_inertia
from foretell.rotation import from_yaw
from foretell.tasks import Camera, Mount, Stage, TabletopTask
from foretell.tasks.waypoints import Leg, Shift, To, Waypoints, pointing

BOX = mujoco.mjtGeom.mjGEOM_BOX
WOOD, FRONT, METAL = (0.62, 0.44, 0.27, 1), (0.80, 0.64, 0.42, 1), (0.35, 0.36, 0.38, 1)
DEPTH, WIDTH, HEIGHT, BOARD = 0.11, 0.13, 0.075, 0.008
"""Half sizes of the cabinet and half the thickness of its boards, m."""
TRAVEL, OPEN = 0.18, 0.12
"""How far the drawer slides, and how far it counts as open, m."""


def add_cabinet(spec, body, scale, physics):
    """Boards round an open front that faces -x, a drawer that slides out of it, and an upright bar to hold it by."""
    size = float(scale[0])

    def box(into, name, pos, half, rgba, **more):
        friction = [physics.friction_scale, 0.005, 0.0001]
        more = {"friction": friction, "solref": physics.solref, **more}
        pos, half = np.multiply(pos, size), np.multiply(half, size)
        into.add_geom(name=f"{body.name}/{name}", type=BOX, pos=pos, size=half, rgba=rgba, mass=0, **more)

    side = HEIGHT - 2 * BOARD
    for name, up in (("bottom", -1), ("top", 1)):
        box(body, name, (0, 0, up * (HEIGHT - BOARD)), (DEPTH, WIDTH, BOARD), WOOD)
    for name, left in (("right", -1), ("left", 1)):
        box(body, name, (0, left * (WIDTH - BOARD), 0), (DEPTH, BOARD, side), WOOD)
    box(body, "back", (DEPTH - BOARD, 0, 0), (BOARD, WIDTH - 2 * BOARD, side), WOOD)

    drawer = body.add_body(name=f"{body.name}/drawer")
    mass = 0.6 * size**3 * physics.mass_scale
    set_inertia(drawer, mass, box_inertia(mass, size * np.array([DEPTH, WIDTH, HEIGHT])))
    drawer.add_joint(
        name=f"{body.name}/drawer",
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[-1, 0, 0],
        limited=True,
        range=[0, TRAVEL * size],
        damping=[2.0, 0, 0],
        frictionloss=1.0 * physics.friction_scale,
    )
    wide, high, deep = WIDTH - 2 * BOARD - 0.004, side - 0.004, DEPTH - 2 * BOARD
    box(drawer, "front", (-DEPTH - BOARD - 0.001, 0, 0), (BOARD, WIDTH - 0.004, HEIGHT - 0.004), FRONT)
    inside = {"contype": 0, "conaffinity": 2}  # runners guide it: only a robot touches it there
    box(drawer, "floor", (-BOARD, 0, -high), (deep, wide, 0.004), FRONT, **inside)
    for name, left in (("right side", -1), ("left side", 1)):
        box(drawer, name, (-BOARD, left * wide, -0.01), (deep, 0.004, high - 0.01), FRONT, **inside)
    box(drawer, "rear", (deep - BOARD, 0, -0.01), (0.004, wide, high - 0.01), FRONT, **inside)

    handle = drawer.add_body(name=f"{body.name}/handle", pos=[size * (-DEPTH - 2 * BOARD - 0.035), 0, 0])
    set_inertia(handle, 0.05, [1e-5] * 3)
    grip = {"condim": 4, "priority": 1}
    box(handle, "bar", (0, 0, 0), (0.007, 0.007, 0.030), METAL, **grip)
    for name, up in (("upper post", 1), ("lower post", -1)):
        box(handle, name, (0.02, 0, up * 0.022), (0.016, 0.005, 0.005), METAL)


CABINET = ASSETS["drawer-cabinet"] = Fixture(
    "drawer-cabinet",
    mass=0.6,
    rest=HEIGHT,
    add=add_cabinet,
    joints={"drawer": Joint(0.0, TRAVEL)},
    sites=("handle",),
)
INTO = pointing((0.4, 0.0, -0.9), (0.0, 1.0, 0.0))
"""Towards the cabinet and down, fingers on either side of the bar."""


class Drawer(TabletopTask):
    """Pull the drawer open by its handle."""

    name = "drawer"
    instruction = "open the drawer"
    paraphrases = ("pull the drawer out", "slide the drawer open by its handle")
    robots = {"panda": Mount("panda", (-0.56, 0.0, 0.112))}
    roles = {"cabinet": "MO"}
    ranges = {"MO_Size": (0.85, 1.1)}
    cameras = {"front": Camera(pos=(-0.45, -0.75, 0.55), target=(0.08, 0.0, 0.05))}
    stages = (
        Stage("reach", "finger tips within 3 cm of the middle of the handle"),
        Stage("grasp", "both fingers touch the handle"),
        Stage("open", f"the drawer is {100 * OPEN:.0f} cm out; of a resized cabinet in proportion"),
    )

    def place(self, rng):
        x, y, yaw = rng.uniform(0.22, 0.26), rng.uniform(-0.10, 0.10), rng.uniform(-0.25, 0.25)
        quat = tuple(map(float, from_yaw(yaw)))
        return {"cabinet": Placement(asset="drawer-cabinet", pos=(x, y, HEIGHT), quat=quat)}

    def start(self, rng):
        """Every other drawer is a little open already."""
        ajar = rng.uniform(0.02, 0.06)
        return {"cabinet": (float(ajar) if rng.uniform() < 0.5 else 0.0,)}

    def build(self, spec):
        arena.room(spec)
        arena.table(spec)

    def reached(self, state):
        gap = np.linalg.norm(state.ee_pos("panda") - state.pos("cabinet/handle"), axis=1)
        held = state.holding("panda", "cabinet/handle")
        return {"reach": gap < 0.03, "grasp": held, "open": self.solved(state)}

    def solved(self, state):
        return state.joint("cabinet/drawer") > OPEN * state.size("cabinet")

    def expert(self):
        handle = "cabinet/handle"
        return Waypoints(
            {
                "panda": (
                    Leg(name="before", way=To(handle, (-0.08, 0, 0.06), INTO), within=0.015),
                    Leg(name="at", way=To(handle, facing=INTO), within=0.006, speed=0.5),
                    Leg(name="close", way=Shift(), grip=1, hold=16),
                    Leg(name="pull", way=To("cabinet", (-DEPTH - 0.22, 0, 0.0)), grip=1, within=0.02, speed=0.5),
                )
            }
        )


if __name__ == "__main__":  # the workers load this file for the class
    study = {
        "name": "drawer",
        "tasks": [f"{Path(__file__).resolve()}:Drawer"],
        "policies": ["expert"],
        "scenarios": {"count": 20},
        "arms": ["none", "MO_Size", "MO_Color"],
    }
    run = foretell.run(study)
    table(foretell.show(run.path))
    print(foretell.cards(run.path)[0]["card"])
