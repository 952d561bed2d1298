"""Draws match_texture.jpg and match_light.jpg: what `foretell match texture` and `light` make of rendered pictures.

python docs/pictures/match_looks.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from foretell.match import light, texture
from foretell.match.opencv import opencv
from foretell.match.picture import write_picture
from foretell.match.sight import Sight, layout_of, open_bench, view_of
from foretell.objects.chart import charts, picture_size
from foretell.registry import resolve

LAMP = {"ambient": [0.30, 0.28, 0.25], "colour": [0.75, 0.60, 0.45], "direction": [-0.75, 0.3, -0.6]}


def write(name: str, image: np.ndarray) -> None:
    path = Path(__file__).with_name(name)
    opencv().imwrite(str(path), np.ascontiguousarray(image[..., ::-1]), [opencv().IMWRITE_JPEG_QUALITY, 85])


def draw_texture(folder: Path) -> None:
    """A can as the picture shows it; a world in which it is plain; and that world, from three sides, after."""
    name, camera, size, layout = "google_robot_pick_standing_coke_can", "google_robot/overhead", (512, 640), 12
    task = resolve("tasks", name)()
    start = layout_of(task, layout)
    pose = np.array([*start.placements["can"].pos[:2], 0.4])
    write_picture(folder / "grey.png", np.full((*picture_size(charts("coke-can")), 3), 150, dtype=np.uint8))
    world = folder / "lab.yaml"
    world.write_text("transforms: [{use: painted, asset: coke-can, image: grey.png}]\n")
    real, plain = (Sight(open_bench(task, w, camera, start), "can", camera, size) for w in ("mujoco", world))
    write_picture(folder / "frame.png", real.picture(pose))
    write_picture(folder / "mask.png", real.silhouette(pose))
    done = texture(
        folder / "frame.png", task=name, camera=camera, object="can", mask=folder / "mask.png", layout=layout,
        world=world,
    )  # fmt: skip
    print(done.text())
    assert done.located is not None
    after = Sight(open_bench(task, world, camera, start), "can", camera, size)
    turns = [np.array([0.0, 0.0, turn + float(done.located.pose[2]) - 0.4]) for turn in (0.0, 1.0, np.pi)]
    rows, columns = np.nonzero(real.silhouette(pose))
    near = np.s_[rows.min() - 20 : rows.max() + 20, columns.min() - 30 : columns.max() + 30]
    views = [real.picture(pose), plain.picture(pose), *(after.picture(pose + turn) for turn in turns)]
    strip = np.concatenate([view[near] for view in views], axis=1)
    write("match_texture.jpg", np.kron(strip, np.ones((2, 2, 1), dtype=np.uint8)))


def draw_light(folder: Path) -> None:
    """A picture under another light; the world as it was; and after."""
    name, camera, size, layout = "widowx_carrot_on_plate", "third_view", (480, 640), 3
    task = resolve("tasks", name)()
    start = layout_of(task, layout)
    lit = open_bench(task, {"name": "lit", "transforms": [{"use": "light", **LAMP}]}, camera, start)
    write_picture(folder / "frame.png", view_of(lit, camera, size))
    out = folder / "out.png"
    print(light(folder / "frame.png", task=name, camera=camera, layout=layout, out=out).text())
    from foretell.match.picture import read_picture

    write("match_light.jpg", read_picture(out, "out")[::2, ::2])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        draw_texture(Path(made))
        draw_light(Path(made))
