"""Nothing is sent outside the limits, whatever is wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fake_robots import ARM, BASE, HOME

from foretell.errors import UsageError
from foretell.hardware.file import RobotFile
from foretell.hardware.limits import SendLimits, make_limits
from foretell.hardware.mapping import make_map
from foretell.hardware.reading import Reading
from foretell.registry import resolve
from foretell.robots.kinematics import Kinematics

START = np.array([*HOME, 1.0])
READING = Reading(at=0.0, channels=START)


def limits(contents: dict[str, Any], **given: Any) -> SendLimits:
    file = RobotFile.load({**contents, "limits": given})
    robot = resolve("robots", file.robot)()
    return make_limits(file, robot, make_map(file, robot))


def test_random_wishes_never_leave_the_limits() -> None:
    rng = np.random.default_rng(0)
    box = {"low": [0.15, -0.2, 0.02], "high": [0.4, 0.2, 0.3]}
    rules = limits(ARM, velocity=1.0, step=0.015, joints={"waist": [-0.5, 0.5]}, workspace=box)
    chain = Kinematics(resolve("robots", "widowx")(), 1)
    last, reasons = START, set()
    for _ in range(2000):
        wanted = last + rng.normal(0, rng.choice([0.01, 0.1, 10.0]), 7)
        seconds = rng.uniform(0.005, 0.04)
        now, why = rules.allow(wanted, last, seconds, READING)
        reasons |= set(why)
        step = np.abs(now - last)[:6]
        assert step.max() <= min(1.0 * seconds, 0.015) + 1e-9
        assert -0.5 <= now[0] <= 0.5 and 0.0 <= now[6] <= 1.0
        tool = chain.forward(np.zeros(1, dtype=np.int32), now[None, :6])[0][0]
        assert (tool >= np.array(box["low"]) - 1e-6).all() and (tool <= np.array(box["high"]) + 1e-6).all()
        last = now
    assert reasons == {"joint", "velocity", "step", "workspace"}


def test_what_is_within_the_limits_is_sent_as_it_is() -> None:
    wanted = START + 0.001
    wanted[6] = 1.0
    now, why = limits(ARM, velocity=1.0).allow(wanted, START, 0.02, READING)
    assert np.array_equal(now, wanted) and why == ()


def test_a_shortened_step_keeps_its_direction() -> None:
    wanted = START + np.array([0.4, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0])
    now, why = limits(ARM, velocity=1.0).allow(wanted, START, 0.02, READING)
    assert why == ("velocity",) and np.allclose((now - START)[:3], [0.02, 0.01, 0.005])


def test_a_file_makes_limits_tighter_and_never_looser() -> None:
    rules: Any = limits(ARM, velocity=100.0, joints={"waist": [-100.0, 100.0]})
    assert rules.speed[:6].max() == pytest.approx(math.pi) and rules.high[0] == pytest.approx(math.pi)


def test_no_number_at_all_holds_the_robot() -> None:
    now, why = limits(ARM).allow(np.full(7, np.nan), START, 0.02, READING)
    assert np.array_equal(now, START) and why
    now, why = limits(BASE).allow(np.array([np.nan, 0.0]), np.zeros(2), 0.02, Reading(at=0.0, channels=np.zeros(3)))
    assert np.array_equal(now, np.zeros(2)) and why


def test_an_arm_outside_its_box_may_come_back_but_not_go_further() -> None:
    chain = Kinematics(resolve("robots", "widowx")(), 1)
    tool = chain.forward(np.zeros(1, dtype=np.int32), START[None, :6])[0][0]
    rules = limits(ARM, workspace={"low": [-1.0, -1.0, tool[2] + 0.02], "high": [1.0, 1.0, 1.0]})
    down, up = START.copy(), START.copy()
    down[1] += 0.03  # the shoulder bends forward
    up[1] -= 0.03
    assert rules.allow(down, START, 0.02, READING)[1] == ("workspace",)
    assert rules.allow(up, START, 0.02, READING)[1] == ()


def test_a_base_keeps_its_speeds_and_its_room() -> None:
    rules = limits(BASE, velocity=0.2, turning=0.3, workspace={"low": [-1.0, -1.0], "high": [1.0, 1.0]})
    middle, edge = (Reading(at=0.0, channels=np.array([x, 0.0, 0.0])) for x in (0.0, 0.99))
    fast = np.array([0.5, -2.0])
    assert np.allclose(rules.allow(fast, np.zeros(2), 0.02, middle)[0], [0.2, -0.3])
    now, why = rules.allow(fast, np.zeros(2), 0.02, edge)
    assert now[0] == 0.0 and now[1] == -0.3 and set(why) == {"velocity", "workspace"}
    assert rules.allow(np.array([-0.1, 0.0]), np.zeros(2), 0.02, edge)[1] == ()


@pytest.mark.parametrize(
    ("contents", "given", "words"),
    [
        (ARM, {"turning": 1.0}, "limits.turning: is for a mobile base"),
        (ARM, {"joints": {"waste": [0, 1]}}, "limits.joints.waste: no such joint; did you mean 'waist'"),
        (ARM, {"joints": {"waist": [4, 5]}}, "leaves nothing of the joint's own range"),
        (ARM, {"workspace": {"low": [0, 0], "high": [1, 1]}}, "should have x, y and z of the tool"),
        (BASE, {"step": 0.1}, "limits.step: is for an arm"),
        (
            {**BASE, "base": {**BASE["base"], "frame": "start"}},
            {"workspace": {"low": [0, 0], "high": [1, 1]}},
            "does not tell where the robot is",
        ),
        (BASE, {"workspace": {"low": [0, 0, 0], "high": [1, 1, 1]}}, "should have x and y"),
    ],
)
def test_limits_that_do_not_fit(contents: dict[str, Any], given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        limits(contents, **given)
