"""What the Google robot looks like: shells of our own, or the meshes of MuJoCo Menagerie."""

from __future__ import annotations

from functools import cache
from typing import Final

import mujoco

from foretell.robots.menagerie import MeshPiece, dress
from foretell.robots.shells import Shell, Skin, add_skin, blend, loft, rod, skin, slab

__all__ = ["dress_google_robot", "dress_google_robot_fully"]

_SKIN: Final = "robot_texture.png"
_PARTS: Final = ["base", "torso", "shoulder", "bicep", "elbow", "forearm", "wrist", "gripper", "head_pan", "head_tilt"]
_PIECES: Final = (
    *(MeshPiece(body=f"link_{part}", mesh=f"link_{part}_v.obj", texture=_SKIN) for part in _PARTS),
    *(
        MeshPiece(body="link_base", mesh="link_wheel_v.obj", pos=(0.0, y, 0.0), texture=_SKIN)
        for y in (0.18333, -0.18333)
    ),
    *(
        MeshPiece(body=f"link_{part}_{side}", mesh=f"link_{mesh}_v.obj", texture=f"{mesh}_texture.png")
        for side in ("right", "left")
        for part, mesh in (("finger", "finger_base"), ("finger_tip", "finger_tip"))
    ),
)


def dress_google_robot_fully(spec: mujoco.MjSpec) -> None:
    """Adds the meshes of MuJoCo Menagerie."""
    dress(spec, "google_robot", _PIECES)


# ---- shells of our own, drawn after the real robot's outline; metres, in the frame of the named link.

_COLOURS: Final = {
    "white": (0.90, 0.90, 0.90, 1.0),
    "grey": (0.70, 0.71, 0.72, 1.0),
    "dark": (0.13, 0.13, 0.14, 1.0),
    "amber": (0.85, 0.55, 0.12, 1.0),
    "yellow": (0.90, 0.78, 0.36, 1.0),
}


@cache
def _skins() -> dict[str, Skin]:
    base = (
        (-0.035, -0.131, 0.258, 0.180, 5.0),
        (0.040, -0.131, 0.267, 0.188, 5.0),
        (0.120, -0.134, 0.262, 0.184, 5.0),
        (0.220, -0.142, 0.245, 0.177, 4.5),
        (0.270, -0.150, 0.230, 0.168, 4.0),
        (0.285, -0.155, 0.215, 0.155, 4.0),
    )
    head = (
        (-0.050, 0.075, 0.040, 0.080, 3.0),
        (-0.030, 0.048, 0.070, 0.100, 3.5),
        (0.000, 0.044, 0.075, 0.111, 3.5),
        (0.030, 0.048, 0.070, 0.101, 3.5),
        (0.053, 0.075, 0.040, 0.080, 3.0),
    )
    torso = blend(
        0.04,
        rod((0, 0, 0.0), (0, 0, 0.212), 0.077, 0.071, edge=0.004),
        rod((0, -0.03, 0.113), (0, -0.166, 0.113), 0.056, edge=0.006),
    )
    shoulder = blend(
        0.04,
        rod((0, 0.081, 0.0), (0, -0.058, 0.0), 0.064, edge=0.02),
        rod((0, 0, 0.02), (0, 0, 0.216), 0.057, edge=0.004),
    )
    bicep = blend(
        0.03,
        rod((0, 0, 0.001), (0, 0, 0.2), 0.056, edge=0.02),
        rod((0, 0.05, 0.185), (0, -0.066, 0.185), 0.051, edge=0.015),
    )
    elbow = blend(
        0.03,
        rod((0, 0, 0), (0, -0.146, 0), 0.051, edge=0.035),
        rod((0, -0.101, 0), (0, -0.101, 0.091), 0.045, edge=0.004),
    )
    forearm = blend(
        0.03,
        rod((0, 0, 0.0), (0, 0, 0.05), 0.045, edge=0.01),
        rod((0, 0.004, 0.03), (0, 0.026, 0.25), 0.038, 0.029, edge=0.015),
        rod((0, 0.063, 0.2735), (0, -0.014, 0.2735), 0.0395, edge=0.015),
    )
    wrist = blend(
        0.025,
        rod((0, -0.053, 0), (0, -0.003, 0), 0.039, edge=0.015),
        rod((0, -0.01, 0.02), (0, 0.006, 0.112), 0.039, edge=0.008),
    )
    hand = blend(
        0.02,
        rod((0, 0, 0.0), (0, 0, 0.04), 0.041, edge=0.004),
        slab((0, 0, 0.04), (0.040, 0.047, 0.022), edge=0.015),
        slab((0, 0, 0.055), (0.028, 0.034, 0.02), edge=0.01),
    )
    return {
        "base": loft(base, 32),
        "head": loft(head),
        "torso": skin(torso, (-0.08, -0.17, -0.005), (0.08, 0.08, 0.215), 0.018),
        "shoulder": skin(shoulder, (-0.07, -0.065, -0.07), (0.07, 0.085, 0.22), 0.018),
        "bicep": skin(bicep, (-0.06, -0.07, -0.005), (0.06, 0.06, 0.24), 0.017),
        "elbow": skin(elbow, (-0.055, -0.15, -0.055), (0.055, 0.005, 0.095), 0.016),
        "forearm": skin(forearm, (-0.05, -0.05, -0.005), (0.05, 0.07, 0.318), 0.016),
        "wrist": skin(wrist, (-0.045, -0.06, -0.045), (0.045, 0.05, 0.115), 0.014),
        "hand": skin(hand, (-0.05, -0.055, -0.005), (0.05, 0.055, 0.08), 0.012),
    }


def dress_google_robot(spec: mujoco.MjSpec) -> None:
    """Adds the visual geoms (group 2, no contacts, no mass) to the bodies of a Google robot's spec."""
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, specular=0.3, shininess=0.3)
    for name, shape in _skins().items():
        add_skin(spec, f"{name}_shell", shape)
    shell = Shell(spec)
    for part in ("base", "torso", "shoulder", "bicep", "elbow", "forearm", "wrist"):
        shell.moulded(f"link_{part}", "white", f"{part}_shell")
    shell.moulded("link_gripper", "grey", "hand_shell")
    shell.moulded("link_head_tilt", "white", "head_shell")
    _dress_base(shell)
    for body, at, radius in (
        ("link_torso", (0, 0, -0.004), 0.079),
        ("link_bicep", (0, 0, -0.001), 0.0575),
        ("link_forearm", (0, 0, -0.001), 0.0455),
        ("link_gripper", (0, 0, -0.001), 0.0415),
    ):
        shell.disc(body, "amber", at, (at[0], at[1], at[2] + 0.006), radius)
    _dress_head(shell)
    for side in ("right", "left"):
        _dress_finger(shell, side)


def _dress_base(shell: Shell) -> None:
    body = "link_base"
    shell.dome(body, "white", (0, 0, 0.28), (0.125, 0.125, 0.05))
    shell.disc(body, "white", (0, 0, 0.27), (0, 0, 0.588), 0.079)
    shell.disc(body, "white", (0, 0, 0.80), (0, 0, 1.168), 0.068)
    for height in (0.36, 0.43):  # speakers
        shell.disc(body, "grey", (0.06, 0.0, height), (0.0805, 0.0, height), 0.022)
    shell.block(body, "dark", (-0.131, 0, -0.03), (0.22, 0.15, 0.02))
    for y in (0.18333, -0.18333):
        shell.disc(body, "dark", (0, y - 0.012, 0), (0, y + 0.012, 0), 0.064)
        shell.disc(body, "grey", (0, y - 0.014, 0), (0, y + 0.014, 0), 0.04)
    for y in (0.095, -0.095):
        shell.disc(body, "dark", (-0.338, y - 0.01, -0.029), (-0.338, y + 0.01, -0.029), 0.035)


def _dress_head(shell: Shell) -> None:
    shell.disc("link_head_pan", "amber", (0, 0, 0.002), (0, 0, 0.008), 0.06)
    shell.disc("link_head_pan", "white", (0, 0, 0.006), (0, 0, 0.11), 0.057)
    shell.dome("link_head_pan", "white", (0.02, 0, 0.11), (0.075, 0.055, 0.045))
    shell.block("link_head_tilt", "dark", (0.112, 0, 0), (0.006, 0.088, 0.03))
    for y in (-0.055, 0.0, 0.055):
        shell.disc("link_head_tilt", "grey", (0.116, y, 0), (0.1195, y, 0), 0.014)


def _dress_finger(shell: Shell, side: str) -> None:
    """A yellow shell with a grey, ridged inner side (-y)."""
    finger, tip = f"link_finger_{side}", f"link_finger_tip_{side}"
    shell.moulded(finger, "yellow", "finger")
    shell.moulded(tip, "yellow", "finger_tip")
    shell.disc(finger, "grey", (-0.026, 0, 0.006), (0.026, 0, 0.006), 0.012)
    shell.block(finger, "grey", (0, 0.0, 0.014), (0.018, 0.009, 0.012))
    shell.disc(tip, "grey", (-0.0215, 0.004, -0.001), (0.0215, 0.004, -0.001), 0.006)
    for k in range(5):
        shell.block(finger, "grey", (0, -0.0172 - 0.0003 * k, 0.029 + 0.008 * k), (0.017 - 0.001 * k, 0.0018, 0.0028))
        shell.block(tip, "grey", (0, -0.0066, 0.003 + 0.0075 * k), (0.016 - 0.0015 * k, 0.0018, 0.0026))
