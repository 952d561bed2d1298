"""Draws docs/pictures/cameras.png: what one camera gives, and a photograph behind the simulated foreground.

python docs/pictures/cameras.py [PHOTO]

Without a PHOTO, a picture of an empty scene with other textures plays it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from PIL import Image

from foretell.factors.arms import expand
from foretell.sim import MujocoWorld, Transform
from foretell.spec import Stream
from foretell.study.plan import make_task

HEIGHT, WIDTH = 240, 320
SLOT = np.array([0], dtype=np.int32)
COLOURS = np.array(
    [[214, 96, 77], [33, 102, 172], [209, 190, 150], [150, 160, 150], [90, 90, 90], [0, 0, 0], [255] * 3]
)


class Empty(Transform):
    """A scene without its robot, its stand and its cube."""

    def dress(self, spec: mujoco.MjSpec) -> None:
        for geom in spec.geoms:
            if geom.name.startswith("panda/") or geom.parent.name.startswith(("panda/", "cube")):
                geom.group = 3  # is not drawn


def see(world: dict[str, Any], kind: str, arm: str = "none") -> np.ndarray:
    """A picture of the camera `overview`."""
    task = make_task("lift")
    made = MujocoWorld(task, {"name": "w", **world}, slots=1)
    made.reset(SLOT, [expand([arm], task)[0].on(task.scenario(3), task)], [0])
    channels = 3 if kind == "rgb" else 1
    return made.draw(0, f"overview/{kind}", Stream((HEIGHT, WIDTH, channels)))


if __name__ == "__main__":
    theta = {"theta": {"shadows": 2048, "samples": 4}}
    with tempfile.TemporaryDirectory() as folder:
        photo = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "photo.png"
        if len(sys.argv) < 2:
            scene = {**theta, "transforms": [Empty(use="empty")]}
            Image.fromarray(see(scene, "rgb", "Table_Texture+Background_Texture")).save(photo)
        keep = ["robots", "objects", "panda/pedestal"]
        behind = {**theta, "transforms": [{"use": "background", "image": str(photo), "keep": keep}]}
        depth = see({}, "depth")
        strip = [
            see(theta, "rgb"),
            np.repeat(np.where(depth > 0, 255 * np.clip(1.2 - depth / 2.5, 0, 1), 255), 3, axis=2).astype(np.uint8),
            COLOURS[see({}, "segmentation")[..., 0]].astype(np.uint8),
            see(behind, "rgb"),
        ]
    picture = Image.fromarray(np.hstack(strip))
    picture.quantize(200, dither=Image.Dither.NONE).save(Path(__file__).with_suffix(".png"), optimize=True)
