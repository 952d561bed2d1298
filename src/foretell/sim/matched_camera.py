"""A camera as it was measured: the transform `camera` gives one camera of a world another pose and another lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from pydantic import Field, field_validator, model_validator

from foretell.camera import Intrinsics
from foretell.errors import UsageError
from foretell.robots.lens import set_lens
from foretell.sim.parts import Parts
from foretell.sim.transforms import FILM, Transform

__all__ = ["MatchedCamera"]

LENS = ("fx", "fy", "cx", "cy", "width", "height")


class MatchedCamera(Transform):
    """Pose and lens of one camera. What is left out stays as the task has it. Factors move it from there."""

    pos: tuple[float, float, float] | None = None
    """m, in the task frame; of a camera on a robot, in the frame of the body that carries it."""
    quat: tuple[float, float, float, float] | None = None
    """Orientation, wxyz; the camera looks along its own -z, and its own y points up in the picture."""
    fx: float | None = Field(default=None, gt=0)
    """Focal lengths and principal point, pixels from the top left corner."""
    fy: float | None = Field(default=None, gt=0)
    cx: float | None = None
    cy: float | None = None
    width: int | None = Field(default=None, gt=0)
    """Size of the picture that the lens is for."""
    height: int | None = Field(default=None, gt=0)

    @field_validator("cameras")
    @classmethod
    def _names_a_camera(cls, cameras: Any) -> Any:
        if cameras == "all" or len(cameras) != 1 or cameras[0] == FILM:
            raise ValueError("name the one camera of the scene that it is about, such as [front]")
        return cameras

    @field_validator("quat")
    @classmethod
    def _is_a_rotation(cls, quat: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if quat is not None and abs(np.linalg.norm(quat) - 1) > 1e-3:
            raise ValueError(f"a quaternion has length 1, and this one {np.linalg.norm(quat):.3f}")
        return quat

    @model_validator(mode="after")
    def _is_whole(self) -> MatchedCamera:
        if self.cameras == "all":  # it is required, though other transforms have a default
            raise ValueError("cameras: name the one camera of the scene that it is about, such as [front]")
        missing = [name for name in LENS if getattr(self, name) is None]
        if missing and len(missing) < len(LENS):
            raise ValueError(f"a lens needs {', '.join(LENS)}: {', '.join(missing)} is missing")
        if self.pos is None and self.quat is None and missing:
            raise ValueError("give a pose (pos, quat), a lens (fx, fy, cx, cy, width, height), or both")
        return self

    @property
    def lens(self) -> Intrinsics | None:
        return None if self.fx is None else Intrinsics(**{name: getattr(self, name) for name in LENS})

    def check(self, cameras: Sequence[str], parts: Parts) -> None:
        super().check(cameras, parts)
        lens = self.lens
        if lens is not None and not (0 < lens.cx < lens.width and 0 < lens.cy < lens.height):
            raise UsageError(
                f"cx, cy: ({lens.cx:g}, {lens.cy:g}) is outside a picture of {lens.width}x{lens.height} pixels"
            )

    def dress(self, spec: mujoco.MjSpec) -> None:
        camera = spec.camera(self.cameras[0])
        if self.pos is not None:
            camera.pos = list(self.pos)
        if self.quat is not None:
            camera.quat = np.asarray(self.quat) / np.linalg.norm(self.quat)
        if (lens := self.lens) is not None:
            set_lens(camera, lens)

    def decides(self) -> dict[str, Any]:
        return {name: value for name, value in super().decides().items() if value is not None}
