"""Draws docs/pictures/simpler_google.png: layouts of SIMPLER's Google Robot tasks, through the robot's own camera.

python docs/pictures/simpler_google.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from foretell.registry import resolve
from foretell.sim.world import MujocoWorld

SLOT = np.zeros(1, dtype=np.int32)
SHOWN = (
    ("google_robot_pick_horizontal_coke_can", 12),
    ("google_robot_pick_vertical_coke_can", 12),
    ("google_robot_pick_standing_coke_can", 12),
    ("google_robot_move_near", 0),
    ("google_robot_move_near", 12),
    ("google_robot_move_near", 30),
    ("google_robot_pick_object", 6),
    ("google_robot_pick_object", 11),
    ("google_robot_pick_object", 28),
    ("google_robot_close_top_drawer", 3),
    ("google_robot_close_middle_drawer", 3),
    ("google_robot_close_bottom_drawer", 8),
)
"""Tasks, and which of their layouts."""


def seen(name: str, layout: int) -> np.ndarray:
    """(512, 640, 3) a layout of a task."""
    task = resolve("tasks", name)()
    world = MujocoWorld(task, slots=1)
    world.reset(SLOT, [task.layouts()[layout]], [0])
    return world.picture(0, "google_robot/overhead", 512, 640)


if __name__ == "__main__":
    each = [seen(name, layout) for name, layout in SHOWN]
    picture = Image.fromarray(np.vstack([np.hstack(each[row : row + 3]) for row in range(0, len(each), 3)]))
    small = picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.LANCZOS)
    small.save(Path(__file__).with_suffix(".png"), optimize=True)
