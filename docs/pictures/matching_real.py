"""Makes matching_real_*.jpg: the pictures of docs/matching.md that show real photographs and videos, each by its
command.

They are those of SIMPLER (simpler-env/ManiSkill2_real2sim, Apache-2.0), in the folder `simpler` of FORETELL_ASSETS.

python docs/pictures/matching_real.py
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from foretell.match import background, camera, light, scenario, texture
from foretell.match.opencv import opencv
from foretell.match.picture import read_picture, write_picture
from foretell.match.video import read_frames

HERE = Path(__file__).parent
SIMPLER = Path(os.environ.get("FORETELL_ASSETS", HERE.parents[2] / "shared" / "assets")) / "simpler"
VIDEOS: dict[str, dict[str, Any]] = {
    "bridge_real_1": {"free": (0, 0, 296, 480, 0, 1.6, 296, 0, 640, 480, 4, 7.4)},
    "bridge_real_2": {"free": (0, 0, 330, 480, 0, 2, 330, 0, 640, 330, 2.6, 5)},
    "rt1_real_standing_coke_can_1": {"free": (0, 0, 320, 256, 0, 0.3), "hide": (266, 6, 320, 136)},
}
CAN = SIMPLER / "real_inpainting" / "pick_coke_can_real_misc" / "google_standing_coke_can_c0_cleanup.png"
GOOGLE: dict[str, Any] = {"task": "google_robot_pick_standing_coke_can", "camera": "google_robot/overhead"}
BOX = (154, 51, 185, 106)
LINES = """axis,u1,v1,u2,v2
x,275.0,0.5,588.7,64.4
x,133.5,325.1,416.5,452.7
x,328.3,292.0,522.5,367.1
x,372.3,135.3,503.5,170.4
x,548.5,302.7,429.5,262.3
x,458.6,215.0,569.9,246.0
x,55.6,255.8,165.8,303.1
y,190.2,91.5,26.2,231.4
y,186.0,69.8,124.4,118.0
y,508.7,454.5,542.2,351.5
"""
"""Edges of the counter in bridge_real_1, as OpenCV's line detector finds them."""
TILE = (300, 225)


def grid(name: str, rows: list[list[np.ndarray]], tile: tuple[int, int] = TILE) -> None:
    """Write rows of pictures, all of one size."""
    cv2 = opencv()
    shown = [np.concatenate([cv2.resize(each, tile, interpolation=cv2.INTER_AREA) for each in row], 1) for row in rows]
    image = np.ascontiguousarray(np.concatenate(shown)[..., ::-1])
    cv2.imwrite(str(HERE / name), image, [cv2.IMWRITE_JPEG_QUALITY, 82])
    print(name, f"{(HERE / name).stat().st_size / 1000:.0f} kB")


def plates() -> None:
    """A frame, the plate without help, and with boxes."""
    rows = []
    for name, given in VIDEOS.items():
        file = SIMPLER / "debug" / f"{name}.mp4"
        frames = read_frames(file)[0]
        rows.append([frames[len(frames) // 2], background(file).image, background(file, **given).image])
    grid("matching_real_background.jpg", rows)


def lens(folder: Path) -> None:
    """The lines that tell the focal length."""
    frame = read_frames(SIMPLER / "debug" / "bridge_real_1.mp4")[0][0]
    write_picture(folder / "frame.png", frame)
    (folder / "lines.csv").write_text(LINES)
    (folder / "points.csv").write_text("name,x,y,z,u,v\nnear,0,0,0,26.2,231.4\nfar,0,0.5,0,190.2,91.5\n")
    out = folder / "residuals.png"
    print(camera(folder / "frame.png", lines=folder / "lines.csv", points=folder / "points.csv", out=out).text())
    grid("matching_real_camera.jpg", [[read_picture(out, "out")]], (480, 360))


def looks(folder: Path) -> None:
    """The can of a photograph: located, lit, and its texture and the table's colours."""
    out = folder / "out.png"
    (measured,) = scenario([CAN], **GOOGLE, object=["can"], box=BOX, out=folder / "trial.json")
    print(measured.text())
    grid("matching_real_scenario.jpg", [[read_picture(CAN, "can"), read_picture(folder / "trial_located.png", "out")]])
    print(light(CAN, **GOOGLE, object="can", box=BOX, parts=["table"], out=out).text())
    grid("matching_real_light.jpg", [np.split(read_picture(out, "out"), 3, axis=1)])
    print(texture(CAN, **GOOGLE, object="can", box=BOX, parts=["table"], world=folder / "lab.yaml", out=out).text())
    grid("matching_real_texture.jpg", [np.split(read_picture(out, "out"), 3, axis=1)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        plates()
        lens(Path(made))
        looks(Path(made))
