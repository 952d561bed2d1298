"""Draws match_scenario.jpg: a frame that we rendered, and where `foretell match scenario` finds its objects.

python docs/pictures/match_scenario.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from foretell.match import scenario
from foretell.match.opencv import opencv
from foretell.match.picture import write_picture
from foretell.match.sight import Sight, layout_of, open_bench
from foretell.registry import resolve

TASK, CAMERA, LAYOUT, SIZE = "widowx_carrot_on_plate", "third_view", 3, (480, 640)

if __name__ == "__main__":
    task = resolve("tasks", TASK)()
    start = layout_of(task, LAYOUT)
    bench = open_bench(task, "mujoco", CAMERA, start)
    sight = Sight(bench, "carrot", CAMERA, SIZE)
    pose = np.array([0.17, -0.05, 2.0])
    noise = np.random.default_rng(0).normal(0, 3, (*SIZE, 3))
    frame = np.clip(sight.picture(pose) + noise, 0, 255).astype(np.uint8)
    rows, columns = np.nonzero(sight.silhouette(pose))
    plate = Sight(bench, "plate", CAMERA, SIZE)
    around = [np.nonzero(plate.silhouette(np.array([*start.placements["plate"].pos[:2], 0.0])))]
    boxes = [[c.min() - 6, r.min() - 6, c.max() + 7, r.max() + 7] for r, c in [(rows, columns), *around]]
    box = [int(side) for corners in boxes for side in corners]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.png"
        write_picture(path, frame)
        (measured,) = scenario(path, task=TASK, camera=CAMERA, layout=LAYOUT, object=("carrot", "plate"), box=box)
    print("--box", *box)
    print(measured.text())
    both = np.concatenate([frame, measured.picture], axis=1)[140:400, :, ::-1]
    opencv().imwrite(str(Path(__file__).with_suffix(".jpg")), both, [opencv().IMWRITE_JPEG_QUALITY, 85])
