"""SIMPLER's controllers, in the robot's own free space."""

from __future__ import annotations

import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.identify.replay import ROBOT, FreeSpace, free_space
from foretell.policies.random import Random
from foretell.registry import resolve
from foretell.robots import Robot
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld

SLOT = np.zeros(1, dtype=np.int32)
OPEN = {"widowx": 1.0, "google_robot": 0.0}


class Arm:
    """One robot alone, under a controller."""

    def __init__(self, robot: str, controller: str | None = None):
        self.kind: type[Robot] = resolve("robots", robot)
        task: FreeSpace = free_space(robot, self.kind, controller)
        self.world, self.still = MujocoWorld(task, slots=1), OPEN[robot]
        scenario = Scenario(task=task.name, seed=0, placements={}, start={}, instruction="")
        self.world.reset(SLOT, [scenario], [0])
        self.ticks = np.array([round(1 / (task.action_rate * self.world.tick))])

    def act(
        self, *, move: tuple = (0, 0, 0), turn: tuple = (0, 0, 0), grip: float | None = None, times: int = 1
    ) -> None:
        for _ in range(times):
            action = np.array([[*move, *turn, self.still if grip is None else grip]])
            self.world.command(SLOT, action, self.ticks)
            self.world.advance(SLOT, self.ticks)

    def tool(self) -> np.ndarray:
        layout = Bench.on(self.world).layout
        return layout.site_xpos[0, layout.sites[f"{ROBOT}/ee"]].copy()

    def joints(self, group: str) -> np.ndarray:
        layout = Bench.on(self.world).layout
        return layout.qpos[0, layout.joints[ROBOT, group]].copy()

    def failures(self) -> float:
        (verdict,) = self.world.verdict(SLOT)
        return verdict.metrics["ik_failures"]


def test_each_robot_runs_at_the_rate_of_its_numbers() -> None:
    google, widowx = Arm("google_robot"), Arm("widowx")
    assert google.world.tick == pytest.approx(1 / 513)
    assert google.ticks == 171
    assert widowx.ticks == 100
    assert google.world.params["physics"]["integrator"] == "euler"
    assert google.world.params["physics"]["timestep"] == pytest.approx(1 / 513)


def test_the_widowx_reaches_a_target_that_it_was_moved_to() -> None:
    arm = Arm("widowx")
    before = arm.tool()
    arm.act(move=(0.02, 0.01, -0.02), times=2)
    assert np.linalg.norm(arm.tool() - before - [0.04, 0.02, -0.04]) > 0.005  # it lags by a quarter of a second
    arm.act(times=10)
    assert arm.tool() - before == pytest.approx([0.04, 0.02, -0.04], abs=5e-4)


def test_the_google_robot_adds_to_where_it_is() -> None:
    """It never arrives at the sum of what it is told: it lags by 0.6 s, and each delta begins at the lag."""
    arm = Arm("google_robot")
    before = arm.tool()
    arm.act(move=(0.03, 0.0, 0.0), times=3)
    arm.act(times=10)
    assert 0.01 < (arm.tool() - before)[0] < 0.06


@pytest.mark.parametrize(("robot", "variant"), [
    ("widowx", "ee_step_paper+gripper:grip_step"),
    ("google_robot", "ee_profile_paper+gripper:grip_profile"),
])  # fmt: skip
def test_the_paper_and_the_code_differ(robot: str, variant: str) -> None:
    code, paper = Arm(robot), Arm(robot, variant)
    for arm in (code, paper):
        arm.act(move=(0.03, 0.0, 0.0), turn=(0.0, 0.0, 0.2), times=4)
    assert np.linalg.norm(code.tool() - paper.tool()) > 1e-3


def test_the_fingers_of_the_paper_begin_at_the_last_plan() -> None:
    code, paper = Arm("google_robot"), Arm("google_robot", "ee_profile+gripper:grip_profile_paper")
    for arm in (code, paper):
        arm.act(grip=1.0, times=5)  # they press against each other
    assert code.joints("gripper") == pytest.approx([1.073] * 2, abs=0.01)
    assert paper.joints("gripper") == pytest.approx([1.073] * 2, abs=0.02)
    for arm in (code, paper):
        arm.act(grip=-1.0)
    assert (paper.joints("gripper") > code.joints("gripper") + 0.01).all()  # the plan was at 1.31


def test_fingers_of_the_widowx_open_and_shut() -> None:
    arm = Arm("widowx")
    arm.act(grip=-1.0, times=8)
    assert arm.joints("gripper") == pytest.approx([0.015, 0.015], abs=1e-4)
    arm.act(grip=0.0, times=10)
    assert arm.joints("gripper") == pytest.approx([0.026, 0.026], abs=1e-4)
    arm.act(grip=1.0, times=8)
    assert arm.joints("gripper") == pytest.approx([0.037, 0.037], abs=1e-4)


def test_a_small_action_keeps_the_goal_of_the_fingers() -> None:
    arm = Arm("google_robot")
    arm.act(grip=0.3)
    arm.act(grip=0.0005, times=4)
    assert arm.joints("gripper") == pytest.approx([0.393, 0.393], abs=2e-3)


@pytest.mark.parametrize("robot", ["widowx", "google_robot"])
def test_where_it_cannot_reach_the_arm_stops_and_the_row_counts_it(robot: str) -> None:
    arm = Arm(robot)
    assert arm.failures() == 0
    arm.act(move=(0.2, 0.0, 0.2), times=6)
    failures = arm.failures()
    assert failures >= 3
    rest = arm.joints("arm")
    arm.act(move=(0.2, 0.0, 0.2), times=4)
    assert arm.failures() == failures + 4
    assert arm.joints("arm") == pytest.approx(rest, abs=0.2)
    arm.world.reset(SLOT, [Bench.on(arm.world).scenario], [0])
    assert arm.failures() == 0


def test_the_targets_of_an_action_do_not_depend_on_how_time_is_cut() -> None:
    """Ticks one by one, and an action at once, bit for bit."""
    whole, cut = Arm("google_robot"), Arm("google_robot")
    action = np.array([[0.03, 0.01, -0.02, 0.05, 0.0, 0.1, 0.5]])
    for arm in (whole, cut):
        arm.world.command(SLOT, action, arm.ticks)
    whole.world.advance(SLOT, whole.ticks)
    for _ in range(int(cut.ticks[0])):
        cut.world.advance(SLOT, np.ones(1, dtype=int))
    assert np.array_equal(whole.joints("arm"), cut.joints("arm"))
    assert np.array_equal(whole.joints("gripper"), cut.joints("gripper"))


def test_a_plan_that_runs_out_holds() -> None:
    arm = Arm("google_robot")
    arm.act(move=(0.05, 0.0, 0.0))
    controller = arm.world.controllers[ROBOT, "arm"]
    last = controller.current(SLOT).copy()
    held = controller.targets(SLOT, 300)
    assert (held[0, 1:] == held[0, -1]).all()
    assert held[0, -1] == pytest.approx(last[0])


@pytest.mark.parametrize("robot", ["widowx", "google_robot"])
def test_rows_do_not_depend_on_slots(robot: str) -> None:
    """Episodes of a random policy, which asks for more than the arm can reach, alone and side by side."""
    task = free_space(robot, resolve("robots", robot))
    task.time_limit, task.start_noise = 2.0, 0.02
    scenarios = [task.scenario(seed) for seed in range(4)]
    alone, together = (episodes(task, Random(), scenarios, slots=slots) for slots in (1, 3))
    assert [reproducible(row) for row in alone] == [reproducible(row) for row in together]
    assert sum(row.metrics["ik_failures"] for row in alone) > 0
