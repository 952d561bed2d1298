"""What goes wrong with SIMPLER's robots is said before the first episode, or behaves as stated (docs/simpler.md)."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from rollouts import episodes

from foretell.errors import UsageError
from foretell.policies.make import bind
from foretell.policy import Policy, PolicySpec
from foretell.sim.world import MujocoWorld
from foretell.spec import ActionSpec, DimSpec, ee_delta
from foretell.study.plan import make_task

WIDOWX, GOOGLE = "widowx_stack_cube", "google_robot_pick_standing_coke_can"


class Steady(Policy):
    """Repeats one action."""

    def __init__(self, action: Any, spec: PolicySpec | None = None):
        self.action, self.declared = np.asarray(action, dtype=float), spec

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.spec = self.declared or PolicySpec(action=action, action_rate=task.action_rate)

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        return np.tile(self.action, (len(slots), 1))


def changed(action: ActionSpec, meaning: str, **fields: Any) -> ActionSpec:
    """An action's spec with another convention in one part."""
    parts: list[DimSpec] = [dataclasses.replace(d, **fields) if d.meaning == meaning else d for d in action.dims]
    return ActionSpec(action.name, tuple(parts))


@pytest.mark.parametrize("name", [WIDOWX, GOOGLE])
@pytest.mark.parametrize(
    ("meaning", "fields", "says"),
    [
        ("rotation", {"rotation": "euler_xyz"}, "rotation is 'euler_xyz', but the controller .* takes 'axis_angle'"),
        ("translation", {"frame": "tool"}, "frame is 'tool', but the controller .* takes 'base'"),
        ("translation", {"unit": "mm"}, "unit is 'mm', but the controller .* takes 'm'"),
        ("translation", {"mode": "absolute"}, "mode is 'absolute', but the controller .* takes 'delta'"),
    ],
)
def test_an_action_in_another_convention_is_refused(name: str, meaning: str, fields: Any, says: str) -> None:
    world = MujocoWorld(make_task(name), slots=1)
    spec = PolicySpec(action=changed(world.action, meaning, **fields), action_rate=world.task.action_rate)
    with pytest.raises(UsageError, match=rf"action part \d \({meaning}\): {says}"):
        bind(Steady(np.zeros(7), spec), world, "policy")


def test_an_action_for_another_controller_is_refused() -> None:
    world = MujocoWorld(make_task(WIDOWX), slots=1)
    with pytest.raises(UsageError, match="the controller 'ee_step"):
        bind(Steady(np.zeros(7), PolicySpec(action=ee_delta("panda"))), world, "policy")


@pytest.mark.parametrize(("action", "says"), [(np.zeros(6), "6"), (np.full(7, np.nan), "NaN|finite")])
def test_wrong_actions_are_the_policys_fault(action: np.ndarray, says: str) -> None:
    task = make_task(WIDOWX)
    task.time_limit = 1.0
    (outcome,) = episodes(task, Steady(action), [task.layouts()[0]], slots=1)
    assert (outcome.end, outcome.blame) == ("error", "policy")
    assert re.search(says, outcome.error or "")


@pytest.mark.parametrize(("name", "away"), [(WIDOWX, [-0.2, 0, 0]), (GOOGLE, [0.2, 0, 0.2])])
def test_a_goal_out_of_reach_stops_the_arm_and_is_counted(name: str, away: list[float]) -> None:
    task = make_task(name)
    task.time_limit = 5.0
    (outcome,) = episodes(task, Steady([*away, 0, 0, 0, 0]), [task.layouts()[0]], slots=1)
    assert (outcome.end, outcome.blame, outcome.success) == ("time_limit", None, False)
    assert outcome.metrics["ik_failures"] > 0
