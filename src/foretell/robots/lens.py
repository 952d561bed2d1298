"""Cameras of models with the full intrinsics of a lens."""

from __future__ import annotations

import mujoco

from foretell.camera import Intrinsics

__all__ = ["set_lens"]


def set_lens(camera: mujoco.MjsCamera, lens: Intrinsics) -> None:
    """Give a camera of a model full intrinsics."""
    camera.resolution = [lens.width, lens.height]
    camera.focal_pixel = [lens.fx, lens.fy]
    # MuJoCo counts both from the middle: to the left, and up
    camera.principal_pixel = [lens.width / 2 - lens.cx, lens.height / 2 - lens.cy]
    camera.sensor_size = [lens.width * 1e-5, lens.height * 1e-5]  # only their ratio to the focal length counts
