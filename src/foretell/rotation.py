"""Rotations on arrays with any leading axes. Quaternions are (w, x, y, z) and unit; axis-angle vectors in rad."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats

__all__ = [
    "Quat",
    "conjugate",
    "cross",
    "from_axis_angle",
    "from_matrix",
    "from_yaw",
    "multiply",
    "rotate",
    "to_axis_angle",
    "turned",
    "yaw",
]

Quat = tuple[float, float, float, float]


def multiply(a: Floats, b: Floats) -> Floats:
    """Quaternion product (..., 4): first b, then a."""
    if a.ndim == 1 and b.ndim == 1:  # ten times as fast, with the same bits
        (aw, ax, ay, az), (bw, bx, by, bz) = a.tolist(), b.tolist()
        return np.array(
            [
                aw * bw - ax * bx - ay * by - az * bz,
                aw * bx + ax * bw + ay * bz - az * by,
                aw * by - ax * bz + ay * bw + az * bx,
                aw * bz + ax * by - ay * bx + az * bw,
            ]
        )
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    product = np.empty(a.shape if a.shape == b.shape else np.broadcast_shapes(a.shape, b.shape))
    product[..., 0] = aw * bw - ax * bx - ay * by - az * bz
    product[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    product[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    product[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return product


def cross(a: Floats, b: Floats) -> Floats:
    """Cross product (..., 3) of equal shapes; numpy's own spends longer on its arguments than on the product."""
    product = np.empty(a.shape if a.shape == b.shape else np.broadcast_shapes(a.shape, b.shape))
    product[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    product[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    product[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


def conjugate(q: Floats) -> Floats:
    """The inverse rotation (..., 4)."""
    inverse: Floats = np.asarray(q) * np.array([1.0, -1.0, -1.0, -1.0])
    return inverse


def rotate(q: Floats, v: Floats) -> Floats:
    """Vectors (..., 3) turned by quaternions (..., 4)."""
    if q.ndim == 1 and v.ndim == 1:  # ten times as fast, with the same bits
        (w, x, y, z), (a, b, c) = q.tolist(), v.tolist()
        i, j, k = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
        return np.array([a + w * i + (y * k - z * j), b + w * j + (z * i - x * k), c + w * k + (x * j - y * i)])
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + w * t + cross(u, t)


def from_axis_angle(r: Floats) -> Floats:
    """Quaternions (..., 4) of rotation vectors (..., 3)."""
    angle = np.sqrt(np.sum(r * r, axis=-1, keepdims=True))
    half = 0.5 * angle
    # sin(x)/x, with its limit at zero
    factor = np.where(angle > 1e-9, np.sin(half) / np.where(angle > 1e-9, angle, 1.0), 0.5)
    return np.concatenate([np.cos(half), factor * r], axis=-1)


def to_axis_angle(q: Floats) -> Floats:
    """Rotation vectors (..., 3), of the shorter way round."""
    q = np.where(q[..., :1] < 0, -q, q)
    u = q[..., 1:]
    sine = np.sqrt(np.sum(u * u, axis=-1, keepdims=True))
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return u * np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 2.0)


def from_yaw(angle: Floats | float) -> Floats:
    """Quaternions (..., 4) of rotations about z."""
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def yaw(q: Floats) -> Floats:
    """Rotation about z (...,), rad."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    angle: Floats = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return angle


def from_matrix(m: Floats) -> Floats:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3); the largest component decides the branch."""
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # four times the square of each component
    squares = np.stack([1 + m00 + m11 + m22, 1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22], axis=-1)
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    s0, s1, s2, s3 = np.moveaxis(squares, -1, 0)
    candidates = np.stack(
        [
            np.stack([s0, a, b, c], axis=-1),
            np.stack([a, s1, d, e], axis=-1),
            np.stack([b, d, s2, f], axis=-1),
            np.stack([c, e, f, s3], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)[..., None, None]
    q: Floats = np.take_along_axis(candidates, best, axis=-2)[..., 0, :]
    q = q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    positive: Floats = np.where(q[..., :1] < 0, -q, q)
    return positive


def turned(quat: Quat, angle: float) -> Quat:
    """One orientation turned about the vertical by an angle, rad. Rounded, because the last bits of sines differ
    between machines, and ids of scenarios must not."""
    w, x, y, z = (round(float(v), 12) + 0.0 for v in multiply(from_yaw(angle), np.asarray(quat)))
    return w, x, y, z
