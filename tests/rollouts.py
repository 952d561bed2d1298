"""Small helpers to run episodes, shared by tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.policies.make import bind
from foretell.rollout import Job, Outcome, run_sync
from foretell.scenario import Scenario
from foretell.sim.world import MujocoWorld

__all__ = ["episodes", "reproducible"]


def episodes(
    task: Any, policy: Any, scenarios: Sequence[Scenario], *, world: Any = "mujoco", slots: int = 8, threads: int = 1
) -> list[Outcome]:
    """Outcomes of one policy on some scenarios, in their order."""
    built = MujocoWorld(task, world, slots=slots, threads=threads)
    jobs = iter([Job(policy="policy", scenario=scenario, trial=0, key=str(i)) for i, scenario in enumerate(scenarios)])
    done = run_sync(built, {"policy": bind(policy, built, "policy")}, lambda: next(jobs, None))
    found = {job.key: outcome for job, outcome in done}
    return [found[str(i)] for i in range(len(scenarios))]


def reproducible(outcome: Outcome) -> dict[str, Any]:
    """All of an outcome that must be the same every time."""
    return {name: value for name, value in vars(outcome).items() if not name.startswith("wall_")}
