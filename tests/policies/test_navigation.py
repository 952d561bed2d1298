"""Scripted agents: they differ in skill, and none knows more than it reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.policies.make import bind, make_policy
from foretell.rollout import Job, Outcome, run_sync
from foretell.tasks.pointnav import PointNav
from foretell.world_file import make_world

TASK = PointNav()
AGENTS = ("goal-follower", "bug", "lidar-planner", "depth-planner", "oracle")


def run(agent: str, world: Any = "planar", controller: str | None = None, legs: slice = slice(None)) -> list[Outcome]:
    scenarios = TASK.layouts()[legs]
    built = make_world(world, TASK, slots=len(scenarios), threads=1, controller=controller)
    jobs = iter([Job(policy=agent, scenario=scenario, trial=0, key=str(i)) for i, scenario in enumerate(scenarios)])
    policy = bind(make_policy(agent), built, agent)
    done = {job.key: outcome for job, outcome in run_sync(built, {agent: policy}, lambda: next(jobs, None))}
    return [done[str(i)] for i in range(len(scenarios))]


@pytest.fixture(scope="module")
def lab() -> dict[str, list[Outcome]]:
    return {agent: run(agent) for agent in AGENTS}


def mean(outcomes: list[Outcome], metric: str) -> float:
    return float(np.mean([outcome.metrics[metric] for outcome in outcomes]))


def test_skill_is_graded(lab: dict[str, list[Outcome]]) -> None:
    spl = {agent: mean(outcomes, "spl") for agent, outcomes in lab.items()}
    assert spl["goal-follower"] < spl["bug"] < spl["lidar-planner"] < spl["oracle"]
    assert spl["goal-follower"] < 0.2 and spl["bug"] > 0.4 and 0.5 < spl["depth-planner"] < spl["oracle"]


def test_the_oracle_arrives_by_nearly_the_shortest_way(lab: dict[str, list[Outcome]]) -> None:
    assert all(outcome.success and outcome.end == "success" for outcome in lab["oracle"])
    assert mean(lab["oracle"], "spl") > 0.9 and mean(lab["oracle"], "collisions") == 0


def test_who_sees_no_wall_runs_into_it(lab: dict[str, list[Outcome]]) -> None:
    """More than 40 collisions end an episode, and that is not the policy's doing."""
    failed = [outcome for outcome in lab["goal-follower"] if not outcome.success]
    assert failed and all(outcome.metrics["collisions"] == 41 for outcome in failed)
    for outcome in failed:
        assert outcome.failure_reason == "more than 40 collisions"
        assert outcome.events["hit_wall"] == 41 and "stuck" in outcome.events and "ended_early" not in outcome.events
        assert outcome.score == pytest.approx(outcome.metrics["softspl"])


def test_sliding_helps_who_runs_into_walls() -> None:
    stops, slides = run("goal-follower", "planar"), run("goal-follower", "planar_challenge")
    assert mean(slides, "softspl") > mean(stops, "softspl")


@pytest.mark.parametrize("controller", ["steps_10", "velocity"])
def test_agents_know_other_controllers(controller: str) -> None:
    assert all(outcome.success for outcome in run("oracle", controller=controller, legs=slice(0, 5)))
    assert sum(bool(outcome.success) for outcome in run("lidar-planner", controller=controller, legs=slice(0, 5))) >= 4


def test_who_stops_elsewhere_ends_too_early() -> None:
    class Lazy:
        def __init__(self) -> None:
            self.spec = make_policy("goal-follower").spec

        def act(self, slots: Any, observations: Any) -> Any:
            return np.tile(np.eye(4)[0], (len(slots), 1))

    scenario = TASK.layouts()[0]
    world = make_world("planar", TASK, slots=1, threads=1)
    jobs = iter([Job(policy="lazy", scenario=scenario, trial=0, key="0")])
    ((_, outcome),) = run_sync(world, {"lazy": bind(Lazy(), world, "lazy")}, lambda: next(jobs, None))
    assert (outcome.end, outcome.steps, outcome.success) == ("terminated", 1, False)
    assert outcome.events == {"never_moved": 1.0, "ended_early": 1.0} and outcome.failure_reason == "no halfway"
