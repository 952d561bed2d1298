"""Adapted policies in a world: rows, hashes, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rollouts import episodes, reproducible
from spoken import WIDOWX

from foretell.adapters import adapt
from foretell.checks.mistakes import Misheard, flipped, misread
from foretell.checks.pitfalls import PITFALLS, check_pitfalls
from foretell.errors import UsageError
from foretell.policies.expert import Expert
from foretell.policies.make import bind
from foretell.sim.world import MujocoWorld
from foretell.tasks.stack_cube import StackCube


@pytest.fixture(scope="module")
def world() -> MujocoWorld:
    return MujocoWorld(StackCube(), "mujoco", slots=1)


def rewritten() -> Any:
    """The expert reads from its action's spec which value opens: here it is -1, and not the robot's 1."""
    return adapt(Expert(), {"gripper": {"open": -1, "closed": 1}})


def test_hash_and_options_cover_every_adapter(world: MujocoWorld) -> None:
    plain = bind(Expert(), world, "a")
    three, again, four = (bind(adapt(Expert(), {"gripper": {"open": n, "closed": -1}}), world, "a") for n in (3, 3, 4))
    assert plain.options == {} and three.options == {"adapt": [{"gripper": {"open": 3, "closed": -1, "binary": False}}]}
    assert three.hash == again.hash and len({plain.hash, three.hash, four.hash}) == 3
    both = bind(adapt(Expert(), ["gripper", {"rotation": "axis_angle"}]), world, "a")
    assert [next(iter(entry)) for entry in both.options["adapt"]] == ["gripper", "rotation"]


def test_an_expert_of_another_convention_behind_its_adapter_does_as_the_expert() -> None:
    task = StackCube()
    task.time_limit = 3.0
    scenarios = list(task.layouts())[:3]
    plain = [reproducible(outcome) for outcome in episodes(task, Expert(), scenarios, slots=3)]
    wide = [reproducible(outcome) for outcome in episodes(task, rewritten(), scenarios, slots=3)]
    narrow = [reproducible(outcome) for outcome in episodes(task, rewritten(), scenarios, slots=2)]
    assert plain == wide == narrow
    wrong = [reproducible(outcome) for outcome in episodes(task, Misheard(Expert(), flipped), scenarios, slots=3)]
    assert wrong != plain


def test_a_rotation_that_is_read_as_it_is_written_stays() -> None:
    actions = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 2, 7))
    for format in ("euler_xyz", "quaternion"):
        assert misread(format, format)(actions, WIDOWX) == pytest.approx(actions)
    assert np.abs(misread("quaternion_xyzw", "quaternion")(actions, WIDOWX) - actions).max() > 1.0


@pytest.mark.daily
@pytest.mark.slow
def test_a_pitfall_that_helps_fails_the_check_and_names_the_adapter() -> None:
    class Flipped(Misheard):
        def __init__(self) -> None:
            super().__init__(Expert(), flipped)

    report = check_pitfalls(Flipped, task="widowx_stack_cube", pitfalls="gripper_sign", count=12)
    finding = report["gripper_sign"]
    assert not finding.passed and "12 of 12 instead of 0, +100 points" in finding.detail
    assert "try `adapt: [{gripper: {open: -1, closed: 1}}]`" in finding.detail
    assert report["reference"].passed


def test_pitfalls_have_names_of_their_own_and_unknown_ones_are_refused() -> None:
    assert len({pitfall.name for pitfall in PITFALLS}) == len(PITFALLS)
    with pytest.raises(UsageError, match="'gripper' is not known; did you mean 'gripper_range' or 'gripper_sign' or"):
        check_pitfalls("expert", pitfalls="gripper")
