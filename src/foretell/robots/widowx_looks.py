"""What the WidowX looks like: shells of our own, or the meshes of MuJoCo Menagerie."""

from __future__ import annotations

from typing import Final

import mujoco
import numpy as np

from foretell.robots.menagerie import MeshPiece, dress
from foretell.robots.shells import Shell, add_skin, loft

__all__ = ["dress_widowx", "dress_widowx_fully"]

_BLACK: Final = (0.15, 0.15, 0.16, 1.0)
_Z: Final = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
_SAME: Final = (1.0, 0.0, 0.0, 0.0)
_AT_HAND: Final = (-0.02, 0.0, 0.0)
_PIECES: Final = tuple(
    MeshPiece(body=body, mesh=f"wx250s_{mesh}.stl", pos=pos, quat=quat)
    for body, mesh, pos, quat in (
        ("base_link", "1_base", (0.0, 0.0, 0.0), _Z),
        ("shoulder_link", "2_shoulder", (0.0, 0.0, -0.003), _Z),
        ("upper_arm_link", "3_upper_arm", (0.0, 0.0, 0.0), _Z),
        ("upper_forearm_link", "4_upper_forearm", (0.0, 0.0, 0.0), _SAME),
        ("lower_forearm_link", "5_lower_forearm", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)),
        ("wrist_link", "6_wrist", (0.0, 0.0, 0.0), _Z),
        ("gripper_link", "7_gripper", _AT_HAND, _Z),
        ("gripper_link", "8_gripper_prop", _AT_HAND, _Z),
        ("gripper_link", "9_gripper_bar", _AT_HAND, _Z),
        ("left_finger_link", "10_gripper_finger", (0.0, 0.005, 0.0), (0.0, 0.0, 0.0, -1.0)),
        ("right_finger_link", "10_gripper_finger", (0.0, -0.005, 0.0), (0.0, 0.0, 1.0, 0.0)),
    )
)


def dress_widowx_fully(spec: mujoco.MjSpec) -> None:
    """Adds the meshes of MuJoCo Menagerie."""
    dress(spec, "trossen_wx250s", _PIECES, scale=0.001, colour=_BLACK)


# ---- shells of our own, drawn after the real arm's outline; metres, in the frame of the named link.

_COLOURS: Final = {
    "black": (0.13, 0.13, 0.14, 1.0),
    "servo": (0.08, 0.08, 0.085, 1.0),
    "metal": (0.22, 0.22, 0.23, 1.0),
}


def dress_widowx(spec: mujoco.MjSpec) -> None:
    """Adds the visual geoms (group 2, no contacts, no mass) to the bodies of a WidowX's spec."""
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, specular=0.4, shininess=0.4)
    shell = Shell(spec)
    _dress_base(spec, shell)
    _dress_arm(shell)
    _dress_wrist(shell)
    _dress_hand(shell)


def _dress_base(spec: mujoco.MjSpec, shell: Shell) -> None:
    foot = ((0.0, 0.0, 0.080, 0.080, 2.0), (0.012, 0.0, 0.080, 0.080, 2.0), (0.020, 0.0, 0.066, 0.066, 2.0))
    add_skin(spec, "foot", loft(foot, 8))
    turn = (np.cos(np.pi / 16), 0.0, 0.0, np.sin(np.pi / 16))  # an edge ahead, not a corner
    shell.moulded("base_link", "black", "foot", quat=turn)
    shell.disc("base_link", "black", (0, 0, 0.018), (0, 0, 0.068), 0.055)
    shell.block("base_link", "black", (-0.108, 0, 0.026), (0.049, 0.043, 0.026))
    shell.block("base_link", "metal", (-0.108, 0, 0.053), (0.040, 0.034, 0.002))
    shell.disc("shoulder_link", "black", (0, 0, -0.003), (0, 0, 0.012), 0.051)
    for y in (0.026, -0.026):
        shell.block("shoulder_link", "servo", (0.0, y * 0.95, 0.034), (0.017, 0.018, 0.026))
        shell.disc("shoulder_link", "metal", (0, y * 1.75, 0.03865), (0, y * 1.6, 0.03865), 0.012)


def _dress_arm(shell: Shell) -> None:
    arm = "upper_arm_link"
    shell.block(arm, "black", (0, 0, 0.022), (0.0145, 0.028, 0.03))
    for y in (0.0505, -0.0505):
        shell.block(arm, "black", (0, y, 0.008), (0.014, 0.003, 0.02))
    shell.block(arm, "black", (0, 0, 0.05), (0.0145, 0.0535, 0.008))
    shell.block(arm, "black", (0, 0, 0.145), (0.0125, 0.0125, 0.095))
    shell.block(arm, "black", (0.018, 0, 0.25), (0.032, 0.022, 0.0145))
    for y in (0.033, -0.033):  # the two servos of the elbow
        shell.block(arm, "servo", (0.03, y, 0.25), (0.03, 0.018, 0.0145))
    shell.disc(arm, "metal", (0.04975, -0.054, 0.25), (0.04975, 0.054, 0.25), 0.011)
    fore = "upper_forearm_link"
    shell.block(fore, "black", (0.014, 0, 0), (0.022, 0.021, 0.0145))
    shell.block(fore, "black", (0.095, 0, 0), (0.062, 0.0125, 0.0125))
    shell.disc(fore, "black", (0.15, 0, 0), (0.175, 0, 0), 0.021)


def _dress_wrist(shell: Shell) -> None:
    fore = "lower_forearm_link"
    shell.disc(fore, "metal", (-0.004, 0, 0), (0.008, 0, 0), 0.024)
    shell.block(fore, "servo", (0.034, 0.003, 0), (0.027, 0.0195, 0.0165))
    for y in (0.0225, -0.0225):
        shell.block(fore, "black", (0.066, y, 0), (0.02, 0.002, 0.015))
    shell.disc(fore, "metal", (0.075, -0.026, 0), (0.075, 0.026, 0), 0.009)
    wrist = "wrist_link"
    shell.block(wrist, "servo", (0.008, 0, 0), (0.02, 0.0195, 0.016))
    shell.block(wrist, "black", (0.032, 0, 0.0), (0.012, 0.0195, 0.017))
    shell.block(wrist, "servo", (0.048, 0, 0.008), (0.016, 0.018, 0.027))


def _dress_hand(shell: Shell) -> None:
    hand = "gripper_link"
    shell.block(hand, "servo", (0.0215, 0, 0.0076), (0.0215, 0.020, 0.0276))
    shell.disc(hand, "metal", (0.043, 0, 0), (0.051, 0, 0), 0.0095)  # the propeller that moves the fingers
    shell.block(hand, "metal", (0.0485, 0, 0), (0.0025, 0.018, 0.005))
    shell.block(hand, "black", (0.0445, 0, 0.0), (0.0015, 0.030, 0.014))
    shell.block(hand, "black", (0.0445, 0, 0.0), (0.0015, 0.0517, 0.008))
    for y in (0.046, -0.046):  # posts, and the rail that the fingers slide on
        shell.disc(hand, "metal", (0.044, y, 0), (0.062, y, 0), 0.004)
        shell.block(hand, "black", (0.066, y, 0), (0.007, 0.0057, 0.009))
    shell.block(hand, "black", (0.066, 0, 0), (0.005, 0.046, 0.006))
    eye = shell.spec.camera("wrist")  # its housing ends just behind the lens
    back = np.zeros(3)
    mujoco.mju_rotVecQuat(back, np.array([0, 0, 0.011]), eye.quat)
    shell.block(hand, "metal", tuple(eye.pos + back), (0.018, 0.012, 0.01), quat=eye.quat)
    shell.block(hand, "metal", (-0.006, 0, 0.05), (0.003, 0.01, 0.022))
    for finger, side in (("left_finger_link", 1), ("right_finger_link", -1)):
        shell.moulded(finger, "black", finger)
        shell.block(finger, "servo", (0.0, side * 0.001, 0), (0.009, 0.006, 0.0145))
