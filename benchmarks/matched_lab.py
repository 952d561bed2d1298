"""The laboratory of `matched.py`: a simulated world that plays the real one. Its gains, friction and contacts, its
camera and lens, its table, floor, objects and light are not those of the task. Here are also the pictures that somebody
in a real laboratory would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from foretell.camera import Camera, Intrinsics
from foretell.factors.patterns import texture
from foretell.match.picture import write_picture
from foretell.match.pinhole import FLIP, Pinhole, project
from foretell.match.points import Point, write_points
from foretell.objects.chart import charts, picture_size
from foretell.registry import resolve
from foretell.rotation import from_axis_angle, multiply, rotate
from foretell.sim import Transform
from foretell.sim.bench import Bench
from foretell.spec import Stream

__all__ = ["CAMERA", "FRAME", "LABORATORIES", "TASK", "Laboratory", "Room", "photograph", "write_lab"]

TASK, CAMERA, SIZE = "widowx_carrot_on_plate", "third_view", (480, 640)
FRAME = 22
"""The published layout that is photographed."""
NOMINAL: Camera = resolve("tasks", TASK).cameras[CAMERA]


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """How a laboratory looks."""

    moved: tuple[float, float, float]
    """Of the camera, m."""
    turned: tuple[float, float, float]
    """Of the camera, rad about its own axes."""
    focal: float
    """Pixels; the task has 623.6."""
    table: tuple[float, float, float]
    floor: tuple[float, float, float]
    """What is multiplied with red, green and blue of a pattern."""
    pattern: float
    """How strong the patterns are, 0 to 1."""
    paint: Mapping[str, tuple[int, int, int]]
    """Asset -> its colour."""
    light: Mapping[str, list[float]]

    @property
    def lens(self) -> dict[str, Any]:
        return {"fx": self.focal, "fy": self.focal, "cx": 320.0, "cy": 240.0, "width": 640, "height": 480}

    @property
    def camera(self) -> Camera:
        x, y, z = (np.asarray(NOMINAL.pos) + self.moved).tolist()
        quat = multiply(NOMINAL.orientation, from_axis_angle(np.asarray(self.turned)))
        w, i, j, k = quat.tolist()
        return Camera(pos=(x, y, z), target=(0, 0, 0), intrinsics=Intrinsics(**self.lens), quat=(w, i, j, k))


LABORATORIES = {
    "far": Laboratory(
        moved=(0.03, -0.02, 0.025),
        turned=(0.02, 0.03, 0.03),
        focal=655.0,
        table=(1.0, 1.06, 0.98),
        floor=(0.8, 0.8, 0.95),
        pattern=0.35,
        paint={"bridge-carrot": (205, 70, 40), "bridge-plate": (90, 120, 175)},
        light={"ambient": [0.42, 0.42, 0.46], "colour": [0.70, 0.62, 0.50], "direction": [0.25, -0.35, -0.9]},
    ),
    "near": Laboratory(
        moved=(0.006, -0.005, 0.005),
        turned=(0.005, 0.006, 0.006),
        focal=631.0,
        table=(0.92, 0.52, 0.34),
        floor=(1.0, 1.02, 1.04),
        pattern=0.15,
        paint={"bridge-carrot": (235, 115, 35), "bridge-plate": (215, 220, 160)},
        light={"ambient": [0.44, 0.44, 0.45], "colour": [0.60, 0.56, 0.50], "direction": [-0.2, 0.35, -0.9]},
    ),
}
"""One looks quite unlike the task, the other a little unlike it. Their physics is the same."""
SPOTS = {"bridge-carrot": 0.25, "bridge-plate": 0.15}
"""How much darker the spots of painted objects are, at most."""
THETA = {
    "kp_scale": 0.5, "kv_scale": 0.8, "pad_friction": 0.7, "finger_force": 0.571, "object_friction": 0.8,
    "object_mass": 1.15, "actuation_delay": 0.02, "joint_noise": 0.001,
}  # fmt: skip
PHYSICS = {
    "timestep": 0.001, "integrator": "implicit", "cone": "pyramidal", "impratio": 1.0, "contact_time": 0.004,
    "geometry": "mesh", "joint_friction": 1.5, "delay_spread": 0.010, "placement_noise": 0.002,
}  # fmt: skip


class Room(Transform):
    """A table and a floor with patterns, in place of the task's plain ones."""

    table: tuple[float, float, float]
    floor: tuple[float, float, float]
    pattern: float

    def dress(self, spec: mujoco.MjSpec) -> None:
        for part, name, tint in (("table/top", "wood-03", self.table), ("floor", "noise-02", self.floor)):
            label, image = f"room/{part}", texture(name, 128)
            made = spec.add_texture(name=label, type=mujoco.mjtTexture.mjTEXTURE_2D, width=128, height=128, nchannel=3)
            faded = self.pattern * image.astype(float) + (1 - self.pattern) * image.mean() + 40
            made.data = np.clip(faded * tint, 0, 255).astype(np.uint8).tobytes()
            material = spec.add_material(name=label, texrepeat=[2, 2], texuniform=True)
            material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = label
            geom = next(g for g in spec.geoms if g.name == part)
            geom.material, geom.rgba = label, [1, 1, 1, 1]


def write_lab(laboratory: Laboratory, folder: Path) -> Path:
    """The laboratory's own world file, which nothing but the laboratory may read."""
    rng, paints, camera = np.random.default_rng(0), [], laboratory.camera
    for asset, colour in laboratory.paint.items():
        height, width = picture_size(charts(asset))
        coarse = rng.uniform(1 - SPOTS[asset], 1, (height // 16 + 1, width // 16 + 1))
        shade = np.kron(coarse, np.ones((16, 16)))[:height, :width, None]
        write_picture(folder / f"{asset}.png", (shade * colour).astype(np.uint8))
        paints.append({"use": "painted", "asset": asset, "image": f"{asset}.png"})
    moved = {"use": "camera", "cameras": [CAMERA], "pos": list(camera.pos), "quat": camera.orientation.tolist()}
    room = {"use": f"{Path(__file__).resolve()}:Room", "table": list(laboratory.table), "floor": list(laboratory.floor)}
    world = {
        "kind": "standin",
        "about": "A simulated laboratory that plays the real one. It is no evidence about robots.",
        "theta": THETA,
        "physics": PHYSICS,
        "transforms": [
            moved | laboratory.lens,
            room | {"pattern": laboratory.pattern},
            *paints,
            {"use": "light", **laboratory.light},
        ],
    }
    path = folder / "lab.yaml"
    path.write_text(yaml.safe_dump(world, sort_keys=False))
    return path


def photograph(laboratory: Laboratory, lab: Path, folder: Path) -> None:
    """frame.png with a mask for each object, table.mp4, and points.csv with points that a steady hand clicked."""
    task = resolve("tasks", TASK)()
    bench = Bench(task, scenario=task.layouts()[FRAME], world=lab)
    picture, parts = look(bench)
    write_picture(folder / "frame.png", picture)
    for name in bench.scenario.placements:
        write_picture(folder / f"mask_{name}.png", parts == bench.parts.ids[name])
    still = np.isin(parts, [bench.parts.ids[name] for name in bench.scenario.placements])
    film(bench, folder / "table.mp4", folder / "hide.png", still)
    write_points(folder / "points.csv", clicked(laboratory.camera))


def look(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    """(height, width, 3) what the camera sees, and (height, width) the number of the part that each pixel shows."""
    streams = {f"{CAMERA}/rgb": Stream((*SIZE, 3)), f"{CAMERA}/segmentation": Stream((*SIZE, 1))}
    seen = bench.world.observe(np.zeros(1, dtype=np.int32), streams)
    return np.ascontiguousarray(seen[f"{CAMERA}/rgb"][0]), seen[f"{CAMERA}/segmentation"][0, ..., 0]


def film(bench: Bench, path: Path, hide: Path, still: np.ndarray) -> None:
    """The robot swings from one side to the other. `hide` marks what never moves: its base and the objects."""
    import av

    home = np.asarray(bench.world.scene.startable["widowx"].home)
    robot = np.ones(SIZE, dtype=bool)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=Fraction(10))
        stream.height, stream.width, stream.pix_fmt = *SIZE, "yuv420p"
        stream.options = {"crf": "16"}
        for waist in 0.9 * np.sin(np.linspace(0, 4 * np.pi, 40)):
            bench.set(widowx=[home[0] + waist, *home[1:]])
            shown, parts = look(bench)
            robot &= parts == bench.parts.ids["widowx"]
            file.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
        file.mux(stream.encode(None))
    grown = np.zeros(SIZE, dtype=bool)
    for down in range(-6, 7, 2):  # a person draws with some room to spare
        for right in range(-6, 7, 2):
            grown |= np.roll(robot | still, (down, right), (0, 1))
    write_picture(hide, grown)


def clicked(camera: Camera) -> list[Point]:
    """Marks that somebody measured on the table and on three upright rulers, and clicked within half a pixel."""
    axes = np.stack([rotate(camera.orientation, axis) for axis in np.eye(3)], axis=1)
    eye = Pinhole(FLIP @ axes.T, np.asarray(camera.pos), camera.lens(*SIZE))
    marks = [(x, y, 0.0) for x in (0.08, 0.16, 0.26) for y in (-0.1, 0.0, 0.12)]
    marks += [(0.1, -0.1, 0.1), (0.1, 0.1, 0.1), (0.28, 0.0, 0.1)]
    rng, points = np.random.default_rng(1), []
    for number, mark in enumerate(marks, 1):
        xyz = np.asarray(mark) + rng.normal(0, 0.0005, 3)  # the ruler is right within half a millimetre
        (uv,) = project(eye, xyz[None]) + rng.normal(0, 0.5, 2)
        points.append(Point(name=f"mark {number}", xyz=mark, uv=tuple(uv.tolist())))
    return points
