"""A camera: where it stands, what it looks at, and its lens."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from foretell.rotation import from_matrix, rotate
from foretell.spec import IMAGES, Feature, Noise

__all__ = ["Camera", "Intrinsics", "camera_features", "framing", "point_cloud"]


@dataclass(frozen=True, kw_only=True)
class Intrinsics:
    """A pinhole lens in pixels, as calibration tools give it."""

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int
    """Size of the picture that the numbers are for."""

    @classmethod
    def of_fovy(cls, fovy: float, height: int, width: int) -> Intrinsics:
        """Of a lens with square pixels and its axis in the middle; `fovy` in degrees."""
        focal = height / 2 / math.tan(math.radians(fovy) / 2)
        return cls(fx=focal, fy=focal, cx=width / 2, cy=height / 2, width=width, height=height)

    def resized(self, height: int, width: int) -> Intrinsics:
        """The same lens for pictures of another size."""
        x, y = width / self.width, height / self.height
        return Intrinsics(fx=self.fx * x, fy=self.fy * y, cx=self.cx * x, cy=self.cy * y, width=width, height=height)

    @property
    def fovy(self) -> float:
        """Vertical field of view, degrees."""
        return math.degrees(math.atan2(self.cy, self.fy) + math.atan2(self.height - self.cy, self.fy))


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera fixed in the task frame."""

    pos: tuple[float, float, float]
    target: tuple[float, float, float]
    """The point it looks at, the horizon level."""
    fovy: float = 45.0
    """Vertical field of view, degrees; `intrinsics` come before it."""
    intrinsics: Intrinsics | None = None
    quat: tuple[float, float, float, float] | None = None
    """Orientation (it looks along its own -z), where a target does not say it."""

    @property
    def orientation(self) -> np.ndarray:
        """Quaternion: `quat`, or that of a camera which looks at its target with the horizon level."""
        if self.quat is not None:
            return np.asarray(self.quat, dtype=float)
        back = np.asarray(self.pos, dtype=float) - np.asarray(self.target, dtype=float)
        back /= np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        if np.linalg.norm(right) < 1e-9:  # straight down: let the image's top point away from the robot
            right = np.array([0.0, -1.0, 0.0])
        right /= np.linalg.norm(right)
        return from_matrix(np.column_stack([right, np.cross(back, right), back]))

    def lens(self, height: int, width: int) -> Intrinsics:
        """Its lens for pictures of a size."""
        if self.intrinsics is not None:
            return self.intrinsics.resized(height, width)
        return Intrinsics.of_fovy(self.fovy, height, width)

    def in_task_frame(self, points: np.ndarray) -> np.ndarray:
        """(..., 3) points of `point_cloud`, in the task frame."""
        own = np.asarray(points) * [1.0, -1.0, -1.0]  # its own y points up and its own z backwards
        turned = rotate(np.broadcast_to(self.orientation, (*own.shape[:-1], 4)), own)
        return np.asarray(turned + np.asarray(self.pos))


def framing(camera: Camera, point: np.ndarray, height: int, width: int, margin: float) -> Camera:
    """A camera in the same place that sees all it saw, and a point (3,) and `margin` radians around that besides: it
    turns, and its lens widens, as little as that takes. It depends on the point alone, so that a film moves as smoothly
    as the point."""
    pos = np.asarray(camera.pos, dtype=float)
    right, up, back = rotate(np.broadcast_to(camera.orientation, (3, 4)), np.eye(3))
    to = np.asarray(point, dtype=float) - pos
    if (depth := float(to @ -back)) <= 0:
        return camera  # the point is behind it
    rise = math.radians(camera.lens(height, width).fovy) / 2
    ahead, slope = -back, 0.0
    for axis, edge, shape in ((up, rise, 1.0), (right, math.atan(math.tan(rise) * width / height), height / width)):
        angle = math.atan2(float(to @ axis), depth)
        high, low = max(edge, angle + margin), min(-edge, angle - margin)
        ahead = ahead + math.tan((high + low) / 2) * axis
        slope = max(slope, shape * math.tan((high - low) / 2))
    if slope <= math.tan(rise) * (1 + 1e-9):
        return camera
    x, y, z = (pos + np.linalg.norm(np.asarray(camera.target) - pos) * ahead).tolist()
    fovy = math.degrees(2 * math.atan(slope))
    return replace(camera, target=(x, y, z), fovy=fovy, intrinsics=None)


def camera_features(
    camera: str, height: int = 224, width: int = 224, legend: tuple[str, ...] = ()
) -> dict[str, Feature]:
    """What a camera of this name gives. `legend`: the parts of the scene, by their ids in a segmentation."""
    units = {"rgb": "1", "depth": "m", "segmentation": "part"}
    noises: dict[str, Noise] = {"rgb": "image", "depth": "depth"}  # a part has no value between two others
    return {
        kind: Feature(
            kind=kind,
            shape=(height, width, channels),
            dtype=dtype,
            unit=units[kind],
            frame=camera,
            noise=noises.get(kind),
            optional=True,
            legend=legend if kind == "segmentation" else (),
        )
        for kind, (channels, dtype) in IMAGES.items()
    }


def point_cloud(depth: np.ndarray, lens: Intrinsics) -> np.ndarray:
    """(height, width, 3) points in the camera's frame (x right, y down, z ahead), m, of a depth image (height, width)
    or (height, width, 1), which holds the distance along the axis of the lens. Where there is nothing to see, depth and
    z are 0."""
    height, width = depth.shape[:2]
    z = np.asarray(depth, dtype=np.float64).reshape(height, width)
    lens = lens.resized(height, width)
    u, v = np.arange(width) + 0.5, np.arange(height) + 0.5
    return np.stack([(u - lens.cx) / lens.fx * z, ((v - lens.cy) / lens.fy)[:, None] * z, z], axis=-1)
