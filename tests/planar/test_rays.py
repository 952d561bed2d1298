"""Rays among walls, against distances computed by hand, and against MuJoCo's depth images."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.planar.rays import columns, distances
from foretell.robots.locobot import LoCoBot
from foretell.spec import Stream
from foretell.tasks.pointnav import PointNav
from foretell.world_file import make_world

BOX = np.array([[(-1.0, -2.0, 3.0, -2.0), (3.0, -2.0, 3.0, 2.0), (3.0, 2.0, -1.0, 2.0), (-1.0, 2.0, -1.0, -2.0)]])
"""A room of 4 x 4 m."""
SEEN = np.zeros((1, 4))


def test_a_lidar_in_a_square_room() -> None:
    around = np.radians([0.0, 90.0, 180.0, 270.0, 45.0])
    pose = np.array([[0.0, 0.0, 0.0]])
    far = distances(pose, around, BOX, SEEN, 10.0)
    assert far[0] == pytest.approx([3.0, 2.0, 1.0, 2.0, 2.0 * math.sqrt(2)], rel=1e-6)
    turned = distances(np.array([[0.0, 0.0, math.pi / 2]]), around[:4], BOX, SEEN, 10.0)
    assert turned[0] == pytest.approx([2.0, 1.0, 2.0, 3.0], rel=1e-6)


def test_a_flat_picture_of_a_wall_has_the_same_depth_everywhere() -> None:
    angles = columns(64, LoCoBot.VIEW)
    assert angles[0] == pytest.approx(math.atan(math.tan(LoCoBot.VIEW / 2) * 63 / 64)) and (np.diff(angles) < 0).all()
    depth = distances(np.array([[0.0, 0.0, 0.0]]), angles, BOX, SEEN, 10.0, flat=True)
    assert depth[0] == pytest.approx(np.full(64, 3.0), rel=1e-6)


def test_what_is_low_and_near_is_out_of_sight() -> None:
    pose, ahead = np.zeros((1, 3)), np.zeros(1)
    low = np.array([[(0.5, -1.0, 0.5, 1.0), (3.0, -1.0, 3.0, 1.0)]])
    assert distances(pose, ahead, low, np.array([[0.4, 0.0]]), 10.0)[0, 0] == pytest.approx(0.5)
    assert distances(pose, ahead, low, np.array([[0.6, 0.0]]), 10.0)[0, 0] == pytest.approx(3.0)
    assert distances(pose, ahead, low, np.array([[np.inf, np.inf]]), 10.0)[0, 0] == 10.0


def test_nothing_is_as_far_as_can_be() -> None:
    assert (
        distances(np.zeros((2, 3)), np.zeros(3), np.zeros((2, 0, 4)), np.zeros((2, 0)), 10.0).tolist()
        == [[10.0] * 3] * 2
    )


@pytest.mark.gl
def test_the_columns_are_those_of_the_depth_image() -> None:
    """The nearest thing in each column of MuJoCo's picture, without the floor: rows above the horizon."""
    task = PointNav()
    world = make_world("planar", task, slots=4, threads=1)
    slots = np.arange(4, dtype=np.int32)
    world.reset(slots, [*task.layouts()[10:13], task.scenario(2)], [0] * 4)
    rays = world.observe(slots, {"locobot/depth_rays": Stream((64,))})["locobot/depth_rays"]
    for slot in slots.tolist():
        depth = world.draw(slot, "locobot/camera/depth", Stream((256, 256, 1)))[:120, :, 0].min(axis=0)
        differs = np.abs(depth.reshape(64, 4).mean(axis=1) - rays[slot]) > 0.02
        assert differs.sum() <= 3  # at edges
