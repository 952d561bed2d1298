"""Draws docs/pictures/factors.png: one scenario of `square` under each factor that can be seen, and under all.

python docs/pictures/factors.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from foretell.factors import factor
from foretell.factors.arms import FOURTEEN, parse
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

SLOT = np.array([0], dtype=np.int32)
SEED, SIDE, COLUMNS, TITLE = 23, 168, 7, 16
ARMS = (
    "none", *(name for name in FOURTEEN if not name.startswith("Object_")), "Robot_Texture", "Camera_FOV",
    "Lighting_Position", "Sensor_Noise", "Object_Pose", "Robot_Init", "+".join(FOURTEEN),
)  # fmt: skip


def picture(world: MujocoWorld, arm: str) -> Image.Image:
    """What the front camera sees under an arm, with its name above."""
    world.reset(SLOT, [parse(arm).on(world.task.scenario(SEED), world.task)], [0])
    drawn = world.draw(0, "front", Stream((2 * SIDE, 2 * SIDE, 3)))
    tile = Image.new("RGB", (SIDE + 6, SIDE + TITLE + 4), "white")
    tile.paste(Image.fromarray(np.ascontiguousarray(drawn)).resize((SIDE, SIDE), Image.Resampling.LANCZOS), (3, TITLE))
    ImageDraw.Draw(tile).text((4, 2), "all fourteen" if arm.count("+") > 5 else arm, fill="black")
    return tile


if __name__ == "__main__":
    world = MujocoWorld(make_task("square"), slots=1)
    for name in FOURTEEN:
        assert factor(name).applies(world.task) is None
    tiles = [picture(world, arm) for arm in ARMS]
    width, height = tiles[0].size
    sheet = Image.new("RGB", (COLUMNS * width, -(-len(tiles) // COLUMNS) * height), "white")
    for i, tile in enumerate(tiles):
        sheet.paste(tile, (i % COLUMNS * width, i // COLUMNS * height))
    sheet.quantize(160, dither=Image.Dither.NONE).save(Path(__file__).with_suffix(".png"), optimize=True)
