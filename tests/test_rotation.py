"""Rotations agree with scipy's, on many at once."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from foretell import rotation

RNG = np.random.default_rng(0)
REFERENCE = Rotation.from_quat(RNG.normal(size=(200, 4)))
QUATS = np.roll(REFERENCE.as_quat(), 1, axis=1)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal rotations; q and -q are one."""
    return bool(np.allclose(np.abs(np.sum(a * b, axis=-1)), 1.0, atol=1e-12))


def test_multiply() -> None:
    product = (REFERENCE * REFERENCE[::-1]).as_quat()
    assert same(rotation.multiply(QUATS, QUATS[::-1]), np.roll(product, 1, axis=1))


def test_rotate_and_conjugate() -> None:
    vectors = RNG.normal(size=(200, 3))
    assert np.allclose(rotation.rotate(QUATS, vectors), REFERENCE.apply(vectors))
    back = rotation.rotate(rotation.conjugate(QUATS), rotation.rotate(QUATS, vectors))
    assert np.allclose(back, vectors)


def test_axis_angle_both_ways() -> None:
    vectors = REFERENCE.as_rotvec()
    assert np.allclose(rotation.to_axis_angle(QUATS), vectors)
    assert same(rotation.from_axis_angle(vectors), QUATS)
    assert np.allclose(rotation.from_axis_angle(np.zeros(3)), [1, 0, 0, 0])
    tiny = np.array([1e-12, 0, 0])
    assert np.allclose(rotation.to_axis_angle(rotation.from_axis_angle(tiny)), tiny, atol=1e-15)


def test_from_matrix() -> None:
    assert same(rotation.from_matrix(REFERENCE.as_matrix()), QUATS)
    turns = Rotation.from_euler("xyz", [[np.pi, 0, 0], [0, np.pi, 0], [0, 0, np.pi]])
    assert same(rotation.from_matrix(turns.as_matrix()), np.roll(turns.as_quat(), 1, axis=1))


def test_yaw() -> None:
    angles = np.linspace(-3.1, 3.1, 50)
    assert np.allclose(rotation.yaw(rotation.from_yaw(angles)), angles)


def test_a_row_does_not_depend_on_how_many_there_are() -> None:
    whole = rotation.to_axis_angle(rotation.multiply(QUATS, QUATS[::-1]))
    for n in (1, 2, 3, 7, 33):
        assert (rotation.to_axis_angle(rotation.multiply(QUATS[:n], QUATS[::-1][:n])) == whole[:n]).all()
