"""Draws docs/pictures/simpler_original.jpg: SIMPLER's own pictures of its tasks, and what the same cameras see here.

The originals are frames of SimplerEnv (MIT) with photographs of ManiSkill2_real2sim (Apache-2.0) behind them.

python docs/pictures/simpler_original.py FOLDER_OF_ITS_IMAGES
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from foretell.registry import resolve
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

SLOT = np.zeros(1, dtype=np.int32)
GOOGLE, WIDOWX = ("google_robot/overhead", (512, 640)), ("third_view", (480, 640))
SHOWN = (
    ("google_robot_pick_standing_coke_can", 11, GOOGLE, "google_robot_pick_coke_can_ep0_overlay_overhead_camera"),
    ("google_robot_move_near", 0, GOOGLE, "google_robot_move_near_ep0_overlay_overhead_camera"),
    ("google_robot_open_top_drawer", 3, GOOGLE, "drawer_open_top_b0_overlay_overhead_camera_IBLnotRT"),
    ("google_robot_close_top_drawer", 3, GOOGLE, "drawer_close_top_b0_overlay_overhead_camera_IBLnotRT"),
    ("widowx_spoon_on_towel", 0, WIDOWX, "widowx_spoon_on_towel_ep0_overlay_3rd_view_camera"),
    ("widowx_carrot_on_plate", 0, WIDOWX, "widowx_carrot_on_plate_ep0_overlay_3rd_view_camera"),
    ("widowx_stack_cube", 0, WIDOWX, "widowx_stack_cube_ep0_overlay_3rd_view_camera"),
    ("widowx_put_eggplant_in_basket", 0, WIDOWX, "widowx_put_eggplant_in_basket_ep0_overlay_3rd_view_camera"),
)
"""Task, layout, camera and its size, the original's picture."""
TILE = (240, 180)


def seen(name: str, layout: int, camera: str, size: tuple[int, int]) -> Image.Image:
    """What a policy sees of a layout."""
    task = resolve("tasks", name)()
    world = MujocoWorld(task, slots=1)
    world.reset(SLOT, [task.layouts()[layout]], [0])
    stream = f"{camera}/rgb"
    return Image.fromarray(world.observe(SLOT, {stream: Stream((*size, 3))})[stream][0])


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    picture = Image.new("RGB", (4 * TILE[0], 4 * TILE[1]))
    for number, (task, layout, (camera, size), original) in enumerate(SHOWN):
        row, column = divmod(number, 4)
        pair = Image.open(folder / f"{original}.png").convert("RGB"), seen(task, layout, camera, size)
        for below, image in enumerate(pair):
            small = image.resize(TILE, Image.Resampling.LANCZOS)
            picture.paste(small, (column * TILE[0], (2 * row + below) * TILE[1]))
    picture.save(Path(__file__).with_suffix(".jpg"), quality=88)
