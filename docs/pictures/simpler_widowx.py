"""Draws docs/pictures/simpler_widowx.png: the first layout of SIMPLER's four WidowX tasks, through their camera.

python docs/pictures/simpler_widowx.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from foretell.registry import resolve
from foretell.sim.world import MujocoWorld
from foretell.tasks.suites import SIMPLER_WIDOWX

SLOT = np.zeros(1, dtype=np.int32)


def first(name: str) -> np.ndarray:
    """(480, 640, 3) the first layout of a task."""
    task = resolve("tasks", name)()
    world = MujocoWorld(task, slots=1)
    world.reset(SLOT, [task.layouts()[0]], [0])
    return world.picture(0, "third_view", 480, 640)


if __name__ == "__main__":
    a, b, c, d = (first(name) for name in SIMPLER_WIDOWX.tasks)
    picture = Image.fromarray(np.vstack([np.hstack([a, b]), np.hstack([c, d])]))
    picture.resize((960, 720), Image.Resampling.LANCZOS).save(Path(__file__).with_suffix(".png"), optimize=True)
