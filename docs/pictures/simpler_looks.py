"""Draws docs/pictures/simpler_looks.jpg: objects with our own looks, and with those of SIMPLER's asset pack.

FORETELL_ASSETS=FOLDER python docs/pictures/simpler_looks.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from foretell.registry import resolve
from foretell.sim.world import MujocoWorld

SLOT = np.zeros(1, dtype=np.int32)
PACK = {"name": "scanned", "kind": "mujoco", "transforms": [{"use": "asset_pack"}]}
SHOWN = (
    ("google_robot_move_near", 0, "google_robot/overhead", (512, 640), (150, 50)),
    ("google_robot_move_near", 12, "google_robot/overhead", (512, 640), (150, 50)),
    ("widowx_spoon_on_towel", 0, "third_view", (480, 640), (200, 60)),
    ("widowx_carrot_on_plate", 0, "third_view", (480, 640), (200, 60)),
)
"""Tasks, layouts, cameras, sizes, and the left upper corner of what is shown."""
CUT = (240, 300)


def seen(world: object, name: str, layout: int, camera: str, size: tuple[int, int], at: tuple[int, int]) -> np.ndarray:
    """(*CUT, 3) a part of what a camera sees of a layout."""
    task = resolve("tasks", name)()
    made = MujocoWorld(task, world, slots=1)
    made.reset(SLOT, [task.layouts()[layout]], [0])
    picture: np.ndarray = made.picture(0, camera, *size)[at[1] : at[1] + CUT[0], at[0] : at[0] + CUT[1]]
    return picture


if __name__ == "__main__":
    rows = [np.hstack([seen(world, *shown) for shown in SHOWN]) for world in ("mujoco", PACK)]
    Image.fromarray(np.vstack(rows)).save(Path(__file__).with_suffix(".jpg"), quality=88)
