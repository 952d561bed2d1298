"""Makes the pictures of docs/matching.md: a plate, clicked points and a check, each by its command, and prints what the
commands say. A simulated laboratory plays the real one. Needs playwright and chromium.

python docs/pictures/matching.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from foretell.camera import Intrinsics
from foretell.match.pinhole import FLIP, Pinhole, project
from foretell.match.points import Point, write_points
from foretell.rotation import from_axis_angle, multiply, rotate
from foretell.sim.bench import Bench
from foretell.spec import Stream
from foretell.tasks.stack_cube import StackCube

HERE = Path(__file__).parent
FORETELL = [sys.executable, "-m", "foretell"]
TASK, CAMERA, SIZE, HALF = "widowx_stack_cube", "third_view", (480, 640), 0.015
HIDE = ("172", "203", "250", "284", "260", "244", "354", "324", "160", "0", "350", "40")
NOMINAL = StackCube.cameras[CAMERA]
POS = np.asarray(NOMINAL.pos) + [0.03, -0.02, 0.025]
QUAT = multiply(NOMINAL.orientation, from_axis_angle(np.array([0.03, -0.04, 0.02])))
LENS = {"fx": 655.0, "fy": 655.0, "cx": 320.0, "cy": 240.0, "width": 640, "height": 480}

CALIBRATED = ("655", "655", "320", "240")


def laboratory() -> Bench:
    """A camera, a table and a light that are not those of the task."""
    transform = {"use": "camera", "cameras": [CAMERA], "pos": POS.tolist(), "quat": QUAT.tolist(), **LENS}
    factors = {"Table_Color": {"rgb": [0.62, 0.40, 0.26], "mix": 0.9}, "Light_Color": [1.15, 1.0, 0.85]}
    scenario = StackCube().layouts()[0].model_copy(update={"factors": factors})
    return Bench(StackCube(), scenario=scenario, world={"name": "laboratory", "transforms": [transform]})


def film(bench: Bench, path: Path) -> None:
    """The robot swings from one side to the other."""
    home = np.asarray(bench.world.scene.startable["widowx"].home)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=Fraction(10))
        stream.height, stream.width, stream.pix_fmt = *SIZE, "yuv420p"
        stream.options = {"crf": "16"}
        for waist in 0.8 * np.sin(np.linspace(0, 4 * np.pi, 60)):
            bench.set(widowx=[home[0] + waist, *home[1:]])
            shown = bench.world.picture(0, CAMERA, *SIZE)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(shown), format="rgb24")))
        file.mux(stream.encode(None))


def corners(bench: Bench) -> list[Point]:
    """The upper corners of both cubes, and where a steady hand clicks them."""
    axes = np.stack([rotate(QUAT, axis) for axis in np.eye(3)], axis=1)
    eye = Pinhole(FLIP @ axes.T, POS, Intrinsics(**LENS))
    rng, points = np.random.default_rng(0), []
    for name, placed in bench.scenario.placements.items():
        for number, (x, y) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), 1):
            corner = np.asarray(placed.pos) + rotate(np.asarray(placed.quat), HALF * np.array([x, y, 1.0]))
            (uv,) = project(eye, corner[None]) + rng.normal(0, 0.5, 2)
            points.append(Point(name=f"{name} {number}", xyz=tuple(corner.round(4).tolist()), uv=tuple(uv.tolist())))
    return points


def run(folder: Path, *arguments: str) -> None:
    print("$ foretell", *arguments)
    print(subprocess.run([*FORETELL, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout)


def click(folder: Path, page: Page, points: list[Point]) -> None:
    """Click the points in the page, and take its picture."""
    arguments = ("match", "camera", "frame.png", "--points", "points.csv", "--lens", *CALIBRATED, "--click")
    served = subprocess.Popen([*FORETELL, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    page.goto(served.stdout.readline().strip())
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    for point in points:
        u, v = point.uv or (0, 0)
        page.mouse.click(box["x"] + box["width"] * u / SIZE[1], box["y"] + box["height"] * v / SIZE[0])
    page.locator("#solve").click()
    page.locator("#answer", has_text="residuals").wait_for()
    page.screenshot(path=HERE / "matching_camera.png")
    page.locator("#save").click()
    served.wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder, bench = Path(name), laboratory()
        frame = bench.world.picture(0, CAMERA, *SIZE)
        Image.fromarray(frame).save(folder / "frame.png")
        seen = bench.world.observe(np.zeros(1, dtype=np.int32), {f"{CAMERA}/segmentation": Stream((*SIZE, 1))})
        parts = [bench.parts.ids[part] for part in bench.parts.foreground]
        mask = np.isin(seen[f"{CAMERA}/segmentation"][0, ..., 0], parts)
        Image.fromarray(mask.astype(np.uint8) * 255).save(folder / "mask.png")
        points = corners(bench)
        write_points(folder / "points.csv", [Point(name=p.name, xyz=p.xyz) for p in points])
        film(bench, folder / "table.mp4")
        world = ("--world", "lab.yaml", "--camera", CAMERA)
        run(folder, "match", "background", "table.mp4", "-o", "plate.png", "--hide", *HIDE, *world)
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        click(folder, browser.new_page(viewport={"width": 1100, "height": 640}), points)
        solve = ("match", "camera", "frame.png", "--points", "points.csv", "--lens", *CALIBRATED, "-o", "residuals.png")
        run(folder, *solve, *world)
        print(f"the camera is at {POS.round(4).tolist()}, its focal length {LENS['fx']}\n")
        check = ("match", "check", "frame.png", "--task", TASK, "--layout", "0", "--camera", CAMERA)
        check += ("--mask", "mask.png")
        run(folder, *check)
        run(folder, *check, "--world", "lab.yaml", "-o", "check.html")
        run(folder, *check[:-2], "--world", "lab.yaml")
        page = browser.new_page(viewport={"width": 1000, "height": 1090})
        page.goto((folder / "check.html").as_uri())
        page.wait_for_selector("html[data-ready=true]")
        page.screenshot(path=HERE / "matching_check.png")
        plate = np.asarray(Image.open(folder / "plate.png"))
        beside("matching_background.jpg", [frame, plate, shown(folder)])
        near = [shown(folder, *more)[150:390, 120:440] for more in ((), ("soft_edges: 2",), ("contact_shadow: 0.6",))]
        beside("matching_edges.jpg", near)


def shown(folder: Path, *more: str) -> np.ndarray:
    """The task in the matched world, with more fields of its background."""
    text = (folder / "lab.yaml").read_text()
    (folder / "more.yaml").write_text(text.replace("image: plate.png", "\n  ".join(("image: plate.png", *more))))
    bench = Bench(StackCube(), scenario=StackCube().layouts()[0], world=folder / "more.yaml")
    return bench.world.picture(0, CAMERA, *SIZE)


def beside(name: str, tiles: list[np.ndarray]) -> None:
    """Write three pictures side by side."""
    picture = Image.new("RGB", (3 * 360, 270))
    for number, tile in enumerate(tiles):
        picture.paste(Image.fromarray(tile).resize((360, 270), Image.Resampling.LANCZOS), (360 * number, 0))
    picture.save(HERE / name, quality=88)


if __name__ == "__main__":
    main()
