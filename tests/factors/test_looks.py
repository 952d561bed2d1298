"""Every (task, factor) pair, drawn: something is seen to change where it should, and nothing where it should not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_factors import PAIRS, SLOT, TASKS, under

from foretell.factors import factor
from foretell.scenario import Scenario
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

pytestmark = pytest.mark.gl

SEEN_ANYWAY = {"MO_Size", "RO_Size", "Distractor", "Object_Pose", "Robot_Init", "Sensor_Noise"}
"""Change more than looks, and are seen."""


@cache
def world(task: str) -> MujocoWorld:
    return MujocoWorld(make_task(task), slots=1)


def picture(task: str, scenario: Scenario, camera: str = "front") -> np.ndarray:
    world(task).reset(SLOT, [scenario], [0])
    return world(task).draw(0, f"{camera}/rgb", Stream((84, 84, 3))).astype(int)


@cache
def clean(task: str, camera: str = "front") -> np.ndarray:
    return picture(task, make_task(task).scenario(1), camera)


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_what_a_camera_sees(task: str, name: str) -> None:
    changed = picture(task, under(task, name))
    difference = np.abs(changed - clean(task)).max(axis=2)
    if factor(name).changes == "look" or name in SEEN_ANYWAY:
        assert (difference > 8).sum() >= 4
    else:
        assert difference.max() == 0
    assert np.array_equal(picture(task, under(task, name)), changed)  # and it replays


@pytest.mark.parametrize("task", TASKS)
def test_only_what_was_meant_to_changes(task: str) -> None:
    """The object's colour leaves most of the picture as it was, bit for bit; the light changes nearly all of it."""
    colour = np.abs(picture(task, under(task, "MO_Color")) - clean(task)).max(axis=2)
    assert 0 < (colour > 0).sum() < 0.05 * colour.size
    light = np.abs(picture(task, under(task, "Light_Color")) - clean(task)).max(axis=2)
    assert (light > 8).sum() > 0.5 * light.size
    wrist = picture(task, under(task, "Camera_Pose", "Camera_FOV"), "panda/wrist")
    assert np.array_equal(wrist, clean(task, "panda/wrist"))


def test_more_severity_is_farther_from_nominal() -> None:
    for name in ("MO_Color", "Table_Texture", "Light_Color", "Background_Texture", "Sensor_Noise"):
        far = [
            np.abs(picture("can", under("can", name, severity=s)) - clean("can")).mean() for s in (0.0, 0.3, 0.6, 1.0)
        ]
        assert far[0] == 0 and far == sorted(far) and far[1] > 0, name


def test_a_texture_lets_the_colour_of_another_factor_through() -> None:
    both = picture("lift", under("lift", "Table_Color", "Table_Texture"))
    for one in ("Table_Color", "Table_Texture"):
        assert (np.abs(both - picture("lift", under("lift", one))).max(axis=2) > 8).mean() > 0.2


def test_pictures_of_different_scenes_do_not_mix() -> None:
    """Scenes with other textures, and finer ones for a video, have contexts and buffers of their own."""
    textured = under("lift", "Table_Texture")
    for scenario in (make_task("lift").scenario(1), textured):
        expected = picture("lift", scenario)
        world("lift").picture(0, "overview", 120, 160)
        again = world("lift").draw(0, "front/rgb", Stream((84, 84, 3)))
        assert np.array_equal(again, expected)
