"""What the Google robot looks like: shells of our own, or the meshes of MuJoCo Menagerie."""

from __future__ import annotations

from typing import Final

import mujoco

from foretell.robots.menagerie import Piece, dress

__all__ = ["dress_google_robot", "dress_google_robot_fully"]

_SKIN: Final = "robot_texture.png"
_PIECES: Final = (
    *(
        Piece(body=f"link_{part}", mesh=f"link_{part}_v.obj", texture=_SKIN)
        for part in (
            "base", "torso", "shoulder", "bicep", "elbow", "forearm", "wrist", "gripper", "head_pan", "head_tilt",
        )  # fmt: skip
    ),
    *(Piece(body="link_base", mesh="link_wheel_v.obj", pos=(0.0, y, 0.0), texture=_SKIN) for y in (0.18333, -0.18333)),
    *(
        Piece(body=f"link_{part}_{side}", mesh=f"link_{mesh}_v.obj", texture=f"{mesh}_texture.png")
        for side in ("right", "left")
        for part, mesh in (("finger", "finger_base"), ("finger_tip", "finger_tip"))
    ),
)


def dress_google_robot_fully(spec: mujoco.MjSpec) -> None:
    """Adds the meshes of MuJoCo Menagerie."""
    dress(spec, "google_robot", _PIECES)


def dress_google_robot(spec: mujoco.MjSpec) -> None:
    """Adds the visual geoms (group 2, no contacts, no mass) to the bodies of a Google robot's spec."""
