"""Formats of a rotation, on arrays with any leading axes: to and from unit quaternions (w, x, y, z)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats
from foretell.rotation import cross, from_axis_angle, from_matrix, multiply, rotate, to_axis_angle

__all__ = ["FORMATS", "Format", "from_euler", "to_euler"]

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def from_euler(angles: Floats, order: str) -> Floats:
    """Quaternions (..., 4) of three angles (..., 3), rad, about fixed axes, one after the other in that order: `xyz` is
    roll, pitch, yaw."""
    turns = [from_axis_angle(angles[..., i : i + 1] * np.array(_AXES[axis])) for i, axis in enumerate(order)]
    return multiply(turns[2], multiply(turns[1], turns[0]))


def to_euler(q: Floats, order: str) -> Floats:
    """Angles (..., 3) of quaternions (..., 4): the inverse of `from_euler`, for three different axes."""
    unit = [rotate(q, np.broadcast_to(np.array(_AXES[axis]), (*q.shape[:-1], 3))) for axis in order]
    index = ["xyz".index(axis) for axis in order]
    sign = 1.0 if order in ("xyz", "yzx", "zxy") else -1.0
    # R maps axis i onto unit[i]; element (a, b) of the matrix in the order's own axes is unit[b][index[a]]
    sine = -sign * unit[0][..., index[2]]
    second = np.arcsin(np.clip(sine, -1.0, 1.0))
    first = np.arctan2(sign * unit[1][..., index[2]], unit[2][..., index[2]])
    third = np.arctan2(sign * unit[0][..., index[1]], unit[0][..., index[0]])
    return np.stack([first, second, third], axis=-1)


def _from_six(values: Floats) -> Floats:
    """Of the first two columns of the matrix, end to end (Zhou et al.), which need not be orthonormal."""
    a, b = values[..., :3], values[..., 3:]
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b - np.sum(a * b, axis=-1, keepdims=True) * a
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return from_matrix(np.stack([a, b, cross(a, b)], axis=-1))


def _to_six(q: Floats) -> Floats:
    columns = [rotate(q, np.broadcast_to(np.array(_AXES[axis]), (*q.shape[:-1], 3))) for axis in "xy"]
    return np.concatenate(columns, axis=-1)


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a rotation is written."""

    size: int
    most: float
    """Largest magnitude of a number."""
    to_quat: Callable[[Floats], Floats]
    from_quat: Callable[[Floats], Floats]
    unit: str = "rad"


def _euler(order: str) -> Format:
    return Format(size=3, most=np.pi, to_quat=lambda a: from_euler(a, order), from_quat=lambda q: to_euler(q, order))


def _unit(q: Floats) -> Floats:
    normed: Floats = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return normed


FORMATS = {
    "axis_angle": Format(size=3, most=np.pi, to_quat=from_axis_angle, from_quat=to_axis_angle),
    "euler_xyz": _euler("xyz"),
    "euler_zyx": _euler("zyx"),
    "quaternion": Format(size=4, most=1.0, to_quat=_unit, from_quat=lambda q: q, unit="1"),
    "quaternion_xyzw": Format(
        size=4,
        most=1.0,
        to_quat=lambda q: _unit(np.roll(q, 1, axis=-1)),
        from_quat=lambda q: np.roll(q, -1, axis=-1),
        unit="1",
    ),
    "matrix_6d": Format(size=6, most=1.0, to_quat=_from_six, from_quat=_to_six, unit="1"),
}
"""Euler angles are about fixed axes, in the order of the letters: `euler_xyz` is roll, pitch, yaw."""
