"""Draws docs/pictures/tasks.png: the three tasks, each in the middle of its expert's work.

python docs/pictures/tasks.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from foretell.policies.expert import Expert
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task

SLOT = np.array([0], dtype=np.int32)


def scene(name: str, actions: int) -> np.ndarray:
    """What the overview camera sees after some actions of the expert."""
    task = make_task(name)
    world, expert = MujocoWorld(task, slots=1), Expert()
    expert.bind(task, world.action)
    world.reset(SLOT, [task.scenario(3)], [0])
    expert.reset(SLOT, [""], [0])
    for _ in range(actions):
        world.command(SLOT, expert.act(SLOT, world.observe(SLOT, dict(expert.spec.reads))), np.array([25]))
        world.advance(SLOT, np.array([25]))
    return world.picture(0, "overview", 840, 840)


if __name__ == "__main__":
    strip = np.hstack([scene("lift", 30), scene("can", 75), scene("square", 82)])
    picture = Image.fromarray(strip).resize((1260, 420), Image.Resampling.LANCZOS)
    picture.quantize(200, dither=Image.Dither.NONE).save(Path(__file__).with_suffix(".png"), optimize=True)
