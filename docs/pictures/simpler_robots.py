"""Draws docs/pictures/simpler_robots.png: the WidowX and the Google robot from the side and through their own cameras.

python docs/pictures/simpler_robots.py
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from foretell.robots import Robot
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX

HEIGHT, SMALL = 800, 400
"""Of a panel, as rendered and as shown, pixels."""
VIEWS = (
    ("WidowX", WidowX, ((0.12, 0.0, 0.19), 0.78, 140.0, -18.0), 800),
    ("WidowX, its camera", WidowX, "third_view", 1066),
    ("Google robot", GoogleRobot, ((0.02, -0.03, 0.62), 2.1, 145.0, -10.0), 800),
    ("Google robot, its camera", GoogleRobot, "overhead", 1000),
)
LAMPS = (((0.6, -1.0, 1.6), 0.9, True), ((1.2, 0.9, 0.8), 0.7, False), ((-1.0, 0.6, 1.2), 0.6, False))
"""Place from which each shines on the robot's middle, brightness, and whether it casts shadows."""


def scene(robot: type[Robot], view: object, width: int) -> np.ndarray:
    """The robot at home on tiles of 10 cm, from (look at, distance, azimuth, elevation) or from a camera of its own."""
    spec = robot().spec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, HEIGHT
    spec.visual.quality.offsamples = 8
    spec.visual.quality.shadowsize = 8192
    dark = robot is WidowX  # black plastic needs more light than white shells
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.55 if dark else 0.4] * 3, [0.15] * 3
    for place, brightness, casts in LAMPS:
        diffuse = [brightness * (1.0 if dark else 0.35)] * 3
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=place, dir=[-x for x in place], diffuse=diffuse,
            specular=diffuse, castshadow=casts,
        )  # fmt: skip
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[0.93, 0.94, 0.95], width=16, height=96,
    )  # fmt: skip
    floor = 0.0 if robot is WidowX else -0.064
    grey = 0.46 if dark else 0.85
    spec.add_texture(
        name="tiles", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[grey] * 3, rgb2=[0.92 * grey] * 3, width=128, height=128,
    )  # fmt: skip
    tiles = spec.add_material(name="tiles", texrepeat=[5, 5], texuniform=True, specular=0, shininess=0)
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], pos=[0, 0, floor], material="tiles")
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
    panels = []
    for title, *view in VIEWS:
        panel = Image.fromarray(scene(*view))
        panel = panel.resize((panel.width * SMALL // HEIGHT, SMALL), Image.Resampling.LANCZOS)
        ImageDraw.Draw(panel).text((10, 6), title, fill="black", font=ImageFont.load_default(20))
        panels.append(np.asarray(panel))
    Image.fromarray(np.hstack(panels)).save(Path(__file__).with_suffix(".png"), optimize=True)
