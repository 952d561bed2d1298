"""What the WidowX looks like: shells of our own, or the meshes of MuJoCo Menagerie."""

from __future__ import annotations

from typing import Final

import mujoco
import numpy as np

from foretell.robots.menagerie import Piece, dress

__all__ = ["dress_widowx", "dress_widowx_fully"]

_BLACK: Final = (0.15, 0.15, 0.16, 1.0)
_Z: Final = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
_SAME: Final = (1.0, 0.0, 0.0, 0.0)
_AT_HAND: Final = (-0.02, 0.0, 0.0)
_PIECES: Final = tuple(
    Piece(body=body, mesh=f"wx250s_{mesh}.stl", pos=pos, quat=quat, rgba=_BLACK)
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
    dress(spec, "trossen_wx250s", _PIECES, scale=0.001)


def dress_widowx(spec: mujoco.MjSpec) -> None:
    """Adds the visual geoms (group 2, no contacts, no mass) to the bodies of a WidowX's spec."""
