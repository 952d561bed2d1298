"""Draws docs/pictures/simpler_robots.png: the WidowX and the Google robot from the side and through their own cameras.

python docs/pictures/simpler_robots.py
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from foretell.robots import Robot
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX

HEIGHT = 800
VIEWS = (
    (WidowX, ((0.12, 0.0, 0.19), 0.78, 140.0, -18.0), 800),
    (WidowX, "third_view", 1066),
    (GoogleRobot, ((0.02, -0.03, 0.62), 2.1, 145.0, -10.0), 640),
    (GoogleRobot, "overhead", 1000),
)


def scene(robot: type[Robot], view: object, width: int) -> np.ndarray:
    """The robot at home on a floor, from (look at, distance, azimuth, elevation) or from a camera of its own."""
    spec = robot().spec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, HEIGHT
    spec.visual.quality.offsamples = 8
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.4] * 3, [0.4] * 3
    spec.worldbody.add_light(pos=[1, -1, 3], dir=[-0.3, 0.3, -1], diffuse=[0.5] * 3)
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[0.93, 0.94, 0.95], width=16, height=96,
    )  # fmt: skip
    floor = 0.0 if robot is WidowX else -0.064
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], pos=[0, 0, floor], rgba=[0.80, 0.81, 0.83, 1]
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    for group in robot.groups.values():
        for joint, q in zip(group.joints, group.home, strict=True):
            data.joint(joint).qpos = q
    mujoco.mj_forward(model, data)
    camera: object = view
    if not isinstance(view, str):
        camera = mujoco.MjvCamera()
        camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = view
    seen = mujoco.MjvOption()
    seen.geomgroup[:] = [1, 1, 1, 0, 0, 0]
    with mujoco.Renderer(model, HEIGHT, width) as renderer:
        renderer.update_scene(data, camera, seen)
        return renderer.render().copy()


if __name__ == "__main__":
    strip = np.hstack([scene(*view) for view in VIEWS])
    picture = Image.fromarray(strip).resize((strip.shape[1] * 340 // HEIGHT, 340), Image.Resampling.LANCZOS)
    picture.save(Path(__file__).with_suffix(".png"), optimize=True)
